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
_LONGEST = 5  # bytes of a code: rows are below 2^31
# Columns of more rows than this say little and cost most of the search: they are left out of the similarity.
LARGEST_SHARE = 0.05
ALWAYS_KEPT = 1000  # rows of a column that is never left out
MOST_SMALL = 1 << 22  # entries of an index that is compressed in a folder; larger ones are mapped
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
# Of a small index, which is compressed: values as shares of the largest one of their row. Where rows hold nothing but
# ones, these are all alike and take no room.
SMALL_SCHEMA: Schema = {
    **{name: rule for name, rule in SCHEMA.items() if name != "scale"},
    "row_scale": ArrayRule("float32", ("n_rows",), finite=True),
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
    """Training rows by column (starts, codes of rows, values times the scale of the column) and their labels y.

    by_row: of a small index the values and the scale of each row that `values` and `scale` were made of.
    """

    starts: npt.NDArray[np.int64]
    codes: npt.NDArray[np.uint8]
    values: npt.NDArray[np.int8]
    scale: npt.NDArray[np.float32]
    y: sparse.csr_matrix
    by_row: tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]] | None = None

    @classmethod
    def of(cls, x: sparse.csr_matrix, y: sparse.csr_matrix) -> NearRows:
        """The index of training rows x with labels y."""
        columns = normalized_rows(x).tocsc()
        sizes = np.diff(columns.indptr)
        kept = sizes <= max(ALWAYS_KEPT, LARGEST_SHARE * x.shape[0])
        inside = np.repeat(kept, sizes)
        starts = np.concatenate([[0], np.cumsum(np.where(kept, sizes, 0))]).astype(np.int64)
        rows, values = columns.indices[inside], columns.data[inside]
        if len(values) <= MOST_SMALL:
            return cls._small(starts, row_codes(starts, rows), rows, *shares_of_rows(rows, values, x.shape[0]), y)
        return cls(starts, row_codes(starts, rows), *in_bytes(starts, values), y)

    @classmethod
    def _small(
        cls,
        starts: npt.NDArray[np.int64],
        codes: npt.NDArray[np.uint8],
        rows: npt.NDArray[np.int32],
        values: npt.NDArray[np.int8],
        row_scale: npt.NDArray[np.float32],
        y: sparse.csr_matrix,
    ) -> NearRows:
        """The index of values by row."""
        return cls(starts, codes, *in_bytes(starts, values * row_scale[rows]), y, (values, row_scale))

    @property
    def is_small(self) -> bool:
        """Whether a folder keeps it compressed."""
        return self.by_row is not None

    def saved(self) -> Arrays:
        """The index as `SCHEMA`, or `SMALL_SCHEMA`, declares it."""
        arrays = self.arrays()
        if self.by_row is None:
            return arrays
        arrays["values"], arrays["row_scale"] = self.by_row
        del arrays["scale"]
        return arrays

    def arrays(self) -> Arrays:
        """The index as the kernels take it."""
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
        if "row_scale" in arrays:
            rows = rows_of(starts, arrays["codes"], trained_on.n_rows)
            return cls._small(starts, arrays["codes"], rows, values, arrays["row_scale"], y)
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


def rows_of(starts: npt.NDArray[np.int64], codes: npt.NDArray[np.uint8], n_rows: int) -> npt.NDArray[np.int32]:
    """The rows that `row_codes` made the codes of; ModelFileError if they are none of n_rows."""
    ends = np.flatnonzero(codes < 0x80) + 1
    if len(ends) != starts[-1] or (int(ends[-1]) if len(ends) else 0) != len(codes):
        raise ModelFileError("similar rows: a code for each value")
    if not len(ends):
        return np.zeros(0, np.int32)
    begins = np.concatenate([[0], ends[:-1]])
    places = np.arange(len(codes)) - np.repeat(begins, ends - begins)
    if places.max() > _LONGEST - 1:
        raise ModelFileError("similar rows: a code is too long")
    left_out = np.add.reduceat((codes & 0x7F).astype(np.int64) << 7 * places, begins)
    sums = np.cumsum(left_out + 1)
    sizes = np.diff(starts)
    before = np.concatenate([[0], sums])[starts[:-1]]
    rows = sums - np.repeat(before, sizes) - 1
    if rows.max() >= n_rows:
        raise ModelFileError("similar rows: a code leads to no row")
    return np.asarray(rows, np.int32)


def shares_of_rows(
    rows: npt.NDArray[np.int32], values: npt.NDArray[np.float32], n_rows: int
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """(whole numbers from -127 to 127, what those of each row are multiplied with) that stand for the values."""
    largest = np.zeros(n_rows, np.float32)
    np.maximum.at(largest, rows, np.abs(values))
    scale = np.where(largest > 0, largest / 127, 1).astype(np.float32)
    return np.rint(values / scale[rows]).astype(np.int8), scale


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
