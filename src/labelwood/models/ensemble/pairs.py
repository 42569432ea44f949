"""Pairs of rows and labels as numbers, and matrices of saved arrays."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import ModelFileError

Floats = npt.NDArray[np.float32]
Keys = npt.NDArray[np.int64]


def pairs_of_matrix(matrix: sparse.csr_matrix) -> Keys:
    """The keys of all stored places of a matrix (n_rows, n_labels), in their order."""
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    keys: Keys = rows * matrix.shape[1] + matrix.indices
    return keys


def ranks_within(rows: npt.NDArray[np.int64], scores: Floats, keys: Keys) -> npt.NDArray[np.int64]:
    """The rank, from 0, of every item among those of its row: larger score first, equal ones to the smaller key."""
    order = np.lexsort((keys, -scores, rows))
    sorted_rows = rows[order]
    firsts = np.flatnonzero(np.concatenate([[True], sorted_rows[1:] != sorted_rows[:-1]])) if len(rows) else order
    starts = np.zeros(len(rows), np.int64)
    starts[firsts] = firsts
    ranks = np.empty(len(rows), np.int64)
    ranks[order] = np.arange(len(rows)) - np.maximum.accumulate(starts) if len(rows) else order
    return ranks


def beside_each_other(parts: Sequence[sparse.csr_matrix]) -> sparse.csr_matrix:
    """The columns of all matrices, one after another."""
    return sparse.hstack(parts, format="csr", dtype=np.float32)


def unchecked_rows(
    values: Floats, columns: npt.NDArray[np.int32], starts: npt.NDArray[np.int64], shape: tuple[int, int]
) -> sparse.csr_matrix:
    """A matrix of arrays that a kernel made: rows with rising columns. scipy's checks would cost more than a query."""
    if len(values) > np.iinfo(np.int32).max:
        return sparse.csr_matrix((values, columns, starts), shape=shape, copy=False)
    matrix = copy(_empty_row(shape[1])) if shape[0] == 1 else sparse.csr_matrix(shape, dtype=np.float32)
    matrix.data, matrix.indices, matrix.indptr = values, columns, starts.astype(np.int32)
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    return matrix


@lru_cache(maxsize=16)
def _empty_row(n_columns: int) -> sparse.csr_matrix:
    return sparse.csr_matrix((1, n_columns), dtype=np.float32)


def restored_matrix(
    starts: npt.NDArray[np.int64], columns: npt.NDArray[np.int32], values: Floats | None, n_columns: int, what: str
) -> sparse.csr_matrix:
    """The matrix of saved arrays, of ones without values; ModelFileError if they make no rows."""
    check_pointers(starts, len(columns), what)
    numbers = np.ones(len(columns), np.float32) if values is None else values
    return sparse.csr_matrix((numbers, columns, starts), shape=(len(starts) - 1, n_columns))


def check_pointers(starts: npt.NDArray[np.int64], n_stored: int, what: str) -> None:
    """ModelFileError if the starts are not those of rows with so many numbers in them."""
    if starts[0] != 0 or starts[-1] != n_stored or np.any(np.diff(starts) < 0):
        raise ModelFileError(f"{what}: the saved arrays are no matrix of {len(starts) - 1} rows")
