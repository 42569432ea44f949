"""Training rows that a model keeps for later: as arrays of its folder and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from labelwood.errors import ModelFileError
from labelwood.matrices import column_ids, row_pointers
from labelwood.models.base import Arrays

_KINDS = {
    "x_start": np.int64,
    "x_columns": np.int32,
    "x_values": np.float32,
    "y_start": np.int64,
    "y_columns": np.int32,
}


def row_arrays(rows: tuple[sparse.csr_matrix, sparse.csr_matrix] | None) -> Arrays:
    """The arrays of features and labels under the names they are saved by; none for None."""
    if rows is None:
        return {}
    x, y = rows
    values = np.ascontiguousarray(x.data, np.float32)
    found: list[np.ndarray[Any, Any]] = [row_pointers(x), column_ids(x), values, row_pointers(y), column_ids(y)]
    return {f"rows.{name}": array for name, array in zip(_KINDS, found, strict=True)}


def rows_from_arrays(
    arrays: Arrays, n_rows: int, n_features: int, n_labels: int
) -> tuple[sparse.csr_matrix, sparse.csr_matrix] | None:
    """(x, y) that `row_arrays` gave, or None if the model kept none; ModelFileError if they are damaged."""
    if "rows.x_start" not in arrays:
        return None
    found: dict[str, Any] = {}
    for name, kind in _KINDS.items():
        found[name] = arrays[f"rows.{name}"]
        if found[name].dtype != kind or found[name].ndim != 1:
            raise ModelFileError(f"rows.{name} must be {np.dtype(kind)}, but is {found[name].dtype}")
    _check(found["x_start"], found["x_columns"], n_rows, n_features, "x")
    _check(found["y_start"], found["y_columns"], n_rows, n_labels, "y")
    if len(found["x_values"]) != len(found["x_columns"]) or not np.all(np.isfinite(found["x_values"])):
        raise ModelFileError("the kept rows are damaged: their values are not one finite number a column")
    ones = np.ones(len(found["y_columns"]), np.float32)
    x = sparse.csr_matrix((found["x_values"], found["x_columns"], found["x_start"]), shape=(n_rows, n_features))
    y = sparse.csr_matrix((ones, found["y_columns"], found["y_start"]), shape=(n_rows, n_labels))
    return x, y


def _check(start: Any, columns: Any, n_rows: int, width: int, what: str) -> None:
    good = len(start) == n_rows + 1 and start[0] == 0 and start[-1] == len(columns) and np.all(np.diff(start) >= 0)
    if not good or (len(columns) and not 0 <= int(columns.min()) <= int(columns.max()) < width):
        raise ModelFileError(f"the kept rows are damaged: {what} is no matrix of {n_rows} rows and {width} columns")
