"""Balanced label trees: recursive balanced spherical 2-means (Parabel), and its k-ary and equal-depth kinds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood import _native
from labelwood.labelindex.splitting import Int64, Splitter, check_whole, grow_binary
from labelwood.labelindex.tree import LabelTree
from labelwood.progress import SILENT, Progress


def balanced_tree(
    vectors: Any,
    *,
    max_leaf: int = 100,
    arity: int = 2,
    equal_depth: bool = False,
    max_iterations: int = 20,
    tolerance: float = 1e-4,
    seed: int = 0,
    n_threads: int | None = None,
    progress: Progress = SILENT,
) -> LabelTree:
    """The tree of recursive balanced 2-means over label vectors (n_labels, n_features), unit rows.

    Nodes with more than max_leaf labels are split; siblings differ by at most one label (Prabhu et al., Parabel, 2018).
    equal_depth: all leaves get the depth max(1, ceil(log_arity(n_labels / max_leaf))), as PECOS does it; leaves then
    differ by at most one label. arity above 2: each node is cut by arity - 1 such splits into parts of equal size.
    A split stops when it repeats, after max_iterations, or when the mean similarity gains less than tolerance.
    """
    check_whole("max_leaf", max_leaf, 1)
    check_whole("arity", arity, 2)
    options = _native.SplitOptions()
    options.max_iterations, options.tolerance = max_iterations, tolerance
    options.seed, options.n_threads = seed, n_threads or 0
    splitter = Splitter(vectors)
    order = np.arange(splitter.n_labels, dtype=np.int32)
    depth = _equal_depth(splitter.n_labels, max_leaf, arity) if equal_depth else None
    if arity > 2:
        return _k_ary(splitter, order, max_leaf, arity, depth, options, progress)

    def split_level(order: npt.NDArray[np.int32], first: Int64, size: Int64, key: Int64, _: int) -> Int64:
        return splitter.split(order, first, size, key, options)[0]

    def is_inner(size: Int64, level: int) -> npt.NDArray[np.bool_]:
        return size > max_leaf if depth is None else np.full(len(size), level < depth)

    return grow_binary(order, split_level, is_inner, progress)


def _equal_depth(n_labels: int, max_leaf: int, arity: int) -> int:
    """The depth at which parts of n_labels hold at most max_leaf labels; at least 1, but never more than the labels allow."""
    depth = 1
    while n_labels > max_leaf * arity**depth:
        depth += 1
    return min(depth, int(math.log(n_labels, arity) + 1e-9))


def _k_ary(
    splitter: Splitter,
    order: npt.NDArray[np.int32],
    max_leaf: int,
    arity: int,
    depth: int | None,
    options: _native.SplitOptions,
    progress: Progress,
) -> LabelTree:
    """The tree whose inner nodes have min(arity, labels) children of equal size, made by proportional two-way splits."""
    first, size = np.zeros(1, np.int64), np.array([len(order)], np.int64)
    n_children: list[Int64] = []
    n_labels_in: list[Int64] = []
    level, done, n_splits = 0, 0, 0
    while len(first):
        inner = size > 1
        inner &= size > max_leaf if depth is None else level < depth
        parts = np.minimum(size, arity)
        n_children.append(np.where(inner, parts, 0))
        n_labels_in.append(np.where(inner, 0, size))
        done += int(size[~inner].sum())
        progress.step("label tree", done, len(order))
        first, size, parts = first[inner], size[inner], parts[inner]
        while np.any(parts > 1):
            cut = np.flatnonzero(parts > 1)
            left_parts = (parts[cut] + 1) // 2
            # The first size % parts parts get one label more, so parts never differ by more than one label.
            smaller, larger = size[cut] // parts[cut], np.minimum(size[cut] % parts[cut], left_parts)
            want = left_parts * smaller + larger
            key = n_splits + np.arange(len(cut))
            n_splits += len(cut)
            splitter.split(order, first[cut], size[cut], key, options, want)
            first, size, parts = _cut(first, size, parts, cut, want, left_parts)
        level += 1
    return LabelTree.from_shape(np.concatenate(n_children), np.concatenate(n_labels_in), order)


def _cut(first: Int64, size: Int64, parts: Int64, cut: Int64, left: Int64, left_parts: Int64) -> tuple[Int64, Int64, Int64]:
    """The slices with those of `cut` replaced by their two pieces, in place."""
    pieces = np.ones(len(first), np.int64)
    pieces[cut] = 2
    at = np.cumsum(pieces) - pieces
    first, size, parts = (np.repeat(values, pieces) for values in (first, size, parts))
    right = at[cut] + 1
    first[right] += left
    size[right] -= left
    size[right - 1] = left
    parts[right] -= left_parts
    parts[right - 1] = left_parts
    return first, size, parts
