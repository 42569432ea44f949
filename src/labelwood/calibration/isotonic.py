"""Curve: scores -> probabilities, never falling; learnt by pooling adjacent violators over bins of scored answers.

Zadrozny and Elkan, Transforming Classifier Scores into Accurate Multiclass Probability Estimates, KDD 2002. Between the
centres of the pooled bins the curve is a straight line, so that better scores nearly always get better probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
MOST_BINS = 80
SMALLEST_BIN = 20  # answers; fewer say nothing about a probability
# Answers that the curve of all labels adds to every bin of a band: a band with few answers stays near it.
BORROWED = 10.0


@dataclass(frozen=True, eq=False)
class Curve:
    """Knots of a curve that never falls: scores and probabilities (n_knots,), both ascending."""

    scores: npt.NDArray[np.float32]
    probabilities: npt.NDArray[np.float32]

    def __call__(self, scores: npt.NDArray[Any]) -> Floats:
        """The probability of each score; beyond the knots that of the nearest one."""
        return np.asarray(np.interp(scores, self.scores, self.probabilities), np.float64)


def pooled(values: Floats, weights: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    """(the nearest values that never fall, the first place of each pool): pool-adjacent-violators, by least squares."""
    means: list[float] = []
    masses: list[float] = []
    starts: list[int] = []
    for place, (value, weight) in enumerate(zip(values.tolist(), weights.tolist(), strict=True)):
        means.append(value)
        masses.append(weight)
        starts.append(place)
        while len(means) > 1 and means[-2] >= means[-1]:
            mass = masses[-2] + masses[-1]
            means[-2] = (means[-2] * masses[-2] + means[-1] * masses[-1]) / mass
            masses[-2] = mass
            del means[-1], masses[-1], starts[-1]
    return np.array(means), np.array(starts, np.int64)


def learnt_curve(scores: npt.NDArray[Any], hits: npt.NDArray[Any], base: Curve | None = None) -> Curve:
    """The curve of scored answers, of which `hits` were right; base: the curve that bins with few answers stay near."""
    order = np.argsort(scores, kind="stable")
    ordered, right = np.asarray(scores, np.float64)[order], np.asarray(hits, np.float64)[order]
    starts = _bin_starts(ordered, right)
    sizes = np.diff(np.append(starts, len(ordered))).astype(np.float64)
    centres = np.add.reduceat(ordered, starts) / sizes
    rights = np.add.reduceat(right, starts)
    if base is None:
        # Half a hit and half a miss: no bin is sure.
        rates, weights = (rights + 0.5) / (sizes + 1), sizes + 1
    else:
        rates, weights = (rights + BORROWED * base(centres)) / (sizes + BORROWED), sizes + BORROWED
    values, pools = pooled(rates, weights)
    knots = np.add.reduceat(centres * sizes, pools) / np.add.reduceat(sizes, pools)
    distinct = np.append(np.diff(knots.astype(np.float32)) > 0, True)  # float32 may merge two centres
    return Curve(knots.astype(np.float32)[distinct], values.astype(np.float32)[distinct])


def _bin_starts(ordered: Floats, right: Floats) -> npt.NDArray[np.int64]:
    """Where each bin begins: half of the mass is answers, half is hits, so that high scores, which are few, get bins.

    Equal scores share a bin.
    """
    n = len(ordered)
    n_bins = int(min(MOST_BINS, max(1, n // SMALLEST_BIN)))
    mass = 1 / n + right / max(1.0, right.sum())
    place = (np.cumsum(mass) - mass / 2) * (n_bins / mass.sum())
    numbers = np.minimum(place.astype(np.int64), n_bins - 1)
    starts = np.flatnonzero(np.append(True, np.diff(numbers) > 0))
    starts = np.unique(np.searchsorted(ordered, ordered[starts], side="left"))
    keep = [0]
    for start in starts[1:].tolist():
        if start - keep[-1] >= SMALLEST_BIN:
            keep.append(start)
    if len(keep) > 1 and n - keep[-1] < SMALLEST_BIN:
        keep.pop()
    return np.array(keep, np.int64)
