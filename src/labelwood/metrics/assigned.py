"""Precision, recall and F1 of the labels that rows were given, with bootstrap intervals over the rows or groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from labelwood.data.groups import group_numbers, summed
from labelwood.metrics.hits import Floats, Ints, hit_matrix
from labelwood.topk import TopK

RESAMPLES = 500
_BLOCK = 1 << 22  # row numbers drawn at a time: 32 MB


class Interval(NamedTuple):
    """A figure in per cent, and the bounds within which 95 of 100 resamples of the rows put it."""

    value: float
    low: float
    high: float


def assigned_metrics(
    top: TopK, y: Any, *, groups: Sequence[Any] | None = None, n_resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Interval]:
    """How good given label sets are: "precision", "recall" and "f1" over all answers together, with intervals.

    top: the labels that each row was given; padding counts as no answer. precision: the share of the given labels that
    is right. recall: the share of the true labels that is found. groups: what group each row is of (None or "": of
    none), such as its author; the resamples then draw whole groups, as rows of one go wrong together.
    """
    hits = hit_matrix(top, y)
    hit = hits.hit.sum(axis=1, dtype=np.int64)
    given = hits.answered(top.k)
    parts = np.stack([hit, given, hits.n_true], axis=1)  # (n_rows, 3)
    value = _shares(parts.sum(axis=0)[None, :])[0]
    numbers = None if groups is None else group_numbers(groups, len(parts), most=1.0)
    drawn = _shares(_resampled(summed(parts, numbers), n_resamples, seed))
    low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
    return {
        name: Interval(float(value[place]), float(low[place]), float(high[place]))
        for place, name in enumerate(("precision", "recall", "f1"))
    }


def popular_answers(counts: npt.NDArray[np.int64], n_rows: int, n_given: int) -> TopK:
    """The most frequent labels for every row alike: what a tagger must beat."""
    order = np.lexsort((np.arange(len(counts)), -counts))[: max(1, n_given)]
    return TopK(np.tile(order.astype(np.int32), (n_rows, 1)), np.ones((n_rows, len(order)), np.float32))


def _resampled(parts: Ints, n_resamples: int, seed: int) -> Ints:
    """The sums of parts over rows drawn with replacement, (n_resamples, n_parts)."""
    rng = np.random.default_rng(seed)
    n_rows = len(parts)
    at_a_time = max(1, _BLOCK // n_rows)
    sums = []
    for start in range(0, n_resamples, at_a_time):
        rows = rng.integers(0, n_rows, (min(at_a_time, n_resamples - start), n_rows))
        sums.append(np.stack([parts[:, part][rows].sum(axis=1) for part in range(parts.shape[1])], axis=1))
    return np.concatenate(sums)


def _shares(sums: Ints) -> Floats:
    """(precision, recall, F1) in per cent of each row of (hits, given, true)."""
    hit, given, true = sums[:, 0], sums[:, 1], sums[:, 2]
    shares = (hit / np.maximum(1, given), hit / np.maximum(1, true), 2 * hit / np.maximum(1, given + true))
    return np.asarray(100.0 * np.stack(shares, axis=1), np.float64)
