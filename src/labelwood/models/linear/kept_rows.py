"""Training rows that a model keeps for later: as arrays of its folder and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import ModelFileError
from labelwood.matrices import column_ids, row_pointers
from labelwood.models.fit_input import TrainedOn
from labelwood.storage.schema import ArrayRule, Arrays, Schema

KEPT_ROWS: Schema = {
    "x_start": ArrayRule("int64", ("n_rows+1",)),
    "x_columns": ArrayRule("int32", ("n_values",), low=0, below="n_features"),
    "x_values": ArrayRule("float32", ("n_values",), finite=True),
    "y_start": ArrayRule("int64", ("n_rows+1",)),
    "y_columns": ArrayRule("int32", ("n_entries",), low=0, below="n_labels"),
    "weights": ArrayRule("float32", ("n_rows",), low=0, finite=True, optional=True),
}


@dataclass(frozen=True, eq=False)
class EarlierRows:
    """The rows that a model was trained on, as an update asks for them.

    y: all labels (n_rows, n_labels). x_of: the features of some rows, places ascending: an update needs few of them.
    weights: how much each row counts, if not all the same.
    """

    y: sparse.csr_matrix
    x_of: Callable[[npt.NDArray[np.int64]], sparse.csr_matrix]
    weights: npt.NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return int(self.y.shape[0])


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Features x and labels y of training rows; weights: how much each row counts, if not all the same."""

    x: sparse.csr_matrix
    y: sparse.csr_matrix
    weights: npt.NDArray[np.float32] | None = None

    def earlier(self) -> EarlierRows:
        """The rows as an update asks for them."""
        return EarlierRows(self.y, self.x.__getitem__, self.weights)

    def to_arrays(self) -> Arrays:
        """The arrays to save, as KEPT_ROWS declares them."""
        arrays: Arrays = {
            "x_start": row_pointers(self.x),
            "x_columns": column_ids(self.x),
            "x_values": np.ascontiguousarray(self.x.data, np.float32),
            "y_start": row_pointers(self.y),
            "y_columns": column_ids(self.y),
        }
        return arrays if self.weights is None else {**arrays, "weights": self.weights}

    @classmethod
    def from_arrays(cls, arrays: Arrays, trained_on: TrainedOn) -> KeptRows:
        """The rows that `to_arrays` gave; ModelFileError if starts and columns make no rows."""
        for which in ("x", "y"):
            _check_starts(arrays[f"{which}_start"], len(arrays[f"{which}_columns"]), which)
        n_rows = trained_on.n_rows
        ones = np.ones(len(arrays["y_columns"]), np.float32)
        x = sparse.csr_matrix(
            (arrays["x_values"], arrays["x_columns"], arrays["x_start"]), shape=(n_rows, trained_on.n_features)
        )
        y = sparse.csr_matrix((ones, arrays["y_columns"], arrays["y_start"]), shape=(n_rows, trained_on.n_labels))
        return cls(x, y, arrays.get("weights"))


def _check_starts(start: npt.NDArray[np.int64], n_columns: int, which: str) -> None:
    if start[0] != 0 or start[-1] != n_columns or np.any(np.diff(start) < 0):
        raise ModelFileError(f"the kept rows are damaged: {which} is no matrix of {len(start) - 1} rows")
