"""A label tree that takes in new labels: where they go, which nodes stay, and what must be trained again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.labelindex.build import build_tree
from labelwood.labelindex.hierarchy import tree_from_parents
from labelwood.labelindex.tree import LabelTree
from labelwood.models.linear.block_edits import BlockRange, joined_blocks
from labelwood.models.linear.tree_nodes import first_blocks, n_classifiers
from labelwood.models.linear.weight_blocks import Earlier, WeightBlocks

Int64 = npt.NDArray[np.int64]
# Leaves are made full, and one that is split begins from nothing: splitting at the first new label made 156 new labels
# on EURLEX57K cost a fourth of a fit.
LEAF_SLACK = 1.5
LabelVectors = Callable[[Int64], sparse.csr_matrix]  # the vectors of some labels, made when they are asked for


@dataclass(frozen=True)
class Grown:
    """A tree with new labels: old_nodes[n] is the node that n was before, or -1."""

    tree: LabelTree
    old_nodes: Int64


def with_labels(tree: LabelTree, leaves: Int64, vectors: LabelVectors, max_leaf: int, seed: int) -> Grown:
    """The tree in which new label n_labels + i is in leaf leaves[i], at its end.

    A leaf that grew beyond LEAF_SLACK times max_leaf becomes an inner node over leaves made by balanced 2-means on
    `vectors` of its labels, old and new.
    """
    if not len(leaves):
        return Grown(tree, np.arange(tree.n_nodes, dtype=np.int64))
    holder = np.concatenate([tree.leaf_of_labels, leaves]).astype(np.int64)
    parents = tree.parent.astype(np.int64)
    sizes = np.bincount(holder, minlength=tree.n_nodes)
    for leaf in np.unique(leaves):
        if sizes[leaf] <= LEAF_SLACK * max_leaf:
            continue
        labels = np.flatnonzero(holder == leaf)
        below = build_tree("balanced", vectors=vectors(labels), max_leaf=max_leaf, seed=seed)
        first = len(parents)
        parents = np.concatenate([parents, np.where(below.parent[1:] == 0, leaf, first + below.parent[1:] - 1)])
        holder[labels] = first + below.leaf_of_labels - 1
    shape = tree_from_parents(parents, holder)
    # Inside a leaf the old labels keep their order, and so their classifiers' places; new ones follow.
    place = np.arange(len(holder), dtype=np.int64)
    place[tree.label_order] = np.arange(tree.n_labels)
    order = np.lexsort((place, shape.first_label[shape.leaf_of_labels]))
    grown = LabelTree.from_shape(shape.n_children, shape.n_labels_in, order)
    return Grown(grown, _old_nodes(tree, grown))


def _old_nodes(old: LabelTree, new: LabelTree) -> Int64:
    """For every node of the new tree the one it was: paths to an old label agree as far as the old one goes."""
    old_nodes = np.full(new.n_nodes, -1, np.int64)
    for leaf in old.leaves:
        label = int(old.labels_below(int(leaf))[0])
        before, after = old.path(label), new.path(label)
        old_nodes[after[: len(before)]] = before
    return old_nodes


def start_of(grown: Grown, old: LabelTree, blocks: WeightBlocks, first_new_row: int) -> Earlier:
    """The earlier weights of every node whose children are still the same ones, perhaps with new labels after them."""
    before = np.maximum(grown.old_nodes, 0)
    counts = n_classifiers(old)[before]
    same_kind = (old.n_children[before] == 0) == (grown.tree.n_children == 0)
    usable = (grown.old_nodes >= 0) & same_kind & (counts > 0)
    first = np.where(usable, first_blocks(old)[before], -1).astype(np.int64)
    return Earlier(blocks, first, np.where(usable, counts, 0).astype(np.int64), first_new_row)


def touched_nodes(grown: Grown, start: Earlier, new_labels: npt.NDArray[np.bool_]) -> Int64:
    """The nodes to train again: those above a label of a new row (a mask over labels), and those without weights."""
    tree = grown.tree
    before = np.concatenate([[0], np.cumsum(new_labels[tree.label_order])])
    above = before[tree.first_label + tree.n_labels_below] > before[tree.first_label]
    changed = start.n_children != n_classifiers(tree)
    return np.flatnonzero((above | changed) & (n_classifiers(tree) > 0)).astype(np.int64)


def replaced_blocks(grown: Grown, start: Earlier, touched: Int64, trained: WeightBlocks | None) -> WeightBlocks:
    """The blocks of the grown tree: `trained` for the touched nodes, in their order, the earlier ones elsewhere."""
    n_blocks = np.diff(first_blocks(grown.tree))
    again = np.zeros(grown.tree.n_nodes, bool)
    again[touched] = True
    first_trained = np.zeros(grown.tree.n_nodes, np.int64)
    first_trained[touched] = np.cumsum(n_blocks[touched]) - n_blocks[touched]
    parts = []
    for node in np.flatnonzero(n_blocks > 0):
        source = trained if again[node] and trained is not None else start.blocks
        first = int(first_trained[node] if again[node] else start.first_block[node])
        parts.append(BlockRange(source, first, first + int(n_blocks[node])))
    return joined_blocks(max(start.blocks.n_features, 0 if trained is None else trained.n_features), parts)
