"""Rows of a text table on their way from a file to a Dataset, and the lines they are read from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labelwood.data.reading.bad_rows import BadRows
from labelwood.data.reading.streams import MAX_LINE_BYTES, open_bytes
from labelwood.errors import DataError
from labelwood.progress import SILENT, Progress

REPORT_EVERY = 10_000


@dataclass(frozen=True)
class TableOptions:
    """What the caller said about a table: column names, separator, and what to do with damaged rows."""

    path: Path
    bad: BadRows
    text: str | None = None
    labels: str | None = None
    separator: str | None = None
    progress: Progress = SILENT


@dataclass
class TextRows:
    """Texts with uncut label cells: a cell is None, a list, a number, or a string to be cut at a separator.

    lines: the physical line (of Parquet: the row) each came from, for errors found later.
    row_ids: one a row, or empty when the table has none.
    separator: how the format itself cuts label strings (None: to be detected over all cells).
    """

    options: TableOptions
    texts: list[str] = field(default_factory=list)
    cells: list[Any] = field(default_factory=list)
    row_ids: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    separator: str | None = None

    def add(self, line: int, text: str, cell: Any, row_id: str | None = None) -> None:
        """Keep one row; a text that no UTF-8 file can hold, or with a NUL character, is a bad row."""
        fault = text_fault(text)
        if fault:
            self.options.bad.report(line, f"the text {fault}")
            return
        self.texts.append(text)
        self.cells.append(cell)
        self.lines.append(line)
        if row_id is not None:
            self.row_ids.append(row_id)
        if len(self.texts) % REPORT_EVERY == 0:
            self.options.progress.step("reading rows", len(self.texts), 0)


def text_fault(text: str) -> str | None:
    """What is wrong with a text ('holds a NUL character', ...), or None."""
    if "\x00" in text:
        return "holds a NUL character"
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            return f"holds half a surrogate pair at character {error.start + 1}, which is not valid Unicode"
    return None


def text_lines(options: TableOptions) -> Iterator[tuple[int, str]]:
    """(line number from 1, text without line end) of a UTF-8 file; lines that are not UTF-8 are bad rows.

    Unlike `streams.lines` it can go on behind a damaged line when the caller asked to skip those.
    """
    path = options.path
    with open_bytes(path) as stream:
        number = 0
        while raw := stream.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(raw) > MAX_LINE_BYTES:
                raise DataError(
                    f"{path}, line {number}: longer than {MAX_LINE_BYTES >> 20} MB; is this the right file?"
                )
            if number == 1:
                if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
                    raise DataError(f"{path}, line 1: the file is UTF-16, not UTF-8; convert the file to UTF-8 first")
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            try:
                text = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                options.bad.report(
                    number, f"byte {error.start + 1} is not valid UTF-8; convert the file to UTF-8 first"
                )
                continue
            yield number, text.rstrip("\r\n")
    if number == 0:
        raise DataError(f"{path}: the file is empty")
