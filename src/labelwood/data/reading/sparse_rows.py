"""Sparse text rows of a file -> CSR matrices, block by block through the native parser.

Plain files are memory-mapped, compressed ones are parsed while they are decompressed: the text is never held
whole.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood._native import RowParser
from labelwood.data.reading import streams
from labelwood.data.reading.bad_rows import BadRows
from labelwood.data.reading.csr_rows import RowFormat, SparseRows, canonical_csr
from labelwood.data.reading.declared_size import check_declared
from labelwood.data.reading.row_cache import current_cache
from labelwood.data.reading.streamed_rows import StreamedRows
from labelwood.errors import DataError, ParamError
from labelwood.matrices import MOST_COLUMNS
from labelwood.progress import SILENT, Progress
from labelwood.scratch import current_scratch, release

MAPPED_BYTES = 64 << 20  # a step of a memory-mapped file: progress is told after each
STREAM_BYTES = 8 << 20  # a step of a compressed file

Bytes = npt.NDArray[np.uint8]
Parser = RowParser | StreamedRows


def read_rows(
    path: Path,
    how: RowFormat,
    bad: BadRows,
    *,
    n_threads: int | None = None,
    progress: Progress = SILENT,
) -> SparseRows:
    """The rows of a file; DataError names its first faulty line, the same for any number of threads.

    With a cache, a file that was read before is mapped instead.
    """
    threads = checked_threads(n_threads)
    cache = current_cache()
    if cache is None or not cache.takes(path):
        return _read(path, how, bad, threads, progress)
    found = cache.find(path, how, bad.policy)
    if found is not None:
        return found
    name = cache.name(path, how, bad.policy)
    rows = _read(path, how, bad, threads, progress)
    cache.keep(name, path, how, bad.policy, rows)
    return rows


def _read(path: Path, how: RowFormat, bad: BadRows, threads: int, progress: Progress) -> SparseRows:
    with streams.open_bytes(path) as stream:
        windows = _windows(stream, path)
        window = next(windows)
        start, counts = _header(path, how, window.text, window.last)
        n_features, n_labels = how.n_features, how.n_labels
        if counts:
            n_features = counts[how.header[1]]
            n_labels = counts[how.header[2]] if how.labels else 0
        rules: dict[str, Any] = {
            "labels": how.labels,
            "svmlight": how.svmlight,
            "n_features": -1 if n_features is None else n_features,
            "n_labels": -1 if n_labels is None else n_labels,
            "index_base": how.index_base,
            "keep_going": bad.policy == "skip",
            "item": how.item,
        }
        scratch = current_scratch()
        parser: Parser = RowParser(**rules) if scratch is None else StreamedRows(scratch, rules)
        above = 1 if how.header else 0
        what, done, total = f"reading {path.name}", 0, window.total
        while True:
            used = start + parser.feed(window.text[start:], window.last, threads)
            if used == 0 and not window.last and len(window.text) > streams.MAX_LINE_BYTES:
                line, most = parser.n_lines + above + 1, streams.MAX_LINE_BYTES
                raise DataError(f"{path}, line {line}: longer than {most:,} bytes; is this the right file?")
            done += used
            progress.step(what, done, total)
            if scratch is not None:
                release(window.text)
            if window.last or parser.stopped:
                break
            window.used, start = used, 0
            window = next(windows)
        del window, windows
    rows = counts.get("rows")
    _report(parser, bad, above, rows)
    _check_widths(path, how, parser, counts, done)
    result = _assembled(parser, n_features, n_labels, rows, threads)
    result.notes += _notes(path, how, parser, bad, rows)
    return result


def dropped(rows: SparseRows, bad: npt.NDArray[np.int64]) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """(x, y) without the given rows."""
    if not len(bad):
        return rows.x, rows.y
    keep = np.ones(rows.x.shape[0], bool)
    keep[bad] = False
    return rows.x[keep], rows.y[keep]


def checked_threads(n_threads: int | None) -> int:
    """The thread count for the native code, which takes 0 as 'all processors'."""
    if n_threads is None:
        return 0
    if isinstance(n_threads, bool) or not isinstance(n_threads, (int, np.integer)) or not 1 <= n_threads <= 4096:
        raise ParamError(f"n_threads must be a whole number from 1 to 4096 or None, but is {n_threads!r}")
    return int(n_threads)


@dataclass
class _Window:
    text: Bytes
    last: bool
    total: int = 0
    used: int = 0  # bytes the reader is done with; the next window begins there


def _windows(stream: IO[bytes], path: Path) -> Iterator[_Window]:
    """Windows of the text, each from where the reader stopped; one without a line end comes back larger."""
    mapped = None
    if path.suffix.lower() not in streams.COMPRESSED:
        try:
            mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except (ValueError, OSError):  # empty file, or a pipe: nothing to map
            mapped = None
    most = streams.MAX_LINE_BYTES + 1  # enough to see that a line is too long
    if mapped is not None:
        whole = np.frombuffer(mapped, np.uint8)
        begin, size = 0, min(MAPPED_BYTES, most)
        while True:
            window = _Window(whole[begin : begin + size], begin + size >= len(whole), len(whole))
            yield window
            begin += window.used
            size = min(MAPPED_BYTES, most) if window.used else min(2 * size, most)
    rest, size = b"", min(STREAM_BYTES, most)
    while True:
        more = stream.read(size)
        block = rest + more if rest else more
        window = _Window(np.frombuffer(block, np.uint8), len(more) < size)
        yield window
        rest = block[window.used :]
        size = min(STREAM_BYTES if window.used else max(len(rest), 1), most - len(rest))


def _header(path: Path, how: RowFormat, text: Bytes, last: bool) -> tuple[int, dict[str, int]]:
    """(bytes before the first row, header name -> number)."""
    head = text[:4096].tobytes()
    bom = 3 if head.startswith(b"\xef\xbb\xbf") else 0
    expected = f"expected a header of {len(how.header)} whole numbers ({', '.join(how.header)})"
    if len(head) == bom:
        raise DataError(f"{path}, line 1: the file is empty; " + (expected if how.header else "expected rows"))
    if not how.header:
        return bom, {}
    line, newline, _ = head[bom:].partition(b"\n")
    words = line.split()
    shown = line[:60].decode("utf-8", "backslashreplace").strip()
    complete = newline or (last and len(text) <= len(head))
    if not complete or len(words) != len(how.header) or not all(word.isdigit() and len(word) < 19 for word in words):
        raise DataError(f"{path}, line 1: {expected}, but got {shown!r}")
    counts = {name: int(word) for name, word in zip(how.header, words, strict=True)}
    for name, number in counts.items():
        if name != "rows" and number > MOST_COLUMNS:
            raise DataError(f"{path}, line 1: {number} {name} are too many; at most {MOST_COLUMNS} are allowed")
    return bom + len(line) + len(newline), counts


def _report(parser: Parser, bad: BadRows, above: int, rows: int | None) -> None:
    """Hand the faults to the policy; under 'error' a row count unlike the header's is one too."""
    if bad.policy == "skip":
        for line, message in parser.faults:
            bad.report(line + above, message)
        bad.count += parser.n_bad - len(parser.faults)
        return
    fault = parser.faults[0] if parser.faults else None
    if rows is not None:
        if parser.last_filled_row >= rows and (fault is None or fault[0] > rows):
            bad.report(above + rows + 1, f"one row more than the {rows} that the header announces")
        if fault is None and parser.n_rows < rows:
            bad.report(
                above + parser.n_lines,
                f"the file ends after {parser.n_rows} rows, but the header announces {rows}",
            )
    if fault is not None:
        bad.report(fault[0] + above, fault[1])


def _check_widths(path: Path, how: RowFormat, parser: Parser, counts: dict[str, int], n_bytes: int) -> None:
    """Refuse widths that the file alone claims, by its header or its highest number, and cannot mean."""
    for name in how.header[1:]:
        check_declared(counts[name], name, n_bytes, f"{path}, line 1")
    if not how.header and how.n_features is None:
        check_declared(parser.highest_feature + 1, f"{how.item}s", n_bytes, str(path))
    if not how.header and how.n_labels is None:
        check_declared(parser.highest_label + 1, "labels", n_bytes, str(path))


def _assembled(
    parser: Parser, n_features: int | None, n_labels: int | None, rows: int | None, threads: int
) -> SparseRows:
    if isinstance(parser, StreamedRows):
        x_starts, x_columns, x_values, y_starts, y_columns, bad_rows = parser.arrays()
    else:
        x_starts, y_starts = np.empty(parser.n_rows + 1, np.int64), np.empty(parser.n_rows + 1, np.int64)
        x_columns, y_columns = np.empty(parser.x_size, np.int32), np.empty(parser.y_size, np.int32)
        x_values, bad_rows = np.empty(parser.x_size, np.float32), np.empty(parser.n_bad, np.int64)
        parser.assemble(x_starts, x_columns, x_values, y_starts, y_columns, bad_rows, threads)
    if rows is not None and parser.last_filled_row < rows < parser.n_rows:
        # Blank lines at the end are no rows; elsewhere a blank line is a row with nothing in it.
        x_starts, y_starts = x_starts[: rows + 1], y_starts[: rows + 1]
    width = parser.highest_feature + 1 if n_features is None else n_features
    height = parser.highest_label + 1 if n_labels is None else n_labels
    return SparseRows(
        x=canonical_csr(x_values, x_columns, x_starts, width),
        y=canonical_csr(np.ones(len(y_columns), np.float32), y_columns, y_starts, height),
        bad_rows=bad_rows,
        lowest_feature=parser.lowest_feature if parser.highest_feature >= 0 else None,
        highest_feature=parser.highest_feature,
    )


def _notes(path: Path, how: RowFormat, parser: Parser, bad: BadRows, rows: int | None) -> Iterator[str]:
    if count := parser.duplicate_features:
        yield f"{path}: {count} entries repeat a {how.item} of their row; their values were added up"
    if count := parser.duplicate_labels:
        yield f"{path}: {count} entries repeat a label of their row; each label counts once"
    if rows is not None and bad.policy == "skip":
        n_there = max(min(parser.n_rows, rows), parser.last_filled_row + 1)
        if n_there != rows:
            yield f"{path}: the header announces {rows} rows, but the file has {n_there}"
