"""Label vectors from the features of the rows that carry the label (PIFA)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import DataError, ParamError
from labelwood.matrices import as_features, as_labels, check_same_rows, column_ids, row_pointers
from labelwood.scratch import current_scratch, release, room

_SLICE = 1 << 24  # values of label vectors that are made at a time where memory is to be spared


def label_vectors(
    x: Any,
    y: Any,
    *,
    normalize_y: bool = False,
    max_features: int | None = None,
    row_weights: Any = None,
    n_threads: int | None = None,
) -> sparse.csr_matrix:
    """The vector of every label, CSR float32 (n_labels, n_features): the sum of its rows of x, to length 1.

    A label without rows has an empty vector. normalize_y: a row with n labels counts 1/sqrt(n) (as PECOS
    does), so that rows with many labels blur less. max_features: keep only so many of the largest values of
    each label. row_weights: how much each row counts in the sums, float32.
    """
    features, labels = as_features(x), as_labels(y)
    check_same_rows(features, labels)
    if max_features is not None and (isinstance(max_features, bool) or max_features < 1):
        raise ParamError(f"max_features must be a whole number from 1 up or None, but is {max_features!r}")
    inputs = _inputs(features, labels)
    threads = n_threads or 0
    counts = np.zeros(labels.shape[1], np.int64)
    _native.pifa_counts(*inputs, max_features or 0, threads, counts)
    starts = np.concatenate([[0], np.cumsum(counts)])
    columns, values = room(int(starts[-1]), np.int32), room(int(starts[-1]), np.float32)
    weights = None if row_weights is None else np.ascontiguousarray(row_weights, np.float32)
    if weights is not None and weights.shape != (features.shape[0],):
        raise DataError(f"row_weights must hold one number for each of {features.shape[0]} rows, not {weights.shape}")
    if normalize_y:
        of_rows = (1 / np.sqrt(np.maximum(np.diff(labels.indptr), 1))).astype(np.float32)
        weights = of_rows if weights is None else weights * of_rows
    rows, (label_start, label_rows) = inputs[:4], inputs[4:]
    for first, last in _slices(starts):
        begin, end = label_start[first], label_start[last]
        of_labels = (label_start[first : last + 1] - begin, label_rows[begin:end])
        low, high = starts[first], starts[last]
        own = starts[first : last + 1] - low
        _native.pifa_fill(*rows, *of_labels, weights, own, threads, columns[low:high], values[low:high])
        release(columns, values)
    # scipy would copy int32 columns to int64 beside int64 pointers, so give it small pointers where they fit.
    pointers = starts.astype(np.int32) if starts[-1] <= np.iinfo(np.int32).max else starts
    vectors = sparse.csr_matrix((values, columns, pointers), shape=(labels.shape[1], features.shape[1]), copy=False)
    vectors.has_sorted_indices = True
    vectors.has_canonical_format = True
    return vectors


def label_features(x: sparse.csr_matrix, y: sparse.csr_matrix, n_threads: int | None = None) -> int:
    """The number of different features in the rows of each label, summed over the labels: the size of label vectors."""
    counts = np.zeros(y.shape[1], np.int64)
    _native.pifa_counts(*_inputs(x, y), 0, n_threads or 0, counts)
    return int(counts.sum())


def _slices(starts: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """(first, last) label of slices of about _SLICE values each where memory is to be spared, else of all labels."""
    n_labels = len(starts) - 1
    if current_scratch() is None:
        yield 0, n_labels
        return
    first = 0
    while first < n_labels:
        last = max(first + 1, int(np.searchsorted(starts, starts[first] + _SLICE, side="right")) - 1)
        yield first, last
        first = last


def _inputs(features: sparse.csr_matrix, labels: sparse.csr_matrix) -> tuple[Any, Any, Any, int, Any, Any]:
    by_label = labels.tocsc()
    return (
        row_pointers(features),
        column_ids(features),
        features.data,
        int(features.shape[1]),
        row_pointers(by_label),
        column_ids(by_label),
    )
