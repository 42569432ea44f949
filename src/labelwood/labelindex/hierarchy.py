"""Label trees given by the user: a label hierarchy as parent numbers or as paths of cluster names."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood.errors import DataError
from labelwood.labelindex.tree import LabelTree

Int64 = npt.NDArray[np.int64]


def tree_from_parents(parents: Any, node_of_label: Any) -> LabelTree:
    """The tree of a hierarchy in any numbering: parents[v] of node v, and node_of_label[l] of label l.

    The parent of a root is -1; several roots get one above them. Nodes without labels below them are left
    out; labels of a node that also has children go into a leaf of their own below it, after those children.
    Children follow each other by number.
    """
    above, holder = _whole(parents, "parents"), _whole(node_of_label, "node_of_label")
    n_nodes = len(above)
    for array, name, low in ((above, "parents", -1), (holder, "node_of_label", 0)):
        bad = np.flatnonzero((array < low) | (array >= n_nodes))
        if len(bad):
            raise DataError(f"{name}[{bad[0]}] is {array[bad[0]]}, which is outside {low}..{n_nodes - 1}")
    if len(holder) == 0:
        raise DataError("node_of_label is empty: a label tree needs at least one label")
    roots = np.flatnonzero(above < 0)
    if len(roots) != 1:  # one root above all; n_nodes + 1 nodes
        above = np.append(np.where(above < 0, n_nodes, above), -1)
        n_nodes += 1
        roots = np.array([n_nodes - 1])
    depth = _depths(above, int(roots[0]))
    held = np.bincount(holder, minlength=n_nodes)
    below = held.copy()
    by_depth = np.argsort(depth, kind="stable")
    starts = np.searchsorted(depth[by_depth], np.arange(int(depth.max()) + 2))
    for level in range(len(starts) - 2, 0, -1):
        nodes = by_depth[starts[level] : starts[level + 1]]
        np.add.at(below, above[nodes], below[nodes])
    used = below > 0
    is_parent = np.zeros(n_nodes, bool)
    is_parent[above[used & (above >= 0)]] = True
    # A node with labels and children hands its labels to a new leaf: numbered after all others, hence last
    # child.
    mixed = np.flatnonzero(is_parent & (held > 0))
    leaf_of_mixed = np.arange(n_nodes)
    leaf_of_mixed[mixed] = n_nodes + np.arange(len(mixed))
    holder = leaf_of_mixed[holder]
    above = np.concatenate([above, mixed])
    used = np.concatenate([used, np.ones(len(mixed), bool)])
    return _breadth_first(above, used, holder, int(roots[0]))


def tree_from_clusters(paths: Sequence[Sequence[Hashable]]) -> LabelTree:
    """The tree in which paths[l] names the clusters of label l from the top down, such as ("law", "tax").

    Labels with the same path share a leaf; an empty path puts a label right below the root. Clusters are told
    apart by their whole path, and follow each other in the order in which they first appear.
    """
    numbers: dict[tuple[Hashable, ...], int] = {(): 0}
    parents, holder = [-1], []
    for label, path in enumerate(paths):
        if isinstance(path, (str, bytes)):
            raise DataError(f"paths[{label}] is the text {path!r}, not a sequence of cluster names such as ({path!r},)")
        node = 0
        key: tuple[Hashable, ...] = ()
        for name in path:
            key = (*key, name)
            if key not in numbers:
                numbers[key] = len(parents)
                parents.append(node)
            node = numbers[key]
        holder.append(node)
    return tree_from_parents(np.array(parents, np.int64), np.array(holder, np.int64))


def _whole(values: Any, what: str) -> Int64:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise DataError(f"{what} must be a one-dimensional array of whole numbers")
    numbers: Int64 = array.astype(np.int64)
    return numbers


def _depths(above: Int64, root: int) -> Int64:
    """The depth of every node, by doubling the steps to the root; DataError if some node never reaches it."""
    n_nodes = len(above)
    jump = np.where(above < 0, root, above)
    depth: Int64 = (np.arange(n_nodes) != root).astype(np.int64)
    # After i rounds jump[v] is 2^i steps above v (or the root) and depth[v] the number of steps made.
    for _ in range(max(n_nodes - 1, 1).bit_length()):
        depth = depth + depth[jump]
        jump = jump[jump]
    lost = np.flatnonzero(jump != root)
    if len(lost):
        raise DataError(f"parents: node {lost[0]} has no way up to a root (its ancestors form a circle)")
    return depth


def _breadth_first(above: Int64, used: npt.NDArray[np.bool_], holder: Int64, root: int) -> LabelTree:
    """The LabelTree of the used nodes, children by number."""
    nodes = np.flatnonzero(used)
    children = nodes[nodes != root]
    children = children[np.argsort(above[children], kind="stable")]
    first = np.searchsorted(above[children], np.arange(len(above)))
    n_children = np.bincount(above[children], minlength=len(above))
    level, levels = np.array([root]), []
    while len(level):
        levels.append(level)
        counts = n_children[level]
        starts = np.repeat(first[level] - (np.cumsum(counts) - counts), counts)
        level = children[starts + np.arange(int(counts.sum()))]
    breadth = np.concatenate(levels)
    held = np.bincount(holder, minlength=len(above))[breadth]
    # The shape alone says where the labels of each leaf begin; then they can be put there.
    shape = LabelTree.from_shape(n_children[breadth], held, np.arange(len(holder)))
    begins = np.zeros(len(above), np.int64)
    begins[breadth] = shape.first_label
    return LabelTree.from_shape(shape.n_children, shape.n_labels_in, np.argsort(begins[holder], kind="stable"))
