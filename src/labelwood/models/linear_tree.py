"""LinearTree: linear classifiers in a label tree, searched best first; the workhorse for large label sets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import DataError, ModelFileError
from labelwood.labelindex.build import build_tree
from labelwood.labelindex.interpolated import balance_of_ratio
from labelwood.labelindex.tree import LabelTree
from labelwood.labelspace.frequencies import cover_frequencies, label_frequencies
from labelwood.labelspace.pifa import label_vectors
from labelwood.matrices import normalized_rows
from labelwood.models.base import Arrays, Model
from labelwood.models.explanation import Contribution, Explanation, NodeScore
from labelwood.models.linear_reasons import classifier_reasons, columns_of_ranks
from labelwood.models.tree_nodes import first_blocks, label_filter, search_tree, training_nodes
from labelwood.models.weight_blocks import (
    LOSSES,
    WeightBlocks,
    rank_features,
    ranked_rows,
    solver_options,
    train_blocks,
    training_memory,
)
from labelwood.params import Params, param
from labelwood.progress import Progress
from labelwood.topk import TopK, empty

# Path scores are cut off here, as in the native search: exp of less is 0 in a float.
LOWEST_SCORE = -80.0
LINKS = ("hinge2", "hinge3", "log-sigmoid")
# Each tree of a forest is asked for this many more labels than wanted: a label that one tree ranks low may still win.
SPARE_LABELS = 10


@dataclass(frozen=True)
class LinearTreeParams(Params):
    """Parameters of the linear tree."""

    balance: float = param(0.0, "from 0: similar labels together, to 2: popular labels near the root", low=0, high=2)
    balance_ratio: float | None = param(None, "the same knob from 0 up: balance = 2 r / (1 + r)", low=0, kind=float)
    cover: str = param(
        "marginal", "which of its labels a row counts for, where frequency rules", choices=("marginal", "greedy")
    )
    path: str = param(
        "waypoint",
        "from similarity to frequency by way of weighted 2-means, or directly",
        choices=("waypoint", "direct"),
    )
    n_trees: int = param(1, "trees to average, each with its own seed", low=1, high=1000)
    arity: int = param(256, "children of a node, at most", low=2, high=1024)
    max_leaf: int = param(256, "labels in a leaf, at most", low=1)
    C: float = param(1.0, "cost of an error: larger fits the training rows closer", low=0, low_open=True)
    rare_power: float = param(
        0.15, "a label with n rows gets the cost C (20 / n)^rare_power; 0: all labels the same", low=0, high=2
    )
    loss: str = param("squared-hinge", "what an error costs", choices=LOSSES)
    eps: float = param(0.1, "stop when no dual gradient is larger", low=0, low_open=True)
    max_passes: int = param(20, "stop after this many passes over a node's rows", low=1)
    bias: float = param(1.0, "value of the constant feature; 0: no bias", low=0)
    prune: float = param(0.1, "weights smaller than this are dropped", low=0)
    normalize: bool = param(True, "scale rows to length 1 first")
    link: str = param("hinge3", "how a margin becomes a log score", choices=LINKS)
    beam: int = param(0, "nodes kept per level; 0: exact best-first search", low=0)


@dataclass(frozen=True)
class SearchResult:
    """What a search found and what it cost: blocks evaluated and the depth of the deepest answer, for every row."""

    top: TopK
    n_blocks: npt.NDArray[np.int32]
    depth: npt.NDArray[np.float64]


class LinearTree(Model):
    """A tree of linear classifiers: every child has one for "some right label is below me, given my parent".

    The tree comes from balanced 2-means on label vectors (Parabel, Prabhu et al. 2018), pulled towards a frequency
    code by `balance` (interpolated label trees). Scores are exp of the sum of link(margin) along the path, in (0, 1].
    """

    name = "linear-tree"
    Parameters = LinearTreeParams

    # training

    def _fit(self, x: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any, progress: Progress) -> None:
        self.feature_rank_ = rank_features(x)
        n_features = int(self.feature_rank_.max(initial=-1)) + 1
        rows = ranked_rows(x, self.feature_rank_, parameters.normalize)
        vectors = label_vectors(normalized_rows(x), y, n_threads=parameters.n_threads)
        options = solver_options(parameters)
        by_label = y.tocsc()
        trees, blocks = [], []
        for number in range(parameters.n_trees):
            which = "" if parameters.n_trees == 1 else f" of tree {number + 1}"
            tree = self._tree(vectors, y, parameters, number, progress)
            in_order = by_label[:, tree.label_order]
            nodes = training_nodes(tree)
            trees.append(tree)
            blocks.append(train_blocks(rows, n_features, in_order, nodes, options, progress, f"classifiers{which}"))
        self._take(trees, blocks)

    def _tree(
        self, vectors: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any, number: int, progress: Progress
    ) -> LabelTree:
        balance = parameters.balance
        if parameters.balance_ratio is not None:
            balance = balance_of_ratio(parameters.balance_ratio)
        direct = parameters.path == "direct"
        needs_cover = balance > (0 if direct else 1)
        return build_tree(
            "direct" if direct else "interpolated",
            vectors=vectors,
            frequencies=label_frequencies(y) if y.nnz else np.ones(y.shape[1]),
            cover_frequencies=cover_frequencies(y, parameters.cover) if needs_cover and y.nnz else None,
            balance=balance,
            max_leaf=parameters.max_leaf,
            collapse=merged_levels(y.shape[1], parameters.max_leaf, parameters.arity),
            seed=parameters.seed + number,
            n_threads=parameters.n_threads,
            progress=progress,
        )

    def _estimate_memory(self, x: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any) -> int:
        # label vectors, then the blocks of every tree
        return training_memory(x, y, parameters.n_threads, per_weight=8 + 6 * parameters.n_trees)

    def _take(self, trees: list[LabelTree], blocks: list[WeightBlocks]) -> None:
        self.trees_ = trees
        self.blocks_ = blocks
        found = [search_tree(tree, weights) for tree, weights in zip(trees, blocks, strict=True)]
        self._forest = _native.Forest([weights.native for weights in blocks], found, self.feature_rank_)

    # answering

    def predict(
        self,
        x: Any,
        k: int = 5,
        *,
        allow: Iterable[int] | None = None,
        deny: Iterable[int] | None = None,
        beam: int | None = None,
    ) -> TopK:
        """The k best labels of every row of x, best first; -1 padded.

        allow, deny: only these labels, or all but these; the search itself skips the others. beam: nodes kept per level
        (0: exact best-first search), if it should differ from the trained setting.
        """
        if allow is None and deny is None and beam is None:
            return self._one_row(x, k) or super().predict(x, k)
        return self.search(x, k, allow=allow, deny=deny, beam=beam).top

    def search(
        self,
        x: Any,
        k: int = 5,
        *,
        allow: Iterable[int] | None = None,
        deny: Iterable[int] | None = None,
        beam: int | None = None,
        max_blocks: int = 0,
    ) -> SearchResult:
        """The answers of `predict` with what they cost; max_blocks stops each tree's search after so many blocks."""
        self._check_fitted()
        self._check_k(k)
        features = self._checked_features(x)
        places, nodes = self._filters(allow, deny)
        width = min(int(k), self.n_labels_)
        top, n_blocks = self._search(
            features, width, self.parameters_.beam if beam is None else beam, max_blocks, places, nodes
        )
        depths = np.mean([tree.depth_of_labels() for tree in self.trees_], axis=0)
        deepest = np.where(top.labels >= 0, depths[top.labels], 0).max(axis=1, initial=0)
        return SearchResult(top.cut(int(k)), n_blocks, deepest)

    def query(
        self, columns: npt.NDArray[np.int32], values: npt.NDArray[np.float32], k: int = 5
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """(labels, scores) of one row given by its rising columns and their values: the quickest way to ask.

        The same answer as `predict` on that row; fewer than k labels may come back.
        """
        self._check_fitted()
        self._check_k(k)
        top = self._query(columns, values, min(int(k), self.n_labels_))
        if top is None:
            row = sparse.csr_matrix((values, columns, [0, len(columns)]), shape=(1, self.n_features_))
            top = super().predict(row, k)
        found = int((top.labels[0] >= 0).sum())
        return top.labels[0, :found], top.scores[0, :found]

    def _one_row(self, x: Any, k: int) -> TopK | None:
        """The answer for a plain float32 CSR row without the checks and copies that a batch needs; else None."""
        if (
            type(x) not in (sparse.csr_matrix, sparse.csr_array)
            or type(k) is not int
            or not hasattr(self, "n_labels_")
            or x.shape != (1, self.n_features_)
            or x.data.dtype != np.float32
            or x.indices.dtype != np.int32
            or not 1 <= k <= self.n_labels_
        ):
            return None
        n = x.indptr[1]  # scipy may keep arrays longer than the row
        return self._query(x.indices[:n], x.data[:n], k)

    def _query(self, columns: npt.NDArray[np.int32], values: npt.NDArray[np.float32], k: int) -> TopK | None:
        top = empty(1, k)
        p = self.parameters_
        found = self._forest.query(
            columns, values, p.normalize, LINKS.index(p.link), p.beam, self._k_each(k), top.labels[0], top.scores[0]
        )
        return top if found >= 0 else None

    def _predict(self, x: sparse.csr_matrix, k: int) -> TopK:
        none = np.zeros(0, np.uint8)
        return self._search(x, k, self.parameters_.beam, 0, none, none)[0]

    def _search(
        self,
        x: sparse.csr_matrix,
        k: int,
        beam: int,
        max_blocks: int,
        places: npt.NDArray[np.uint8],
        nodes: npt.NDArray[np.uint8],
    ) -> tuple[TopK, npt.NDArray[np.int32]]:
        p = self.parameters_
        rows = ranked_rows(x, self.feature_rank_, p.normalize)
        top = empty(x.shape[0], k)
        n_blocks = np.zeros(x.shape[0], np.int32)
        self._forest.top_k(
            rows.indptr, rows.indices, rows.data, LINKS.index(p.link), beam, max_blocks, self._k_each(k), places, nodes,
            top.labels, top.scores, n_blocks, p.n_threads or 0,
        )  # fmt: skip
        return top, n_blocks

    def _k_each(self, k: int) -> int:
        return k if len(self.trees_) == 1 else min(k + SPARE_LABELS, self.n_labels_)

    def _filters(
        self, allow: Iterable[int] | None, deny: Iterable[int] | None
    ) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
        if allow is None and deny is None:
            return np.zeros(0, np.uint8), np.zeros(0, np.uint8)
        mask = np.full(self.n_labels_, allow is None)
        for labels, value in ((allow, True), (deny, False)):
            if labels is None:
                continue
            chosen = np.asarray(list(labels), dtype=np.int64)
            bad = chosen[(chosen < 0) | (chosen >= self.n_labels_)]
            if len(bad):
                raise DataError(f"label {bad[0]} of the filter is outside 0..{self.n_labels_ - 1}")
            mask[chosen] = value
        parts = [label_filter(tree, mask) for tree in self.trees_]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    # figures

    def search_figures(self, x: Any, k: int = 5) -> dict[str, float]:
        """What k answers cost, mean per row: depth of the deepest ("depth@k") and weight blocks read ("blocks@k")."""
        if not self._checked_features(x).shape[0]:
            return {}
        found = self.search(x, k)
        return {f"depth@{k}": float(found.depth.mean()), f"blocks@{k}": float(found.n_blocks.mean())}

    def structure(self) -> dict[str, float]:
        """Nodes, depth, leaf sizes and expected depth of the trees (means over several); see docs/methods."""
        self._check_fitted()
        weights = self.label_counts_ if self.label_counts_.any() else np.ones(self.n_labels_)
        sizes = np.concatenate([tree.n_labels_in[tree.leaves] for tree in self.trees_])
        return {
            "trees": len(self.trees_),
            "nodes": int(sum(tree.n_nodes for tree in self.trees_)),
            "leaves": len(sizes),
            "largest arity": max(tree.arity for tree in self.trees_),
            "deepest leaf": max(tree.max_depth for tree in self.trees_),
            "smallest leaf": int(sizes.min()),
            "mean leaf": float(sizes.mean()),
            "largest leaf": int(sizes.max()),
            "expected depth": float(np.mean([tree.expected_depth(weights) for tree in self.trees_])),
        }

    # explanations

    def _explain(self, row: sparse.csr_matrix, label: int) -> Explanation:
        p = self.parameters_
        rows = ranked_rows(row, self.feature_rank_, p.normalize)
        # Of several trees the first is explained: its path, its score.
        tree, blocks = self.trees_[0], self.blocks_[0]
        columns = columns_of_ranks(self.feature_rank_, blocks.n_features)
        nodes: list[NodeScore] = []
        parts: list[Contribution] = []
        path_score = 0.0
        for node, classifier in self._classifiers(tree, label):
            reasons = classifier_reasons(blocks, classifier, node, rows, columns)
            parts.extend(reasons)
            margin = sum(reason.contribution for reason in reasons)
            below = max(LOWEST_SCORE, path_score + _log_score(p.link, margin))
            nodes.append(NodeScore(node, margin, below - path_score))
            path_score = below
        return Explanation(label, float(np.exp(path_score)), tuple(nodes), tuple(parts))

    def _classifiers(self, tree: LabelTree, label: int) -> list[tuple[int, int]]:
        """(node, number of the classifier) from the root's child down to the label's own.

        The label's own classifier counts as a node of its own, n_nodes + label, unless it is alone in its leaf: then
        the leaf's classifier is its own.
        """
        blocks = self.blocks_[0]
        first = blocks.child_start[first_blocks(tree)]
        path = [int(node) for node in tree.path(label)]
        found = [
            (child, int(first[parent]) + child - int(tree.first_child[parent])) for parent, child in pairwise(path)
        ]
        leaf = path[-1]
        if found and tree.n_labels_in[leaf] == 1:
            return found
        place = int(np.flatnonzero(tree.labels_below(leaf) == label)[0])
        return [*found, (tree.n_nodes + label, int(first[leaf]) + place)]

    # storage

    def _arrays(self) -> Arrays:
        arrays: Arrays = {"feature_rank": self.feature_rank_}
        for number, (tree, blocks) in enumerate(zip(self.trees_, self.blocks_, strict=True)):
            arrays.update({f"tree{number}.{name}": array for name, array in tree.to_arrays().items()})
            arrays.update(blocks.to_arrays(f"blocks{number}."))
        return arrays

    def _restore(self, arrays: Arrays, facts: Mapping[str, Any]) -> None:
        rank = arrays["feature_rank"]
        if rank.shape != (self.n_features_,) or rank.dtype != np.int32:
            raise ModelFileError(
                f"linear-tree: {rank.shape} feature ranks ({rank.dtype}) for {self.n_features_} features"
            )
        self.feature_rank_ = rank
        n_features = int(rank.max(initial=-1)) + 1
        trees, blocks = [], []
        for number in range(self.parameters_.n_trees):
            prefix = f"tree{number}."
            own = {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
            trees.append(LabelTree.from_arrays(own))
            blocks.append(WeightBlocks.from_arrays(n_features, arrays, f"blocks{number}."))
            if trees[-1].n_labels != self.n_labels_:
                raise ModelFileError(f"linear-tree: a tree of {trees[-1].n_labels} labels for {self.n_labels_} labels")
        try:
            self._take(trees, blocks)
        except ValueError as error:
            raise ModelFileError(f"linear-tree: {error}") from error


def merged_levels(n_labels: int, max_leaf: int, arity: int) -> int:
    """How many levels of a binary tree become one, so that nodes have at most `arity` children and levels are even.

    100,000 labels in leaves of 256 need 9 binary levels: 5 and 4 (32 and 16 children) train in about half the time of
    8 and 1 (256 and 2), at the same precision within 0.5.
    """
    binary_levels = max(1, math.ceil(math.log2(max(2, n_labels / max_leaf))))
    most = arity.bit_length() - 1
    steps = math.ceil(binary_levels / most)
    return math.ceil(binary_levels / steps)


def _log_score(link: str, margin: float) -> float:
    """What a classifier's margin adds to the log score of a path; the native search computes the same."""
    if link == "log-sigmoid":
        return float(-np.logaddexp(0, -2 * margin))
    lack = max(0.0, 1.0 - margin)
    return float(-(lack**2 if link == "hinge2" else lack**3))
