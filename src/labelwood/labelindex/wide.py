"""Wide, shallow, unbalanced label trees: spherical k-means in every node (as in Bonsai)."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelwood.labelindex.splitting import Int32, Int64, Splitter, check_whole, grow, split_evenly
from labelwood.labelindex.tree import LabelTree
from labelwood.progress import SILENT, Progress


def wide_tree(
    vectors: Any,
    *,
    max_leaf: int = 100,
    arity: int = 100,
    max_depth: int | None = None,
    max_iterations: int = 20,
    tolerance: float = 1e-4,
    seed: int = 0,
    n_threads: int | None = None,
    progress: Progress = SILENT,
) -> LabelTree:
    """The tree of recursive spherical k-means over label vectors (n_labels, n_features) with unit rows.

    Nodes with more than max_leaf labels get up to `arity` children of any size (Khandagale et al., Bonsai,
    2020); nodes at max_depth stay leaves however many labels they hold. The centres of the root need 4 *
    n_features * arity bytes.
    """
    check_whole("max_leaf", max_leaf, 1)
    check_whole("arity", arity, 2)
    if max_depth is not None:
        check_whole("max_depth", max_depth, 1)
    splitter = Splitter.of(vectors)

    def split_level(order: Int32, first: Int64, size: Int64, number: Int64, _: int) -> Int64:
        counts = np.zeros((len(first), arity), np.int64)
        many = size > arity
        counts[~many] = split_evenly(size[~many], arity, lambda *_: None) if np.any(~many) else 0
        counts[many] = splitter.clusters(
            order,
            first[many],
            size[many],
            number[many],
            arity,
            max_iterations=max_iterations,
            tolerance=tolerance,
            seed=seed,
            n_threads=n_threads,
        )
        return counts

    def is_inner(size: Int64, depth: int) -> Any:
        return (size > max_leaf) & (max_depth is None or depth < max_depth)

    return grow(np.arange(splitter.n_labels, dtype=np.int32), split_level, is_inner, progress)
