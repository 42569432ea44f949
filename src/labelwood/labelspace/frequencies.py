"""Label frequencies: how often a label occurs (f), and how often it is the one that is needed (cover, f~).

A row here is a context: one training example with its set of relevant labels. Cover frequencies share out
each row to one of its labels, so they answer "which label must be found first" (Baharav et al.,
CIKM 2021, algorithms 1 and 2).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import DataError, ParamError, unknown_name
from labelwood.matrices import as_labels, column_ids, row_pointers

Float64 = npt.NDArray[np.float64]

COVER_KINDS = ("marginal", "greedy", "softened", "greedy-k")


def label_frequencies(y: Any, *, weights: Any = None, normalize: bool = True) -> Float64:
    """The frequency f of every label (n_labels): the weight of its rows, made to sum to 1 if normalize.

    weights: one a row, uniform 1/n_rows by default.
    """
    labels = as_labels(y)
    row_weights = _row_weights(labels, weights)
    return _finish(_column_sums(labels, row_weights), row_weights, weights, normalize)


def cover_frequencies(
    y: Any,
    kind: str = "marginal",
    *,
    tau: float = 4.0,
    k: int = 2,
    weights: Any = None,
    normalize: bool = True,
) -> Float64:
    """The cover frequency f~ of every label (n_labels), made to sum to 1 unless normalize is False.

    "marginal": each row counts for its most frequent label (ties: the smaller one).
    "greedy": the label with the most open rows is taken and closes them, and so on (greedy set cover).
    "softened": each row counts for each label j of it by the factor (f_j / max f in the row)^tau; tau = 0
    gives f, and a large tau tends to "marginal".
    "greedy-k": a row closes after k of its labels were taken, for answers of k labels.
    weights: one a row, uniform 1/n_rows by default.
    """
    if kind not in COVER_KINDS:
        raise ParamError(unknown_name("kind of cover frequencies", kind, COVER_KINDS))
    labels = as_labels(y)
    row_weights = _row_weights(labels, weights)
    if kind == "marginal":
        answered = _marginal(labels, row_weights)
    elif kind == "softened":
        if not tau >= 0:
            raise ParamError(f"tau must be a number from 0 up, but is {tau!r}")
        answered = _softened(labels, row_weights, float(tau))
    else:
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise ParamError(f"k must be a whole number from 1 up, but is {k!r}")
        answered = _greedy(labels, row_weights, 1 if kind == "greedy" else int(k))
    return _finish(answered, row_weights, weights, normalize)


def _row_weights(labels: sparse.csr_matrix, weights: Any) -> Float64:
    """The weights of the rows; by default ones, whose sums are exact where multiples of 1/n are not."""
    if weights is None:
        return np.ones(labels.shape[0])
    array = np.ascontiguousarray(weights, np.float64)
    if array.shape != (labels.shape[0],):
        raise DataError(f"weights must have one number a row ({labels.shape[0]}), but has shape {array.shape}")
    if not np.all(np.isfinite(array)) or np.any(array < 0):
        raise DataError("weights must be finite and not negative")
    return array


def _finish(answered: Float64, row_weights: Float64, weights: Any, normalize: bool) -> Float64:
    if normalize:
        total = answered.sum()
        return answered / total if total > 0 else answered
    return answered / max(len(row_weights), 1) if weights is None else answered


def _column_sums(labels: sparse.csr_matrix, row_weights: Float64) -> Float64:
    spread = np.repeat(row_weights, np.diff(labels.indptr))
    return np.bincount(labels.indices, spread, minlength=labels.shape[1]).astype(np.float64)


def _marginal(labels: sparse.csr_matrix, row_weights: Float64) -> Float64:
    # Ranks by f, ties to the smaller label; the best label of a row is the one with the smallest rank.
    by_rank = np.argsort(-_column_sums(labels, row_weights), kind="stable")
    rank = np.empty(len(by_rank), np.int64)
    rank[by_rank] = np.arange(len(by_rank))
    filled = np.diff(labels.indptr) > 0
    answered = np.zeros(labels.shape[1])
    if labels.nnz:
        best = by_rank[np.minimum.reduceat(rank[labels.indices], labels.indptr[:-1][filled])]
        answered += np.bincount(best, row_weights[filled], minlength=labels.shape[1])
    return answered


def _softened(labels: sparse.csr_matrix, row_weights: Float64, tau: float) -> Float64:
    f = _column_sums(labels, row_weights)
    counts = np.diff(labels.indptr)
    if not labels.nnz:
        return f
    largest = np.maximum.reduceat(f[labels.indices], labels.indptr[:-1][counts > 0])
    largest[largest == 0] = 1  # rows of weight 0 count for nothing
    share = (f[labels.indices] / np.repeat(largest, counts[counts > 0])) ** tau
    spread = np.repeat(row_weights, counts) * share
    return np.bincount(labels.indices, spread, minlength=labels.shape[1]).astype(np.float64)


def _greedy(labels: sparse.csr_matrix, row_weights: Float64, k: int) -> Float64:
    by_label = labels.tocsc()
    answered = np.zeros(labels.shape[1])
    _native.greedy_cover(
        row_pointers(labels),
        column_ids(labels),
        row_pointers(by_label),
        column_ids(by_label),
        row_weights,
        k,
        answered,
    )
    return answered
