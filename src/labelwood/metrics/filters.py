"""Filter pairs of the LF-* data sets: (row, label) pairs that count neither for nor against a prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import DataError
from labelwood.topk import PAD, TopK, empty


def without_pairs(top: TopK, y: sparse.csr_matrix, pairs: npt.ArrayLike) -> tuple[TopK, sparse.csr_matrix, int]:
    """(prediction, truth, honest width) with all (row, label) pairs removed from both.

    Later answers move up, so a row keeps k answers only if it was predicted with more. The honest width is
    the largest k for which no row lacks an answer because of the removal.
    """
    n_rows, n_labels = y.shape
    checked = _checked(pairs, n_rows, n_labels)
    if not len(checked):
        return top, y, top.k
    keys = np.unique(checked[:, 0] * n_labels + checked[:, 1])
    rows = np.unique(checked[:, 0])

    labels, scores = top.labels[rows], top.scores[rows]
    removed = np.isin(rows[:, None] * n_labels + labels, keys) & (labels != PAD)
    order = np.argsort(removed, axis=1, kind="stable")  # the kept answers move to the front, in their order
    blank = empty(len(rows), top.k)
    gone = np.take_along_axis(removed, order, axis=1)
    moved = empty(len(top), top.k)
    moved.labels[:], moved.scores[:] = top.labels, top.scores
    moved.labels[rows] = np.where(gone, blank.labels, np.take_along_axis(labels, order, axis=1))
    moved.scores[rows] = np.where(gone, blank.scores, np.take_along_axis(scores, order, axis=1))

    # Only rows that had all their places filled can lack an answer that a longer prediction would have had.
    short = removed.any(axis=1) & (labels != PAD).all(axis=1)
    left = top.k - removed.sum(axis=1)[short]
    return moved, _without(y, keys), int(left.min()) if len(left) else top.k


def _without(y: sparse.csr_matrix, keys: npt.NDArray[np.int64]) -> sparse.csr_matrix:
    row_of = np.repeat(np.arange(y.shape[0], dtype=np.int64), np.diff(y.indptr))
    kept = ~np.isin(row_of * y.shape[1] + y.indices, keys)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row_of[kept], minlength=y.shape[0]))])
    return sparse.csr_matrix((y.data[kept], y.indices[kept], indptr), shape=y.shape)


def _checked(pairs: npt.ArrayLike, n_rows: int, n_labels: int) -> npt.NDArray[np.int64]:
    array: npt.NDArray[Any] = np.asarray(pairs)
    if array.size == 0:
        return np.zeros((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or not np.issubdtype(array.dtype, np.integer):
        raise DataError(
            f"filter_pairs must be whole numbers (m, 2): row, label; but they are {array.dtype} {array.shape}"
        )
    for column, size, what in ((0, n_rows, "row"), (1, n_labels, "label")):
        bad = np.flatnonzero((array[:, column] < 0) | (array[:, column] >= size))
        if len(bad):
            raise DataError(f"filter pair {bad[0] + 1}: {what} {array[bad[0], column]} is outside 0..{size - 1}")
    return array.astype(np.int64)
