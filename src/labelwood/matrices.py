"""Feature and label matrices as the kernels want them: checked CSR, made from whatever the caller has.

Nothing here edits the caller's arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse

from labelwood.errors import DataError
from labelwood.scratch import room

MOST_COLUMNS = 2**31 - 1  # column numbers are int32 in the kernels
_PIECE = 1 << 20  # entries that are worked on at a time
_FIRST = np.zeros(1, np.int64)
_PLAIN = 1e6  # rows up to this length, and down to its inverse, can be scaled where they are used, in float32


def as_features(x: Any, what: str = "x") -> sparse.csr_matrix:
    """A float32 CSR matrix with sorted, unique columns and finite values, from any sparse matrix or array.

    One row may also come as a 1-d array. Raises DataError with the row of the first bad value.
    """
    matrix = _as_csr(x, np.float32, what)
    # The least and the largest are finite unless some value is not, and finding them takes no memory.
    if matrix.nnz and not (np.isfinite(matrix.data.min()) and np.isfinite(matrix.data.max())):
        bad = np.flatnonzero(~np.isfinite(matrix.data))
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        value, column = matrix.data[bad[0]], matrix.indices[bad[0]]
        shown = "NaN" if np.isnan(value) else value
        raise DataError(f"{what}, row {row}: feature {column} is {shown}; only finite numbers are allowed")
    return matrix


def as_labels(y: Any, what: str = "y") -> sparse.csr_matrix:
    """A float32 CSR matrix of ones with sorted, unique columns; any non-zero entry counts as a label."""
    matrix = _as_csr(y, np.float32, what)
    if matrix.nnz and not np.all(matrix.data == 1):
        if not np.all(np.isfinite(matrix.data)):
            raise DataError(f"{what} holds values that are not finite; a label is present (non-zero) or absent")
        matrix = matrix.copy()
        matrix.eliminate_zeros()
        matrix.data[:] = 1
    return matrix


def is_frame(source: Any) -> bool:
    """True for a data frame (pandas, polars): a table with named columns."""
    return hasattr(source, "columns") and hasattr(source, "to_numpy") and len(getattr(source, "shape", ())) == 2


def is_series(source: Any) -> bool:
    """True for one column of a data frame (pandas, polars)."""
    return hasattr(source, "to_numpy") and len(getattr(source, "shape", ())) == 1 and not hasattr(source, "columns")


def column_names(source: Any) -> tuple[str, ...] | None:
    """The column names of a data frame; None for anything else, and where the names are numbers."""
    if not is_frame(source):
        return None
    names = list(source.columns)
    n_words = sum(isinstance(name, str) for name in names)
    if 0 < n_words < len(names):
        raise DataError("some columns of the data frame have names and some have numbers: name all of them or none")
    return tuple(str(name) for name in names) if n_words else None


def single_row(columns: Any, values: Any, n_features: int) -> sparse.csr_matrix:
    """A matrix of one row with these values in these columns; DataError if they are no row of n_features features."""
    try:
        places, numbers = np.asarray(columns), np.asarray(values)
        _check_real(numbers.dtype, "a row")
        with np.errstate(invalid="ignore"):  # what is no number is no whole number either
            if places.size and (places.dtype.kind not in "iuf" or (np.mod(places, 1) != 0).any()):
                raise DataError(f"the columns of a row must be whole numbers, but are {places.dtype}")
            places, numbers = places.astype(np.int64), numbers.astype(np.float32)
    except DataError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"a row is given by whole numbers (columns) and numbers (values): {error}") from error
    if places.ndim != 1 or places.shape != numbers.shape:
        raise DataError(f"a row needs a value for each column, but has columns {places.shape}, values {numbers.shape}")
    outside = places[(places < 0) | (places >= n_features)]
    if len(outside):
        raise DataError(f"column {outside[0]} of the row is outside 0..{n_features - 1}")
    return sparse.csr_matrix((numbers, places, [0, len(places)]), shape=(1, n_features))


def check_same_rows(x: sparse.csr_matrix, y: sparse.csr_matrix) -> None:
    """Refuse features and labels with different numbers of rows."""
    if x.shape[0] != y.shape[0]:
        raise DataError(
            f"x has {x.shape[0]} rows but y has {y.shape[0]}: row i of y must hold the labels of row i of x"
        )


def normalized_rows(x: sparse.csr_matrix) -> sparse.csr_matrix:
    """The matrix with rows of Euclidean length 1; rows without features stay empty."""
    return _csr(unit_values(x), x.indices, x.indptr, x.shape)


def unit_values(x: sparse.csr_matrix) -> np.ndarray[Any, np.dtype[np.float32]]:
    """The values that the entries of x have once its rows are scaled to length 1."""
    if x.shape[0] == 1 and len(x.data) == x.indptr[1] > 0:
        # The same to the bit; a query would feel the general way.
        length = np.sqrt(np.add.reduceat(np.square(x.data, dtype=np.float64), _FIRST))
        scaled: np.ndarray[Any, np.dtype[np.float32]] = (x.data / length if length[0] else x.data).astype(np.float32)
        return scaled
    values = room(x.nnz, np.float32)
    lengths = row_lengths(x)
    starts = row_pointers(x)
    for first, last in _pieces(starts):
        begin, end = starts[first], starts[last]
        values[begin:end] = x.data[begin:end] / np.repeat(lengths[first:last], np.diff(starts[first : last + 1]))
    return values


def row_lengths(x: sparse.csr_matrix) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The Euclidean length of every row; 1 for rows of length 0, which stay as they are when divided by it."""
    starts = row_pointers(x)
    squares = np.zeros(x.shape[0], np.float64)
    for first, last in _pieces(starts):
        data = x.data[starts[first] : starts[last]]
        of_rows = starts[first : last + 1] - starts[first]
        filled = np.flatnonzero(np.diff(of_rows))
        if len(filled):
            squares[first + filled] = np.add.reduceat(np.square(data, dtype=np.float64), of_rows[filled])
    lengths = np.sqrt(squares)
    lengths[lengths == 0] = 1
    return lengths


def unit_scales(x: sparse.csr_matrix) -> np.ndarray[Any, np.dtype[np.float32]] | None:
    """The factor that scales each row to length 1; None if some row is so long or short that float32 is not enough."""
    lengths = row_lengths(x)
    if not lengths.size or (lengths.min() >= 1 / _PLAIN and lengths.max() <= _PLAIN):
        return (1 / lengths).astype(np.float32)
    return None


def with_fixed_signs(axes: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The columns, each as it is or times -1, so that its largest entry is positive.

    An eigenvector times -1 is one too, and the number of a library's threads may decide which of both comes. Of entries
    that are equally large but for rounding the first one counts.
    """
    if axes.shape[0] == 0:
        return axes
    sizes = np.abs(axes)
    decides = np.argmax(sizes >= (1 - 1e-6) * sizes.max(axis=0), axis=0)
    return axes * np.where(axes[decides, np.arange(axes.shape[1])] < 0, -1.0, 1.0)


def _pieces(starts: Any) -> Iterator[tuple[int, int]]:
    """(first, last) row of pieces with about _PIECE values: what is made of them is twice as wide as they are."""
    first = 0
    while first < len(starts) - 1:
        last = max(first + 1, int(np.searchsorted(starts, starts[first] + _PIECE, side="right")) - 1)
        yield first, last
        first = last


def row_pointers(matrix: sparse.csr_matrix) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The row pointers as int64, whatever scipy chose."""
    return np.ascontiguousarray(matrix.indptr, dtype=np.int64)


def column_ids(matrix: sparse.csr_matrix) -> np.ndarray[Any, np.dtype[np.int32]]:
    """The column numbers as int32, whatever scipy chose."""
    return np.ascontiguousarray(matrix.indices, dtype=np.int32)


def _as_csr(source: Any, dtype: Any, what: str) -> sparse.csr_matrix:
    if sparse.issparse(source):
        return _from_sparse(source, dtype, what)
    if is_frame(source):
        return _of_frame(source, dtype, what)
    try:
        array = np.asarray(source)
        _check_real(array.dtype, what)
        with np.errstate(over="ignore"):
            array = array.astype(dtype, copy=False)
    except DataError:
        raise
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{what} must be a scipy sparse matrix or an array of numbers, but is {type(source).__name__}"
        ) from error
    if array.ndim == 1:
        array = array[None, :]
    if array.ndim != 2:
        raise DataError(f"{what} must have two dimensions (rows, columns), but has {array.ndim}")
    return sparse.csr_matrix(array)


def _of_frame(frame: Any, dtype: Any, what: str) -> sparse.csr_matrix:
    """The numbers of a data frame; DataError names the first column that holds none."""
    if all(type(kind).__name__ == "SparseDtype" for kind in frame.dtypes):
        return _as_csr(frame.sparse.to_coo(), dtype, what)
    for name in frame.columns:
        values = frame[name].to_numpy()
        if values.dtype.kind not in "buif":
            raise DataError(f"{what}: the column {name!r} holds {values.dtype}, but features are numbers")
    return _as_csr(frame.to_numpy(), dtype, what)


def _from_sparse(source: Any, dtype: Any, what: str) -> sparse.csr_matrix:
    _check_real(source.dtype, what)
    if source.ndim == 1:
        source = source.reshape((1, source.shape[0]))
    if source.ndim != 2:
        raise DataError(f"{what} must have two dimensions (rows, columns), but has {source.ndim}")
    if source.shape[1] > MOST_COLUMNS:
        raise DataError(f"{what} has {source.shape[1]} columns; at most {MOST_COLUMNS} are allowed")
    _check_places(source, what)
    matrix = source
    if source.format != "csr":
        matrix = source.tocsr()
        _check_places(matrix, what)  # the rest of the formats are judged by what they become
    if matrix.data.dtype != dtype:
        with np.errstate(over="ignore"):  # too large for float32: found as inf by the caller, with its row
            matrix = matrix.astype(dtype)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    # A matrix (not array) of our own, so that x[0] is a row and nothing of the caller's is shared but the arrays.
    plain = type(matrix) is sparse.csr_matrix and matrix.indices.dtype == matrix.indptr.dtype == np.int32
    if plain and len(matrix.data) == len(matrix.indices) == matrix.indptr[-1]:
        return copy(matrix)  # what the constructor would make, but a query would feel its checks
    return _csr(matrix.data, matrix.indices, matrix.indptr, matrix.shape)


def _check_real(dtype: np.dtype[Any], what: str) -> None:
    """Refuse what NumPy would make a number of by throwing half of it away: complex numbers, times, records."""
    if dtype.kind == "c":
        raise DataError(f"Complex data not supported: {what} holds {dtype} values; only real numbers are allowed")
    if dtype.kind in "mMV":
        raise DataError(f"{what} holds {dtype} values; only real numbers are allowed")


def _check_places(matrix: Any, what: str) -> None:
    """Refuse compressed rows or columns that point outside: scipy and the kernels would read foreign memory."""
    if matrix.format == "coo":
        for places, size, axis in ((matrix.row, matrix.shape[0], "row"), (matrix.col, matrix.shape[1], "column")):
            outside = _first_outside(places, size)
            if outside is not None:
                raise DataError(f"{what}: {axis} {places[outside]} is outside 0..{size - 1}")
    if matrix.format == "csr":
        lines, across, (n_lines, size) = "row", "column", matrix.shape
    elif matrix.format == "csc":
        lines, across, (size, n_lines) = "column", "row", matrix.shape
    elif matrix.format == "bsr":
        lines, across = "block row", "block column"
        n_lines, size = (whole // part for whole, part in zip(matrix.shape, matrix.blocksize, strict=True))
    else:
        return
    starts, places = matrix.indptr, matrix.indices
    n_entries = min(len(places), len(matrix.data))
    if len(starts) != n_lines + 1 or starts[0] != 0 or starts[-1] > n_entries or (starts[1:] < starts[:-1]).any():
        raise DataError(f"{what}: its {lines} pointers do not rise from 0 to at most {n_entries} (the entries)")
    outside = _first_outside(places[: starts[-1]], size)
    if outside is not None:
        line = int(np.searchsorted(starts, outside, side="right")) - 1
        raise DataError(f"{what}, {lines} {line}: {across} {places[outside]} is outside 0..{size - 1}")


def _first_outside(places: Any, size: int) -> int | None:
    """The position of the first number that is not in 0..size-1."""
    # Seen as unsigned, negative numbers are the largest: one pass finds both kinds.
    unsigned = places.view(f"u{places.dtype.itemsize}")
    if not len(places) or int(unsigned.max()) < size:
        return None
    return int(np.flatnonzero((places < 0) | (places >= size))[0])


def _csr(data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> sparse.csr_matrix:
    matrix = sparse.csr_matrix((data, indices, indptr), shape=shape, copy=False)
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    return matrix
