"""Random balanced label trees: the control for every tree that claims to be better than chance."""

from __future__ import annotations

import numpy as np

from labelwood.labelindex.balanced import until
from labelwood.labelindex.splitting import Int32, Int64, check_whole, grow, split_evenly
from labelwood.labelindex.tree import LabelTree


def random_tree(
    n_labels: int, *, max_leaf: int = 100, arity: int = 2, equal_depth: bool = False, seed: int = 0
) -> LabelTree:
    """The tree of equal parts, like `balanced_tree`, over a random order of the labels."""
    check_whole("n_labels", n_labels, 1)
    check_whole("max_leaf", max_leaf, 1)
    check_whole("arity", arity, 2)

    def split_level(_order: Int32, _first: Int64, size: Int64, _number: Int64, _depth: int) -> Int64:
        return split_evenly(size, arity, lambda *_: None)

    order = np.random.default_rng(seed).permutation(n_labels).astype(np.int32)
    return grow(order, split_level, until(n_labels, max_leaf, arity, equal_depth))
