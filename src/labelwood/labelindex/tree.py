"""LabelTree: a tree over all labels as flat arrays, of any arity and depth; immutable and always valid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood.errors import DataError, ModelFileError
from labelwood.storage.schema import ArrayRule, Schema, check_arrays

Int32 = npt.NDArray[np.int32]
Float64 = npt.NDArray[np.float64]

# These three arrays say everything; the others follow from them (see `from_shape`).
TREE: Schema = {
    "n_children": ArrayRule("int32", ("n_nodes",)),
    "n_labels_in": ArrayRule("int32", ("n_nodes",)),
    "label_order": ArrayRule("int32", ("n_labels",)),
}
SAVED = tuple(TREE)


@dataclass(frozen=True, eq=False)
class LabelTree:
    """A tree whose leaves hold labels; every label is in exactly one leaf.

    Nodes are numbered breadth first from the root, node 0, so the children of a node follow each other and
    come after it. All arrays are int32 and read-only.

    first_child (n_nodes): number of the first child, -1 in leaves. n_children (n_nodes): 0 in leaves.
    parent (n_nodes): -1 at the root. depth (n_nodes): 0 at the root.
    label_order (n_labels): all labels, leaf by leaf from left to right, so the labels below any node are a
    slice. first_label (n_nodes): where that slice begins in label_order. n_labels_in (n_nodes): the number of
    labels that the node itself holds, 0 in inner nodes.
    """

    first_child: Int32
    n_children: Int32
    parent: Int32
    depth: Int32
    first_label: Int32
    n_labels_in: Int32
    label_order: Int32

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            array = _as_int32(getattr(self, name), name)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        expected = _arrays_of_shape(self.n_children, self.n_labels_in, self.label_order)
        for name, array in expected.items():
            if not np.array_equal(getattr(self, name), array):
                raise DataError(f"label tree: {name} does not fit n_children and n_labels_in (in breadth-first order)")

    @classmethod
    def from_shape(cls, n_children: Any, n_labels_in: Any, label_order: Any) -> LabelTree:
        """The tree with these numbers of children and labels, breadth first; DataError if they make none."""
        children, labels = _as_int32(n_children, "n_children"), _as_int32(n_labels_in, "n_labels_in")
        order = _as_int32(label_order, "label_order")
        return cls(
            n_children=children,
            n_labels_in=labels,
            label_order=order,
            **_arrays_of_shape(children, labels, order),
        )

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> LabelTree:
        """The tree that `to_arrays` gave; ModelFileError if the arrays are missing or make no tree."""
        check_arrays(TREE, {name: arrays[name] for name in SAVED if name in arrays}, {}, "label tree")
        try:
            return cls.from_shape(*(arrays[name] for name in SAVED))
        except DataError as error:
            raise ModelFileError(str(error)) from error

    def to_arrays(self) -> dict[str, Int32]:
        """The arrays to save: the fewest from which `from_arrays` makes the same tree."""
        return {name: getattr(self, name) for name in SAVED}

    # sizes

    @property
    def n_nodes(self) -> int:
        """The number of nodes, leaves included."""
        return len(self.n_children)

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return len(self.label_order)

    @property
    def max_depth(self) -> int:
        """The depth of the deepest leaf."""
        return int(self.depth[-1])

    @property
    def arity(self) -> int:
        """The largest number of children of a node; 0 if the root is the only node."""
        return int(self.n_children.max())

    # nodes

    @cached_property
    def leaves(self) -> Int32:
        """The leaf nodes, in ascending number."""
        return _frozen(np.flatnonzero(self.n_children == 0))

    @cached_property
    def level_starts(self) -> Int32:
        """The first node of each depth, then n_nodes: depth d has [d] .. [d + 1] - 1."""
        return _frozen(np.searchsorted(self.depth, np.arange(self.max_depth + 2)))

    @cached_property
    def n_labels_below(self) -> Int32:
        """The number of labels below each node; they begin at first_label in label_order."""
        return _frozen(_labels_below(self.n_labels_in, self.parent, self.level_starts))

    def children(self, node: int) -> range:
        """The children of a node."""
        first = int(self.first_child[node])
        return range(first, first + int(self.n_children[node]))

    def labels_below(self, node: int) -> Int32:
        """The labels below a node, or in it if it is a leaf."""
        first = int(self.first_label[node])
        return self.label_order[first : first + int(self.n_labels_below[node])]

    # labels

    @cached_property
    def leaf_of_labels(self) -> Int32:
        """The leaf that holds each label."""
        leaves = self.leaves[np.argsort(self.first_label[self.leaves], kind="stable")]
        leaf_of = np.empty(self.n_labels, np.int32)
        leaf_of[self.label_order] = np.repeat(leaves, self.n_labels_in[leaves])
        return _frozen(leaf_of)

    def leaf_of(self, label: int) -> int:
        """The leaf that holds a label."""
        if not 0 <= label < self.n_labels:
            raise DataError(f"label {label} is outside 0..{self.n_labels - 1}")
        return int(self.leaf_of_labels[label])

    def path(self, label: int) -> Int32:
        """The nodes from the root to the leaf of a label."""
        node, nodes = self.leaf_of(label), []
        while node >= 0:
            nodes.append(node)
            node = int(self.parent[node])
        return np.array(nodes[::-1], np.int32)

    def depth_of_labels(self) -> Int32:
        """The depth of each label: that of its leaf, where the root has depth 0."""
        return self.depth[self.leaf_of_labels]

    def expected_depth(self, frequencies: Any) -> float:
        """The mean depth of the labels, weighted by frequencies (any positive scale)."""
        weights = np.asarray(frequencies, np.float64)
        if weights.shape != (self.n_labels,):
            raise DataError(
                f"frequencies must have one number for each of {self.n_labels} labels, but has shape {weights.shape}"
            )
        total = float(weights.sum())
        if not np.isfinite(total) or total <= 0 or weights.min() < 0:
            raise DataError("frequencies must not be negative and must have a positive sum")
        return float(weights @ self.depth_of_labels()) / total

    def kraft_sum(self, arity: int | None = None) -> float:
        """The sum of arity^-depth over the leaves: 1 if all inner nodes have `arity` children."""
        base = arity or self.arity
        if base == 0:
            return 1.0
        counts = np.bincount(self.depth[self.leaves])
        return float(np.sum(counts * np.power(float(base), -np.arange(len(counts)))))

    # other trees

    def collapse(self, levels: int | Sequence[int]) -> LabelTree:
        """The wider tree in which every `levels` consecutive levels are one: binary becomes 2^levels-ary.

        Several numbers are for the levels from the root down, the last one again and again. Nodes whose depth is the
        end of such a run stay, and so do all leaves; a leaf that ends between becomes a child of the node kept above.
        """
        runs = [levels] if isinstance(levels, int) else list(levels)
        if not runs or min(runs) < 1:
            raise DataError(f"levels must be whole numbers from 1 up, but is {levels}")
        runs += [runs[-1]] * (self.max_depth + 1)
        new_depth = np.repeat(np.arange(len(runs)) + 1, runs)[: self.max_depth + 1]  # of the depths 1, 2, ...
        new_depth = np.concatenate([[0], new_depth])
        ends = np.append(new_depth[1:] != new_depth[:-1], True)  # the last old depth of each new one
        stays = ends[self.depth] | (self.n_children == 0)
        above = self.parent.copy()
        for _ in range(max(runs) - 1):
            skipped = (above >= 0) & ~stays[above]
            above[skipped] = self.parent[above[skipped]]
        depth = new_depth[self.depth]
        kept = np.flatnonzero(stays)
        # Ranges of equal depth do not overlap, so depth and position alone give the breadth-first order.
        kept = kept[np.lexsort((self.first_label[kept], depth[kept]))]
        n_children = np.bincount(above[kept[1:]], minlength=self.n_nodes)[kept]
        return LabelTree.from_shape(n_children, self.n_labels_in[kept], self.label_order)

    def with_leaves_of(self, max_leaf: int) -> LabelTree:
        """The tree in which the largest subtrees with at most max_leaf labels are leaves."""
        if max_leaf < 1:
            raise DataError(f"max_leaf must be a whole number from 1 up, but is {max_leaf}")
        inner = (self.n_labels_below > max_leaf) & (self.n_children > 0)
        kept = np.concatenate([[True], inner[self.parent[1:]]])
        n_children = np.where(inner, self.n_children, 0)[kept]
        return LabelTree.from_shape(n_children, np.where(inner, 0, self.n_labels_below)[kept], self.label_order)

    def relabelled(self, new_labels: Any) -> LabelTree:
        """The same tree with label l called new_labels[l]; DataError unless that is a permutation."""
        names = _as_int32(new_labels, "new_labels")
        if len(names) != self.n_labels:
            raise DataError(f"new_labels must have {self.n_labels} entries, but has {len(names)}")
        return LabelTree.from_shape(self.n_children, self.n_labels_in, names[self.label_order])

    def same_as(self, other: LabelTree) -> bool:
        """True if both trees have the same nodes and the same order of labels."""
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in SAVED)


def _arrays_of_shape(n_children: Int32, n_labels_in: Int32, label_order: Int32) -> dict[str, Int32]:
    """first_child, parent, depth and first_label of a breadth-first tree; DataError if it is none."""
    n_nodes, n_labels = len(n_children), len(label_order)
    if n_nodes == 0 or len(n_labels_in) != n_nodes:
        raise DataError(
            f"label tree: {n_nodes} counts of children, {len(n_labels_in)} of labels; both must be one a node"
        )
    leaf = n_children == 0
    bad = np.flatnonzero((n_children < 0) | (n_labels_in < 0) | (leaf != (n_labels_in > 0)))
    if len(bad):
        children, labels = n_children[bad[0]], n_labels_in[bad[0]]
        raise DataError(
            f"label tree, node {bad[0]}: {children} children and {labels} labels; exactly one of them must be positive"
        )
    ends = 1 + np.cumsum(n_children, dtype=np.int64)
    if ends[-1] != n_nodes or np.any(ends[:-1] <= np.arange(1, n_nodes)):
        raise DataError(
            f"label tree: {n_nodes} nodes with {ends[-1] - 1} children; each but the root must be "
            "a child of an earlier node"
        )
    if int(n_labels_in.sum(dtype=np.int64)) != n_labels:
        raise DataError(f"label tree: leaves hold {n_labels_in.sum(dtype=np.int64)} labels, label_order has {n_labels}")
    _check_permutation(label_order)
    first_child = np.where(leaf, -1, ends - n_children).astype(np.int32)
    parent = np.full(n_nodes, -1, np.int32)
    parent[1:] = np.repeat(np.arange(n_nodes, dtype=np.int32), n_children)
    depth, starts = _depths(n_children)
    return {
        "first_child": first_child,
        "parent": parent,
        "depth": depth,
        "first_label": _first_labels(_labels_below(n_labels_in, parent, starts), parent, starts),
    }


def _depths(n_children: Int32) -> tuple[Int32, Int32]:
    """The depth of each node, and the first node of each level followed by n_nodes."""
    starts, end = [0], 1
    before = np.concatenate([[0], np.cumsum(n_children, dtype=np.int64)])
    while end > starts[-1]:
        grown = int(before[end]) + 1  # children of all nodes so far, and the root
        starts.append(end)
        end = grown
    depth = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    return depth, np.array(starts, np.int32)


def _labels_below(n_labels_in: Int32, parent: Int32, starts: Int32) -> Int32:
    below = n_labels_in.copy()
    for level in range(len(starts) - 2, 0, -1):
        nodes = slice(starts[level], starts[level + 1])
        above = slice(starts[level - 1], starts[level])
        sums = np.bincount(parent[nodes] - starts[level - 1], below[nodes], minlength=above.stop - above.start)
        below[above] += sums.astype(np.int32)
    return below


def _first_labels(below: Int32, parent: Int32, starts: Int32) -> Int32:
    """Where the labels of each node begin: after those of its elder siblings."""
    first = np.zeros(len(below), np.int32)
    for level in range(1, len(starts) - 1):
        nodes = slice(starts[level], starts[level + 1])
        before = np.cumsum(below[nodes]) - below[nodes]
        eldest = np.searchsorted(parent[nodes], parent[nodes])
        first[nodes] = first[parent[nodes]] + before - before[eldest]
    return first


def _check_permutation(label_order: Int32) -> None:
    n_labels = len(label_order)
    outside = np.flatnonzero((label_order < 0) | (label_order >= n_labels))
    if len(outside):
        raise DataError(f"label tree: label {label_order[outside[0]]} is outside 0..{n_labels - 1}")
    times = np.bincount(label_order, minlength=n_labels)
    if times.max(initial=1) > 1:
        raise DataError(
            f"label tree: label {int(np.argmax(times > 1))} is in more than one place; one leaf must hold it"
        )


def _as_int32(values: Any, what: str) -> Int32:
    """A read-only-able int32 array of our own view, never the caller's object."""
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(f"label tree: {what} must be a one-dimensional array of whole numbers")
    if array.size and (array.max() > np.iinfo(np.int32).max or array.min() < np.iinfo(np.int32).min):
        raise DataError(f"label tree: {what} holds numbers beyond 32 bits")
    return np.ascontiguousarray(array, np.int32).view()


def _frozen(values: npt.NDArray[Any]) -> Int32:
    array = values.astype(np.int32)
    array.flags.writeable = False
    return array
