"""Columns of any values -> CSV, TSV, JSON lines, Parquet or a spreadsheet, chosen by the ending, all or nothing."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time
from itertools import chain
from pathlib import Path
from typing import Any

from labelwood.data.arrow import require_pyarrow
from labelwood.data.reading.streams import plain_name
from labelwood.data.writing.atomic_file import atomic_output
from labelwood.data.writing.excel_write import require_openpyxl, write_sheet
from labelwood.data.writing.table_write import quoted
from labelwood.errors import ParamError

Columns = Mapping[str, Sequence[Any]]
CELLS = (".csv", ".tsv", ".xlsx")  # where a list must become one cell
VALUES = (".jsonl", ".parquet")  # where lists stay lists
ENDINGS = (*CELLS, *VALUES)


def ending_of(path: Path) -> str:
    """The ending that says the format, without .gz and .zst; '' if it is none of ENDINGS."""
    ending = Path(plain_name(path)).suffix.lower()
    return ending if ending in ENDINGS else ""


def check_writable(path: Path) -> None:
    """Refuse with a MissingExtraError that names the extra if the package that writes this format is not there."""
    if ending_of(path) == ".xlsx":
        require_openpyxl(path)
    elif ending_of(path) == ".parquet":
        require_pyarrow(path, "Parquet")


def write_columns(path: Path, columns: Columns, *, delimiter: str = ",", of_excel: bool = False) -> list[str]:
    """Notes on what the format could not hold; the columns are written in their order, a row a line.

    delimiter: what stands between the cells of a .csv file. of_excel: begin with the mark that tells Excel of UTF-8.
    """
    ending = ending_of(path)
    rows = zip(*columns.values(), strict=True)
    if ending == ".xlsx":
        return write_sheet(path, list(columns), rows)
    if ending == ".parquet":
        return _write_parquet(path, columns)
    if ending == ".jsonl":
        with atomic_output(path) as stream:
            for row in rows:
                line = json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False, default=_plain)
                stream.write(line.encode("utf-8") + b"\n")
        return []
    if ending not in CELLS:
        raise ParamError(f"{path}: the ending must say the format, one of {', '.join(ENDINGS)}")
    if ending == ".tsv":
        delimiter, of_excel = "\t", False
    _write_delimited(path, columns, rows, delimiter, BOM_UTF8 if of_excel else b"")
    return []


def _write_delimited(path: Path, columns: Columns, rows: Iterable[Sequence[Any]], delimiter: str, mark: bytes) -> None:
    with atomic_output(path) as stream:
        stream.write(mark)
        for row in chain([list(columns)], rows):
            line = delimiter.join(quoted(_cell(value), delimiter) for value in row)
            stream.write(line.encode("utf-8") + b"\n")


def _cell(value: Any) -> str:
    """A value as one cell: nothing for None, whole numbers without point, lists and objects as JSON."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False, default=_plain)
    return str(value)


def _plain(value: Any) -> str:
    """What JSON has no kind for: days and times as ISO writes them, anything else as Python prints it."""
    return value.isoformat() if isinstance(value, (datetime, date, time)) else str(value)


def _write_parquet(path: Path, columns: Columns) -> list[str]:
    require_pyarrow(path, "Parquet")
    import pyarrow
    import pyarrow.parquet

    arrays, notes = {}, []
    for name, values in columns.items():
        try:
            arrays[name] = pyarrow.array(list(values))
        except (pyarrow.ArrowException, OverflowError):
            notes.append(f"{path}: column {name!r} holds values of several kinds; written as text")
            arrays[name] = pyarrow.array([None if value is None else _cell(value) for value in values])
    with atomic_output(path) as stream:
        pyarrow.parquet.write_table(pyarrow.table(arrays), stream)
    return notes
