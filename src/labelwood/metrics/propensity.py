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

_BLOCK = 1 << 15  # rows at a time: their gains then stay in the cache


def label_counts(train_y: Any, n_train: int | None = None) -> tuple[Ints, int]:
    """(training rows of each label (n_labels,), number of training rows), from the labels or ready counts.

    train_y is the training label matrix; or, together with n_train, the 1-d array of counts.
    """
    if n_train is None:
        if not sparse.issparse(train_y) and np.ndim(train_y) == 1:
            raise ParamError("train_y is a 1-d array of label counts: give n_train, the number of training rows, too")
        labels = as_labels(train_y, "train_y")
        if labels.shape[0] == 0:
            raise DataError("train_y has no rows: propensities and bands need training labels")
        return np.bincount(labels.indices, minlength=labels.shape[1]).astype(np.int64), int(labels.shape[0])
    if isinstance(n_train, bool) or not isinstance(n_train, (int, np.integer)) or n_train < 1:
        raise ParamError(f"n_train must be a whole number from 1 up, but is {n_train!r}")
    counts = np.asarray(train_y)
    if sparse.issparse(train_y) or counts.ndim != 1 or not np.issubdtype(counts.dtype, np.integer):
        raise ParamError("n_train goes with train_y as a 1-d array of whole numbers: the training rows of each label")
    if counts.size and not (counts.min() >= 0 and counts.max() <= n_train):
        raise DataError(f"train_y holds label counts outside 0..{n_train} (n_train)")
    return counts.astype(np.int64), int(n_train)


def inverse_propensity(train_y: Any, A: float = 0.55, B: float = 1.5, *, n_train: int | None = None) -> Floats:
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
        raise DataError(f"propensities are not defined for {n_rows} training rows: some weights are not above 0")
    return weights


def propensity_metrics(hits: Hits, weights: Floats, ks: list[int], *, n_threads: int | None = None) -> dict[str, float]:
    """PSP@k, PSnDCG@k and PSR@k in per cent: what the hits earn / the most that any prediction could earn.

    Both are sums over all rows (a ratio of sums, not a mean of ratios); 0 if no row has a label. In PSnDCG
    each row is divided by its unweighted ideal DCG, in PSR by its number of labels, above and below, as
    xclib does.
    """
    if len(weights) != hits.n_labels:
        raise DataError(f"there are {len(weights)} label weights, but y has {hits.n_labels} labels")
    ks = sorted(ks)
    sums = np.zeros((2, 3, len(ks)))  # (earned, possible) x (PSP, PSnDCG, PSR) x k
    best = np.empty((hits.n_rows, ks[-1]))
    indptr, true_labels = row_pointers(hits.y), column_ids(hits.y)
    _native.best_weights(indptr, true_labels, np.ascontiguousarray(weights), best, n_threads or 0)
    for start in range(0, hits.n_rows, _BLOCK):
        sums += _block_sums(hits, weights, ks, best, slice(start, start + _BLOCK))
    earned, possible = sums
    return {
        f"{name}@{k}": _ratio(earned[row, place], possible[row, place])
        for row, name in enumerate(("PSP", "PSnDCG", "PSR"))
        for place, k in enumerate(ks)
    }


def _block_sums(hits: Hits, weights: Floats, ks: list[int], best: Floats, rows: slice) -> Floats:
    """What some rows add to the sums above and below the lines: (2, 3, number of ks)."""
    labels, hit, n_true = hits.top.labels[rows], hits.hit[rows], hits.n_true[rows]
    n_rows, width = len(labels), ks[-1]
    gains = (weights[labels[:, :width]] * hit[:, :width], best[rows])  # padding: some weight times a hit of 0
    shares = 1.0 / np.maximum(1, n_true)
    rank_discounts = discounts(width)
    sums = np.empty((2, 3, len(ks)))
    for side, gain in enumerate(gains):
        plain, discounted, done = np.zeros(n_rows), np.zeros(n_rows), 0
        for place, k in enumerate(ks):
            for j in range(done, k):
                plain += gain[:, j]
                discounted += gain[:, j] * rank_discounts[j]
            done = k
            # No dot product: BLAS starts threads for it, which cost 1.5 s on a busy machine.
            sums[side, :, place] = (
                plain.sum(),
                (discounted / ideal_dcg(n_true, k)).sum(),
                (plain * shares).sum(),
            )
    return sums


def _ratio(earned: float, possible: float) -> float:
    return 100.0 * float(earned) / float(possible) if possible else 0.0
