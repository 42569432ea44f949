"""Balanced label trees: recursive balanced spherical 2-means (Parabel), with k-ary and equal-depth kinds."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelwood import _native
from labelwood.labelindex.splitting import (
    Int32,
    Int64,
    IsInner,
    Splitter,
    check_whole,
    grow,
    in_two,
    split_evenly,
)
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
    """The tree of recursive balanced 2-means over label vectors (n_labels, n_features) with unit rows.

    Nodes with more than max_leaf labels are split, and siblings differ by at most one label (Prabhu et al.,
    Parabel, 2018). arity above 2: a node is cut by arity - 1 such splits into parts of equal size.
    equal_depth: all leaves get the depth max(1, ceil(log_arity(n_labels / max_leaf))), as in PECOS; leaves
    then differ by at most one label. A split stops when it repeats, after max_iterations, or when the mean
    similarity of labels and centres gains less than tolerance.
    """
    check_whole("max_leaf", max_leaf, 1)
    check_whole("arity", arity, 2)
    options = _native.SplitOptions()
    options.max_iterations, options.tolerance = max_iterations, tolerance
    options.seed, options.n_threads = seed, n_threads or 0
    splitter = Splitter(vectors)

    def in_halves(order: Int32, first: Int64, size: Int64, number: Int64, _: int) -> Int64:
        return in_two(splitter.split(order, first, size, number, options)[0], size)

    def in_parts(order: Int32, first: Int64, size: Int64, number: Int64, _: int) -> Int64:
        level_start = np.cumsum(size) - size
        n_rounds = 0

        def cut(offset: Int64, sizes: Int64, wanted: Int64) -> None:
            nonlocal n_rounds
            node = np.searchsorted(level_start, offset, side="right") - 1
            inside = offset - level_start[node]
            key = (number[node] << 37) + (inside << 5) + n_rounds  # every cut has randomness of its own
            n_rounds += 1
            splitter.split(order, first[node] + inside, sizes, key, options, wanted)

        return split_evenly(size, arity, cut)

    order = np.arange(splitter.n_labels, dtype=np.int32)
    is_inner = until(splitter.n_labels, max_leaf, arity, equal_depth)
    return grow(order, in_halves if arity == 2 else in_parts, is_inner, progress)


def until(n_labels: int, max_leaf: int, arity: int, equal_depth: bool) -> IsInner:
    """The rule of when to go on splitting."""
    if not equal_depth:
        return lambda size, depth: size > max_leaf
    levels, fits = 1, arity
    while n_labels > max_leaf * fits:
        levels, fits = levels + 1, fits * arity
    while fits > n_labels:  # a level more than there are labels to fill it would leave empty or early leaves
        levels, fits = levels - 1, fits // arity
    return lambda size, depth: np.full(len(size), depth < levels)
