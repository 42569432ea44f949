"""LinearTree: linear classifiers in a label tree, searched best first; the workhorse for large label sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.data.dataset import Dataset
from labelwood.errors import DataError, ModelFileError, ParamError
from labelwood.labelindex.tree import LabelTree
from labelwood.labelspace.pifa import label_vectors
from labelwood.labelspace.weighting import label_costs
from labelwood.matrices import as_labels, normalized_rows, single_row
from labelwood.models.base import Arrays, Model
from labelwood.models.block_edits import stored_as, within_budget
from labelwood.models.cost_choice import DEFAULT_COST, RowNumbers, chosen_cost, is_worth_choosing
from labelwood.models.explanation import Explanation
from labelwood.models.kept_rows import row_arrays, rows_from_arrays
from labelwood.models.linear_tree_params import LINKS, LinearTreeParams, SearchResult
from labelwood.models.tree_choice import built_tree, leaf_size, own_tree, vectors_for_tree
from labelwood.models.tree_nodes import label_filter, search_tree
from labelwood.models.tree_reasons import path_explanation
from labelwood.models.tree_training import TrainingRows, match_options, train_tree
from labelwood.models.tree_update import (
    Update,
    checked_growth,
    checked_rows,
    extended_ranks,
    grown_names,
    joined_rows,
    updated_tree,
)
from labelwood.models.weight_blocks import (
    WeightBlocks,
    rank_features,
    ranked_rows,
    solver_options,
    training_memory,
)
from labelwood.progress import SILENT, Progress
from labelwood.topk import TopK, empty

# Each tree of a forest is asked for this many more labels than wanted: a label that one tree ranks low may still win.
SPARE_LABELS = 10
# What a saved folder holds beside arrays, from above: the manifest and the file's header, for each tree and once more.
FOLDER_BYTES = 8192
_NO_FILTER = (np.zeros(0, np.uint8), np.zeros(0, np.uint8))


class LinearTree(Model):
    """A tree of linear classifiers: every child has one for "some right label is below me, given my parent".

    The tree comes from balanced 2-means on label vectors (Parabel, Prabhu et al. 2018), pulled towards a frequency
    code by `balance` (interpolated label trees). Scores are exp of the sum of link(margin) along the path, in (0, 1].
    """

    name = "linear-tree"
    Parameters = LinearTreeParams

    # training

    def fit(
        self,
        x: Any,
        y: Any = None,
        *,
        memory: int | None = None,
        progress: Progress = SILENT,
        tree: LabelTree | None = None,
        negatives: Any = None,
    ) -> LinearTree:
        """The model itself, trained on features x (n_rows, n_features) and labels y (n_rows, n_labels) or a Dataset.

        memory: refuse with BudgetError, before any work, if training would need more bytes than this beside the data.
        tree: your own tree over the labels, in place of the one made here. negatives: a matrix (n_rows, n_labels) whose
        entries name rows that each label's leaf, and the nodes above it, should also learn from.
        """
        self._given = (tree, None if negatives is None else as_labels(negatives, "negatives"))
        try:
            return super().fit(x, y, memory=memory, progress=progress)
        finally:
            del self._given

    def _fit(self, x: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any, progress: Progress) -> None:
        budget = parameters.budget_bytes()
        given, negatives = self._given
        if negatives is not None and negatives.shape != y.shape:
            raise DataError(f"negatives has the shape {negatives.shape}, but must have that of y, {y.shape}")
        own = own_tree(given, parameters, y.shape[1], self._words)
        parameters = replace(parameters, C=self._cost(x, y, parameters, own, negatives, progress))
        vectors = None if own is not None else vectors_for_tree(x, y, parameters, self._words)
        rank = rank_features(x)
        data = self._training_rows(x, y, rank, parameters, negatives)
        trees, blocks = [], []
        for number in range(parameters.n_trees):
            which = "" if parameters.n_trees == 1 else f" of tree {number + 1}"
            tree = built_tree(vectors, y, parameters, number, progress) if own is None else own
            trees.append(tree)
            seeded = replace(data, options=replace(data.options, seed=parameters.seed + (0 if own is None else number)))
            blocks.append(train_tree(seeded, tree, match_options(parameters), progress, f"classifiers{which}"))
        kept = (x.copy(), y.copy()) if parameters.keep_rows else None
        names = self._words.label_names
        self._finish(trees, blocks, rank, kept, np.zeros(0, np.int32), parameters, budget, y.shape[1], names)
        self.C_ = parameters.C

    def _cost(
        self,
        x: sparse.csr_matrix,
        y: sparse.csr_matrix,
        parameters: Any,
        own: LabelTree | None,
        negatives: sparse.csr_matrix | None,
        progress: Progress,
    ) -> float:
        """The cost given, or the one that held-out rows choose, for as many trees: several bear a larger one."""
        if parameters.C is not None:
            return float(parameters.C)
        if not is_worth_choosing(x, y):
            return DEFAULT_COST
        plain = {"tree": None, "label_features": 0.0, "size_budget": None, "keep_rows": False}

        def answers(cost: float, kept: RowNumbers, held: RowNumbers) -> TopK:
            trial = LinearTree(**{**parameters.as_dict(), **plain, "C": cost})
            trial.fit(x[kept], y[kept], tree=own, negatives=None if negatives is None else negatives[kept])
            return trial.predict(x[held], 5)

        return chosen_cost(y, answers, parameters.seed, progress)

    def _training_rows(
        self,
        x: sparse.csr_matrix,
        y: sparse.csr_matrix,
        rank: npt.NDArray[np.int32],
        parameters: Any,
        negatives: sparse.csr_matrix | None = None,
    ) -> TrainingRows:
        by_label = y.tocsc()
        return TrainingRows(
            rows=ranked_rows(x, rank, parameters.normalize),
            n_features=int(rank.max(initial=-1)) + 1,
            by_label=by_label,
            options=solver_options(
                parameters, positive=parameters.C_pos, negative=parameters.C_neg, cluster=parameters.C_cluster
            ),
            label_costs=label_costs(np.diff(by_label.indptr).astype(np.int64), y.shape[0], parameters.weighting),
            given_negatives=negatives,
        )

    def partial_fit(self, x: Any, y: Any = None, *, earlier: Any = None, progress: Progress = SILENT) -> LinearTree:
        """The model itself, taught new rows x with labels y (or a Dataset); an untrained model is fitted.

        Columns of y beyond those known are new labels. Only nodes above a label of a new row are trained again, from
        their present weights, on the earlier rows and the new ones. The earlier rows are those the model kept
        (keep_rows=True), or `earlier`, a pair (x, y) or a Dataset. Retired labels in y are answered again.
        """
        if not hasattr(self, "n_labels_"):
            return self.fit(x, y, progress=progress)
        p = self.parameters_
        new_x, new_y, names = checked_rows(x, y, "partial_fit")
        self._checked_features(new_x)
        checked_growth(new_y.shape[1], self.n_labels_)
        label_names = grown_names(self.label_names_, names, new_y.shape[1])
        old_x, old_y = self._earlier_rows(earlier, new_y.shape[1])
        all_x = joined_rows(old_x, new_x, self.n_features_)
        all_y = joined_rows(old_y, new_y, new_y.shape[1])
        rank = extended_ranks(self.feature_rank_, new_x)
        n_new = new_y.shape[1] - self.n_labels_
        vectors = label_vectors(normalized_rows(all_x), all_y, n_threads=p.n_threads) if n_new else all_x[:0]
        update = Update(
            self._training_rows(all_x, all_y, rank, replace(p, C=self.C_)),
            old_x.shape[0],
            vectors,
            ranked_rows(vectors[self.n_labels_ :], rank, p.normalize) if n_new else ranked_rows(all_x[:0], rank, False),
            p.max_leaf,
            p.seed,
        )
        trees, blocks = [], []
        for number, (tree, weights) in enumerate(zip(self.trees_, self.blocks_, strict=True)):
            half = stored_as(weights, "half", p.n_threads)
            own = replace(update, max_leaf=leaf_size(p, number))
            grown, taught = updated_tree(own, tree, half, match_options(p), LINKS.index(p.link), progress)
            trees.append(grown)
            blocks.append(taught)
        retired = np.setdiff1d(self.retired_, new_y.indices).astype(np.int32)
        kept = (all_x, all_y) if p.keep_rows else None
        self._finish(trees, blocks, rank, kept, retired, p, p.budget_bytes(), new_y.shape[1], label_names)
        counts = np.bincount(new_y.indices, minlength=new_y.shape[1]).astype(np.int64)
        counts[: self.n_labels_] += self.label_counts_
        self._set_shape(self.n_features_, new_y.shape[1], p)
        self.label_counts_, self.label_names_ = counts, label_names
        self.n_rows_ += int(new_x.shape[0])
        return self

    def _earlier_rows(self, earlier: Any, n_labels: int) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
        if earlier is None and self.rows_ is not None:
            return self.rows_
        if earlier is None:
            raise DataError(
                "partial_fit needs the rows that the model was trained on: train it with keep_rows=True, or give "
                "partial_fit(x, y, earlier=(x, y))"
            )
        pair = (earlier, None) if isinstance(earlier, Dataset) else tuple(earlier)
        if len(pair) != 2:
            raise DataError(f"earlier must be a pair (x, y) or a Dataset, but has {len(pair)} parts")
        old_x, old_y, _ = checked_rows(pair[0], pair[1], "earlier")
        self._checked_features(old_x)
        if old_y.shape[1] > n_labels:
            raise DataError(f"the earlier rows have {old_y.shape[1]} label columns, the new ones {n_labels}")
        return old_x, old_y

    def retire(self, labels: Iterable[int]) -> LinearTree:
        """The model itself, which never answers these labels again; saved models remember it."""
        self._check_fitted()
        self._set_retired(np.union1d(self.retired_, self._checked_labels(labels, "retire")).astype(np.int32))
        return self

    def unretire(self, labels: Iterable[int]) -> LinearTree:
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

    def _estimate_memory(self, x: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any) -> int:
        # label vectors, then the blocks of every tree
        needed = training_memory(x, y, parameters.n_threads, per_weight=8 + 6 * parameters.n_trees)
        if parameters.C is None and is_worth_choosing(x, y):
            needed += 8 * x.nnz + 8 * y.nnz
        if parameters.keep_rows:
            needed += 8 * x.nnz + 8 * y.nnz
        if parameters.negatives != "tfn":  # beams of two levels, and their (row, node) pairs while they are sorted
            needed += 64 * parameters.match_beam * x.shape[0]
        return needed

    def _finish(
        self,
        trees: list[LabelTree],
        blocks: list[WeightBlocks],
        rank: npt.NDArray[np.int32],
        rows: tuple[sparse.csr_matrix, sparse.csr_matrix] | None,
        retired: npt.NDArray[np.int32],
        parameters: Any,
        budget: int | None,
        n_labels: int,
        label_names: tuple[str, ...] | None,
    ) -> None:
        """Store the weights as asked, within the budget, and take everything over at once: an error changes nothing."""
        if budget is None:
            blocks = [stored_as(part, parameters.weights, parameters.n_threads) for part in blocks]
        else:
            beside = rank.nbytes + retired.nbytes + 8 * n_labels + FOLDER_BYTES * (1 + len(trees))
            beside += sum(array.nbytes for tree in trees for array in tree.to_arrays().values())
            beside += sum(array.nbytes for array in row_arrays(rows).values())
            beside += sum(8 + len(name.encode()) for name in label_names or ())
            blocks = within_budget(blocks, parameters.weights, budget - beside, parameters.n_threads)
        self.feature_rank_ = rank
        self.rows_ = rows
        self._take(trees, blocks, retired)

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
