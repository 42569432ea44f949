"""Rows -> a spreadsheet (.xlsx) through openpyxl, all or nothing, within the limits that Excel has."""

from __future__ import annotations

import importlib.util
import io
import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from labelwood.data.dataset import Dataset
from labelwood.data.reading.excel import missing_package
from labelwood.data.reading.streams import plain_name
from labelwood.data.writing.atomic_file import atomic_output
from labelwood.data.writing.table_write import cells_of
from labelwood.data.writing.written import Written
from labelwood.errors import DataError, ParamError

MOST_ROWS = 1_048_576
MOST_CHARACTERS = 32_767
_REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # characters that no .xlsx can hold
_KEPT_KINDS = (bool, int, float, datetime, date, time, timedelta)


def write_excel(data: Dataset, path: Path) -> Written:
    """The spreadsheet written: id, text, labels and group, as in CSV."""
    return Written((path,), tuple(write_sheet(path, *cells_of(data, path))))


def require_openpyxl(path: Path) -> None:
    """Refuse with a MissingExtraError that names file and extra if openpyxl is not there."""
    if importlib.util.find_spec("openpyxl") is None:
        raise missing_package(path, "openpyxl")


def write_sheet(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """Notes on what Excel could not hold; the file has one sheet with a header line that stays in view."""
    if Path(plain_name(path)).suffix.lower() in (".xls", ".xlsm", ".xlsb", ".ods"):
        raise ParamError(f"{path}: of the spreadsheets only .xlsx is written")
    require_openpyxl(path)
    import openpyxl
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("rows")
    sheet.freeze_panes = "A2"
    cut = replaced = 0

    def cell(value: Any) -> Any:
        nonlocal cut, replaced
        if value is None or (isinstance(value, _KEPT_KINDS) and not _is_odd(value)):
            return value
        text = str(value)
        if len(text) > MOST_CHARACTERS:
            cut += 1
            text = text[:MOST_CHARACTERS]
        if _REFUSED.search(text):
            replaced += 1
            text = _REFUSED.sub("\ufffd", text)
        if not text.startswith(("=", "#")):
            return text
        written = WriteOnlyCell(sheet, text)
        written.data_type = "s"  # a text that begins with = is no formula, and "#N/A" no error
        return written

    titles = [WriteOnlyCell(sheet, cell(name)) for name in header]
    for title in titles:
        title.font = Font(bold=True)
    with atomic_output(path) as stream:  # around all of it: openpyxl keeps rows in a file of its own until the end
        try:
            sheet.append(titles)
            for number, row in enumerate(rows, 2):
                if number > MOST_ROWS:
                    raise DataError(f"{path}: a sheet holds {MOST_ROWS:,} rows, and there are more; write .csv instead")
                sheet.append([cell(value) for value in row])
        except BaseException:
            sheet.close()
            raise
        packed = io.BytesIO()  # a zip file goes back to write sizes, which a compressed stream cannot
        book.save(packed)
        stream.write(packed.getbuffer())
    notes = []
    if cut:
        notes.append(f"{path}: {cut} cells were cut after {MOST_CHARACTERS:,} characters, the most that Excel holds")
    if replaced:
        notes.append(f"{path}: control characters in {replaced} cells were replaced; Excel holds none")
    return notes


def _is_odd(value: Any) -> bool:
    """True for numbers that a sheet cannot hold: infinities and NaN."""
    return isinstance(value, float) and value - value != 0
