"""LinearTree: linear classifiers in a label tree, searched best first; the workhorse for large label sets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.errors import DataError
from labelwood.labelindex.tree import LabelTree
from labelwood.labelspace.pifa import label_vectors
from labelwood.labelspace.weighting import label_costs
from labelwood.matrices import as_labels, normalized_rows
from labelwood.models.linear.block_edits import stored_as, within_budget
from labelwood.models.linear.cost_choice import DEFAULT_COST, RowNumbers, chosen_cost, is_worth_choosing
from labelwood.models.linear.kept_rows import row_arrays
from labelwood.models.linear.label_forest import LabelForest
from labelwood.models.linear.linear_tree_params import LINKS
from labelwood.models.linear.tree_choice import built_tree, leaf_size, own_tree, vectors_for_tree
from labelwood.models.linear.tree_training import TrainingRows, match_options, train_tree
from labelwood.models.linear.tree_update import (
    Update,
    checked_growth,
    checked_rows,
    extended_ranks,
    grown_names,
    joined_rows,
    updated_tree,
)
from labelwood.models.linear.weight_blocks import (
    WeightBlocks,
    rank_features,
    ranked_rows,
    solver_options,
    training_memory,
)
from labelwood.progress import SILENT, Progress
from labelwood.topk import TopK

# What a saved folder holds beside arrays, from above: the manifest and the file's header, for each tree and once more.
FOLDER_BYTES = 8192


class LinearTree(LabelForest):
    """A tree of linear classifiers: every child has one for "some right label is below me, given my parent".

    The tree comes from balanced 2-means on label vectors (Parabel, Prabhu et al. 2018), pulled towards a frequency
    code by `balance` (interpolated label trees). Scores are exp of the sum of link(margin) along the path, in (0, 1].
    """

    name = "linear-tree"

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
