"""Training of a linear tree: settings and rows in, the fitted state out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import is_

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.labelspace.weighting import label_costs
from labelwood.models.fit_input import FitInput
from labelwood.models.linear.block_edits import stored_as, within_budget
from labelwood.models.linear.cost_choice import (
    DEFAULT_COST,
    RowNumbers,
    chosen_cost,
    is_worth_choosing,
    usual_cost,
)
from labelwood.models.linear.fitted_tree import FittedLinearTree
from labelwood.models.linear.kept_rows import KeptRows
from labelwood.models.linear.linear_tree_params import LinearTreeParams
from labelwood.models.linear.search_bound import ASKED as ASKED_IN_SEARCH
from labelwood.models.linear.search_bound import SMALLEST_LABELS, SearchBound, learned_bound
from labelwood.models.linear.tree_choice import built_trees, given_tree
from labelwood.models.linear.tree_training import TrainingRows, match_options, train_tree
from labelwood.models.linear.weight_blocks import (
    WeightBlocks,
    rank_features,
    ranked_rows,
    solver_options,
    training_rows,
)
from labelwood.models.persistence import state_of
from labelwood.progress import SILENT
from labelwood.scratch import give_back
from labelwood.topk import TopK

# What a saved folder holds beside arrays, from above: the manifest and the file's header, for each tree and once more.
FOLDER_BYTES = 8192
ASKED = 5  # answers for each row by which costs are compared
FOREST_SLACK = 1.5  # times the slack of one tree


def trained_state(settings: LinearTreeParams, data: FitInput) -> FittedLinearTree:
    """The fitted state of a linear tree, or of several, that learnt from the rows."""
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
    rows = rows_to_learn(settings, data, rank, cost, searched=settings.negatives != "tfn")
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
    return _with_bound(stored_state(state, budget, settings.n_threads), data)


def _rows_that_count(data: FitInput) -> FitInput:
    """The input without rows of weight 0, which then have no say in anything."""
    if data.row_weights is None or data.row_weights.all():
        return data
    counting = data.take(np.flatnonzero(data.row_weights))
    return replace(counting, row_weights=None) if np.all(counting.row_weights == 1) else counting


def with_chosen_cost(settings: LinearTreeParams, data: FitInput) -> LinearTreeParams:
    """The settings with the cost that held-out rows choose, where training would ask them."""
    data = _rows_that_count(data)
    if settings.C is not None or not is_worth_choosing(data.x, data.y):
        return settings
    return replace(settings, C=_cost(settings, replace(data, tree=given_tree(settings, data))))


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
        trial = trained_state(replace(plain, C=cost), silent.take(kept))
        return trial.predict(data.x[held], min(ASKED, data.n_labels), settings.n_threads).cut(ASKED)

    return chosen_cost(data.y, answers, settings.seed, data.progress, groups=data.groups)


def rows_to_learn(
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


def stored_state(state: FittedLinearTree, budget: int | None, n_threads: int | None) -> FittedLinearTree:
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
