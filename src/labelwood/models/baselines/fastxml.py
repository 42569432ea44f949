"""FastXML: a forest over the training rows; a row gets the labels of the leaves that it ends in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.data.keyed_random import keyed_bits
from labelwood.errors import ModelFileError
from labelwood.matrices import column_ids, row_pointers
from labelwood.models.base import Model
from labelwood.models.explanation import Contribution, Explanation, NodeScore
from labelwood.models.fit_input import FitInput, TrainedOn
from labelwood.models.fitted import Fitted
from labelwood.params import Params, param
from labelwood.storage.schema import ArrayRule, Arrays, Schema
from labelwood.topk import TopK, empty

Ints = npt.NDArray[np.int32]
_PASSES, _EPS = 20, 0.1  # of the separators' solver, as in the authors' program


@dataclass(frozen=True)
class FastXMLParams(Params):
    """Parameters of fastxml."""

    n_trees: int = param(50, "trees whose leaves are averaged", low=1, high=10_000)
    C: float = param(
        1.0, "cost of a row on the wrong side of a node, beside the size of the weights", low=0, low_open=True
    )
    max_leaf: int = param(10, "a node with at most so many rows is a leaf", low=1)
    leaf_labels: int = param(100, "labels that a leaf keeps, the most frequent ones", low=1)


@dataclass(frozen=True, eq=False)
class FittedFastXML(Fitted[FastXMLParams]):
    """All trees in one array of nodes: children left[n] and left[n] + 1, or -1 for a leaf with its labels' shares."""

    name = "fastxml"
    nodes: Arrays
    _forest: _native.RowForest = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            forest = _native.RowForest(**self.nodes, n_features=self.n_features, n_labels=self.n_labels)
        except ValueError as error:
            raise ModelFileError(f"fastxml: {error}") from None
        object.__setattr__(self, "_forest", forest)

    def predict(self, x: sparse.csr_matrix, k: int, n_threads: int | None = None) -> TopK:
        """The k labels with the largest mean shares; labels of no leaf are no answers."""
        top = empty(x.shape[0], k)
        self._forest.top_k(row_pointers(x), column_ids(x), x.data, top.labels, top.scores, n_threads or 0)
        return top

    def explain(self, row: sparse.csr_matrix, label: int, n_threads: int | None = None) -> Explanation:
        """The label's share in the leaf of every tree that knows it."""
        roots, starts = self.nodes["roots"], self.nodes["label_starts"]
        leaves = np.empty((1, len(roots)), np.int32)
        self._forest.leaves(row_pointers(row), column_ids(row), row.data, leaves, n_threads or 0)
        parts = []
        for leaf in leaves[0].tolist():
            here = slice(starts[leaf], starts[leaf + 1])
            share = float(self.nodes["shares"][here][self.nodes["labels"][here] == label].sum())
            if share:
                parts.append(Contribution(0, -1, share, 1 / len(roots), share / len(roots)))
        score = math.fsum(part.contribution for part in parts)
        log_score = math.log(score) if score > 0 else -math.inf
        return Explanation(label, score, (NodeScore(0, score, log_score),), tuple(parts))

    def structure(self) -> dict[str, float]:
        """Trees, nodes, and the mean number of weights of a separator."""
        left = self.nodes["left"]
        inner = int(np.count_nonzero(left >= 0))
        return {
            "trees": float(len(self.nodes["roots"])),
            "nodes": float(len(left)),
            "weights a node": len(self.nodes["weights"]) / max(1, inner),
        }

    @classmethod
    def schema(cls, settings: FastXMLParams, facts: Mapping[str, Any]) -> Schema:
        """The nodes, their separators, and the labels of the leaves."""
        return {
            "roots": ArrayRule("int32", ("n_trees",), low=0, below="n_nodes"),
            "left": ArrayRule("int32", ("n_nodes",), low=-1, below="n_nodes"),
            "weight_starts": ArrayRule("int64", ("n_nodes+1",), low=0),
            "weight_columns": ArrayRule("int32", ("n_weights",), low=0),
            "weights": ArrayRule("float32", ("n_weights",), finite=True),
            "label_starts": ArrayRule("int64", ("n_nodes+1",), low=0),
            "labels": ArrayRule("int32", ("n_shares",), low=0, below="n_labels"),
            "shares": ArrayRule("float32", ("n_shares",), low=0, finite=True),
        }

    def arrays(self) -> Arrays:
        """The nodes."""
        return dict(self.nodes)

    @classmethod
    def restore(
        cls, settings: FastXMLParams, trained_on: TrainedOn, arrays: Arrays, facts: Mapping[str, Any]
    ) -> FittedFastXML:
        """The state of saved nodes; ModelFileError if they are no forest."""
        return cls(settings, trained_on, dict(arrays))


class FastXML(Model[FastXMLParams, FittedFastXML]):
    """Trees that cut the training rows in two again and again; a score is a label's mean share of the leaves' rows.

    Prabhu and Varma, FastXML: a fast, accurate and stable tree-classifier for extreme multi-label learning, KDD 2014. A
    node's rows go where a ranking of the labels serves them better (nDCG), and a sparse logistic separator (L1) learns
    to tell the two sides apart. Rows count as they are, not at length 1. Training uses one thread.
    """

    name = "fastxml"
    Parameters = FastXMLParams
    FittedState = FittedFastXML

    @staticmethod
    def _train(settings: FastXMLParams, data: FitInput) -> FittedFastXML:
        labelled = np.flatnonzero(np.diff(data.y.indptr))
        x, y = data.x[labelled], data.y[labelled]
        splitter = _native.RowSplitter(
            row_pointers(x), column_ids(x), x.data, x.shape[1], row_pointers(y), column_ids(y),
            np.ones(data.n_labels, np.float32), settings.C, _PASSES, _EPS,
        )  # fmt: skip
        forest = _Nodes()
        for number in range(settings.n_trees):
            data.progress.step("trees", number, settings.n_trees)
            _grow(forest, splitter, x, y, settings, int(keyed_bits(settings.seed, 0x66786D6C, number)))
        data.progress.step("trees", settings.n_trees, settings.n_trees)
        return FittedFastXML(settings, data.trained_on(), forest.arrays())

    @staticmethod
    def _training_memory(settings: FastXMLParams, data: FitInput) -> int:
        # A tree has at most two nodes a row; leaves keep what their rows have, separators seldom more than their rows.
        per_tree = 32 * data.x.shape[0] + 8 * data.y.nnz + 8 * min(data.x.nnz, 200 * data.x.shape[0])
        return int(settings.n_trees * per_tree + 48 * data.x.nnz + 16 * (data.x.shape[1] + data.n_labels))


class _Nodes:
    """The nodes of all trees, one behind the other, while they grow."""

    def __init__(self) -> None:
        self.roots: list[int] = []
        self.left: list[int] = []
        self.separators: list[tuple[Ints, npt.NDArray[np.float32]]] = []
        self.leaves: list[tuple[Ints, npt.NDArray[np.float32]]] = []

    def add(self) -> int:
        """The number of a new leaf without labels."""
        nothing = np.empty(0, np.int32), np.empty(0, np.float32)
        self.left.append(-1)
        self.separators.append(nothing)
        self.leaves.append(nothing)
        return len(self.left) - 1

    def arrays(self) -> Arrays:
        """The nodes as the schema has them."""
        weight_starts, weight_columns, weights = _joined(self.separators)
        label_starts, labels, shares = _joined(self.leaves)
        return {
            "roots": np.array(self.roots, np.int32), "left": np.array(self.left, np.int32),
            "weight_starts": weight_starts, "weight_columns": weight_columns, "weights": weights,
            "label_starts": label_starts, "labels": labels, "shares": shares,
        }  # fmt: skip


def _joined(parts: list[tuple[Ints, npt.NDArray[np.float32]]]) -> tuple[Any, Any, Any]:
    starts = np.concatenate([[0], np.cumsum([len(ids) for ids, _ in parts])]).astype(np.int64)
    return starts, np.concatenate([ids for ids, _ in parts]), np.concatenate([values for _, values in parts])


def _grow(
    forest: _Nodes,
    splitter: _native.RowSplitter,
    x: sparse.csr_matrix,
    y: sparse.csr_matrix,
    settings: FastXMLParams,
    seed: int,
) -> None:
    """Add one tree over all rows to the forest."""
    columns, weights = np.empty(x.shape[1] + 1, np.int32), np.empty(x.shape[1] + 1, np.float32)
    root = forest.add()
    forest.roots.append(root)
    waiting = [(root, np.arange(x.shape[0], dtype=np.int32))]
    while waiting:
        node, rows = waiting.pop()
        if len(rows) > settings.max_leaf:
            sides = np.empty(len(rows), np.uint8)
            n_weights = splitter.split(rows, int(keyed_bits(seed, node - root)), sides, columns, weights)
            right = sides.astype(bool)
            if right.any() and not right.all():
                forest.separators[node] = columns[:n_weights].copy(), weights[:n_weights].copy()
                left = forest.left[node] = forest.add()
                waiting += [(forest.add(), rows[right]), (left, rows[~right])]
                continue
        forest.leaves[node] = _leaf(y, rows, settings.leaf_labels)


def _leaf(y: sparse.csr_matrix, rows: Ints, most: int) -> tuple[Ints, npt.NDArray[np.float32]]:
    """(labels, shares of the leaf's rows that have them): the most frequent ones, by label."""
    if len(rows) == 0:
        return np.empty(0, np.int32), np.empty(0, np.float32)
    given = np.concatenate([y.indices[y.indptr[row] : y.indptr[row + 1]] for row in rows.tolist()])
    labels, counts = np.unique(given, return_counts=True)
    kept = np.sort(np.lexsort((labels, -counts))[:most])
    return labels[kept].astype(np.int32), (counts[kept] / len(rows)).astype(np.float32)
