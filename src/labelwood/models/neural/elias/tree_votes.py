"""Linear trees that vote beside index and ranker, with a weight that held-out rows choose.

A ranker judges every label by itself; a tree asks for groups of labels first, and so lends rare labels the rows of
their group. Where many labels are rare that is worth more than the exact judgement, elsewhere less. Where rows have
text vectors, as many trees see the features alone as see both: they err differently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import ModelFileError
from labelwood.models.base import Arrays
from labelwood.models.linear.linear_tree import LinearTree
from labelwood.models.mixing import mixed, united
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
    """Forests of linear trees, each over the first columns that the index sees, and the weight of their mean score."""

    def __init__(self, forests: Sequence[LinearTree], weight: float) -> None:
        self.forests, self.weight = tuple(forests), weight

    @property
    def n_trees(self) -> int:
        """The number of all trees."""
        return sum(len(forest.trees_) for forest in self.forests)

    def added(self, x: sparse.csr_matrix, labels: Int32, scores: Doubles) -> Scored:
        """(labels rising, -1 last; scores): the weighted sum of the given scores (n, m) and those of the trees."""
        return _mixed((labels, scores), _scored(self.given(x)), self.weight)

    def given(self, x: sparse.csr_matrix) -> TopK:
        """What the trees say of the rows (n, n_inputs), before it is weighted."""
        return _said(self.forests, x)

    def to_arrays(self) -> Arrays:
        """The arrays under the names they are saved by."""
        return {
            f"{_PREFIX}{number}.{name}": array
            for number, forest in enumerate(self.forests)
            for name, array in model_state(forest)[1].items()
        }

    def facts(self) -> dict[str, Any]:
        """What is saved beside the arrays."""
        models = [dict(model_state(forest)[0]) for forest in self.forests]
        for fields in models:  # the threads are ELIAS's own
            fields["parameters"] = {**fields["parameters"], "n_threads": None}
        return {"weight": self.weight, "models": models}

    @classmethod
    def from_saved(cls, facts: Any, arrays: Arrays, n_inputs: int, n_labels: int, n_threads: int | None) -> TreeVotes:
        """The votes of a saved model; ModelFileError if they are damaged or answer other rows."""
        if (
            not isinstance(facts, Mapping)
            or set(facts) != {"weight", "models"}
            or not isinstance(facts["models"], list)
        ):
            raise ModelFileError(f"elias: trees are told by 'weight' and 'models', but here {facts!r:.80}")
        weight, models = facts["weight"], facts["models"]
        if not isinstance(weight, float) or not 0 < weight <= 1:
            raise ModelFileError(f"elias: the weight of the trees must be above 0 and at most 1, but is {weight!r:.60}")
        forests = []
        for number, fields in enumerate(models):
            prefix = f"{_PREFIX}{number}."
            own = {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
            if not isinstance(fields, dict) or not isinstance(fields.get("parameters"), dict):
                raise ModelFileError(f"elias: trees {number + 1} have no parameters, but are {fields!r:.80}")
            fields = {**fields, "parameters": {**fields["parameters"], "n_threads": n_threads}}
            forest = restored_model(fields, own, f"elias: trees {number + 1}")
            if not isinstance(forest, LinearTree) or forest.n_labels_ != n_labels or forest.n_features_ > n_inputs:
                raise ModelFileError(f"elias: trees {number + 1} are no linear trees of these columns and labels")
            forests.append(forest)
        if not forests:
            raise ModelFileError("elias: trees vote, but there are none")
        return cls(forests, weight)


def trained_forests(
    x: sparse.csr_matrix, y: sparse.csr_matrix, views: Sequence[int], n_trees: int, parameters: Any, progress: Progress
) -> list[LinearTree]:
    """So many linear trees over the first columns of the rows, for every number of columns in views."""
    return [
        LinearTree(n_trees=n_trees, seed=parameters.seed, n_threads=parameters.n_threads).fit(
            _first_columns(x, n_columns), y, progress=progress
        )
        for n_columns in views
    ]


def chosen_weight(forests: Sequence[LinearTree], x: sparse.csr_matrix, y: sparse.csr_matrix, found: Scored) -> float:
    """The weight of the trees' scores beside those found for held-out rows x with labels y: what ranks these best."""
    voted = _scored(_said(forests, x))

    def judged(weight: float) -> float:
        labels, scores = _mixed(found, voted, weight)
        return quality(held_out(labels, scores.astype(np.float32), None, y), scores)

    return max(WEIGHTS, key=judged)


def _said(forests: Sequence[LinearTree], x: sparse.csr_matrix) -> TopK:
    """The mean of the forests' scores; a label that one does not name scores 0 there."""
    answers = [
        forest.predict(_first_columns(x, forest.n_features_), min(VOTED_LABELS, forest.n_labels_)) for forest in forests
    ]
    if len(answers) == 1:
        return answers[0]
    return mixed(
        answers, np.full(len(answers), 1 / len(answers)), min(len(answers) * VOTED_LABELS, forests[0].n_labels_)
    )


def _scored(top: TopK) -> Scored:
    return top.labels, np.where(top.labels < 0, 0.0, top.scores.astype(np.float64))  # padding has -inf


def _first_columns(x: sparse.csr_matrix, n_columns: int) -> sparse.csr_matrix:
    return x if n_columns == x.shape[1] else sparse.csr_matrix(x[:, :n_columns])


def _mixed(found: Scored, voted: Scored, weight: float) -> Scored:
    return united([(found[0], (1 - weight) * found[1]), (voted[0], weight * voted[1])])
