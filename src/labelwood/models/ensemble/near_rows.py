"""NearRows: the labels of the most similar training rows, found by an exact search over the columns they share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import ModelFileError
from labelwood.matrices import column_ids, normalized_rows, row_pointers
from labelwood.models.ensemble.pairs import check_pointers, restored_matrix
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
    "codes": ArrayRule("uint8", ("n_bytes",)),
    "values": ArrayRule("int8", ("n_postings",)),
    "scale": ArrayRule("float32", ("n_features",), finite=True),
    "label_starts": ArrayRule("int64", ("n_rows+1",), low=0),
    "labels": ArrayRule("int32", ("n_given",), low=0, below="n_labels"),
}
_ROWS = ArrayRule("int32", ("n_postings",), low=0, below="n_rows")
# Folders of earlier versions hold the rows themselves, and those before them the values themselves.
ROWS_SCHEMA: Schema = {**{name: rule for name, rule in SCHEMA.items() if name != "codes"}, "rows": _ROWS}
WIDE_SCHEMA: Schema = {
    **{name: rule for name, rule in ROWS_SCHEMA.items() if name != "scale"},
    "values": ArrayRule("float32", ("n_postings",)),
}


@dataclass(frozen=True, eq=False)
class NearRows:
    """Training rows by column (starts, codes of rows, values times the scale of the column) and their labels y."""

    starts: npt.NDArray[np.int64]
    codes: npt.NDArray[np.uint8]
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
        return cls(starts, row_codes(starts, columns.indices[inside]), values, scale, y)

    def arrays(self) -> Arrays:
        """The index as the schema declares it."""
        return {
            "starts": self.starts, "codes": self.codes, "values": self.values, "scale": self.scale,
            "label_starts": row_pointers(self.y), "labels": column_ids(self.y),
        }  # fmt: skip

    @classmethod
    def restore(cls, arrays: Arrays, trained_on: TrainedOn) -> NearRows:
        """The index of saved arrays; ModelFileError if they do not fit together."""
        y = restored_matrix(arrays["label_starts"], arrays["labels"], None, trained_on.n_labels, "labels of rows")
        starts, values = arrays["starts"], arrays["values"]
        check_pointers(starts, len(values), "similar rows")
        values, scale = (values, arrays["scale"]) if "scale" in arrays else in_bytes(starts, values)
        if "codes" in arrays:
            return cls(starts, arrays["codes"], values, scale, y)
        return cls(starts, row_codes(starts, arrays["rows"]), values, scale, y)


def row_codes(starts: npt.NDArray[np.int64], rows: npt.NDArray[np.int32]) -> npt.NDArray[np.uint8]:
    """The rising rows of each column as native/models/ensemble/candidates.hpp reads them: most take a byte or two."""
    left_out = np.asarray(np.diff(rows.astype(np.int64), prepend=0), np.int64) - 1
    firsts = starts[:-1][np.diff(starts) > 0]
    left_out[firsts] = rows[firsts]
    if len(left_out) and left_out.min() < 0:
        raise ModelFileError("similar rows: those of a column do not rise")
    n_bytes = np.ones(len(left_out), np.int64)
    for bits in range(7, 35, 7):
        n_bytes += left_out >= 1 << bits
    ends = np.cumsum(n_bytes)
    codes = np.zeros(int(ends[-1]) if len(ends) else 0, np.uint8)
    for place in range(int(n_bytes.max(initial=0))):
        those = np.flatnonzero(n_bytes > place)
        more = np.where(n_bytes[those] > place + 1, 0x80, 0)
        codes[(ends - n_bytes)[those] + place] = (left_out[those] >> 7 * place & 0x7F) | more
    return codes


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
