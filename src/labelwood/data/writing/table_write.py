"""Dataset with texts -> CSV, TSV, JSON lines, Parquet, fastText or Annif, as `read_table` reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from labelwood.data.arrow import require_pyarrow
from labelwood.data.dataset import Dataset
from labelwood.data.reading.fasttext_text import PREFIX
from labelwood.data.reading.label_cells import SEPARATORS
from labelwood.data.writing.atomic_file import atomic_output
from labelwood.errors import DataError, ParamError, unknown_name

Row = tuple[str | None, str, list[str]]
WRITTEN_FORMATS = ("annif", "csv", "fasttext", "jsonl", "parquet", "tsv")
_BREAK = re.compile(r"[\t\r\n]+")
_SPACE = re.compile(r"[ \t\v\f\r\n]+")


def write_table(data: Dataset, path: str | Path, format: str) -> tuple[str, ...]:
    """Notes on what the format could not hold; texts and label names are written to `path`, all or nothing.

    .gz and .zst are compressed. Labels without a name are written as their column number. A column that no
    row uses is not in the file: pass `label_names` when reading it back.
    """
    path = Path(path)
    if format not in WRITTEN_FORMATS:
        raise ParamError(unknown_name("table format", format, WRITTEN_FORMATS))
    if data.texts is None:
        raise DataError(f"{path}: {data.source} has no texts, and {format} holds texts; write 'xmc' or 'npz' instead")
    notes: list[str] = []
    names = _names(data)
    if format == "fasttext":
        names = _fasttext_names(names, path, notes)
    elif format == "annif":
        _check_annif_names(names, path)
    if format in ("fasttext", "annif") and any(_BREAK.search(text) for text in data.texts):
        notes.append("line breaks and tabs in texts were written as spaces")
    if format in ("fasttext", "annif") and data.row_ids is not None:
        notes.append(f"row ids were left out ({format} has no place for them)")
    if format == "parquet":
        require_pyarrow(path, "Parquet")
    with atomic_output(path) as stream:
        rows = _rows(data, names)
        if format == "parquet":
            _write_parquet(data, rows, stream)
        elif format in ("csv", "tsv"):
            _write_delimited(data, rows, stream, "," if format == "csv" else "\t", names)
        else:
            line = {"jsonl": _json_line, "fasttext": _fasttext_line, "annif": _annif_line}[format]
            for row in rows:
                stream.write(line(row).encode("utf-8") + b"\n")
    return tuple(notes)


def _names(data: Dataset) -> list[str]:
    return [str(column) for column in range(data.n_labels)] if data.label_names is None else list(data.label_names)


def _rows(data: Dataset, names: list[str]) -> Iterator[Row]:
    texts = data.texts or ()
    ids = data.row_ids if data.row_ids is not None else [None] * len(texts)
    starts = data.y.indptr.tolist()
    columns = data.y.indices.tolist()
    for row, (row_id, text) in enumerate(zip(ids, texts, strict=True)):
        yield row_id, text, [names[column] for column in columns[starts[row] : starts[row + 1]]]


def _json_line(row: Row) -> str:
    row_id, text, labels = row
    item = {"text": text, "labels": labels}
    return json.dumps(item if row_id is None else {"id": row_id, **item}, ensure_ascii=False)


def _fasttext_line(row: Row) -> str:
    _, text, labels = row
    text = _BREAK.sub(" ", text)
    if PREFIX in text:
        raise DataError(f"a text holds {PREFIX!r}, which fastText would read as a label: {text[:60]!r}")
    return " ".join([*(PREFIX + label for label in labels), text])


def _annif_line(row: Row) -> str:
    _, text, labels = row
    return _BREAK.sub(" ", text) + "\t" + " ".join(f"<{label}>" for label in labels)


def _write_delimited(data: Dataset, rows: Iterator[Row], stream: IO[bytes], delimiter: str, names: list[str]) -> None:
    # A bar between labels reads well; names that hold a separator themselves make lists in the cells
    # necessary.
    marks = (*SEPARATORS, "[")
    listed = any(name != name.strip() or any(mark in name for mark in marks) for name in names)
    with_ids = data.row_ids is not None
    header = ["id", "text", "labels"] if with_ids else ["text", "labels"]
    stream.write((delimiter.join(header) + "\n").encode("utf-8"))
    for row_id, text, labels in rows:
        cell = "" if not labels else json.dumps(labels, ensure_ascii=False) if listed else "|".join(labels)
        cells = [text, cell] if row_id is None else [row_id, text, cell]
        stream.write((delimiter.join(_quoted(value, delimiter) for value in cells) + "\n").encode("utf-8"))


def _quoted(cell: str, delimiter: str) -> str:
    if delimiter in cell or '"' in cell or "\n" in cell or "\r" in cell:
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _write_parquet(data: Dataset, rows: Iterator[Row], stream: IO[bytes]) -> None:
    import pyarrow
    import pyarrow.parquet

    columns: dict[str, object] = {}
    if data.row_ids is not None:
        columns["id"] = pyarrow.array(list(data.row_ids), pyarrow.string())
    columns["text"] = pyarrow.array(list(data.texts or ()), pyarrow.string())
    columns["labels"] = pyarrow.array([labels for _, _, labels in rows], pyarrow.list_(pyarrow.string()))
    pyarrow.parquet.write_table(pyarrow.table(columns), stream)


def _fasttext_names(names: list[str], path: Path, notes: list[str]) -> list[str]:
    """Names without spaces, which end a label in this format; DataError if two names would become one."""
    written = [_SPACE.sub("_", name) for name in names]
    if len(set(written)) < len(set(names)):
        raise DataError(f"{path}: fastText labels hold no spaces, and some names differ in nothing but spaces and '_'")
    if written != names:
        notes.append("spaces in label names were written as '_' (fastText labels hold no spaces)")
    return written


def _check_annif_names(names: list[str], path: Path) -> None:
    for name in names:
        if any(mark in name for mark in "<>\t\r\n"):
            raise DataError(f"{path}: the label {name!r} holds a bracket, tab or line break: not for Annif files")
