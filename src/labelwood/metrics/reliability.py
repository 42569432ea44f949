"""Reliability: how many of the answers that were said to be 70% sure are right, and the same for every share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood.errors import DataError, ParamError
from labelwood.metrics.hits import Floats, Ints


@dataclass(frozen=True, eq=False)
class Reliability:
    """Answers in bins of equal width by probability; bins without answers are left out.

    said: their mean probability. right: the share that is right. n_answers: how many. All (n_bins,), ascending.
    """

    said: Floats
    right: Floats
    n_answers: Ints

    @property
    def error(self) -> float:
        """The expected calibration error: the mean difference between said and right over all answers, 0..1."""
        total = max(1, int(self.n_answers.sum()))
        return float(np.sum(np.abs(self.said - self.right) * self.n_answers) / total)


def reliability(probabilities: npt.NDArray[Any], hits: npt.NDArray[Any], n_bins: int = 15) -> Reliability:
    """The bins of answers with these probabilities, of which `hits` were right (both of one shape)."""
    said, right = np.asarray(probabilities, np.float64).ravel(), np.asarray(hits, np.float64).ravel()
    if said.shape != right.shape:
        raise DataError(f"there are {len(said)} probabilities but {len(right)} hits")
    if len(said) and not (said.min() >= 0 and said.max() <= 1):
        raise DataError(f"probabilities must lie in 0..1, but are {said.min():g}..{said.max():g}")
    if n_bins < 1:
        raise ParamError(f"n_bins must be a whole number from 1 up, but is {n_bins!r}")
    bins = np.minimum((said * n_bins).astype(np.int64), n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins)
    used = counts > 0
    return Reliability(
        np.bincount(bins, said, n_bins)[used] / counts[used],
        np.bincount(bins, right, n_bins)[used] / counts[used],
        counts[used].astype(np.int64),
    )
