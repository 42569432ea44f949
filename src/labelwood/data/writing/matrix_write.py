"""Dataset with features -> XMC repository text, svmlight text or scipy npz; numbers read back exactly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import numpy as np
from scipy import sparse

from labelwood._native import format_rows
from labelwood.data.dataset import Dataset
from labelwood.data.reading.npz import NAME as NPZ_NAME
from labelwood.data.reading.sparse_rows import checked_threads
from labelwood.data.reading.streams import COMPRESSED, plain_name
from labelwood.data.reading.xmc_format import SPLIT_NAME
from labelwood.data.writing.atomic_file import atomic_output
from labelwood.data.writing.written import Written
from labelwood.errors import DataError, ParamError
from labelwood.matrices import column_ids, row_pointers
from labelwood.progress import SILENT, Progress

ENTRIES_PER_STEP = 1 << 19  # about 6 MB of text


def write_xmc(data: Dataset, path: Path, *, n_threads: int | None = None, progress: Progress = SILENT) -> Written:
    """The file written: a header `rows features labels`, then a line a row."""
    x, threads = data.features(), checked_threads(n_threads)
    with atomic_output(path) as stream:
        stream.write(f"{data.n_rows} {data.n_features} {data.n_labels}\n".encode())
        _write_rows(stream, x, data.y, threads, progress, path.name)
    return Written((path,), tuple(_left_out(data, path)))


def write_svmlight(
    data: Dataset,
    path: Path,
    *,
    index_base: int | None = None,
    n_threads: int | None = None,
    progress: Progress = SILENT,
) -> Written:
    """The file written; features count from 1 unless index_base says 0."""
    if index_base not in (None, 0, 1):
        raise ParamError(f"index_base must be 0 or 1, but is {index_base!r}")
    base, threads = 1 if index_base is None else index_base, checked_threads(n_threads)
    x = data.features()
    _check_svmlight(data)
    with atomic_output(path) as stream:
        _write_rows(stream, x, data.y, threads, progress, path.name, base)
    return Written((path,), tuple(_left_out(data, path)))


def write_xmc_split(data: Dataset, path: Path, *, n_threads: int | None = None, progress: Progress = SILENT) -> Written:
    """The two files written, trn_X_Xf.txt and trn_X_Y.txt; `path` is either."""
    threads = checked_threads(n_threads)
    match = SPLIT_NAME.match(plain_name(path))
    if match is None:
        raise ParamError(f"{path}: split files are named like trn_X_Xf.txt and trn_X_Y.txt")
    packed = path.suffix if path.suffix.lower() in COMPRESSED else ""
    pair = tuple(path.with_name(f"{match['stem']}_X_{part}.txt{packed}") for part in ("Xf", "Y"))
    matrices = (data.features(), data.y)
    with ExitStack() as both:  # nothing appears before the second file is complete
        streams = [both.enter_context(atomic_output(place)) for place in pair]
        for place, stream, matrix in zip(pair, streams, matrices, strict=True):
            stream.write(f"{matrix.shape[0]} {matrix.shape[1]}\n".encode())
            _write_rows(stream, matrix, None, threads, progress, place.name)
    return Written(pair, tuple(_left_out(data, path)))


def write_npz(data: Dataset, path: Path) -> Written:
    """The two files written, X.trn.npz and Y.trn.npz; `path` is either."""
    match = NPZ_NAME.match(path.name)
    if match is None:
        raise ParamError(f"{path}: npz pairs are named like X.trn.npz and Y.trn.npz")
    pair = tuple(path.with_name(f"{side}{match['part']}.npz") for side in "XY")
    matrices = (data.features(), data.y)
    with ExitStack() as both:
        streams = [both.enter_context(atomic_output(place)) for place in pair]
        for stream, matrix in zip(streams, matrices, strict=True):
            sparse.save_npz(stream, matrix)
    return Written(pair, tuple(_left_out(data, path)))


def _left_out(data: Dataset, path: Path) -> Iterator[str]:
    """What a data set has and a file of numbers has not."""
    for what, items in (
        ("texts", data.texts),
        ("label names", data.label_names),
        ("feature names", data.feature_names),
        ("row ids", data.row_ids),
        ("groups", data.groups),
        ("filter pairs", data.filter_pairs),
    ):
        if items is not None:
            yield f"{path}: {what} are not in this format"


def _write_rows(
    stream: IO[bytes],
    x: sparse.csr_matrix,
    y: sparse.csr_matrix | None,
    threads: int,
    progress: Progress,
    name: str,
    svmlight_base: int | None = None,
) -> None:
    """Write the rows in steps, so that the text is never held whole."""
    labels = y if y is not None else sparse.csr_matrix((x.shape[0], 0), dtype=np.float32)
    x_starts, y_starts = row_pointers(x), row_pointers(labels)
    x_columns, y_columns = column_ids(x), column_ids(labels)
    for first, last in _steps(x_starts + y_starts):
        stream.write(
            format_rows(
                x_starts,
                x_columns,
                x.data,
                y_starts,
                y_columns,
                first,
                last,
                labels=y is not None,
                svmlight=svmlight_base is not None,
                index_base=svmlight_base or 0,
                n_threads=threads,
            )
        )
        progress.step(f"writing {name}", last, x.shape[0])


def _steps(starts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Iterator[tuple[int, int]]:
    """Ranges of rows with about ENTRIES_PER_STEP entries each (a row counts one too)."""
    weight = starts + np.arange(len(starts))
    first, n_rows = 0, len(starts) - 1
    while first < n_rows:
        last = int(np.searchsorted(weight, weight[first] + ENTRIES_PER_STEP))
        last = min(max(last, first + 1), n_rows)
        yield first, last
        first = last


def _check_svmlight(data: Dataset) -> None:
    empty = (np.diff(data.features().indptr) == 0) & (np.diff(data.y.indptr) == 0)
    if data.n_features == 0 and empty.any():
        raise DataError(
            f"{data.source}, row {int(np.argmax(empty))}: svmlight cannot hold a row without anything in it"
        )
