"""Random numbers keyed by (seed, item): the same on every platform, whatever else was drawn before."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

U64 = npt.NDArray[np.uint64]


def keyed_bits(seed: int, *items: Any) -> U64:
    """Random 64-bit words, one for each combination of (broadcast) item numbers, by splitmix64's mixer."""
    with np.errstate(over="ignore"):
        state = _mix(np.asarray(np.uint64(seed % 2**64) + np.uint64(0x9E3779B97F4A7C15)))
        for item in items:
            words = np.asarray(item).astype(np.uint64)
            state = _mix(state ^ _mix(words + np.uint64(0x9E3779B97F4A7C15)))
    return state


def keyed_uniform(seed: int, *items: Any) -> npt.NDArray[np.float64]:
    """Random numbers in [0, 1), one for each combination of the item numbers."""
    return np.asarray((keyed_bits(seed, *items) >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def keyed_below(limit: int, seed: int, *items: Any) -> npt.NDArray[np.int64]:
    """Random whole numbers in 0..limit-1, one for each combination of the item numbers."""
    return np.asarray((keyed_uniform(seed, *items) * limit).astype(np.int64))


def keyed_order(n: int, seed: int, *items: Any) -> npt.NDArray[np.int64]:
    """A random order of 0..n-1."""
    return np.argsort(keyed_bits(seed, *items, np.arange(n)), kind="stable")


def _mix(words: Any) -> U64:
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(words ^ (words >> np.uint64(31)))
