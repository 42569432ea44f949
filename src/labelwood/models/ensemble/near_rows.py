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
# votes: their share weighted by similarity; closest: similarity of the most similar row with the label;
# first_five: how many of the five most similar rows have the label
COLUMNS = ("votes", "closest", "first five")

SCHEMA: Schema = {
    "starts": ArrayRule("int64", ("n_features+1",), low=0),
    "rows": ArrayRule("int32", ("n_postings",), low=0, below="n_rows"),
    "values": ArrayRule("float32", ("n_postings",)),
    "label_starts": ArrayRule("int64", ("n_rows+1",), low=0),
    "labels": ArrayRule("int32", ("n_given",), low=0, below="n_labels"),
}


@dataclass(frozen=True, eq=False)
class NearRows:
    """Training rows by column (starts, rows, values) and their labels y."""

    starts: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]
    y: sparse.csr_matrix

    @classmethod
    def of(cls, x: sparse.csr_matrix, y: sparse.csr_matrix) -> NearRows:
        """The index of training rows x with labels y."""
        columns = normalized_rows(x).tocsc()
        sizes = np.diff(columns.indptr)
        kept = sizes <= max(ALWAYS_KEPT, LARGEST_SHARE * x.shape[0])
        inside = np.repeat(kept, sizes)
        starts = np.concatenate([[0], np.cumsum(np.where(kept, sizes, 0))]).astype(np.int64)
        return cls(starts, columns.indices[inside].astype(np.int32), columns.data[inside].astype(np.float32), y)

    def arrays(self) -> Arrays:
        """The index as the schema declares it."""
        return {
            "starts": self.starts, "rows": self.rows, "values": self.values,
            "label_starts": row_pointers(self.y), "labels": column_ids(self.y),
        }  # fmt: skip

    @classmethod
    def restore(cls, arrays: Arrays, trained_on: TrainedOn) -> NearRows:
        """The index of saved arrays; ModelFileError if they do not fit together."""
        y = restored_matrix(arrays["label_starts"], arrays["labels"], None, trained_on.n_labels, "labels of rows")
        starts, rows, values = arrays["starts"], arrays["rows"], arrays["values"]
        restored_matrix(starts, rows, values, trained_on.n_rows, "similar rows")
        return cls(starts, rows, values, y)
