"""A label tree as the solver and the search want it: what each node trains, and where its weight blocks begin."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from labelwood import _native
from labelwood.labelindex.tree import LabelTree
from labelwood.models.linear.weight_blocks import MAX_CHILDREN, Nodes, WeightBlocks


def training_nodes(tree: LabelTree) -> Nodes:
    """Every node of the tree with its children: child nodes for inner nodes, single labels for leaves."""
    leaf = tree.n_children == 0
    counts = n_classifiers(tree)
    starts = np.concatenate([[0], np.cumsum(counts + 1)])
    node = np.repeat(np.arange(tree.n_nodes), counts + 1)
    place = np.arange(starts[-1]) - np.repeat(starts[:-1], counts + 1)
    end = (tree.first_label + tree.n_labels_below).astype(np.int64)
    # A child's labels begin where the child begins; the last bound of a node is its own end.
    child = np.minimum(tree.first_child[node] + place, tree.n_nodes - 1)
    inner_bound = np.where(place == counts[node], end[node], tree.first_label[child])
    bounds = np.where(leaf[node], tree.first_label[node] + place, inner_bound).astype(np.int64)
    return Nodes(starts, bounds, np.zeros(tree.n_nodes + 1, np.int64), np.zeros(0, np.int32))


def n_classifiers(tree: LabelTree) -> npt.NDArray[np.int64]:
    """The classifiers that each node trains for its children.

    None for a leaf of one label below another node: the leaf's own classifier already means that label, so a popular
    label that sits alone near the root is answered there, without another block.
    """
    counts = np.where(tree.n_children == 0, tree.n_labels_in, tree.n_children).astype(np.int64)
    alone = (tree.n_children == 0) & (tree.n_labels_in == 1)
    alone[0] = False
    counts[alone] = 0
    return counts


def first_blocks(tree: LabelTree) -> npt.NDArray[np.int64]:
    """The number of the first weight block of every node, then the number of blocks."""
    return np.concatenate([[0], np.cumsum(-(-n_classifiers(tree) // MAX_CHILDREN))])


def search_tree(tree: LabelTree, blocks: WeightBlocks) -> _native.SearchTree:
    """The tree for native search; ValueError if the blocks are not its own."""
    return _native.SearchTree(
        blocks.native,
        tree.first_child,
        tree.n_children,
        tree.first_label,
        tree.n_labels_in,
        tree.label_order,
        first_blocks(tree),
    )


def label_filter(
    tree: LabelTree, allowed: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """(allowed label places, nodes with an allowed label below) for a mask over labels."""
    places = allowed[tree.label_order]
    before = np.concatenate([[0], np.cumsum(places)])
    open_nodes = before[tree.first_label + tree.n_labels_below] > before[tree.first_label]
    return places.astype(np.uint8), open_nodes.astype(np.uint8)
