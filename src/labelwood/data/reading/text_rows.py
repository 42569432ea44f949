"""Rows of a text table on their way from a file to a Dataset, and the lines they are read from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labelwood.data.dataset import TableForm
from labelwood.data.reading.bad_rows import BadRows
from labelwood.data.reading.encodings import decoded_lines
from labelwood.progress import SILENT, Progress

REPORT_EVERY = 10_000


@dataclass(frozen=True)
class TableOptions:
    """What the caller said about a table: column names, separator, encoding, and what to do with damaged rows.

    like: how another table was read, whose columns are taken where this one has them. keep_columns: keep every cell.
    group: the column that says what group a row is of.
    """

    path: Path
    bad: BadRows
    text: str | None = None
    labels: str | None = None
    separator: str | None = None
    progress: Progress = SILENT
    encoding: str | None = None
    like: TableForm | None = None
    keep_columns: bool = False
    group: str | None = None


class LabelCells(tuple[Any, ...]):
    """The cells of several label columns in one row."""


@dataclass
class TextRows:
    """Texts with uncut label cells: a cell is None, a list, a number, or a string to be cut at a separator.

    Of a table with several label columns a cell is LabelCells.

    lines: the physical line (of Parquet: the row) each came from, for errors found later.
    row_ids: one a row, or empty when the table has none.
    separator: how the format itself cuts label strings (None: to be detected over all cells).
    names, kept: the names of all columns and every row's cells, when the options ask to keep them.
    groups: one a row, when the options name their column.
    """

    options: TableOptions
    texts: list[str] = field(default_factory=list)
    cells: list[Any] = field(default_factory=list)
    row_ids: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    separator: str | None = None
    form: TableForm = field(default_factory=TableForm)
    names: list[str] = field(default_factory=list)
    kept: list[Sequence[Any]] = field(default_factory=list)
    groups: list[Any] = field(default_factory=list)

    def add(
        self,
        line: int,
        text: str,
        cell: Any,
        row_id: str | None = None,
        cells: Sequence[Any] | None = None,
        group: Any = None,
    ) -> None:
        """Keep one row; a text that no UTF-8 file can hold, or with a NUL character, is a bad row."""
        fault = text_fault(text)
        if fault is None and isinstance(group, (list, dict)):
            self.options.bad.report(
                line, f"the group {self.options.group!r} must be one text or number, but is {group!r:.40}"
            )
            return
        if fault:
            self.options.bad.report(line, f"the text {fault}")
            return
        self.texts.append(text)
        self.cells.append(cell)
        self.lines.append(line)
        if cells is not None and self.options.keep_columns:
            self.kept.append(cells)
        if self.options.group is not None:
            self.groups.append(group)
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
    """(line number from 1, text without line end) of a text file; lines that cannot be decoded are bad rows.

    Unlike `streams.lines` it can go on behind a damaged line when the caller asked to skip those, and it finds out
    UTF-16 and Windows-1252.
    """
    return decoded_lines(options.path, options.encoding, options.bad)


def filled_lines(options: TableOptions) -> Iterator[tuple[int, str]]:
    """As `text_lines`, without blank lines; their number is noted."""
    blank: list[int] = []
    for number, line in text_lines(options):
        if not line.strip():
            blank.append(number)
            continue
        for passed in blank:  # blank lines at the end of a file are nothing to tell
            options.bad.leave_out("blank line", passed)
        blank.clear()
        yield number, line


def cells_text(cells: Sequence[Any]) -> str:
    """How many cells there are, for a message: '1 cell', '3 cells'."""
    return "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
