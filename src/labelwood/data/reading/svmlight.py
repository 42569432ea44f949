"""Multi-label svmlight / libsvm text: `1,3,5 1:0.1 9:0.2 # comment`, without a header."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from labelwood.data.dataset import Dataset
from labelwood.data.reading.bad_rows import BadRows
from labelwood.data.reading.companions import feature_names_beside, label_names_beside
from labelwood.data.reading.csr_rows import RowFormat, SparseRows, canonical_csr
from labelwood.data.reading.sparse_rows import dropped, read_rows
from labelwood.data.reading.start import Start
from labelwood.errors import DataError, ParamError
from labelwood.matrices import MOST_COLUMNS
from labelwood.progress import SILENT, Progress
from labelwood.scratch import room
from labelwood.wording import Argument, Message

_NUMBER = rb":[-+]?[\d.]+(?:[eE][-+]?\d+)?"
_ROW = re.compile(
    rb"(?:\d+(?:,\d+)*|\d+" + _NUMBER + rb")?(?:[ \t]+\d+(?:" + _NUMBER + rb")?)*[ \t]*(?:#.*)?", re.DOTALL
)


def is_svmlight(start: Start) -> bool:
    """True if the first row is labels and `feature:value` pairs."""
    row = start.first_row
    return row is not None and b":" in row and bool(_ROW.fullmatch(row))


def read_svmlight(
    path: str | Path,
    *,
    on_bad_row: str = "error",
    index_base: int | None = None,
    n_features: int | None = None,
    n_labels: int | None = None,
    n_threads: int | None = None,
    progress: Progress = SILENT,
) -> Dataset:
    """The Dataset of an svmlight file; labels are column numbers from 0, a feature without value counts 1.

    Whether features are numbered from 0 or from 1 is found (a 0 anywhere: from 0, else from 1) and told in
    the notes, unless `index_base` says it. `n_features` and `n_labels` make a test file as wide as its
    training file.
    """
    path = Path(path)
    if index_base not in (None, 0, 1):
        raise ParamError(f"index_base must be 0, 1 or None (find out), but is {index_base!r}")
    for name, width in (("n_features", n_features), ("n_labels", n_labels)):
        if width is not None and not 0 <= width <= MOST_COLUMNS:
            raise ParamError(f"{name} must be from 0 to {MOST_COLUMNS}, but is {width!r}")
    how = RowFormat(svmlight=True, n_features=n_features, n_labels=n_labels, index_base=index_base or 0)
    bad = BadRows(path, on_bad_row)
    notes: tuple[str, ...] = ()
    if index_base is not None:
        rows = read_rows(path, how, bad, n_threads=n_threads, progress=progress)
    else:
        rows, index_base, why = _read_finding_base(path, how, bad, n_threads, progress)
        if index_base is not None:
            told = f"{path}: features are numbered from {index_base} ({why}); "
            notes = (Message(told, Argument("index_base"), " overrides"),)
    if not rows.x.shape[0]:
        raise DataError(f"{path}, line 1: there are only blank lines and comments; expected rows")
    x, y = dropped(rows, rows.bad_rows)
    label_names, label_notes = label_names_beside(path, y.shape[1])
    feature_names, feature_notes = feature_names_beside(path, x.shape[1])
    return Dataset(
        x,
        y,
        label_names=label_names,
        feature_names=feature_names,
        source=str(path),
        notes=(*notes, *rows.notes, *bad.notes(), *label_notes, *feature_notes),
        index_base=index_base,
    )


def _read_finding_base(
    path: Path, how: RowFormat, bad: BadRows, n_threads: int | None, progress: Progress
) -> tuple[SparseRows, int | None, str]:
    """(rows with columns from 0, the number of the first feature or None without features, how it is known)."""
    # One column more at first: the highest feature of a file that counts from 1 is n_features itself.
    loose = how if how.n_features is None else replace(how, n_features=min(how.n_features + 1, MOST_COLUMNS))
    rows = read_rows(path, loose, bad, n_threads=n_threads, progress=progress)
    if rows.lowest_feature is None:
        return _with_width(rows, 0, rows.x.shape[1] if how.n_features is None else how.n_features), None, ""
    if rows.lowest_feature > 0:
        width = rows.x.shape[1] - 1 if how.n_features is None else how.n_features
        return _with_width(rows, 1, width), 1, f"no feature 0; the lowest is {rows.lowest_feature}"
    if how.n_features is not None:
        if rows.highest_feature >= how.n_features:  # now known to be a fault: read again for its line
            bad.clear()
            rows = read_rows(path, how, bad, n_threads=n_threads, progress=progress)
        rows = _with_width(rows, 0, how.n_features)
    return rows, 0, "there is a feature 0"


def _with_width(rows: SparseRows, base: int, n_features: int) -> SparseRows:
    x = rows.x
    columns = np.subtract(x.indices, base, out=room(x.nnz, x.indices.dtype)) if base else x.indices
    return replace(rows, x=canonical_csr(x.data, columns, x.indptr, n_features))
