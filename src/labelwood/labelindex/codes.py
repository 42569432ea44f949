"""Binary codes of a label tree: inner nodes with exactly two children, one label in every leaf."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood.errors import DataError, ModelFileError
from labelwood.labelindex.hierarchy import tree_from_parents
from labelwood.labelindex.tree import LabelTree
from labelwood.storage.schema import ArrayRule, Schema

Int32 = npt.NDArray[np.int32]

CODES: Schema = {"child": ArrayRule("int32", ("n_places",))}


@dataclass(frozen=True, eq=False)
class LabelCodes:
    """The inner nodes of a binary tree, numbered from the root (0) so that children come after their parent.

    A place is 2 * node + side (0 left, 1 right). child (2 * n_inner): what stands at a place, an inner node or ~label.
    place_of_label (n_labels) and place_of_inner (n_inner): the place of each, -1 at the root.
    """

    child: Int32
    place_of_label: Int32
    place_of_inner: Int32

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return len(self.place_of_label)

    @property
    def n_inner(self) -> int:
        """The number of inner nodes: one less than labels."""
        return len(self.place_of_inner)

    def path(self, label: int) -> list[int]:
        """The places from the root down to a label: the inner nodes passed and the sides taken."""
        places, place = [], int(self.place_of_label[label])
        while place >= 0:
            places.append(place)
            place = int(self.place_of_inner[place >> 1])
        return places[::-1]

    def depths(self) -> npt.NDArray[np.int64]:
        """The depth of every label: how many decisions lead to it."""
        inner = np.zeros(self.n_inner, np.int64)
        for node in range(1, self.n_inner):
            inner[node] = inner[self.place_of_inner[node] >> 1] + 1
        if self.n_inner == 0:
            return np.zeros(1, np.int64)
        depths: npt.NDArray[np.int64] = inner[self.place_of_label >> 1] + 1
        return depths

    def to_arrays(self) -> dict[str, Int32]:
        """The array to save; the others follow from it."""
        return {"child": self.child}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], n_labels: int) -> LabelCodes:
        """The codes that `to_arrays` gave, which keep CODES; ModelFileError if they make no tree of n_labels labels."""
        try:
            return _codes(arrays["child"], n_labels)
        except DataError as error:
            raise ModelFileError(str(error)) from error


def label_codes(tree: LabelTree, weights: Any = None) -> LabelCodes:
    """The binary codes of any label tree.

    Nodes with more than two children, and leaves with more than one label, become little Huffman trees by weights
    (n_labels, default: all the same); a node with one child is skipped.
    """
    w = np.ones(tree.n_labels) if weights is None else np.asarray(weights, np.float64)
    if w.shape != (tree.n_labels,):
        raise DataError(f"weights must have one number for each of {tree.n_labels} labels, but has shape {w.shape}")
    if np.any(tree.n_children > 2) or np.any(tree.n_children == 1) or np.any(tree.n_labels_in > 1):
        tree = _binary(tree, w)
    inner = np.flatnonzero(tree.n_children > 0)
    number = np.full(tree.n_nodes, -1, np.int64)
    number[inner] = np.arange(len(inner))
    leaf = tree.n_children == 0
    # A leaf's number is ~label: negative, so one array tells both kinds apart.
    number[leaf] = ~tree.label_order[tree.first_label[leaf]].astype(np.int64)
    first = tree.first_child[inner]
    child = np.column_stack([number[first], number[first + 1]]).ravel() if len(inner) else np.zeros(0)
    return _codes(child.astype(np.int32), tree.n_labels)


def _codes(child: Int32, n_labels: int) -> LabelCodes:
    n_inner = n_labels - 1
    places = np.arange(len(child), dtype=np.int32)
    is_label = child < 0
    labels, nodes = ~child[is_label], child[~is_label]
    good = len(child) == 2 * n_inner and np.array_equal(np.sort(labels), np.arange(n_labels)[: len(labels)])
    if n_inner:
        good = good and len(labels) == n_labels and np.array_equal(np.sort(nodes), np.arange(1, n_inner))
        good = good and bool(np.all(nodes > places[~is_label] >> 1))
    if not good:
        raise DataError(f"label codes: the children make no binary tree of {n_labels} labels")
    place_of_label = np.full(n_labels, -1, np.int32)
    place_of_label[labels] = places[is_label]
    place_of_inner = np.full(n_inner, -1, np.int32)
    place_of_inner[nodes] = places[~is_label]
    return LabelCodes(np.ascontiguousarray(child), place_of_label, place_of_inner)


def _binary(tree: LabelTree, weights: npt.NDArray[np.float64]) -> LabelTree:
    """The tree with every node of more than two children cut in two again and again, the lightest parts together."""
    order_weight = np.concatenate([[0.0], np.cumsum(weights[tree.label_order])])
    below = order_weight[tree.first_label + tree.n_labels_below] - order_weight[tree.first_label]
    parents = tree.parent.astype(np.int64).tolist()
    holder = np.empty(tree.n_labels, np.int64)
    for node in range(tree.n_nodes):
        if tree.n_children[node]:
            parts = [(float(below[child]), child) for child in tree.children(node)]
        else:
            labels = tree.labels_below(node).tolist()
            if len(labels) == 1:
                holder[labels[0]] = node
                continue
            parts = []
            for label in labels:
                holder[label] = len(parents)
                parts.append((float(weights[label]), len(parents)))
                parents.append(node)
        heapq.heapify(parts)
        while len(parts) > 2:
            (light, lightest), (heavy, heavier) = heapq.heappop(parts), heapq.heappop(parts)
            parents[lightest] = parents[heavier] = len(parents)
            heapq.heappush(parts, (light + heavy, len(parents)))
            parents.append(node)
    above = np.array(parents, np.int64)
    # A node with a single child decides nothing: its child takes its place.
    children = np.bincount(above[above >= 0], minlength=len(above))
    for node in range(len(above)):
        up = above[node]
        while up >= 0 and children[up] == 1:
            up = above[up]
        above[node] = up
    keep = children != 1
    number = np.cumsum(keep) - 1
    return tree_from_parents(np.where(above[keep] < 0, -1, number[above[keep]]), number[holder])
