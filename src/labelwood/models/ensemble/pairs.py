"""Pairs of rows and labels with what one side knows about them, and the union of several sides as a feature table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import ModelFileError
from labelwood.topk import PAD, TopK

Floats = npt.NDArray[np.float32]
Keys = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Pairs:
    """What one side says: keys row * n_labels + label, each once; values (n, columns); which pairs are candidates."""

    keys: Keys
    values: Floats
    proposed: npt.NDArray[np.bool_] | None = None  # None: all of them


def pairs_of_answers(top: TopK, n_labels: int) -> tuple[Keys, Floats, npt.NDArray[np.int64]]:
    """(keys, scores, ranks from 0) of all answers."""
    rows, ranks = np.nonzero(top.labels != PAD)
    return rows * np.int64(n_labels) + top.labels[rows, ranks], top.scores[rows, ranks], ranks


def pairs_of_matrix(matrix: sparse.csr_matrix) -> Keys:
    """The keys of all stored places of a matrix (n_rows, n_labels), in their order."""
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    keys: Keys = rows * matrix.shape[1] + matrix.indices
    return keys


def candidates(sides: Sequence[Pairs]) -> Keys:
    """The keys of all pairs that some side proposes, rising."""
    keys = np.sort(np.concatenate([s.keys if s.proposed is None else s.keys[s.proposed] for s in sides]))
    # np.unique hashes first and sorts then: three times slower.
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys


def looked_up(keys: Keys, side: Pairs, missing: Sequence[float]) -> Floats:
    """The values (n keys, columns) of one side for rising keys; missing: what stands where it says nothing."""
    table = np.empty((len(keys), len(missing)), np.float32)
    table[:] = np.asarray(missing, np.float32)
    if len(keys) and len(side.keys):
        places = np.minimum(np.searchsorted(keys, side.keys), len(keys) - 1)
        known = keys[places] == side.keys
        table[places[known]] = side.values[known]
    return table


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


def restored_matrix(
    starts: npt.NDArray[np.int64], columns: npt.NDArray[np.int32], values: Floats | None, n_columns: int, what: str
) -> sparse.csr_matrix:
    """The matrix of saved arrays, of ones without values; ModelFileError if they make no rows."""
    if starts[0] != 0 or starts[-1] != len(columns) or np.any(np.diff(starts) < 0):
        raise ModelFileError(f"{what}: the saved arrays are no matrix of {len(starts) - 1} rows")
    numbers = np.ones(len(columns), np.float32) if values is None else values
    return sparse.csr_matrix((numbers, columns, starts), shape=(len(starts) - 1, n_columns))
