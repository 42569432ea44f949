"""The extreme classification repository's text: one file with a header `N D L`, or a pair of split files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood.data.dataset import Dataset
from labelwood.data.reading.bad_rows import BadRows
from labelwood.data.reading.companions import existing, feature_names_beside, filter_pairs_beside, label_names_beside
from labelwood.data.reading.csr_rows import RowFormat, SparseRows
from labelwood.data.reading.sparse_rows import dropped, read_rows
from labelwood.data.reading.start import Start
from labelwood.data.reading.streams import plain_name
from labelwood.errors import DataError
from labelwood.progress import SILENT, Progress

SPLIT_NAME = re.compile(r"^(?P<stem>.+)_X_(?P<part>Xf|Y)\.txt$")
ONE_FILE = RowFormat(header=("rows", "features", "labels"))
SPLIT_X = RowFormat(header=("rows", "features"), labels=False)
SPLIT_Y = RowFormat(header=("rows", "labels"), labels=False, item="label")
_HEADER = re.compile(rb"[ \t]*\d+[ \t]+\d+[ \t]+\d+[ \t]*")


def is_xmc(start: Start) -> bool:
    """True if the first line is three numbers."""
    return bool(_HEADER.fullmatch(start.byte_lines[0]))


def read_xmc(
    path: str | Path, *, on_bad_row: str = "error", n_threads: int | None = None, progress: Progress = SILENT
) -> Dataset:
    """The Dataset of a file with header `N D L` and rows `l1,l2 f:v f:v`.

    A row that begins with a space has no labels.
    """
    path = Path(path)
    bad = BadRows(path, on_bad_row)
    rows = read_rows(path, ONE_FILE, bad, n_threads=n_threads, progress=progress)
    x, y = dropped(rows, rows.bad_rows)
    return _dataset(path, x, y, rows.bad_rows, (*rows.notes, *bad.notes()))


def _split_pair(path: str | Path) -> tuple[Path, Path] | None:
    """The pair (features, labels) that trn_X_Xf.txt or trn_X_Y.txt belongs to; None for names unlike these.

    DataError if the partner is missing.
    """
    path = Path(path)
    match = SPLIT_NAME.match(plain_name(path))
    if match is None:
        return None
    other = f"{match['stem']}_X_{'Y' if match['part'] == 'Xf' else 'Xf'}.txt"
    partner = existing(path.with_name(other))
    if partner is None:
        what = "labels" if match["part"] == "Xf" else "features"
        raise DataError(f"{path}: the file with its {what}, {path.with_name(other)}, is not there")
    return (path, partner) if match["part"] == "Xf" else (partner, path)


def read_xmc_split(
    path: str | Path, *, on_bad_row: str = "error", n_threads: int | None = None, progress: Progress = SILENT
) -> Dataset:
    """The Dataset of a pair of files with headers `rows columns`, found from either name."""
    pair = _split_pair(path)
    if pair is None:
        raise DataError(f"{path}: split files are named like trn_X_Xf.txt and trn_X_Y.txt")
    bad_x, bad_y = (BadRows(part, on_bad_row) for part in pair)
    x_rows = read_rows(pair[0], SPLIT_X, bad_x, n_threads=n_threads, progress=progress)
    y_rows = read_rows(pair[1], SPLIT_Y, bad_y, n_threads=n_threads, progress=progress)
    if x_rows.x.shape[0] != y_rows.x.shape[0]:
        raise DataError(f"{pair[0]} has {x_rows.x.shape[0]} rows, but {pair[1]} has {y_rows.x.shape[0]}")
    both = np.union1d(x_rows.bad_rows, y_rows.bad_rows)
    joined = SparseRows(x_rows.x, y_rows.x, both)
    x, y = dropped(joined, both)
    notes = (*x_rows.notes, *y_rows.notes, *bad_x.notes(), *bad_y.notes())
    return _dataset(pair[0], x, y, both, notes)


def _dataset(path: Path, x: Any, y: Any, bad_rows: npt.NDArray[np.int64], notes: tuple[str, ...]) -> Dataset:
    data = Dataset(x, y, source=str(path))
    label_names, label_notes = label_names_beside(path, data.n_labels)
    feature_names, feature_notes = feature_names_beside(path, data.n_features)
    n_before = data.n_rows + len(bad_rows)
    pairs = filter_pairs_beside(path, (n_before, data.n_labels))
    if pairs is not None and len(bad_rows):
        keep = np.ones(n_before, bool)
        keep[bad_rows] = False
        pairs = pairs[keep[pairs[:, 0]]]
        pairs[:, 0] = (np.cumsum(keep) - 1)[pairs[:, 0]]
    return Dataset(
        data.x,
        data.y,
        label_names=label_names,
        feature_names=feature_names,
        filter_pairs=pairs,
        source=str(path),
        notes=(*notes, *label_notes, *feature_notes),
    )
