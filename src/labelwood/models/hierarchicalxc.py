"""HierarchicalXC: a tree of labels that come together, a classifier for each child, probabilities along the path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from labelwood import _native
from labelwood.errors import ModelFileError
from labelwood.labelindex.agglomerative import DISTANCES, TIES, cooccurrence_tree
from labelwood.labelindex.tree import LabelTree
from labelwood.labelspace.pifa import label_features
from labelwood.matrices import normalized_rows
from labelwood.models.base import Arrays, Model
from labelwood.models.explanation import Contribution, Explanation, NodeScore
from labelwood.models.linear.linear_tree_params import LINKS
from labelwood.models.linear.tree_nodes import first_blocks, search_tree, training_nodes
from labelwood.models.linear.tree_reasons import LOWEST_SCORE, log_score
from labelwood.models.linear.weight_blocks import (
    LOSSES,
    WeightBlocks,
    rank_features,
    ranked_rows,
    solver_options,
    train_blocks,
    training_memory,
)
from labelwood.models.linear_encoding import encoded, linear_encoding
from labelwood.params import Params, param
from labelwood.progress import Progress
from labelwood.topk import TopK, empty


@dataclass(frozen=True)
class HierarchicalXCParams(Params):
    """Parameters of hierarchicalxc."""

    distance: str = param("jaccard", "how far apart labels are: by shared rows", choices=DISTANCES)
    ties: str = param("rounds", "how clusters without a shared row are joined", choices=TIES)
    encoding_dim: int = param(0, "width of a linear autoencoder's code as input; 0: the features themselves", low=0)
    C: float = param(1.0, "cost of an error: larger fits the training rows closer", low=0, low_open=True)
    rare_power: float = param(
        0.15, "a label with n rows gets the cost C (20 / n)^rare_power; 0: all labels the same", low=0, high=2
    )
    loss: str = param("squared-hinge", "what an error costs", choices=LOSSES)
    eps: float = param(0.1, "stop when no dual gradient is larger", low=0, low_open=True)
    max_passes: int = param(20, "stop after this many passes over a node's rows", low=1)
    bias: float = param(1.0, "value of the constant feature; 0: no bias", low=0)
    prune: float = param(0.05, "weights smaller than this are dropped", low=0)
    normalize: bool = param(True, "scale rows to length 1 first")
    link: str = param("hinge3", "how a margin becomes a log score", choices=LINKS)


class HierarchicalXC(Model):
    """A binary tree by complete linkage on co-occurrence, with a linear classifier for each child.

    A node's rows are those with a label below it, its targets whether some are below the left and the right child. The
    score of a label is the product along its path, and the k best are found exactly, best first. With encoding_dim the
    classifiers see the code of a linear autoencoder in place of the features.
    """

    name = "hierarchicalxc"
    Parameters = HierarchicalXCParams

    def _fit(self, x: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any, progress: Progress) -> None:
        self.encoder_ = None
        if parameters.encoding_dim:
            self.encoder_ = linear_encoding(normalized_rows(x), parameters.encoding_dim, parameters.seed)
        codes = self._codes(x)
        rank = rank_features(codes)
        n_features = int(rank.max(initial=-1)) + 1
        tree = cooccurrence_tree(y, distance=parameters.distance, ties=parameters.ties, progress=progress)
        blocks = train_blocks(
            ranked_rows(codes, rank, parameters.normalize), n_features, y.tocsc()[:, tree.label_order],
            training_nodes(tree), solver_options(parameters), progress, "classifiers",
        )  # fmt: skip
        self._take(rank, tree, blocks)

    def _codes(self, x: sparse.csr_matrix) -> sparse.csr_matrix:
        return x if self.encoder_ is None else encoded(normalized_rows(x), self.encoder_)

    def _estimate_memory(self, x: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any) -> int:
        # pairs of labels that share a row, as Python dictionaries on both sides; classifiers on every level of the tree
        sizes = np.diff(y.indptr).astype(np.int64)
        pairs = min(int((sizes * sizes).sum()), y.shape[1] ** 2)
        codes = 8 * x.shape[0] * parameters.encoding_dim
        levels = 2 * int(np.ceil(np.log2(y.shape[1] + 1)))
        weights = 14 * label_features(x, y, parameters.n_threads) * min(levels, 4)
        return int(training_memory(x, y, parameters.n_threads, per_weight=14) + 250 * pairs + codes + weights)

    def _take(self, rank: np.ndarray[Any, np.dtype[np.int32]], tree: LabelTree, blocks: WeightBlocks) -> None:
        self.feature_rank_ = rank
        self.tree_ = tree
        self.blocks_ = blocks
        self._forest = _native.Forest([blocks.native], [search_tree(tree, blocks)], rank)

    # answering

    def _predict(self, x: sparse.csr_matrix, k: int) -> TopK:
        return self._search(x, k)[0]

    def _search(self, x: sparse.csr_matrix, k: int) -> tuple[TopK, np.ndarray[Any, np.dtype[np.int32]]]:
        p = self.parameters_
        rows = ranked_rows(self._codes(x), self.feature_rank_, p.normalize)
        top, n_blocks, none = empty(x.shape[0], k), np.zeros(x.shape[0], np.int32), np.zeros(0, np.uint8)
        self._forest.top_k(
            rows.indptr, rows.indices, rows.data, LINKS.index(p.link), 0, 0, k, none, none,
            top.labels, top.scores, n_blocks, p.n_threads or 0,
        )  # fmt: skip
        return top, n_blocks

    def search_figures(self, x: Any, k: int = 5) -> dict[str, float]:
        """What k answers cost, mean per row: depth of the deepest ("depth@k") and tree nodes looked at ("nodes@k")."""
        self._check_fitted()
        features = self._checked_features(x)
        if not features.shape[0]:
            return {}
        top, n_blocks = self._search(features, min(k, self.n_labels_))
        depths = np.where(top.labels >= 0, self.tree_.depth_of_labels()[top.labels], 0).max(axis=1)
        return {f"depth@{k}": float(depths.mean()), f"nodes@{k}": float(n_blocks.mean())}

    def structure(self) -> dict[str, float]:
        """Nodes and depth of the tree."""
        self._check_fitted()
        weights = self.label_counts_ if self.label_counts_.any() else np.ones(self.n_labels_)
        return {
            "nodes": self.tree_.n_nodes,
            "deepest label": self.tree_.max_depth,
            "expected depth": self.tree_.expected_depth(weights),
        }

    def _explain(self, row: sparse.csr_matrix, label: int) -> Explanation:
        p = self.parameters_
        codes = ranked_rows(self._codes(row), self.feature_rank_, p.normalize)
        columns = np.full(int(self.feature_rank_.max(initial=-1)) + 1, -1, np.int64)
        columns[self.feature_rank_[self.feature_rank_ >= 0]] = np.flatnonzero(self.feature_rank_ >= 0)
        nodes: list[NodeScore] = []
        parts: list[Contribution] = []
        score = 0.0
        for node, classifier in self._classifiers(label):
            weights, bias = self.blocks_.weights_of(classifier, codes.indices)
            if not np.all(np.isfinite(weights)):
                raise ModelFileError(f"the weights of classifier {classifier} are damaged: some are not finite")
            own = self._pushes(row, columns[codes.indices], codes.data, weights)
            pushes = [Contribution(node, -1, 1.0, bias, bias), *(Contribution(node, *push) for push in own)]
            margin = sum(push.contribution for push in pushes)
            below = max(LOWEST_SCORE, score + log_score(p.link, margin))
            nodes.append(NodeScore(node, margin, below - score))
            parts += pushes
            score = below
        return Explanation(label, float(np.exp(score)), tuple(nodes), tuple(parts))

    def _pushes(
        self, row: sparse.csr_matrix, columns: Any, values: Any, weights: Any
    ) -> list[tuple[int, float, float, float]]:
        """(feature, value, weight, value * weight) of the row's features at one node."""
        if self.encoder_ is None:
            found = zip(columns.tolist(), values.tolist(), weights.tolist(), strict=True)
            return [(c, v, w, v * w) for c, v, w in found if w != 0]
        # The code is linear in the features, but for its length: a feature's share of every coordinate is known.
        code = encoded(normalized_rows(row), self.encoder_)
        length = float(np.sqrt(np.square(code.data, dtype=np.float64).sum())) if self.parameters_.normalize else 1.0
        scaled = normalized_rows(row).data / (length or 1.0)
        pushes = scaled * (self.encoder_[row.indices][:, columns].astype(np.float64) @ weights)
        found = zip(row.indices.tolist(), row.data.tolist(), pushes.tolist(), strict=True)
        return [(c, v, push / v, push) for c, v, push in found if v != 0]

    def _classifiers(self, label: int) -> list[tuple[int, int]]:
        """(node, number of the classifier) from the root's child down to the label's leaf."""
        first = self.blocks_.child_start[first_blocks(self.tree_)]
        path = [int(node) for node in self.tree_.path(label)]
        if len(path) == 1:  # a single label: the root's own classifier
            return [(1, 0)]
        return [
            (child, int(first[parent]) + child - int(self.tree_.first_child[parent]))
            for parent, child in pairwise(path)
        ]

    # storage

    def _arrays(self) -> Arrays:
        arrays: Arrays = {"feature_rank": self.feature_rank_, **self.blocks_.to_arrays()}
        arrays.update({f"tree.{name}": array for name, array in self.tree_.to_arrays().items()})
        if self.encoder_ is not None:
            arrays["encoder"] = self.encoder_
        return arrays

    def _restore(self, arrays: Arrays, facts: Mapping[str, Any]) -> None:
        self.encoder_ = arrays["encoder"] if self.parameters_.encoding_dim else None
        width = self.n_features_
        if self.encoder_ is not None:
            if self.encoder_.dtype != np.float32 or self.encoder_.ndim != 2 or self.encoder_.shape[0] != width:
                raise ModelFileError(
                    f"hierarchicalxc: the encoder must be float32 ({width}, dim), but is {self.encoder_.dtype} "
                    f"{self.encoder_.shape}"
                )
            width = int(self.encoder_.shape[1])
        rank = arrays["feature_rank"]
        if rank.shape != (width,) or rank.dtype != np.int32:
            raise ModelFileError(f"hierarchicalxc: {rank.shape} feature ranks ({rank.dtype}) for {width} features")
        prefix = "tree."
        own = {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
        tree = LabelTree.from_arrays(own)
        if tree.n_labels != self.n_labels_:
            raise ModelFileError(f"hierarchicalxc: a tree of {tree.n_labels} labels for {self.n_labels_} labels")
        try:
            blocks = WeightBlocks.from_arrays(int(rank.max(initial=-1)) + 1, arrays)
            self._take(rank, tree, blocks)
        except ValueError as error:
            raise ModelFileError(f"hierarchicalxc: {error}") from error
