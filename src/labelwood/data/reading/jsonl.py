"""JSON lines (one object a line) and JSON arrays of objects, with the columns as keys.

Also the raw text of the XML repository (`title`, `content`, `target_ind`, `target_rel`) and Annif's
`{"document_id", "text", "subjects": [{"uri", "label"}]}`: they differ in nothing but the names of the keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from labelwood.data.reading.columns import Columns, choose_columns, join_text, label_cell
from labelwood.data.reading.start import Start
from labelwood.data.reading.text_rows import TableOptions, TextRows, text_lines
from labelwood.errors import DataError

# Keys are gathered from this many rows, because a key may be absent in the first ones.
LOOKED_AT = 50
RELEVANCE = {"target_ind": "target_rel"}


def is_jsonl(start: Start) -> bool:
    """True if the first line of a text begins an object."""
    return start.is_open_text and bool(start.lines) and start.lines[0].startswith("{")


def read_jsonl(options: TableOptions) -> TextRows:
    """The rows of a JSON-lines file, or of a file that holds one JSON array of objects."""
    objects = json_objects(options)
    first = list(islice(objects, LOOKED_AT))
    if not first:
        return TextRows(options)
    keys = list(dict.fromkeys(key for _, item in first for key in item))
    columns = choose_columns(options, keys)
    rows = columns.begin(options, keys)
    for line, item in chain(first, objects):
        _add(rows, line, item, columns)
    return rows


def json_objects(options: TableOptions) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line where it begins, object) of each line, or of each item of the one array in the file."""
    lines = text_lines(options)
    start = next(((number, line) for number, line in lines if line.strip()), None)
    if start is None:
        raise DataError(f"{options.path}: the file is empty")
    everything = chain([start], lines)
    is_array = start[1].lstrip().startswith("[")
    yield from _array_items(options, everything) if is_array else _line_objects(options, everything)


def _line_objects(options: TableOptions, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, dict[str, Any]]]:
    decode = json.JSONDecoder().decode
    for number, line in lines:
        try:
            item = decode(line)
        except (ValueError, RecursionError) as error:
            if line.strip():
                options.bad.report(number, f"not valid JSON ({_json_fault(error)})")
            continue
        if isinstance(item, dict):
            yield number, item
        else:
            options.bad.report(number, f"expected a JSON object, but got {_kind(item)}")


def _array_items(options: TableOptions, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line where it begins, object) of each item of one JSON array."""
    numbered = list(lines)
    text = "\n".join(line for _, line in numbered)
    first_line = numbered[0][0]
    decoder = json.JSONDecoder()
    place = text.index("[") + 1
    line, counted = first_line, 0
    expect_item = True

    def line_at(position: int) -> int:
        nonlocal line, counted
        line += text.count("\n", counted, position)
        counted = position
        return line

    while True:
        while place < len(text) and text[place] in " \t\r\n":
            place += 1
        number = line_at(place)
        if place == len(text):
            raise DataError(f"{options.path}, line {number}: the JSON array is never closed (truncated file?)")
        if text[place] == "]":
            if text[place + 1 :].strip():
                raise DataError(f"{options.path}, line {number}: text after the end of the JSON array")
            return
        if not expect_item:
            if text[place] != ",":
                raise DataError(f"{options.path}, line {number}: expected ',' or ']' in the array, got {text[place]!r}")
            place += 1
            expect_item = True
            continue
        try:
            item, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{options.path}, line {number}: not valid JSON ({_json_fault(error)})") from None
        expect_item = False
        if isinstance(item, dict):
            yield number, item
        else:
            options.bad.report(number, f"expected a JSON object, but got {_kind(item)}")


def _add(rows: TextRows, line: int, item: dict[str, Any], columns: Columns) -> None:
    report = rows.options.bad.report
    # Of several label columns a row may lack some.
    needed = (*columns.text, *(columns.labels if len(columns.labels) == 1 else ()), columns.row_id)
    for key in needed:
        if key is not None and key not in item:
            report(line, f"the field {key!r} is missing")
            return
    parts = []
    for key in columns.text:
        value = item[key]
        if value is None and len(columns.text) > 1:
            value = ""
        if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
            value = "\n".join(value)
        if not isinstance(value, str):
            report(line, f"the text {key!r} must be a string, but is {_kind(value)}")
            return
        parts.append(value)
    cell = label_cell([item.get(key) for key in columns.labels])
    weights = RELEVANCE.get(columns.labels[0], "") if columns.labels else ""
    relevance = item.get(weights)
    if isinstance(cell, list) and isinstance(relevance, list):
        if len(cell) != len(relevance):
            report(
                line,
                f"{len(cell)} labels but {len(relevance)} relevances in {weights!r}",
            )
            return
        cell = [label for label, weight in zip(cell, relevance, strict=True) if weight != 0]
    row_id = None
    if columns.row_id is not None:
        value = item[columns.row_id]
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            report(line, f"the row id {columns.row_id!r} must be a string or a number, but is {_kind(value)}")
            return
        row_id = str(value)
    cells = None
    if rows.options.keep_columns:
        rows.names += [key for key in item if key not in rows.names]
        cells = [item.get(key) for key in rows.names]
    # A row without the key is of no group.
    rows.add(line, join_text(parts), cell, row_id, cells, None if columns.group is None else item.get(columns.group))


def _json_fault(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error).split(";")[0]


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
