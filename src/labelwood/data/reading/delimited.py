"""CSV and TSV: cells with quotes and embedded line breaks, errors by physical line.

The standard csv module counts lines only behind a record, limits a cell to 128 KB by a global setting and
swallows the rest of the file after an unclosed quote, so the cutting is done here; a line without quotes is
one `str.split`.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import replace

from labelwood.data.dataset import TableForm
from labelwood.data.reading.columns import Columns, choose_columns, join_text, label_cell, looks_like_header
from labelwood.data.reading.start import Start, start_of
from labelwood.data.reading.streams import MAX_LINE_BYTES
from labelwood.data.reading.text_rows import TableOptions, TextRows, cells_text, text_lines
from labelwood.errors import DataError

Record = tuple[int, list[str]]
_QUOTED = re.compile(r'"[^"]*"')
_NAMED_DELIMITER = re.compile(r'"?sep=([,;\t|])"?', re.IGNORECASE)  # a first line for Excel, which hides it


def is_tsv(start: Start) -> bool:
    """True if the name says so, or if every line of a text has tabs."""
    return start.suffix in (".tsv", ".tab") or bool(start.tab_cells)


def read_csv(options: TableOptions) -> TextRows:
    """The rows of a file with commas, semicolons or tabs between cells, whichever its first line has most."""
    return _read_delimited(options, None)


def read_tsv(options: TableOptions) -> TextRows:
    """The rows of a file with tabs between cells."""
    return _read_delimited(options, "\t")


def _read_delimited(options: TableOptions, delimiter: str | None) -> TextRows:
    """The rows of a TSV or CSV file (`delimiter` None: comma, semicolon or tab, by the first line).

    With a header line, or two columns without one: then the longer column is the text.
    """
    lines = _Lines(options)
    first_line = lines.peek()
    if first_line is None:
        raise DataError(f"{options.path}: the file is empty")
    notes = []
    if delimiter is None:
        named = _NAMED_DELIMITER.fullmatch(first_line)
        if named:
            lines.drop_filled()
            first_line = lines.peek() or ""
        delimiter = named[1] if named else max(",;\t", key=_QUOTED.sub("", first_line).count)
        if delimiter != ",":
            notes.append(f"columns are separated by {_shown(delimiter)}")
    # Tools that write TSV without a header do not quote: there a quote is a character like any other.
    quotes = delimiter != "\t" or looks_like_header(first_line.split("\t"), options)
    records = _records(lines, delimiter, quotes)
    first = next(records, None)
    if first is None:
        raise DataError(f"{options.path}: no row is left")
    names = [cell.strip() for cell in first[1]]
    if looks_like_header(first[1], options):
        columns = choose_columns(options, names)
        rows = columns.begin(options, names)
        _fill(rows, records, names, columns)
    else:
        if len(names) != 2 or options.text is not None or options.labels or options.group is not None:
            # Not headerless: a wrong name or columns nobody recognises; choose_columns says which.
            choose_columns(options, names)
        rows = TextRows(options, form=TableForm(headless=True))
        _fill_without_header(rows, [first, *records])
    rows.notes[:0] = notes
    rows.form = replace(rows.form, delimiter=";" if delimiter == ";" else ",", of_excel=_is_of_excel(options))
    return rows


def _is_of_excel(options: TableOptions) -> bool:
    """True if the file begins with the mark of its encoding, or is not UTF-8: Excel reads what is written so, too."""
    head = start_of(options.path).head
    return head.startswith(BOM_UTF8) or bool(options.bad.told)


def _fill(rows: TextRows, records: Iterator[Record], names: list[str], columns: Columns) -> None:
    text_places = [names.index(name) for name in columns.text]
    label_places = [names.index(name) for name in columns.labels]
    id_place = None if columns.row_id is None else names.index(columns.row_id)
    group_place = None if columns.group is None else names.index(columns.group)
    for line, cells in records:
        if len(cells) != len(names):
            rows.options.bad.report(line, f"{cells_text(cells)}, but the header has {len(names)} columns")
            continue
        if cells[text_places[0]].strip() == columns.text[0] and [cell.strip() for cell in cells] == names:
            rows.options.bad.leave_out("repeated header line", line)
            continue
        rows.add(
            line,
            join_text([cells[place] for place in text_places]),
            label_cell([cells[place] for place in label_places]),
            None if id_place is None else cells[id_place],
            cells,
            None if group_place is None else cells[group_place],
        )


def _fill_without_header(rows: TextRows, records: list[Record]) -> None:
    good = []
    for line, cells in records:
        if len(cells) != 2:
            rows.options.bad.report(line, f"{cells_text(cells)}, but a table without header has 2: text and labels")
        else:
            good.append((line, cells))
    text_place = int(sum(len(cells[1]) for _, cells in good) > sum(len(cells[0]) for _, cells in good))
    rows.notes.append(f"no header line; column {text_place + 1} read as text (it is longer), the other as labels")
    rows.names = ["text", "labels"] if text_place == 0 else ["labels", "text"]
    for line, cells in good:
        rows.add(line, cells[text_place], cells[1 - text_place], cells=cells)


class _Lines:
    """Numbered lines with the means to look ahead and to step back."""

    def __init__(self, options: TableOptions) -> None:
        self._source = text_lines(options)
        self._returned: list[tuple[int, str]] = []
        self.bad = options.bad

    def next(self) -> tuple[int, str] | None:
        return self._returned.pop() if self._returned else next(self._source, None)

    def give_back(self, lines: list[tuple[int, str]]) -> None:
        self._returned.extend(reversed(lines))

    def drop_filled(self) -> None:
        """Pass over the next line that is not blank."""
        while (item := self.next()) is not None and not item[1].strip():
            pass

    def peek(self) -> str | None:
        """The next line that is not blank, left in place."""
        while (item := self.next()) is not None:
            if item[1].strip():
                self.give_back([item])
                return item[1]
        return None


def _records(lines: _Lines, delimiter: str, quotes: bool) -> Iterator[Record]:
    """(line where it begins, cells) of each record; blank lines between records are left out and noted."""
    blank: list[int] = []
    while (item := lines.next()) is not None:
        number, line = item
        if not line:
            blank.append(number)
            continue
        for passed in blank:  # blank lines at the end of a file are nothing to tell
            lines.bad.leave_out("blank line", passed)
        blank.clear()
        if not quotes or '"' not in line:
            yield number, line.split(delimiter)
            continue
        try:
            yield number, _quoted_cells(line, delimiter, lines)
        except _QuoteError as error:
            lines.bad.report(number, str(error))


class _QuoteError(Exception):
    """A quoted cell does not end as it should."""


def _quoted_cells(line: str, delimiter: str, lines: _Lines) -> list[str]:
    """The cells of a record that holds quotes, taking further lines while a quoted cell is open."""
    cells: list[str] = []
    place = 0
    while True:
        if line.startswith('"', place):
            cell, line, place = _quoted_cell(line, place + 1, lines)
            cells.append(cell)
            if place == len(line):
                return cells
            if not line.startswith(delimiter, place):
                raise _QuoteError(
                    f"cell {len(cells)}: text after the closing quote ({line[place : place + 10]!r}); "
                    "a quote inside a quoted cell is written twice"
                )
            place += len(delimiter)
        else:
            end = line.find(delimiter, place)
            if end < 0:
                cells.append(line[place:])
                return cells
            cells.append(line[place:end])
            place = end + len(delimiter)


def _quoted_cell(line: str, place: int, lines: _Lines) -> tuple[str, str, int]:
    """(cell, the line it ends in, the place behind its closing quote)."""
    parts: list[str] = []
    taken: list[tuple[int, str]] = []
    length = 0
    while True:
        end = line.find('"', place)
        if end < 0:
            parts.append(line[place:] + "\n")
            length += len(parts[-1])
            item = lines.next() if length < MAX_LINE_BYTES else None
            if item is None:
                # Only the first line is lost: what was taken after it is read again as rows of its own.
                lines.give_back(taken)
                raise _QuoteError("a quote is opened here and never closed")
            taken.append(item)
            line, place = item[1], 0
        elif line.startswith('"', end + 1):
            parts.append(line[place : end + 1])
            place = end + 2
        else:
            parts.append(line[place:end])
            return "".join(parts), line, end + 1


def _shown(delimiter: str) -> str:
    return "tabs" if delimiter == "\t" else repr(delimiter)
