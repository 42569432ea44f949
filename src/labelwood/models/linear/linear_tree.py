"""LinearTree: linear classifiers in a label tree, searched best first; the workhorse for large label sets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import is_
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.errors import DataError
from labelwood.labelindex.tree import LabelTree
from labelwood.labelspace.classes import Classes
from labelwood.labelspace.growth import grown_labels
from labelwood.labelspace.pifa import label_features, label_vectors
from labelwood.labelspace.weighting import label_costs
from labelwood.matrices import normalized_rows
from labelwood.models.base import Model
from labelwood.models.fit_input import FitInput, TrainedOn, checked_input
from labelwood.models.linear.block_edits import stored_as, within_budget
from labelwood.models.linear.cost_choice import (
    DEFAULT_COST,
    RowNumbers,
    chosen_cost,
    is_worth_choosing,
    usual_cost,
)
from labelwood.models.linear.fitted_tree import FittedLinearTree
from labelwood.models.linear.kept_rows import EarlierRows, KeptRows
from labelwood.models.linear.linear_tree_params import LINKS, PRESETS, LinearTreeParams, SearchResult
from labelwood.models.linear.search_bound import ASKED as ASKED_IN_SEARCH
from labelwood.models.linear.search_bound import SMALLEST_LABELS, SearchBound, learned_bound
from labelwood.models.linear.tree_choice import built_trees, given_tree
from labelwood.models.linear.tree_training import TrainingRows, match_options, train_tree
from labelwood.models.linear.tree_update import (
    Update,
    extended_ranks,
    joined_rows,
    sampled_rows,
    updated_tree,
    widened_ranks,
)
from labelwood.models.linear.weight_blocks import (
    WeightBlocks,
    rank_features,
    ranked_rows,
    solver_options,
    spared_memory,
    training_memory,
    training_rows,
)
from labelwood.models.persistence import state_of
from labelwood.progress import SILENT, Progress
from labelwood.scratch import give_back
from labelwood.topk import TopK

# What a saved folder holds beside arrays, from above: the manifest and the file's header, for each tree and once more.
FOLDER_BYTES = 8192
ASKED = 5  # answers for each row by which costs are compared
FOREST_SLACK = 1.5  # times the slack of one tree


class LinearTree(Model[LinearTreeParams, FittedLinearTree]):
    """A tree of linear classifiers: every child has one for "some right label is below me, given my parent".

    The tree comes from balanced 2-means on label vectors (Parabel, Prabhu et al. 2018), pulled towards a frequency
    code by `balance` (interpolated label trees). Scores are exp of the sum of link(margin) along the path, in (0, 1].
    """

    name = "linear-tree"
    Parameters = LinearTreeParams
    FittedState = FittedLinearTree
    PRESETS = PRESETS
    is_label_tree = True

    # training

    def fit(
        self,
        x: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        groups: Any = None,
        memory: int | None = None,
        progress: Progress = SILENT,
        tree: LabelTree | None = None,
        negatives: Any = None,
    ) -> LinearTree:
        """The model itself, trained; see Model.fit.

        sample_weight: how much each row counts, in the classifiers and in the tree. tree: your own tree over the
        labels, in place of the one made here. negatives: a matrix (n_rows, n_labels) whose entries name rows that each
        label's leaf, and the nodes above it, should also learn from.
        """
        data = checked_input(
            x, y, sample_weight=sample_weight, groups=groups, tree=tree, negatives=negatives, progress=progress
        )
        return self._learn(data, memory)

    @staticmethod
    def _train(settings: LinearTreeParams, data: FitInput) -> FittedLinearTree:
        trained_on = data.trained_on()
        kept = KeptRows(data.x.copy(), data.y.copy(), data.row_weights) if settings.keep_rows else None
        data = _rows_that_count(data)
        budget = settings.budget_bytes()
        users_tree = given_tree(settings, data)
        cost = _cost(settings, replace(data, tree=users_tree))
        # All trees first: the label vectors are as large as the rows, and gone before the classifiers need memory.
        trees = built_trees(settings, data) if users_tree is None else [users_tree] * settings.n_trees
        give_back()
        rank = rank_features(data.x)
        rows = _training_rows(settings, data, rank, cost, searched=settings.negatives != "tfn")
        blocks = []
        for number, tree in enumerate(trees):
            which = "" if settings.n_trees == 1 else f" of tree {number + 1}"
            seed = settings.seed + (0 if users_tree is None else number)
            seeded = replace(rows, options=replace(rows.options, seed=seed))
            blocks.append(train_tree(seeded, tree, match_options(settings), data.progress, f"classifiers{which}"))
        state = FittedLinearTree(
            settings,
            trained_on,
            trees=tuple(trees),
            blocks=tuple(blocks),
            feature_rank=rank,
            C=cost,
            kept_rows=kept,
        )
        return _with_bound(_as_stored(state, budget, settings.n_threads), data)

    @staticmethod
    def _training_memory(settings: LinearTreeParams, data: FitInput) -> int:
        # label vectors, then the blocks of every tree
        x, y = data.x, data.y
        copies = 1 if settings.negatives == "tfn" else 2  # the rows of a node; all rows, where they are searched
        needed = training_memory(x, y, settings.n_threads, per_weight=8 + 6 * settings.n_trees, copies=copies)
        if settings.C is None and is_worth_choosing(x, y):
            needed += 8 * x.nnz + 8 * y.nnz
        if settings.keep_rows:
            needed += 8 * x.nnz + 8 * y.nnz
        if settings.negatives != "tfn":  # beams of two levels, and their (row, node) pairs while they are sorted
            needed += 64 * settings.match_beam * x.shape[0]
        return needed

    @staticmethod
    def _spared_memory(settings: LinearTreeParams, data: FitInput) -> int | None:
        # The rows of the root, gathered; the solver's numbers; the labels by row and by column; one part of the blocks.
        x, y = data.x, data.y
        if settings.keep_rows or settings.negatives != "tfn" or data.negatives is not None:
            return None
        weights = label_features(x, y, settings.n_threads)
        return int(spared_memory(x, settings.n_threads) + 40 * y.nnz + (8 + 6) * weights // 8)

    def partial_fit(
        self,
        x: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        earlier: Any = None,
        changed: Iterable[int] = (),
        progress: Progress = SILENT,
    ) -> LinearTree:
        """The model itself, taught new rows x with labels y (or a Dataset); an untrained model is fitted.

        Columns of y beyond those known, and ids or names that are not known, are new labels; columns of x beyond those
        known are new features. Only nodes above a label of a new row are trained again, from their present weights, on
        the new rows and the earlier ones (a sample of them, where these are many). The earlier rows are those the model
        kept (keep_rows=True) with their weights, or `earlier`: a pair (x, y), a Dataset or EarlierRows. changed: labels
        whose nodes are trained again too, their leaves from nothing: those of rows that were taken back. sample_weight:
        how much each new row counts. Retired labels in y are answered again.
        """
        if self._fitted is None:
            return self.fit(x, y, sample_weight=sample_weight, progress=progress)
        state = self.fitted_
        data = checked_input(x, y, sample_weight=sample_weight, progress=progress, what="partial_fit")
        self._check_width(x, data.x)
        new_y, classes = grown_labels(state.trained_on.classes, data.y, data.classes, by_column=isinstance(x, Dataset))
        before = self._earlier_rows(earlier, classes, data.x.shape[1])
        again = state.checked_labels(changed, "changed")
        self._fitted = _updated(state, replace(data, y=new_y, classes=classes), before, again, self._threads())
        return self

    def _check_width(self, x: Any, rows: sparse.csr_matrix) -> None:
        """Refuse rows that have fewer columns than the model, or others: those of a data frame are known by name."""
        trained_on = self.fitted_.trained_on
        if rows.shape[1] <= trained_on.n_features or trained_on.column_names is not None:
            self._checked_features(x)

    def _earlier_rows(self, earlier: Any, classes: Classes, n_features: int) -> EarlierRows:
        kept = self.fitted_.kept_rows
        if earlier is None and kept is not None:
            return kept.earlier()
        if earlier is None:
            raise DataError(
                "partial_fit needs the rows that the model was trained on: train it with keep_rows=True, or give "
                "partial_fit(x, y, earlier=(x, y))"
            )
        rows = earlier if isinstance(earlier, EarlierRows) else self._given_rows(earlier, classes, n_features)
        if rows.y.shape[1] > classes.n:
            raise DataError(f"the earlier rows have {rows.y.shape[1]} labels, the model with the new rows {classes.n}")
        return rows

    def _given_rows(self, earlier: Any, classes: Classes, n_features: int) -> EarlierRows:
        """The earlier rows of a pair (x, y) or a Dataset, checked."""
        if not isinstance(earlier, (Dataset, tuple, list)):
            raise DataError(f"earlier must be a pair (x, y) or a Dataset, but is {type(earlier).__name__}")
        pair = (earlier, None) if isinstance(earlier, Dataset) else tuple(earlier)
        if len(pair) != 2:
            raise DataError(f"earlier must be a pair (x, y) or a Dataset, but has {len(pair)} parts")
        data = checked_input(*pair, what="earlier")
        self._check_width(pair[0], data.x)
        if data.x.shape[1] > n_features:
            raise DataError(f"the earlier rows have {data.x.shape[1]} features, the new rows {n_features}")
        y = data.y
        if not isinstance(earlier, Dataset) and (data.classes.names is not None or data.classes.ids is not None):
            y, _ = grown_labels(classes, y, data.classes, by_column=False)
        return KeptRows(data.x, y).earlier()

    # labels that are gone

    def retire(self, labels: Iterable[int]) -> LinearTree:
        """The model itself, which never answers these labels again; saved models remember it."""
        state = self.fitted_
        self._fitted = state.with_retired(np.union1d(state.retired, state.checked_labels(labels, "retire")))
        return self

    def unretire(self, labels: Iterable[int]) -> LinearTree:
        """The model itself, which answers these retired labels again, as it was trained to."""
        state = self.fitted_
        self._fitted = state.with_retired(np.setdiff1d(state.retired, state.checked_labels(labels, "unretire")))
        return self

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

        allow, deny: only these labels, or all but these; the search itself skips the others, and is exact. beam: nodes
        kept per level, if it should differ from the trained setting; 0: exact best-first search.
        """
        if allow is None and deny is None and beam is None:
            return (self._fitted or self._state()).one_row(x, k) or super().predict(x, k)
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
        slack: float | None = None,
        max_nodes: int = 0,
    ) -> SearchResult:
        """The answers of `predict` with what they cost, and ways to bound it.

        max_blocks stops each tree's search after so many blocks, max_nodes after so many nodes below the root. slack
        (0: exact) takes labels below a closed node to be worth at most the node's log score minus slack, and so leaves
        out nodes that would hardly matter. If nothing is given, all are as learned in training, else 0. The order of
        nodes that max_nodes counts is as learned too: nodes above others come later than their scores say.
        """
        return self.fitted_.search(
            self._rows(x),
            k,
            allow=allow,
            deny=deny,
            beam=beam,
            max_blocks=max_blocks,
            slack=slack,
            max_nodes=max_nodes,
            n_threads=self._threads(),
        )

    def query(
        self, columns: npt.NDArray[np.int32], values: npt.NDArray[np.float32], k: int = 5
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """(labels, scores) of one row given by its rising columns and their values: the quickest way to ask.

        The same answer as `predict` on that row; fewer than k labels may come back.
        """
        # Not by way of fitted_: a call more would be felt here.
        state: FittedLinearTree = self._fitted or self._state()
        return state.query(columns, values, k)


def _with_bound(state: FittedLinearTree, data: FitInput) -> FittedLinearTree:
    """The state with the bounds that some training rows allow, where best-first search may miss a label and has to.

    They are those of the first tree alone. A forest has half as much slack again: the others make up for misses.
    """
    settings = state.settings
    if settings.exact or settings.beam or data.n_labels < SMALLEST_LABELS:
        return state
    first = replace(state, trees=state.trees[:1], blocks=state.blocks[:1])

    def search(rows: sparse.csr_matrix, bound: SearchBound) -> TopK:
        bounded = replace(first, slack=bound.slack, nodes=bound.nodes, lead=bound.lead)
        return bounded.predict(rows, ASKED_IN_SEARCH, settings.n_threads)

    bound = learned_bound(search, data.x, settings.seed, first.trees[0].max_depth)
    slack = bound.slack if len(state.trees) == 1 else FOREST_SLACK * bound.slack
    return replace(state, slack=slack, nodes=bound.nodes, lead=bound.lead)


def _rows_that_count(data: FitInput) -> FitInput:
    """The input without rows of weight 0, which then have no say in anything."""
    if data.row_weights is None or data.row_weights.all():
        return data
    counting = data.take(np.flatnonzero(data.row_weights))
    return replace(counting, row_weights=None) if np.all(counting.row_weights == 1) else counting


def _cost(settings: LinearTreeParams, data: FitInput) -> float:
    """The cost given, or the one that held-out rows choose, for as many trees: several bear a larger one.

    Where trying would take long it is the usual one for rows of that length.
    """
    if settings.C is not None:
        return float(settings.C)
    if not is_worth_choosing(data.x, data.y):
        return usual_cost(data.x) if settings.normalize else DEFAULT_COST
    # The user's tree, if there is one, comes with the data.
    plain = replace(settings, tree=None, label_features=0.0, size_budget=None, keep_rows=False)
    silent = data.with_progress(SILENT)

    def answers(cost: float, kept: RowNumbers, held: RowNumbers) -> TopK:
        trial = LinearTree._train(replace(plain, C=cost), silent.take(kept))
        return trial.predict(data.x[held], min(ASKED, data.n_labels), settings.n_threads).cut(ASKED)

    return chosen_cost(data.y, answers, settings.seed, data.progress, groups=data.groups)


def _training_rows(
    settings: LinearTreeParams, data: FitInput, rank: npt.NDArray[np.int32], cost: float, *, searched: bool
) -> TrainingRows:
    """What all trees learn from; searched: the rows will also go down the trees themselves."""
    by_label = data.y.tocsc()
    make_rows = ranked_rows if searched else training_rows
    return TrainingRows(
        rows=make_rows(data.x, rank, settings.normalize),
        n_features=int(rank.max(initial=-1)) + 1,
        by_label=by_label,
        options=solver_options(
            settings,
            cost,
            positive=settings.C_pos,
            negative=settings.C_neg,
            cluster=settings.C_cluster,
            weights=settings.weights,
        ),
        label_costs=label_costs(np.diff(by_label.indptr).astype(np.int64), data.y.shape[0], settings.weighting),
        given_negatives=data.negatives,
        row_cost=data.row_weights,
    )


def _updated(
    state: FittedLinearTree,
    data: FitInput,
    before: EarlierRows,
    changed: npt.NDArray[np.int64],
    n_threads: int | None,
) -> FittedLinearTree:
    """The state after new rows, whose labels are in the state's columns and new ones behind; before: earlier rows.

    changed: labels of rows that are in neither, but that the state was trained on.
    """
    settings = replace(state.settings, n_threads=n_threads)
    n_earlier = len(before)
    y = joined_rows(before.y, data.y, data.n_labels)
    weights = _joined_weights(before, data)
    rank = extended_ranks(widened_ranks(state.feature_rank, data.x.shape[1]), data.x)
    by_label = y.tocsc()

    def features(places: npt.NDArray[np.int64]) -> sparse.csr_matrix:
        # Of the earlier rows only those that are asked for: they are many.
        first_new = int(np.searchsorted(places, n_earlier))
        return joined_rows(before.x_of(places[:first_new]), data.x[places[first_new:] - n_earlier], data.x.shape[1])

    def vectors(labels: npt.NDArray[np.int64]) -> sparse.csr_matrix:
        of_labels = by_label[:, labels].tocsr()
        shown = np.flatnonzero(np.diff(of_labels.indptr))
        return label_vectors(normalized_rows(features(shown)), of_labels[shown], n_threads=n_threads)

    def rows_of(places: npt.NDArray[np.int64]) -> TrainingRows:
        row_weights = None if weights is None else weights[places]
        part = replace(data, x=features(places), y=y[places], row_weights=row_weights)
        return _training_rows(settings, part, rank, state.C, searched=True)

    new_labels = np.arange(state.n_labels, data.n_labels)
    new_vectors = vectors(new_labels) if len(new_labels) else data.x[:0]
    places, cost = sampled_rows(y.shape[0], n_earlier, settings.seed)
    sample = rows_of(places)
    if cost is not None:
        sample = replace(sample, row_cost=cost if sample.row_cost is None else cost * sample.row_cost)
    update = Update(
        by_label,
        n_earlier,
        sample,
        int(np.searchsorted(places, n_earlier)),
        rows_of,
        label_costs(np.diff(by_label.indptr).astype(np.int64), y.shape[0], settings.weighting),
        vectors,
        ranked_rows(new_vectors, rank, settings.normalize),
        settings.max_leaf,
        settings.seed,
        changed,
    )
    trees, blocks = [], []
    for tree, of_tree in zip(state.trees, state.blocks, strict=True):
        grown, taught = updated_tree(
            update, tree, of_tree, match_options(settings), LINKS.index(settings.link), data.progress
        )
        trees.append(grown)
        blocks.append(taught)
    kept = KeptRows(features(np.arange(y.shape[0])), y, weights) if settings.keep_rows else None
    updated = replace(
        state,
        trained_on=_trained_on_both(state.trained_on, data, kept),
        trees=tuple(trees),
        blocks=tuple(blocks),
        feature_rank=rank,
        retired=np.setdiff1d(state.retired, data.y.indices).astype(np.int32),
        kept_rows=kept,
    )
    return _as_stored(updated, settings.budget_bytes(), n_threads)


def _joined_weights(before: EarlierRows, data: FitInput) -> npt.NDArray[np.float32] | None:
    if before.weights is None and data.row_weights is None:
        return None
    of_parts = ((before.weights, before.y), (data.row_weights, data.y))
    return np.concatenate([np.ones(y.shape[0], np.float32) if weights is None else weights for weights, y in of_parts])


def _trained_on_both(earlier: TrainedOn, data: FitInput, kept: KeptRows | None) -> TrainedOn:
    """What is remembered after an update: the rows before and the new ones, or those that are kept."""
    if kept is not None:
        return replace(replace(data, x=kept.x, y=kept.y).trained_on(), column_names=earlier.column_names)
    counts = data.trained_on().label_counts
    counts[: earlier.n_labels] += earlier.label_counts
    n_rows, n_features = data.x.shape
    return replace(
        earlier, n_rows=earlier.n_rows + n_rows, n_features=n_features, label_counts=counts, classes=data.classes
    )


def _as_stored(state: FittedLinearTree, budget: int | None, n_threads: int | None) -> FittedLinearTree:
    """The state with its weights stored as the settings ask, within the budget of bytes if there is one."""
    weights = state.settings.weights
    blocks: Sequence[WeightBlocks]
    if budget is None:
        blocks = [stored_as(of_tree, weights, n_threads) for of_tree in state.blocks]
    else:
        beside = FOLDER_BYTES * (1 + len(state.trees))
        beside += sum(array.nbytes for name, array in state_of(state)[1].items() if not name.startswith("blocks"))
        blocks = within_budget(state.blocks, weights, budget - beside, n_threads)
    return state if all(map(is_, blocks, state.blocks)) else replace(state, blocks=tuple(blocks))
