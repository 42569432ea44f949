"""NearRows: the labels of the most similar training rows, found by an exact search over the columns they share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.matrices import column_ids, normalized_rows, row_pointers
from labelwood.models.ensemble.pairs import restored_matrix
from labelwood.models.fit_input import TrainedOn
from labelwood.storage.schema import ArrayRule, Arrays, Schema

N_NEAR = 30
# Columns of more rows than this say little and cost most of the search: they are left out of the similarity.
LARGEST_SHARE = 0.05
ALWAYS_KEPT = 1000  # rows of a column that is never left out
MOST_POSTINGS = 20_000  # entries that a search reads, those of the rarest columns: what a query costs at most
# votes: their share weighted by similarity; closest: similarity of the most similar row with the label;
# first_five: how many of the five most similar rows have the label
COLUMNS = ("votes", "closest", "first five")

SCHEMA: Schema = {
    "starts": ArrayRule("int64", ("n_features+1",), low=0),
    "rows": ArrayRule("int32", ("n_postings",), low=0, below="n_rows"),
    "values": ArrayRule("int8", ("n_postings",)),
    "scale": ArrayRule("float32", ("n_features",), finite=True),
    "label_starts": ArrayRule("int64", ("n_rows+1",), low=0),
    "labels": ArrayRule("int32", ("n_given",), low=0, below="n_labels"),
}
# Folders of earlier versions hold the values themselves.
WIDE_SCHEMA: Schema = {
    name: ArrayRule("float32", ("n_postings",)) if name == "values" else rule
    for name, rule in SCHEMA.items()
    if name != "scale"
}


@dataclass(frozen=True, eq=False)
class NearRows:
    """Training rows by column (starts, rows, values times the scale of the column) and their labels y."""

    starts: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int32]
    values: npt.NDArray[np.int8]
    scale: npt.NDArray[np.float32]
    y: sparse.csr_matrix

    @classmethod
    def of(cls, x: sparse.csr_matrix, y: sparse.csr_matrix) -> NearRows:
        """The index of training rows x with labels y."""
        columns = normalized_rows(x).tocsc()
        sizes = np.diff(columns.indptr)
        kept = sizes <= max(ALWAYS_KEPT, LARGEST_SHARE * x.shape[0])
        inside = np.repeat(kept, sizes)
        starts = np.concatenate([[0], np.cumsum(np.where(kept, sizes, 0))]).astype(np.int64)
        values, scale = in_bytes(starts, columns.data[inside])
        return cls(starts, columns.indices[inside].astype(np.int32), values, scale, y)

    def arrays(self) -> Arrays:
        """The index as the schema declares it."""
        return {
            "starts": self.starts, "rows": self.rows, "values": self.values, "scale": self.scale,
            "label_starts": row_pointers(self.y), "labels": column_ids(self.y),
        }  # fmt: skip

    @classmethod
    def restore(cls, arrays: Arrays, trained_on: TrainedOn) -> NearRows:
        """The index of saved arrays; ModelFileError if they do not fit together."""
        y = restored_matrix(arrays["label_starts"], arrays["labels"], None, trained_on.n_labels, "labels of rows")
        starts, rows, values = arrays["starts"], arrays["rows"], arrays["values"]
        restored_matrix(starts, rows, None, trained_on.n_rows, "similar rows")
        if "scale" in arrays:
            return cls(starts, rows, values, arrays["scale"], y)
        return cls(starts, rows, *in_bytes(starts, values), y)


def in_bytes(
    starts: npt.NDArray[np.int64], values: npt.NDArray[np.float32]
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """(whole numbers from -127 to 127, what those of each column are multiplied with) that stand for the values."""
    sizes = np.diff(starts)
    largest = np.zeros(len(sizes), np.float32)
    if len(values):
        largest[sizes > 0] = np.maximum.reduceat(np.abs(values), starts[:-1][sizes > 0])
    scale = np.where(largest > 0, largest / 127, 1).astype(np.float32)
    return np.rint(values / np.repeat(scale, sizes)).astype(np.int8), scale
