"""Factors that make the training rows of rare labels count more."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from labelwood.errors import ParamError, unknown_name

WEIGHTINGS = ("none", "propensity", "inverse-frequency")
# Jain, Prabhu and Varma, KDD 2016: the constants for data sets without measured ones.
_A, _B = 0.55, 1.5


def label_costs(counts: npt.NDArray[np.int64], n_rows: int, weighting: str) -> npt.NDArray[np.float64] | None:
    """A factor for every label, 1 on average over its training rows; None for "none".

    "propensity": 1 / p_l = 1 + C (n_l + B)^-A with C = (ln N - 1)(B + 1)^A, what propensity-scored
    metrics pay for a hit.
    "inverse-frequency": 1 / n_l. The mean over all (row, label) pairs is made 1, so that C keeps its meaning.
    """
    if weighting not in WEIGHTINGS:
        raise ParamError(unknown_name("weighting", weighting, WEIGHTINGS))
    total = float(counts.sum())
    if weighting == "none" or not total:
        return None
    if weighting == "propensity":
        slope = max(0.0, float(np.log(n_rows)) - 1) * (_B + 1) ** _A
        costs = 1 + slope * (counts + _B) ** -_A
    else:
        costs = 1 / np.maximum(counts, 1)
    return np.asarray(costs * (total / float(counts @ costs)), np.float64)
