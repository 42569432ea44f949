"""Update of a linear tree: a fitted state and new rows in, the state that knows them out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.labelspace.pifa import label_vectors
from labelwood.labelspace.weighting import label_costs
from labelwood.matrices import normalized_rows
from labelwood.models.fit_input import FitInput, TrainedOn
from labelwood.models.linear.fitted_tree import FittedLinearTree
from labelwood.models.linear.kept_rows import EarlierRows, KeptRows
from labelwood.models.linear.linear_tree_params import LINKS
from labelwood.models.linear.state_training import rows_to_learn, stored_state
from labelwood.models.linear.tree_training import TrainingRows, match_options
from labelwood.models.linear.tree_update import (
    Update,
    extended_ranks,
    joined_rows,
    sampled_rows,
    updated_tree,
    widened_ranks,
)
from labelwood.models.linear.weight_blocks import ranked_rows


def updated_state(
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
        return rows_to_learn(settings, part, rank, state.C, searched=True)

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
    return stored_state(updated, settings.budget_bytes(), n_threads)


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
