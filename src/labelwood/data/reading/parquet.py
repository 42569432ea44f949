"""Parquet tables: the label column a list or a string. 'Line' in errors means the row, counted from 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from labelwood.data.arrow import require_pyarrow
from labelwood.data.reading.columns import Columns, choose_columns, join_text, label_cell
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
            names = file.schema_arrow.names
            columns = choose_columns(options, names)
            rows = columns.begin(options, names)
            wanted = _wanted(columns)
            others = [name for name in names if name not in wanted] if options.keep_columns else []
            rows.names = wanted + others if options.keep_columns else []
            for line, values in _rows(file, wanted + others):
                if any(value is _BAD_UTF8 for value in values):
                    options.bad.report(line, "holds text that is not valid UTF-8")
                else:
                    _add(rows, line, values, columns)
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: a column name is not valid UTF-8 ({error.reason})") from None
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path}: not a readable Parquet file ({str(error).splitlines()[0]})") from None
    if options.keep_columns:
        places = [rows.names.index(name) for name in names]
        rows.names, rows.kept = list(names), [[cells[place] for place in places] for cells in rows.kept]
    return rows


def _wanted(columns: Columns) -> list[str]:
    single = dict.fromkeys(name for name in (columns.row_id, columns.group) if name is not None)
    return [*columns.text, *columns.labels, *single]


def _rows(file: Any, wanted: list[str]) -> Iterator[tuple[int, list[Any]]]:
    """(row from 1, values of the wanted columns) of every row, a batch in memory at a time."""
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
    n_text, n_labels = len(columns.text), len(columns.labels)
    cell = label_cell(values[n_text : n_text + n_labels])
    row_id = None
    if columns.row_id is not None:
        value = values[n_text + n_labels]
        if value is None:
            report(line, f"the row id {columns.row_id!r} is null")
            return
        row_id = str(value)
    group = None if columns.group is None else values[_wanted(columns).index(columns.group)]
    rows.add(line, join_text(parts), cell, row_id, values, group)


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__
