"""A forest of label trees that answers: search, single rows, filters, figures, reasons, and how it is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import DataError, ModelFileError, ParamError
from labelwood.labelindex.tree import LabelTree
from labelwood.matrices import single_row
from labelwood.models.base import Arrays, Model
from labelwood.models.explanation import Explanation
from labelwood.models.linear.kept_rows import row_arrays, rows_from_arrays
from labelwood.models.linear.linear_tree_params import LINKS, LinearTreeParams, SearchResult
from labelwood.models.linear.tree_nodes import label_filter, search_tree
from labelwood.models.linear.tree_reasons import path_explanation
from labelwood.models.linear.weight_blocks import WeightBlocks, ranked_rows
from labelwood.topk import TopK, empty

F = TypeVar("F", bound="LabelForest")

# Each tree of a forest is asked for this many more labels than wanted: a label that one tree ranks low may still win.
SPARE_LABELS = 10
_NO_FILTER = (np.zeros(0, np.uint8), np.zeros(0, np.uint8))


class LabelForest(Model):
    """What a trained linear tree does; how it comes about is in linear_tree.py.

    A label's score is the mean over the trees of exp of the sum of link(margin) along its path, in (0, 1].
    """

    Parameters = LinearTreeParams

    def _take(
        self, trees: list[LabelTree], blocks: list[WeightBlocks], retired: npt.NDArray[np.int32] | None = None
    ) -> None:
        self.trees_ = trees
        self.blocks_ = blocks
        found = [search_tree(tree, weights) for tree, weights in zip(trees, blocks, strict=True)]
        self._forest = _native.Forest([weights.native for weights in blocks], found, self.feature_rank_)
        self._set_retired(np.zeros(0, np.int32) if retired is None else retired)

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
        slack: float = 0.0,
    ) -> SearchResult:
        """The answers of `predict` with what they cost, and two ways to bound it.

        max_blocks stops each tree's search after so many blocks. slack (0: exact) takes labels below a closed node to
        be worth at most the node's log score minus slack, and so leaves out nodes that would hardly matter.
        """
        self._check_fitted()
        if not slack >= 0:
            raise ParamError(f"slack must be a number from 0 up, but is {slack!r}")
        self._check_k(k)
        features = self._checked_features(x)
        places, nodes = self._filters(allow, deny)
        width = min(int(k), self.n_labels_)
        top, n_blocks = self._search(
            features, width, self.parameters_.beam if beam is None else beam, max_blocks, places, nodes, slack
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
        if type(k) is not int or not 0 < k <= getattr(self, "n_labels_", 0):
            self._check_fitted()
            self._check_k(k)
            k = min(int(k), self.n_labels_)
        labels, scores = np.empty(k, np.int32), np.empty(k, np.float32)
        found = self._query(columns, values, labels, scores, k) if self._standing is _NO_FILTER else -1
        if found < 0:
            top = super().predict(single_row(columns, values, self.n_features_), k)
            labels, scores, found = top.labels[0], top.scores[0], int((top.labels[0] >= 0).sum())
        return (labels, scores) if found == k else (labels[:found], scores[:found])

    def _one_row(self, x: Any, k: int) -> TopK | None:
        """The answer for a plain float32 CSR row without the checks and copies that a batch needs; else None."""
        if (
            getattr(self, "_standing", _NO_FILTER) is not _NO_FILTER
            or type(x) not in (sparse.csr_matrix, sparse.csr_array)
            or type(k) is not int
            or not hasattr(self, "n_labels_")
            or x.shape != (1, self.n_features_)
            or x.data.dtype != np.float32
            or x.indices.dtype != np.int32
            or not 1 <= k <= self.n_labels_
        ):
            return None
        n = x.indptr[1]  # scipy may keep arrays longer than the row
        top = empty(1, k)
        found = self._query(x.indices[:n], x.data[:n], top.labels[0], top.scores[0], k)
        return top if found >= 0 else None

    def _query(
        self,
        columns: npt.NDArray[np.int32],
        values: npt.NDArray[np.float32],
        labels: npt.NDArray[np.int32],
        scores: npt.NDArray[np.float32],
        k: int,
    ) -> int:
        """How many labels were found and written for a row; -1 if the row needs the general way."""
        p = self.parameters_
        found: int = self._forest.query(
            columns, values, p.normalize, LINKS.index(p.link), p.beam, self._k_each(k), labels, scores
        )
        return found

    def _predict(self, x: sparse.csr_matrix, k: int) -> TopK:
        return self._search(x, k, self.parameters_.beam, 0, *self._standing)[0]

    def _search(
        self,
        x: sparse.csr_matrix,
        k: int,
        beam: int,
        max_blocks: int,
        places: npt.NDArray[np.uint8],
        nodes: npt.NDArray[np.uint8],
        slack: float = 0.0,
    ) -> tuple[TopK, npt.NDArray[np.int32]]:
        p = self.parameters_
        rows = ranked_rows(x, self.feature_rank_, p.normalize)
        top = empty(x.shape[0], k)
        n_blocks = np.zeros(x.shape[0], np.int32)
        self._forest.top_k(
            rows.indptr, rows.indices, rows.data, LINKS.index(p.link), beam, max_blocks, self._k_each(k), places, nodes,
            top.labels, top.scores, n_blocks, p.n_threads or 0, slack,
        )  # fmt: skip
        return top, n_blocks

    def _k_each(self, k: int) -> int:
        return k if len(self.trees_) == 1 else min(k + SPARE_LABELS, self.n_labels_)

    def _filters(
        self, allow: Iterable[int] | None, deny: Iterable[int] | None
    ) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
        if allow is None and deny is None:
            return self._standing
        mask = np.full(self.n_labels_, allow is None)
        for labels, value in ((allow, True), (deny, False), (self.retired_, False)):
            if labels is not None:
                mask[self._checked_labels(labels, "the filter")] = value
        parts = [label_filter(tree, mask) for tree in self.trees_]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def _checked_labels(self, labels: Iterable[int], what: str) -> npt.NDArray[np.int64]:
        chosen = np.asarray(list(labels), dtype=np.int64)
        bad = chosen[(chosen < 0) | (chosen >= self.n_labels_)]
        if len(bad):
            raise DataError(f"label {bad[0]} of {what} is outside 0..{self.n_labels_ - 1}")
        return chosen

    # labels that are gone

    def retire(self: F, labels: Iterable[int]) -> F:
        """The model itself, which never answers these labels again; saved models remember it."""
        self._check_fitted()
        self._set_retired(np.union1d(self.retired_, self._checked_labels(labels, "retire")).astype(np.int32))
        return self

    def unretire(self: F, labels: Iterable[int]) -> F:
        """The model itself, which answers these retired labels again, as it was trained to."""
        self._check_fitted()
        self._set_retired(np.setdiff1d(self.retired_, self._checked_labels(labels, "unretire")).astype(np.int32))
        return self

    def _set_retired(self, retired: npt.NDArray[np.int32]) -> None:
        self.retired_ = retired
        if not len(retired):
            self._standing = _NO_FILTER
            return
        mask = np.ones(self.trees_[0].n_labels, bool)
        mask[retired] = False
        parts = [label_filter(tree, mask) for tree in self.trees_]
        self._standing = (np.concatenate([one for one, _ in parts]), np.concatenate([two for _, two in parts]))

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
            "C": self.C_,
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
        return path_explanation(self.trees_[0], self.blocks_[0], self.feature_rank_, rows, label, p.link)

    # storage

    def _arrays(self) -> Arrays:
        arrays: Arrays = {"feature_rank": self.feature_rank_}
        for number, (tree, blocks) in enumerate(zip(self.trees_, self.blocks_, strict=True)):
            arrays.update({f"tree{number}.{name}": array for name, array in tree.to_arrays().items()})
            arrays.update(blocks.to_arrays(f"blocks{number}."))
        if len(self.retired_):
            arrays["retired"] = self.retired_
        arrays.update(row_arrays(self.rows_))
        return arrays

    def _facts(self) -> dict[str, Any]:
        return {"C": self.C_}

    def _restore(self, arrays: Arrays, facts: Mapping[str, Any]) -> None:
        self.C_ = facts.get("C", self.parameters_.C)  # a folder of an earlier version has it among the parameters
        if not isinstance(self.C_, (int, float)) or not 0 < self.C_ < np.inf:
            raise ModelFileError(f"linear-tree: the cost C must be a number above 0, but is {self.C_!r}")
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
        retired = arrays.get("retired", np.zeros(0, np.int32))
        if retired.dtype != np.int32 or retired.ndim != 1 or not np.all((retired >= 0) & (retired < self.n_labels_)):
            raise ModelFileError(f"linear-tree: retired labels are no labels 0..{self.n_labels_ - 1}")
        self.rows_ = rows_from_arrays(arrays, self.n_rows_, self.n_features_, self.n_labels_)
        try:
            self._take(trees, blocks, retired)
        except ValueError as error:
            raise ModelFileError(f"linear-tree: {error}") from error
