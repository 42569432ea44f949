"""What partial_fit does to a trained tree: new labels go in, the nodes that new rows touch are trained again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.labelindex.tree import LabelTree
from labelwood.models.linear.block_edits import BlockRange, joined_blocks
from labelwood.models.linear.tree_growth import (
    Grown,
    LabelVectors,
    replaced_blocks,
    start_of,
    touched_nodes,
    with_labels,
)
from labelwood.models.linear.tree_negatives import best_leaves, matched_rows
from labelwood.models.linear.tree_nodes import training_nodes
from labelwood.models.linear.tree_training import MatchOptions, TrainingRows, costed, with_extra
from labelwood.models.linear.weight_blocks import Rows, WeightBlocks, train_blocks
from labelwood.progress import Progress

Int64 = npt.NDArray[np.int64]
# From earlier weights the solver needs few passes: measured on three data sets, five give the precision of twenty
# within 0.4, in about half the time.
UPDATE_PASSES = 5
# Nodes that start from earlier weights learn from the new rows and a sample of the earlier ones. EURLEX57K, 1,010 rows
# with 96 new labels after 43,990 rows: three sampled rows for each new one find more of the new
# labels than all rows do (73 against 61 of 168), at a P@5 of all labels of 67.9 against 68.1.
EARLIER_FOR_EACH = 3
FEWEST_EARLIER = 2_000
_LEAF_BEAM = 16  # nodes per level in the search for the best leaf of a new label


@dataclass(frozen=True)
class Update:
    """What is learnt: earlier rows, then new ones from first_new on.

    by_label: the rows of each label, all of them. sample: the rows that nodes with weights learn from, new ones from
    first_new_sampled on. rows_of: any rows, for nodes that begin from nothing.
    """

    by_label: sparse.csc_matrix
    first_new: int
    sample: TrainingRows
    first_new_sampled: int
    rows_of: Callable[[Int64], TrainingRows]
    label_costs: npt.NDArray[np.float64] | None
    vectors: LabelVectors  # for leaves that must be split
    new_rows: Rows  # the mean rows of the new labels
    max_leaf: int
    seed: int
    changed: Int64  # labels of rows that the weights know but that are gone


def joined_rows(first: sparse.csr_matrix, second: sparse.csr_matrix, n_columns: int) -> sparse.csr_matrix:
    """Both matrices below each other, widened to n_columns."""
    parts = [sparse.csr_matrix((m.data, m.indices, m.indptr), shape=(m.shape[0], n_columns)) for m in (first, second)]
    return sparse.vstack(parts, format="csr", dtype=np.float32)


def widened_ranks(feature_rank: npt.NDArray[np.int32], n_features: int) -> npt.NDArray[np.int32]:
    """The feature ranks with -1 for columns behind those known: no row has used them yet."""
    return np.pad(feature_rank, (0, n_features - len(feature_rank)), constant_values=-1)


def extended_ranks(feature_rank: npt.NDArray[np.int32], x: sparse.csr_matrix) -> npt.NDArray[np.int32]:
    """The feature ranks with columns that only x uses numbered after all others, by falling frequency in x."""
    counts = np.bincount(x.indices, minlength=x.shape[1])
    fresh = np.flatnonzero((counts > 0) & (feature_rank < 0))
    if not len(fresh):
        return feature_rank
    fresh = fresh[np.argsort(-counts[fresh], kind="stable")]
    ranks = feature_rank.copy()
    ranks[fresh] = int(feature_rank.max(initial=-1)) + 1 + np.arange(len(fresh), dtype=np.int32)
    return ranks


def sampled_rows(n_rows: int, first_new: int, seed: int) -> tuple[Int64, npt.NDArray[np.float32] | None]:
    """(places, cost of each): the new rows, and of many earlier ones a sample that counts for all; None: all cost 1.

    The weights to start from hold what the rows left out have taught: what is solved for is a part of the dual.
    """
    size = max(FEWEST_EARLIER, EARLIER_FOR_EACH * (n_rows - first_new))
    if 2 * size > first_new:
        return np.arange(n_rows), None
    chosen = np.sort(np.random.default_rng(seed).permutation(first_new)[:size])
    cost = np.ones(size + n_rows - first_new, np.float32)
    cost[:size] = first_new / size
    return np.concatenate([chosen, np.arange(first_new, n_rows)]), cost


def updated_tree(
    update: Update, tree: LabelTree, blocks: WeightBlocks, match: MatchOptions | None, link: int, progress: Progress
) -> tuple[LabelTree, WeightBlocks]:
    """(tree, blocks) after the new rows; nodes without a new row or label below keep their weights to the bit."""
    sample = update.sample
    threads = sample.options.n_threads
    n_blocks = len(blocks.child_start) - 1
    wide = joined_blocks(sample.n_features, [BlockRange(blocks, 0, n_blocks)])
    leaves = np.zeros(0, np.int64)
    if len(update.new_rows):
        leaves = best_leaves(tree, wide, update.new_rows, link, _LEAF_BEAM, threads)
    grown = with_labels(tree, leaves, update.vectors, update.max_leaf, update.seed)
    start = start_of(grown, tree, wide, update.first_new_sampled)
    taken_back = np.zeros(grown.tree.n_labels, bool)
    taken_back[update.changed] = True
    # What a row that was taken back has taught its leaf cannot be told from the rest: the leaf begins again. In the
    # nodes above it was one of many.
    again = np.unique(grown.tree.leaf_of_labels[update.changed])
    start.first_block[again], start.n_children[again] = -1, 0
    touched = touched_nodes(grown, start, taken_back | _labels_of_new_rows(update.by_label, update.first_new))
    if not len(touched):
        return grown.tree, replaced_blocks(grown, start, touched, None)
    nodes = costed(training_nodes(grown.tree), grown.tree, update.by_label, update.label_costs)
    fresh = start.first_block[touched] < 0
    warm, cold = touched[~fresh], touched[fresh]
    few = replace(sample, options=replace(sample.options, max_passes=min(sample.options.max_passes, UPDATE_PASSES)))
    parts = []
    for chosen in (warm, cold):
        if not len(chosen):
            continue
        if chosen is warm:
            data = few
            earlier = replace(start, first_block=start.first_block[warm], n_children=start.n_children[warm])
        else:
            data, earlier = _rows_for_cold(update, grown.tree, cold, match), None
        with_negatives = nodes
        if match is not None:
            brought = matched_rows(tree, wide, data.rows, match.link, match.beam, threads)
            moved = brought.moved(_new_nodes(grown, tree), grown.tree.n_nodes)
            with_negatives = replace(with_extra(nodes, moved), extra_alone=match.alone)
        trained = train_blocks(
            rows=data.rows,
            n_features=data.n_features,
            y_by_place=data.by_label[:, grown.tree.label_order],
            nodes=with_negatives.take(chosen),
            options=data.options,
            progress=progress,
            what="updating classifiers",
            earlier=earlier,
            row_cost=data.row_cost,
        )
        parts.append(BlockRange(trained, 0, len(trained.child_start) - 1))
    return grown.tree, replaced_blocks(
        grown, start, np.concatenate([warm, cold]), joined_blocks(sample.n_features, parts)
    )


def _rows_for_cold(update: Update, tree: LabelTree, nodes: Int64, match: MatchOptions | None) -> TrainingRows:
    """The rows that nodes without weights learn from: those with a label below, or all where a search brings more."""
    n_rows = int(update.by_label.shape[0])
    if match is not None:
        return update.rows_of(np.arange(n_rows))
    below = np.concatenate([tree.labels_below(int(node)) for node in nodes])
    return update.rows_of(np.unique(update.by_label[:, below].indices).astype(np.int64))


def _labels_of_new_rows(by_label: sparse.csc_matrix, first_new: int) -> npt.NDArray[np.bool_]:
    in_new_rows = np.zeros(by_label.shape[1], bool)
    columns = np.repeat(np.arange(by_label.shape[1]), np.diff(by_label.indptr))
    in_new_rows[columns[by_label.indices >= first_new]] = True
    return in_new_rows


def _new_nodes(grown: Grown, tree: LabelTree) -> Int64:
    """For every node of the old tree its number in the grown one."""
    places = np.zeros(tree.n_nodes, np.int64)
    kept = np.flatnonzero(grown.old_nodes >= 0)
    places[grown.old_nodes[kept]] = kept
    return places
