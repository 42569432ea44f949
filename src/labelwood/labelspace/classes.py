"""What the label columns stand for, and the label matrix of whatever a caller gives as labels.

What is meant is decided by type and value alone, never by lengths that happen to be equal:

    sparse matrix, 2-d array or data frame       an indicator matrix: one column a label
    1-d array, series or list of plain values    the single label of each row
    list (or 1-d array, series) of lists or sets the labels of each row, by id or by name
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import DataError
from labelwood.labelspace.names import all_names, label_matrix, name_ids
from labelwood.matrices import as_labels, column_names, is_frame, is_series

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Classes:
    """What each of n label columns stands for: an id, a name, or (neither) its own number."""

    n: int
    ids: Ids | None = None
    names: tuple[str, ...] | None = None

    def array(self) -> npt.NDArray[Any]:
        """The names (objects), ids (int64) or numbers of the columns, in order."""
        if self.names is not None:
            named = np.empty(self.n, object)
            named[:] = self.names
            return named
        return np.arange(self.n) if self.ids is None else self.ids

    def matrix(self, y: Any) -> sparse.csr_matrix:
        """The label matrix of y in these columns; labels that are not among them get columns behind.

        y: all that `understood` takes. An indicator matrix must have as many columns.
        """
        given, theirs = understood(y)
        if theirs.names is None and theirs.ids is None:
            return self._indicator(given, y)
        if theirs.names is not None:
            if self.names is None:
                raise DataError(f"y has label names such as {theirs.names[0]!r:.60}, but the model knows none")
            return _moved(given, theirs.names, name_ids(self.names))
        if self.names is not None:
            raise DataError(f"y has label ids, but the model knows labels by name, such as {self.names[0]!r:.60}")
        known = self.ids if self.ids is not None else np.arange(self.n)
        return _moved(given, (theirs.ids if theirs.ids is not None else known).tolist(), _places(known))

    def _indicator(self, given: sparse.csr_matrix, y: Any) -> sparse.csr_matrix:
        if given.shape[1] != self.n:
            raise DataError(f"y has {given.shape[1]} label columns, but the model knows {self.n} labels")
        return given


def understood(y: Any, what: str = "y") -> tuple[sparse.csr_matrix, Classes]:
    """(label matrix, what its columns stand for) of labels in any of the forms above; DataError says what is wrong."""
    if is_frame(y):
        return _of_frame(y, what)
    if sparse.issparse(y):
        matrix = as_labels(y, what)
        return matrix, Classes(matrix.shape[1])
    if is_series(y):
        y = y.tolist()
    if hasattr(y, "__array__"):
        y = np.asarray(y)
    if isinstance(y, np.ndarray) and y.dtype != object:
        if y.ndim == 1:
            return _of_single_labels(y.tolist(), what)
        return _of_array(y, what)
    if isinstance(y, np.ndarray) and y.ndim == 2:
        return _of_array(y, what)
    if isinstance(y, (str, bytes)) or not isinstance(y, Iterable):
        raise DataError(
            f"{what} must be a label matrix, or one label or one list of labels for each row, but is {type(y).__name__}"
        )
    rows = list(y)
    if any(_is_collection(row) for row in rows):
        return _of_label_lists(rows, what)
    return _of_single_labels(rows, what)


def _of_frame(y: Any, what: str) -> tuple[sparse.csr_matrix, Classes]:
    """A data frame: an indicator matrix with named columns, or one column that holds each row's label or labels."""
    if y.shape[1] == 1 and not _is_indicator(y.to_numpy()):
        return understood(y.iloc[:, 0] if hasattr(y, "iloc") else y.to_series(), what)
    values = y.sparse.to_coo() if _is_sparse_frame(y) else _zeros_and_ones(y.to_numpy(), what)
    matrix = as_labels(values, what)
    names = column_names(y)
    return matrix, Classes(matrix.shape[1], names=names)


def _is_sparse_frame(y: Any) -> bool:
    return hasattr(y, "dtypes") and all(type(kind).__name__ == "SparseDtype" for kind in y.dtypes)


def _of_array(y: npt.NDArray[Any], what: str) -> tuple[sparse.csr_matrix, Classes]:
    if y.ndim != 2:
        raise DataError(f"{what} must have two dimensions (rows, labels), but has {y.ndim}")
    matrix = as_labels(_zeros_and_ones(y, what), what)
    return matrix, Classes(matrix.shape[1])


def _is_indicator(values: npt.NDArray[Any]) -> bool:
    return values.dtype != object and values.dtype.kind in "buif" and bool(np.isin(values, (0, 1)).all())


def _zeros_and_ones(y: npt.NDArray[Any], what: str) -> npt.NDArray[Any]:
    """The array itself; DataError unless it holds 0 and 1 alone: other numbers look like ids, which come as lists."""
    if y.dtype == object:
        try:
            y = y.astype(np.float64)
        except (TypeError, ValueError):
            raise DataError(
                f"{what} is a 2-d array of objects: give an indicator matrix of 0 and 1, or a list of lists of labels"
            ) from None
    if y.dtype.kind not in "buif":
        raise DataError(f"{what} must be an indicator matrix of 0 and 1, but holds {y.dtype}")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise DataError(f"{what} holds values that are not finite; a label is present (1) or absent (0)")
    wrong = np.argwhere(~np.isin(y, (0, 1)))
    if len(wrong):
        row, column = (int(place) for place in wrong[0])
        raise DataError(
            f"{what}, row {row}, column {column}: an indicator matrix holds 0 and 1, but here is {y[row, column]}; "
            "labels by id or name come as a list of lists"
        )
    return y


def _of_single_labels(labels: list[Any], what: str) -> tuple[sparse.csr_matrix, Classes]:
    for row, label in enumerate(labels):
        if label is None or (isinstance(label, float) and label != label):
            raise DataError(f"{what}, row {row}: the label is missing; a row without labels is an empty list")
    return _of_label_lists([[label] for label in labels], what)


def _of_label_lists(rows: Sequence[Any], what: str) -> tuple[sparse.csr_matrix, Classes]:
    """The matrix of each row's labels: all of them ids, or all of them names; its columns are in sorted order."""
    lists = [_checked_row(row, number, what) for number, row in enumerate(rows)]
    kinds = {str if isinstance(label, str) else int for labels in lists for label in labels}
    if kinds == {str, int}:
        raise DataError(f"{what} holds label ids (numbers) and label names (strings): give the one or the other")
    if kinds == {str}:
        names = all_names(lists)
        matrix, _ = label_matrix(lists, name_ids(names))
        return matrix, Classes(len(names), names=names)
    _refuse_indicator_lists(lists, what)
    ids = np.unique(np.array([label for labels in lists for label in labels], np.int64))
    return _of_ids(lists, ids), Classes(len(ids), ids=ids)


def _of_ids(lists: Sequence[Sequence[int]], ids: Ids) -> sparse.csr_matrix:
    lengths = [len(labels) for labels in lists]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    columns = np.searchsorted(ids, np.array([label for labels in lists for label in labels], np.int64))
    ones = np.ones(len(columns), np.float32)
    return as_labels(sparse.csr_matrix((ones, columns, indptr), shape=(len(lists), len(ids))))


def _checked_row(row: Any, number: int, what: str) -> list[Any]:
    if not _is_collection(row):
        fault = f"{what}, row {number}: expected a list of labels, as in other rows, but got {row!r:.60}"
        raise DataError(f"{fault}; a row without labels is an empty list")
    labels = list(row.tolist() if isinstance(row, np.ndarray) else row)
    return [_plain_label(label, number, what) for label in labels]


def _plain_label(label: Any, row: int, what: str) -> int | str:
    """An id as int or a name as str."""
    if isinstance(label, str):
        if not label.strip():
            raise DataError(f"{what}, row {row}: a label name must have words, but is {label!r}")
        return str(label)
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    if isinstance(label, complex):
        raise DataError(f"Complex data not supported: {what}, row {row} holds {label!r:.60}")
    if not isinstance(label, int):
        raise DataError(f"{what}, row {row}: a label is a whole number or a name, but here is {label!r:.60}")
    if not -(2**63) <= label < 2**63:
        raise DataError(f"{what}, row {row}: the label id {label} does not fit into 64 bits")
    return int(label)


def _refuse_indicator_lists(lists: Sequence[Sequence[int]], what: str) -> None:
    """Refuse rows like [0, 1, 0]: lists mean labels by id, and nobody names label 0 twice."""
    if len({len(labels) for labels in lists}) > 1 or any(label not in (0, 1) for labels in lists for label in labels):
        return
    for row, labels in enumerate(lists):
        if len(set(labels)) < len(labels):
            twice = next(label for label in labels if labels.count(label) > 1)
            raise DataError(
                f"{what}, row {row}: names label {twice} twice; lists mean label ids. For an indicator matrix of 0 and "
                f"1 give an array: np.array({what})"
            )


def _is_collection(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset, np.ndarray)) and not (
        isinstance(value, np.ndarray) and value.ndim == 0
    )


def _places(ids: Ids) -> dict[Any, int]:
    return {identity: column for column, identity in enumerate(ids.tolist())}


def _moved(y: sparse.csr_matrix, labels: Sequence[Any], places: dict[Any, int]) -> sparse.csr_matrix:
    """The matrix y, whose columns stand for labels, with columns at their places; unknown labels behind."""
    target = np.empty(len(labels), np.int64)
    n_columns = len(places)
    for column, label in enumerate(labels):
        place = places.get(label)
        if place is None:
            place, n_columns = n_columns, n_columns + 1
        target[column] = place
    columns = target[y.indices] if y.nnz else y.indices
    return as_labels(sparse.csr_matrix((y.data, columns, y.indptr), shape=(y.shape[0], n_columns)))
