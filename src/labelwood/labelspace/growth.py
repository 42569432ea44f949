"""Labels that come after training: which of them are known, and the columns that new ones get behind the known ones."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from labelwood.errors import DataError
from labelwood.labelspace.classes import Classes
from labelwood.matrices import as_labels


def grown_labels(
    known: Classes, y: sparse.csr_matrix, given: Classes, *, by_column: bool
) -> tuple[sparse.csr_matrix, Classes]:
    """(y in the columns of the known labels with new ones behind them, what these columns stand for).

    y, given: labels as `understood` gives them. by_column: column i of y is label i of the model whatever it is called,
    as in a Dataset; else labels by name or id are known by these. DataError if both cannot be brought together.
    """
    if by_column or (given.names is None and given.ids is None):
        return y, _by_column(known, given)
    if given.names is not None and known.names is None:
        raise DataError(f"y has label names such as {given.names[0]!r:.60}, but the model knows none")
    if given.names is None and known.names is not None:
        raise DataError(f"y has label ids, but the model knows labels by name, such as {known.names[0]!r:.60}")
    places = {label: column for column, label in enumerate(known.array().tolist())}
    columns = np.array([places.setdefault(label, len(places)) for label in given.array().tolist()], np.int64)
    moved = sparse.csr_matrix((y.data, columns[y.indices], y.indptr), shape=(y.shape[0], len(places)))
    if known.names is not None:
        return as_labels(moved), Classes(len(places), names=tuple(places))
    ids = np.array(list(places), np.int64)
    plain = known.ids is None and np.array_equal(ids, np.arange(len(ids)))
    return as_labels(moved), Classes(len(places), ids=None if plain else ids)


def _by_column(known: Classes, given: Classes) -> Classes:
    """What the columns stand for if they are the known ones, in their order, and perhaps more behind them."""
    if given.n < known.n:
        raise DataError(
            f"y has {given.n} label columns, but the model knows {known.n} labels: keep their columns, and add new "
            "labels after them"
        )
    if known.ids is not None and (given.n > known.n or given.names is not None):
        raise DataError(f"the model knows labels by id, such as {known.ids[0]}: give new rows' labels as lists of ids")
    return Classes(given.n, known.ids, _grown_names(known.names, given.names, given.n))


def _grown_names(old: tuple[str, ...] | None, new: tuple[str, ...] | None, n_labels: int) -> tuple[str, ...] | None:
    """The label names after an update; DataError if a known label changed its name or a new one has none."""
    if old is None:
        return new
    if new is None:
        if len(old) != n_labels:
            raise DataError(
                f"the model has label names, and {n_labels - len(old)} labels are new: give a Dataset with "
                "label_names, or the names themselves in lists"
            )
        return old
    for number, (before, now) in enumerate(zip(old, new, strict=False)):
        if before != now:
            raise DataError(f"label {number} is {before!r} in the model but {now!r} in the new rows")
    return new
