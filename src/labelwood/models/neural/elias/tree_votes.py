"""Linear trees that vote beside index and ranker, with a weight that held-out rows choose.

A ranker judges every label by itself; a tree asks for groups of labels first, and so lends rare labels the rows of
their group. Where many labels are rare that is worth more than the exact judgement, elsewhere less. Where rows have
text vectors, as many trees see the features alone as see both: they err differently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import ModelFileError
from labelwood.metrics.hits import hit_matrix
from labelwood.metrics.ranking import precision, recall
from labelwood.models.explanation import Explanation, Share, combined
from labelwood.models.fit_input import checked_input
from labelwood.models.linear.fitted_tree import FittedLinearTree
from labelwood.models.linear.linear_tree import LinearTree
from labelwood.models.linear.linear_tree_params import LinearTreeParams
from labelwood.models.mixing import mixed, score_of, united
from labelwood.models.neural.elias.calibration import held_out, quality
from labelwood.models.neural.elias.index import Int32
from labelwood.models.persistence import restored, state_of
from labelwood.progress import Progress
from labelwood.storage.schema import PART, Arrays, Schema, part, prefixed, whole_number
from labelwood.topk import TopK

Doubles = npt.NDArray[np.float64]
Scored = tuple[Int32, Doubles]

VOTED_LABELS = 100  # that the trees name for a row
# Nodes of each tree that are opened for them, the fewest that will do: a hundred good labels lie in few leaves. R@100
# on rows held out: 30.6, 36.5 and 36.3 with 116, 30 and 15 nodes (Rust-Commits), 53.4, 53.4 and 53.2 (a generated set).
VOTED_NODES = (15, 30, 60)
MOST_LOST = 0.1  # of each measure, points on the rows held out
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, eq=False)
class TreeVotes:
    """Forests of linear trees, each over the first columns that the index sees, and the weight of their mean score.

    nodes: opened below the root of each tree, at most; 0: as many as a forest does by itself.
    """

    forests: tuple[FittedLinearTree, ...]
    weight: float
    nodes: int = 0

    @property
    def n_trees(self) -> int:
        """The number of all trees."""
        return sum(len(forest.trees) for forest in self.forests)

    def mixed_with(self, voted: TopK, labels: Int32, scores: Doubles) -> Scored:
        """(labels rising, -1 last; scores): the weighted sum of the given scores (n, m) and those that `given` told."""
        return _mixed((labels, scores), _scored(voted), self.weight)

    def added(self, x: sparse.csr_matrix, labels: Int32, scores: Doubles, n_threads: int | None = None) -> Scored:
        """What `mixed_with` gives with the votes for rows x."""
        return self.mixed_with(self.given(x, n_threads), labels, scores)

    def given(self, x: sparse.csr_matrix, n_threads: int | None = None) -> TopK:
        """What the trees say of the rows (n, n_inputs), before it is weighted."""
        return votes_of(self.forests, x, n_threads, self.nodes)

    def explain(self, row: sparse.csr_matrix, label: int, n_threads: int | None = None) -> Explanation:
        """Why the trees give one row the label what `given` tells; a forest that does not name it gives 0."""
        reasons = [_reasons(forest, row, label, n_threads, self.nodes) for forest in self.forests]
        if len(reasons) == 1:
            return reasons[0]
        score = score_of(self.given(row, n_threads), label)
        return combined(
            label, score, [Share(f"forest {n}", 1 / len(reasons), why) for n, why in enumerate(reasons, start=1)]
        )

    # storage

    @staticmethod
    def schema(facts: Any) -> Schema:
        """The arrays of saved votes: those of every forest, which it checks itself."""
        return {f"{number}.": PART for number in range(len(_checked_facts(facts)["models"]))}

    def to_arrays(self) -> Arrays:
        """The arrays of all forests."""
        return {
            name: array
            for number, forest in enumerate(self.forests)
            for name, array in prefixed(f"{number}.", state_of(forest)[1]).items()
        }

    def facts(self) -> dict[str, Any]:
        """What is saved beside the arrays."""
        models = [state_of(forest)[0] for forest in self.forests]
        return {"weight": self.weight, "nodes": self.nodes, "models": models}

    @classmethod
    def restored(cls, facts: Any, arrays: Arrays, n_inputs: int, n_labels: int) -> TreeVotes:
        """The votes of a saved model; ModelFileError if they are damaged or answer other rows."""
        saved = _checked_facts(facts)
        forests = []
        for number, fields in enumerate(saved["models"]):
            forest = restored(fields, part(f"{number}.", arrays), f"elias: trees {number + 1}")
            if not isinstance(forest, FittedLinearTree) or forest.n_labels != n_labels or forest.n_features > n_inputs:
                raise ModelFileError(f"elias: trees {number + 1} are no linear trees of these columns and labels")
            forests.append(forest)
        return cls(tuple(forests), saved["weight"], saved["nodes"])


def trained_forests(
    x: sparse.csr_matrix,
    y: sparse.csr_matrix,
    views: Sequence[int],
    settings: LinearTreeParams,
    progress: Progress,
    groups: npt.NDArray[np.int64] | None = None,
) -> tuple[FittedLinearTree, ...]:
    """Forests of linear trees over the first columns of the rows, one for every number of columns in views.

    groups: of each row; those of one are held out together.
    """
    return tuple(
        LinearTree._train(
            settings, replace(checked_input(_first_columns(x, n_columns), y, progress=progress), groups=groups)
        )
        for n_columns in views
    )


def chosen_weight(
    forests: Sequence[FittedLinearTree],
    x: sparse.csr_matrix,
    y: sparse.csr_matrix,
    scored: Scored,
    n_threads: int | None = None,
    *,
    nodes: int = 0,
    needed: bool = False,
) -> float:
    """The weight of the trees' scores beside those of held-out rows x with labels y: what ranks these best.

    needed: the ranker judges the labels that trees name, so they stay and have some weight.
    """
    voted = _scored(votes_of(forests, x, n_threads, nodes))

    def judged(weight: float) -> float:
        labels, scores = _mixed(scored, voted, weight)
        return quality(held_out(labels, scores.astype(np.float32), None, y), scores)

    return max(WEIGHTS[1:] if needed else WEIGHTS, key=judged)


def fewest_nodes(
    forests: Sequence[FittedLinearTree], x: sparse.csr_matrix, y: sparse.csr_matrix, n_threads: int | None = None
) -> int:
    """The fewest nodes a tree with which the votes for held-out rows x with labels y are as good as without a limit."""

    def measured(nodes: int) -> Doubles:
        hits = hit_matrix(votes_of(forests, x, n_threads, nodes), y)
        return np.array([*(precision(hits, k) for k in (1, 3, 5)), recall(hits, VOTED_LABELS)])

    without = measured(0)
    enough = (nodes for nodes in VOTED_NODES if np.all(measured(nodes) >= without - MOST_LOST))
    return next(enough, 0)


def _checked_facts(facts: Any) -> Mapping[str, Any]:
    """The facts of saved votes; ModelFileError unless they hold a weight, nodes and the fields of every forest."""
    names = {"weight", "models"}  # earlier versions had no limit of the nodes
    if not isinstance(facts, Mapping) or set(facts) - {"nodes"} != names or not isinstance(facts["models"], list):
        raise ModelFileError(f"elias: trees are told by 'weight', 'nodes' and 'models', but here {facts!r:.80}")
    nodes = whole_number({"nodes": 0, **facts}, "nodes", 0, 2**31 - 1, "elias: trees")
    weight, models = facts["weight"], facts["models"]
    if not isinstance(weight, float) or not 0 < weight <= 1:
        raise ModelFileError(f"elias: the weight of the trees must be above 0 and at most 1, but is {weight!r:.60}")
    if not models:
        raise ModelFileError("elias: trees vote, but there are none")
    return {**facts, "nodes": nodes}


def votes_of(forests: Sequence[FittedLinearTree], x: sparse.csr_matrix, n_threads: int | None, nodes: int = 0) -> TopK:
    """The mean of the forests' scores; a label that a forest does not name scores 0 there. nodes: as in TreeVotes."""
    answers = [_answers(forest, x, n_threads, nodes) for forest in forests]
    if len(answers) == 1:
        return answers[0]
    return mixed(
        answers, np.full(len(answers), 1 / len(answers)), min(len(answers) * VOTED_LABELS, forests[0].n_labels)
    )


def _answers(forest: FittedLinearTree, x: sparse.csr_matrix, n_threads: int | None, nodes: int) -> TopK:
    rows, k = _first_columns(x, forest.n_features), min(VOTED_LABELS, forest.n_labels)
    quick = forest.one_row(rows, k, nodes) if rows.shape[0] == 1 else None
    return forest.predict(rows, k, n_threads, nodes) if quick is None else quick


def _reasons(
    forest: FittedLinearTree, row: sparse.csr_matrix, label: int, n_threads: int | None, nodes: int
) -> Explanation:
    score = score_of(_answers(forest, row, n_threads, nodes), label)
    if score == 0:
        return Explanation(label, 0.0, (), ())
    return replace(forest.explain(_first_columns(row, forest.n_features), label, n_threads), score=score)


def _scored(top: TopK) -> Scored:
    return top.labels, np.where(top.labels < 0, 0.0, top.scores.astype(np.float64))  # padding has -inf


def _first_columns(x: sparse.csr_matrix, n_columns: int) -> sparse.csr_matrix:
    return x if n_columns == x.shape[1] else sparse.csr_matrix(x[:, :n_columns])


def _mixed(scored: Scored, voted: Scored, weight: float) -> Scored:
    return united([(scored[0], (1 - weight) * scored[1]), (voted[0], weight * voted[1])])
