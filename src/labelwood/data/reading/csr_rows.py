"""SparseRows: what a file of text rows held; RowFormat: how such rows look."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse


@dataclass
class SparseRows:
    """What a file of text rows held: x (n, n_features) values, y (n, n_labels) ones, and the damaged rows.

    Damaged rows are still there, empty, so that a second file can be kept aligned; `dropped` leaves them out.
    """

    x: sparse.csr_matrix
    y: sparse.csr_matrix
    bad_rows: npt.NDArray[np.int64]
    lowest_feature: int | None = None  # as far as there is one, entries with value 0 included
    highest_feature: int = -1
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class RowFormat:
    """How the rows look: what the header counts, whether a label list leads, what an entry is called."""

    header: tuple[str, ...] = ()  # what its numbers count: rows, columns of x, columns of y (if labels lead)
    labels: bool = True
    svmlight: bool = False
    item: str = "feature"
    n_features: int | None = None  # without a header: the width, if it is known
    n_labels: int | None = None
    index_base: int = 0


def canonical_csr(values: Any, columns: Any, starts: Any, n_columns: int) -> sparse.csr_matrix:
    """A CSR matrix of arrays that are known to be sorted and without duplicates."""
    matrix = sparse.csr_matrix((values, columns, starts), shape=(len(starts) - 1, n_columns), copy=False)
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    return matrix
