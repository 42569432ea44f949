"""Propensity-scored metrics: hits on rare labels count more (Jain, Prabhu and Varma, KDD 2016)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from labelwood import _native
from labelwood.errors import DataError, ParamError
from labelwood.matrices import as_labels, column_ids, row_pointers
from labelwood.metrics.hits import Floats, Hits, Ints
from labelwood.metrics.ranking import discounts, ideal_dcg


def label_counts(train_y: Any, n_train: int | None = None) -> tuple[Ints, int]:
    """(training rows of each label (n_labels,), number of training rows), from the labels or ready counts.

    train_y is the training label matrix; or, together with n_train, the 1-d array of counts.
    """
    if n_train is None:
        if not sparse.issparse(train_y) and np.ndim(train_y) == 1:
            raise ParamError(
                "train_y is a 1-d array of label counts: give n_train, the number of training rows, too"
            )
        labels = as_labels(train_y, "train_y")
        if labels.shape[0] == 0:
            raise DataError("train_y has no rows: propensities and bands need training labels")
        return np.bincount(labels.indices, minlength=labels.shape[1]).astype(np.int64), int(labels.shape[0])
    if isinstance(n_train, bool) or not isinstance(n_train, (int, np.integer)) or n_train < 1:
        raise ParamError(f"n_train must be a whole number from 1 up, but is {n_train!r}")
    counts = np.asarray(train_y)
    if sparse.issparse(train_y) or counts.ndim != 1 or not np.issubdtype(counts.dtype, np.integer):
        raise ParamError(
            "n_train goes with train_y as a 1-d array of whole numbers: the training rows of each label"
        )
    if counts.size and not (counts.min() >= 0 and counts.max() <= n_train):
        raise DataError(f"train_y holds label counts outside 0..{n_train} (n_train)")
    return counts.astype(np.int64), int(n_train)


def inverse_propensity(
    train_y: Any, A: float = 0.55, B: float = 1.5, *, n_train: int | None = None
) -> Floats:
    """The weight w_l = 1 / p_l of each label, float64 (n_labels,).

    w_l = 1 + C (n_l + B)^-A with C = (ln N - 1)(B + 1)^A, natural logarithm.

    n_l and N come from the training labels alone: their matrix, or counts with n_train.
    """
    if not (np.isfinite(A) and A >= 0):
        raise ParamError(f"A must be a number from 0 up, but is {A!r}")
    if not (np.isfinite(B) and B > 0):
        raise ParamError(f"B must be a number above 0, but is {B!r}")
    counts, n_rows = label_counts(train_y, n_train)
    C = (np.log(n_rows) - 1) * (B + 1) ** A
    weights: Floats = 1 + C * (counts + B) ** -A
    if weights.size and weights.min() <= 0:  # only 1 or 2 training rows (ln N < 1) can do that
        raise DataError(
            f"propensities are not defined for {n_rows} training rows: some weights are not above 0"
        )
    return weights


def propensity_metrics(
    hits: Hits, weights: Floats, ks: list[int], *, n_threads: int | None = None
) -> dict[str, float]:
    """PSP@k, PSnDCG@k and PSR@k in per cent: what the hits earn / the most that any prediction could earn.

    Both are sums over all rows (a ratio of sums, not a mean of ratios); 0 if no row has a label. In PSnDCG
    each row is divided by its unweighted ideal DCG, in PSR by its number of labels, above and below, as
    xclib does.
    """
    if len(weights) != hits.n_labels:
        raise DataError(f"there are {len(weights)} label weights, but y has {hits.n_labels} labels")
    width = max(ks)
    best = np.empty((hits.n_rows, width))
    _native.best_weights(
        row_pointers(hits.y), column_ids(hits.y), np.ascontiguousarray(weights), best, n_threads or 0
    )
    shares = 1.0 / np.maximum(1, hits.n_true)
    rank_discounts = discounts(width)
    earned, possible = np.zeros((2, hits.n_rows)), np.zeros((2, hits.n_rows))  # plain sums; discounted sums
    found: dict[str, float] = {}
    done = 0
    for k in sorted(ks):
        for j in range(done, k):
            # Padding (-1) picks some weight, and the hit matrix is 0 there.
            gain = weights[hits.top.labels[:, j]] * hits.hit[:, j]
            for total, part in ((earned, gain), (possible, best[:, j])):
                total[0] += part
                total[1] += part * rank_discounts[j]
        done = k
        ideal = ideal_dcg(hits, k)
        found[f"PSP@{k}"] = _ratio(earned[0].sum(), possible[0].sum())
        found[f"PSnDCG@{k}"] = _ratio((earned[1] / ideal).sum(), (possible[1] / ideal).sum())
        found[f"PSR@{k}"] = _ratio(earned[0] @ shares, possible[0] @ shares)
    return found


def _ratio(earned: float, possible: float) -> float:
    return 100.0 * float(earned) / float(possible) if possible else 0.0
