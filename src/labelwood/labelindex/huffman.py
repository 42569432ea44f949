"""Label trees from frequencies alone: Huffman's optimal code and Fano's top-down one."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelwood.labelindex.hierarchy import tree_from_parents
from labelwood.labelindex.splitting import Int32, Int64, check_whole, checked_frequencies, grow, in_two
from labelwood.labelindex.tree import LabelTree


def huffman_tree(frequencies: Any, *, max_leaf: int = 1) -> LabelTree:
    """The binary tree of least expected depth for label frequencies (n_labels, any scale).

    max_leaf above 1: the largest subtrees with at most so many labels become leaves. Equal frequencies: the
    smaller label is merged first, and labels before merged nodes, which gives the shallowest of the optimal
    trees.
    """
    check_whole("max_leaf", max_leaf, 1)
    f = checked_frequencies(frequencies, None)
    n_labels = len(f)
    parents = np.full(2 * n_labels - 1, -1, np.int64)
    # Two queues, both ascending: labels by frequency, and merged nodes as they come. Linear after the sort.
    labels = np.argsort(f, kind="stable").tolist()
    weights = np.concatenate([f, np.zeros(n_labels - 1)]).tolist()
    at_label, at_merged = 0, n_labels
    for node in range(n_labels, 2 * n_labels - 1):
        total = 0.0
        for _ in range(2):
            take_label = at_label < n_labels and (at_merged >= node or weights[labels[at_label]] <= weights[at_merged])
            if take_label:
                child = labels[at_label]
                at_label += 1
            else:
                child = at_merged
                at_merged += 1
            parents[child] = node
            total += weights[child]
        weights[node] = total
    return tree_from_parents(parents, np.arange(n_labels)).with_leaves_of(max_leaf)


def fano_tree(frequencies: Any, *, max_leaf: int = 1) -> LabelTree:
    """The binary tree of Fano's code: labels by falling frequency, cut where the halves are nearest to equal.

    Nodes with more than max_leaf labels are cut; a node whose labels all have frequency 0 is cut in the
    middle. Equal frequencies: the smaller label comes first.
    """
    check_whole("max_leaf", max_leaf, 1)
    f = checked_frequencies(frequencies, None)
    order = np.argsort(-f, kind="stable").astype(np.int32)
    before = np.concatenate([[0.0], np.cumsum(f[order])])

    def split_level(_order: Int32, first: Int64, size: Int64, _number: Int64, _depth: int) -> Int64:
        low, high = before[first], before[first + size]
        total = high - low
        # The label with which the first child reaches half of the weight, and whether it had better stay
        # there.
        middle = np.searchsorted(before, low + total * (0.5 - 1e-12), side="left") - 1
        middle = np.clip(middle, first, first + size - 1)
        nearer = low + high - 2 * before[middle] >= (before[middle + 1] - before[middle]) * (1 - 1e-6)
        left = np.clip(middle - first + nearer, 1, size - 1)
        return in_two(np.where(total > 0, left, size // 2), size)

    return grow(order, split_level, lambda size, depth: size > max_leaf)
