"""What partial_fit does to a trained tree: new labels go in, the nodes that new rows touch are trained again."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.labelindex.tree import LabelTree
from labelwood.models.linear.block_edits import BlockRange, joined_blocks
from labelwood.models.linear.tree_growth import Grown, replaced_blocks, start_of, touched_nodes, with_labels
from labelwood.models.linear.tree_negatives import best_leaves, matched_rows
from labelwood.models.linear.tree_nodes import training_nodes
from labelwood.models.linear.tree_training import MatchOptions, TrainingRows, costed, with_extra
from labelwood.models.linear.weight_blocks import Rows, WeightBlocks, train_blocks
from labelwood.progress import Progress

# From earlier weights the solver needs few passes: measured on three data sets, five give the precision of twenty
# within 0.4, in about half the time.
UPDATE_PASSES = 5
_LEAF_BEAM = 16  # nodes per level in the search for the best leaf of a new label


@dataclass(frozen=True)
class Update:
    """Earlier rows followed by new ones, from first_new on, and the labels that are new."""

    data: TrainingRows
    first_new: int
    vectors: sparse.csr_matrix  # of all labels, for leaves that must be split; empty columns if there are none new
    new_rows: Rows  # the mean rows of the new labels
    max_leaf: int
    seed: int


def joined_rows(first: sparse.csr_matrix, second: sparse.csr_matrix, n_columns: int) -> sparse.csr_matrix:
    """Both matrices below each other, widened to n_columns."""
    parts = [sparse.csr_matrix((m.data, m.indices, m.indptr), shape=(m.shape[0], n_columns)) for m in (first, second)]
    return sparse.vstack(parts, format="csr", dtype=np.float32)


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


def updated_tree(
    update: Update, tree: LabelTree, blocks: WeightBlocks, match: MatchOptions | None, link: int, progress: Progress
) -> tuple[LabelTree, WeightBlocks]:
    """(tree, blocks) after the new rows; nodes without a new row or label below keep their weights to the bit."""
    data = update.data
    threads = data.options.n_threads
    n_blocks = len(blocks.child_start) - 1
    wide = joined_blocks(data.n_features, [BlockRange(blocks, 0, n_blocks)])
    leaves = np.zeros(0, np.int64)
    if len(update.new_rows):
        leaves = best_leaves(tree, wide, update.new_rows, link, _LEAF_BEAM, threads)
    grown = with_labels(tree, leaves, update.vectors, update.max_leaf, update.seed)
    start = start_of(grown, tree, wide, update.first_new)
    touched = touched_nodes(grown, start, _labels_of_new_rows(data.by_label, update.first_new))
    if not len(touched):
        return grown.tree, replaced_blocks(grown, start, touched, None)
    nodes = costed(training_nodes(grown.tree), grown.tree, data)
    if match is not None:
        brought = matched_rows(tree, wide, data.rows, match.link, match.beam, threads)
        nodes = replace(
            with_extra(nodes, brought.moved(_new_nodes(grown, tree), grown.tree.n_nodes)), extra_alone=match.alone
        )
    options = replace(data.options, max_passes=min(data.options.max_passes, UPDATE_PASSES))
    trained = train_blocks(
        rows=data.rows,
        n_features=data.n_features,
        y_by_place=data.by_label[:, grown.tree.label_order],
        nodes=nodes.take(touched),
        options=options,
        progress=progress,
        what="updating classifiers",
        earlier=replace(start, first_block=start.first_block[touched], n_children=start.n_children[touched]),
        row_cost=data.row_cost,
    )
    return grown.tree, replaced_blocks(grown, start, touched, trained)


def _labels_of_new_rows(by_label: sparse.csc_matrix, first_new: int) -> npt.NDArray[np.bool_]:
    in_new_rows = np.zeros(by_label.shape[1], bool)
    columns = np.repeat(np.arange(by_label.shape[1]), np.diff(by_label.indptr))
    in_new_rows[columns[by_label.indices >= first_new]] = True
    return in_new_rows


def _new_nodes(grown: Grown, tree: LabelTree) -> npt.NDArray[np.int64]:
    """For every node of the old tree its number in the grown one."""
    places = np.zeros(tree.n_nodes, np.int64)
    kept = np.flatnonzero(grown.old_nodes >= 0)
    places[grown.old_nodes[kept]] = kept
    return places
