"""Parquet tables: the label column a list or a string. 'Line' in errors means the row, counted from 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from labelwood.data.arrow import require_pyarrow
from labelwood.data.reading.columns import Columns, choose_columns, join_text
from labelwood.data.reading.start import Start
from labelwood.data.reading.streams import COMPRESSED, open_bytes, read_all
from labelwood.data.reading.text_rows import TableOptions, TextRows
from labelwood.errors import DataError

BATCH_ROWS = 8192
_BAD_UTF8 = object()


def is_parquet(start: Start) -> bool:
    """True if the first bytes are Parquet's mark."""
    return start.head.startswith(b"PAR1")


def read_parquet(options: TableOptions) -> TextRows:
    """The rows of a Parquet file."""
    path = options.path
    require_pyarrow(path, "Parquet")
    import pyarrow
    import pyarrow.parquet

    if path.suffix.lower() in COMPRESSED:
        source: Any = pyarrow.BufferReader(read_all(path))
    else:
        with open_bytes(path):  # a missing or unreadable file gives the usual error
            source = str(path)
    try:
        with pyarrow.parquet.ParquetFile(source) as file:
            columns = choose_columns(path, file.schema_arrow.names, options.text, options.labels)
            rows = TextRows(options, notes=list(columns.notes))
            for line, values in _rows(file, columns):
                if _BAD_UTF8 in values:
                    options.bad.report(line, "holds text that is not valid UTF-8")
                else:
                    _add(rows, line, values, columns)
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: a column name is not valid UTF-8 ({error.reason})") from None
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path}: not a readable Parquet file ({str(error).splitlines()[0]})") from None
    return rows


def _rows(file: Any, columns: Columns) -> Iterator[tuple[int, list[Any]]]:
    """(row from 1, values of text columns, labels and id) of every row, a batch in memory at a time."""
    wanted = [*columns.text, *(name for name in (columns.labels, columns.row_id) if name is not None)]
    line = 0
    for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=wanted):
        values = [_values(batch.column(batch.schema.get_field_index(name))) for name in wanted]
        for row in zip(*values, strict=True):
            line += 1
            yield line, list(row)


def _values(column: Any) -> list[Any]:
    """The values of a column; _BAD_UTF8 for those that cannot be decoded (Parquet does not check strings)."""
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:
        values = [_value(cell) for cell in column]
    return values


def _value(cell: Any) -> Any:
    try:
        return cell.as_py()
    except UnicodeDecodeError:
        return _BAD_UTF8


def _add(rows: TextRows, line: int, values: list[Any], columns: Columns) -> None:
    report = rows.options.bad.report
    parts = []
    for name, value in zip(columns.text, values, strict=False):
        if value is None and len(columns.text) > 1:
            value = ""
        if not isinstance(value, str):
            report(
                line,
                f"the text {name!r} must be a string, but is {_kind(value)}",
            )
            return
        parts.append(value)
    rest = values[len(columns.text) :]
    cell = rest.pop(0) if columns.labels is not None else None
    row_id = None
    if columns.row_id is not None:
        if rest[0] is None:
            report(line, f"the row id {columns.row_id!r} is null")
            return
        row_id = str(rest[0])
    rows.add(line, join_text(parts), cell, row_id)


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__
