"""Linear trees that vote beside index and ranker, with a weight that held-out rows choose.

A ranker judges every label by itself; a tree asks for groups of labels first, and so lends rare labels the rows of
their group. Where many labels are rare that is worth more than the exact judgement, elsewhere less.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import ModelFileError
from labelwood.models.base import Arrays
from labelwood.models.linear_tree import LinearTree
from labelwood.models.mixing import united
from labelwood.models.neural.elias.calibration import held_out, quality
from labelwood.models.neural.elias.index import Int32
from labelwood.models.persistence import model_state, restored_model
from labelwood.progress import Progress
from labelwood.topk import TopK

Doubles = npt.NDArray[np.float64]
Scored = tuple[Int32, Doubles]

VOTED_LABELS = 100  # that the trees name for a row
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_PREFIX = "trees."


class TreeVotes:
    """Linear trees over the columns that index and ranker see, and the weight of their scores."""

    def __init__(self, trees: LinearTree, weight: float) -> None:
        self.trees, self.weight = trees, weight

    def added(self, x: sparse.csr_matrix, labels: Int32, scores: Doubles) -> Scored:
        """(labels rising, -1 last; scores): the weighted sum of the given scores (n, m) and those of the trees."""
        top = self.given(x)
        return _mixed((labels, scores), (top.labels, top.scores.astype(np.float64)), self.weight)

    def given(self, x: sparse.csr_matrix) -> TopK:
        """What the trees say of the rows, before it is weighted."""
        return _named(self.trees, x)

    def to_arrays(self) -> Arrays:
        """The arrays under the names they are saved by."""
        return {_PREFIX + name: array for name, array in model_state(self.trees)[1].items()}

    def facts(self) -> dict[str, Any]:
        """What is saved beside the arrays."""
        fields = dict(model_state(self.trees)[0])
        fields["parameters"] = {**fields["parameters"], "n_threads": None}  # the threads are ELIAS's own
        return {"weight": self.weight, "model": fields}

    @classmethod
    def from_saved(cls, facts: Any, arrays: Arrays, n_inputs: int, n_labels: int, n_threads: int | None) -> TreeVotes:
        """The votes of a saved model; ModelFileError if they are damaged or answer other rows."""
        if not isinstance(facts, Mapping) or set(facts) != {"weight", "model"} or not isinstance(facts["model"], dict):
            raise ModelFileError(f"elias: trees are told by 'weight' and 'model', but here {facts!r:.80}")
        weight, fields = facts["weight"], facts["model"]
        if not isinstance(weight, float) or not 0 < weight <= 1:
            raise ModelFileError(f"elias: the weight of the trees must be above 0 and at most 1, but is {weight!r:.60}")
        own = {name[len(_PREFIX) :]: array for name, array in arrays.items() if name.startswith(_PREFIX)}
        fields = {**fields, "parameters": {**fields.get("parameters", {}), "n_threads": n_threads}}
        trees = restored_model(fields, own, "elias: its trees")
        if not isinstance(trees, LinearTree) or (trees.n_features_, trees.n_labels_) != (n_inputs, n_labels):
            raise ModelFileError(f"elias: the trees are no linear trees over {n_inputs} columns and {n_labels} labels")
        return cls(trees, weight)


def trained_trees(
    x: sparse.csr_matrix, y: sparse.csr_matrix, n_trees: int, parameters: Any, progress: Progress
) -> LinearTree:
    """So many linear trees over the rows, with the defaults of LinearTree."""
    trees = LinearTree(n_trees=n_trees, seed=parameters.seed, n_threads=parameters.n_threads)
    return trees.fit(x, y, progress=progress)


def chosen_weight(trees: LinearTree, x: sparse.csr_matrix, y: sparse.csr_matrix, found: Scored) -> float:
    """The weight of the trees' scores beside those found for held-out rows x with labels y: what ranks these best."""
    top = _named(trees, x)
    voted = top.labels, top.scores.astype(np.float64)

    def judged(weight: float) -> float:
        labels, scores = _mixed(found, voted, weight)
        return quality(held_out(labels, scores.astype(np.float32), None, y), scores)

    return max(WEIGHTS, key=judged)


def _named(trees: LinearTree, x: sparse.csr_matrix) -> TopK:
    return trees.predict(x, min(VOTED_LABELS, trees.n_labels_))


def _mixed(found: Scored, voted: Scored, weight: float) -> Scored:
    return united([(found[0], (1 - weight) * found[1]), (voted[0], weight * voted[1])])
