"""Spreadsheets: .xlsx, .xls and .ods through python-calamine. 'Row' in errors is the row of the sheet."""

from __future__ import annotations

import importlib.util
import io
import re
import zipfile
import zlib
from datetime import datetime
from pathlib import Path
from typing import Any

from labelwood.data.reading.columns import choose_columns, join_text, label_cell
from labelwood.data.reading.streams import read_all
from labelwood.data.reading.text_rows import TableOptions, TextRows
from labelwood.errors import DataError, MissingExtraError

# The reader makes a full rectangle of cells: one stray cell in the last corner of a sheet would take all memory.
MOST_CELLS = 50_000_000
MOST_BYTES = 4 << 30  # of the unpacked sheets
_PLACE = re.compile(rb"""<(?:\w+:)?c\s[^>]*?\br=["']([A-Z]{1,3})(\d{1,7})["']""")
_STEP = 1 << 22


def missing_package(path: str | Path, package: str) -> MissingExtraError:
    """The error for a package for spreadsheets that is not there; it names the extra."""
    return MissingExtraError(
        f'{path}: spreadsheets need {package}, which is not installed: pip install "labelwood[excel]"'
    )


def read_excel(options: TableOptions) -> TextRows:
    """The rows of the first sheet that holds something; its first filled row names the columns."""
    table, first_row, notes = _first_table(options.path)
    numbered = enumerate(table, first_row)
    header = next(numbered, None)
    if header is None:
        raise DataError(f"{options.path}: the spreadsheet is empty")
    names = [_text(cell).strip() for cell in header[1]]
    columns = choose_columns(options, names)
    rows = columns.begin(options, names)
    rows.notes[:0] = notes
    text_places = [names.index(name) for name in columns.text]
    label_places = [names.index(name) for name in columns.labels]
    id_place = None if columns.row_id is None else names.index(columns.row_id)
    group_place = None if columns.group is None else names.index(columns.group)
    blank: list[int] = []
    for number, cells in numbered:
        if not any(_text(cell).strip() for cell in cells):
            blank.append(number)
            continue
        for passed in blank:  # blank rows at the end of a sheet are nothing to tell
            options.bad.leave_out("blank row", passed)
        blank.clear()
        if [_text(cell).strip() for cell in cells] == names:
            options.bad.leave_out("repeated header row", number)
            continue
        rows.add(
            number,
            join_text([_text(cells[place]) for place in text_places]),
            label_cell([_text(cells[place]) for place in label_places]),
            None if id_place is None else _text(cells[id_place]),
            cells,
            None if group_place is None else _text(cells[group_place]),
        )
    return rows


def _first_table(path: Path) -> tuple[list[list[Any]], int, list[str]]:
    """(cells of the first sheet that holds something, the number of its first row, notes)."""
    if importlib.util.find_spec("python_calamine") is None:
        raise missing_package(path, "python-calamine")
    import python_calamine

    content = bytes(read_all(path))
    _check_size(path, content)
    try:
        book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))
        names = book.sheet_names
        for name in names:
            sheet = book.get_sheet_by_name(name)
            table = sheet.to_python(skip_empty_area=True)
            if table:
                first_row = (sheet.start[0] if sheet.start else 0) + 1
                note = f"sheet {name!r} is read; it is the first of {len(names)} that holds something"
                return table, first_row, [note] if len(names) > 1 else []
    except (python_calamine.CalamineError, zipfile.BadZipFile, ValueError, OSError) as error:
        raise DataError(f"{path}: not a readable spreadsheet ({str(error).splitlines()[0]})") from None
    return [], 1, []


def _check_size(path: Path, content: bytes) -> None:
    """Refuse a workbook that unpacks to too much, or whose cells lie so far apart that they fill no memory."""
    if not content.startswith(b"PK"):
        return
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            total = sum(item.file_size for item in packed.infolist())
            if total > MOST_BYTES:
                raise DataError(f"{path}: unpacks to {total:,} bytes; at most {MOST_BYTES:,} are allowed")
            for item in packed.infolist():
                if item.filename.startswith("xl/worksheets/") and item.filename.endswith(".xml"):
                    with packed.open(item) as stream:
                        n_rows, n_columns = _extent(stream)
                    if n_rows * n_columns > MOST_CELLS:
                        raise DataError(
                            f"{path}: {item.filename} spans {n_rows:,} rows and {n_columns:,} columns; "
                            f"at most {MOST_CELLS:,} cells are allowed (is there a stray cell far out?)"
                        )
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise DataError(f"{path}: not a readable spreadsheet ({error})") from None


def _extent(stream: Any) -> tuple[int, int]:
    """(last row, last column) that has a cell."""
    letters: set[bytes] = set()
    last_row, rest = 0, b""
    while more := stream.read(_STEP):
        block = rest + more
        places = _PLACE.findall(block)
        if places:
            letters.update(column for column, _ in places)
            last_row = max(last_row, int(places[-1][1]))  # sheets are written row by row
        rest = block[-64:]
    columns = [sum((letter - 64) * 26**power for power, letter in enumerate(reversed(name))) for name in letters]
    return last_row, max(columns, default=0)


def _text(cell: Any) -> str:
    """A cell as a person reads it: 3.0 is '3', a day without time has none."""
    if cell is None or isinstance(cell, str):
        return cell or ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime) and not (cell.hour or cell.minute or cell.second):
        return cell.date().isoformat()
    return str(cell)
