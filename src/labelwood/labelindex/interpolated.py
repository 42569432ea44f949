"""Label trees between similarity and frequency: balanced 2-means (0), weighted 2-means (1), Fano code (2).

Baharav et al., Enabling Efficiency-Precision Trade-offs for Label Trees in Extreme Classification, CIKM 2021,
equation 4. docs/methods/label-trees.md has the formulas and the choices made.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from labelwood import _native
from labelwood.errors import ParamError, unknown_name
from labelwood.labelindex.splitting import (
    Int32,
    Int64,
    Splitter,
    check_whole,
    checked_frequencies,
    grow,
    in_two,
)
from labelwood.labelindex.tree import LabelTree
from labelwood.progress import SILENT, Progress

ROUNDINGS = ("nearest", "left")


def balance_of_ratio(ratio: float) -> float:
    """The balance (lambda) of a balance ratio r (lambda'): 2 r / (1 + r), so 0, 1, inf give 0, 1, 2."""
    if not ratio >= 0:
        raise ParamError(f"balance_ratio must be a number from 0 up, but is {ratio!r}")
    return 2.0 if math.isinf(ratio) else 2 * ratio / (1 + ratio)


def interpolated_tree(
    vectors: Any,
    frequencies: Any,
    cover_frequencies: Any = None,
    *,
    balance: float | None = None,
    balance_ratio: float | None = None,
    smoothing: float = 0.1,
    direct: bool = False,
    max_leaf: int = 100,
    rounding: str = "nearest",
    round_each: bool = True,
    max_depth: int | None = None,
    max_iterations: int = 20,
    tolerance: float = 1e-4,
    seed: int = 0,
    n_threads: int | None = None,
    progress: Progress = SILENT,
) -> LabelTree:
    """The binary tree of recursive splits into halves of equal weight.

    vectors (n_labels, n_features), unit rows; frequencies f and cover_frequencies f~ (default: f), one a
    label in any scale, are made to sum to 1 inside each node. balance: lambda in [0, 2], default 1;
    balance_ratio gives it as lambda' instead. smoothing: gamma. direct: from balanced 2-means straight to
    Fano, without f on the way. rounding: where the one fractional label of a split goes, to the side it is
    nearest to or always "left" (the first child); round_each: in every iteration, keeping the best split
    seen, instead of after the last. Beyond max_depth (default 4 ceil(log2 n_labels) + 32) splits are
    balanced, so that no chain can form.
    """
    value = _balance(balance, balance_ratio)
    check_whole("max_leaf", max_leaf, 1)
    if rounding not in ROUNDINGS:
        raise ParamError(unknown_name("rounding", rounding, ROUNDINGS))
    if not 0 <= smoothing < math.inf:
        raise ParamError(f"smoothing must be a number from 0 up, but is {smoothing!r}")
    f = checked_frequencies(frequencies, None)
    cover = f if cover_frequencies is None else checked_frequencies(cover_frequencies, len(f), "cover_frequencies")
    splitter = Splitter.of(vectors, f, cover)
    checked_frequencies(f, splitter.n_labels)
    balanced = _native.SplitOptions()
    balanced.max_iterations, balanced.tolerance = max_iterations, tolerance
    balanced.seed, balanced.n_threads = seed, n_threads or 0
    weighted = split_options(value, smoothing, direct)
    weighted.max_iterations, weighted.tolerance = max_iterations, tolerance
    weighted.seed, weighted.n_threads = seed, n_threads or 0
    weighted.round_each, weighted.round_left = round_each, rounding == "left"
    deepest = 4 * math.ceil(math.log2(max(splitter.n_labels, 2))) + 32 if max_depth is None else max_depth

    def split_level(order: Int32, first: Int64, size: Int64, number: Int64, depth: int) -> Int64:
        options = weighted if depth < deepest else balanced
        return in_two(splitter.split(order, first, size, number, options)[0], size)

    order = np.arange(splitter.n_labels, dtype=np.int32)
    return grow(order, split_level, lambda size, depth: size > max_leaf, progress)


def split_options(balance: float, smoothing: float, direct: bool) -> _native.SplitOptions:
    """The factors of the objective for a balance (lambda), as the native split takes them."""
    options = _native.SplitOptions()
    options.weighted = True
    options.similarity = options.frequency = 2 - balance
    options.smoothing = smoothing
    if direct:
        options.exponent, options.cover, options.fano = 0.0, balance, balance / 2
    else:
        options.exponent = min(balance, 1.0)
        options.cover = options.fano = max(balance - 1.0, 0.0)
    return options


def _balance(balance: float | None, ratio: float | None) -> float:
    if ratio is not None:
        if balance is not None:
            raise ParamError("give balance or balance_ratio, not both")
        return balance_of_ratio(ratio)
    value = 1.0 if balance is None else float(balance)
    if not 0 <= value <= 2:
        raise ParamError(f"balance must be a number from 0 to 2, but is {balance!r}")
    return value
