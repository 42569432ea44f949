"""Dataset with texts -> CSV, TSV, JSON lines, Parquet, fastText or Annif, all or nothing, as the readers read them.

Labels without a name are written as their column number. A column that no row uses is not in the file: pass
`label_names` when reading it back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from labelwood.data.arrow import require_pyarrow
from labelwood.data.dataset import Dataset
from labelwood.data.groups import group_text, is_alone
from labelwood.data.reading.fasttext_text import PREFIX
from labelwood.data.reading.label_cells import SEPARATORS
from labelwood.data.writing.atomic_file import atomic_output
from labelwood.data.writing.written import Written
from labelwood.errors import DataError

Row = tuple[str | None, str, list[str]]
GROUP = "group"  # the column of groups
_BREAK = re.compile(r"[\t\r\n]+")
_SPACE = re.compile(r"[ \t\v\f\r\n]+")


def write_csv(data: Dataset, path: Path) -> Written:
    """The file written, with a header and commas between cells."""
    return _write_delimited(data, path, ",")


def write_tsv(data: Dataset, path: Path) -> Written:
    """The file written, with a header and tabs between cells."""
    return _write_delimited(data, path, "\t")


def write_jsonl(data: Dataset, path: Path) -> Written:
    """The file written: `{"text": ..., "labels": [...]}` a line."""
    names = names_of(data, path)
    if data.groups is None:
        return _write_lines(data, path, names, _json_line)
    with atomic_output(path) as stream:
        for row, group in zip(rows_of(data, names), groups_of(data), strict=True):
            stream.write(_json_line(row, {GROUP: group}).encode("utf-8") + b"\n")
    return Written((path,))


def write_parquet(data: Dataset, path: Path) -> Written:
    """The file written, its label column lists of names."""
    require_pyarrow(path, "Parquet")
    import pyarrow
    import pyarrow.parquet

    names = names_of(data, path)
    columns: dict[str, object] = {}
    if data.row_ids is not None:
        columns["id"] = pyarrow.array(list(data.row_ids), pyarrow.string())
    columns["text"] = pyarrow.array(list(data.texts or ()), pyarrow.string())
    labels = [labels for _, _, labels in rows_of(data, names)]
    columns["labels"] = pyarrow.array(labels, pyarrow.list_(pyarrow.string()))
    if data.groups is not None:
        columns[GROUP] = pyarrow.array(groups_of(data), pyarrow.string())
    with atomic_output(path) as stream:
        pyarrow.parquet.write_table(pyarrow.table(columns), stream)
    return Written((path,))


def write_fasttext(data: Dataset, path: Path) -> Written:
    """The file written: `__label__a __label__b text` lines; spaces in names become '_'."""
    notes: list[str] = []
    names = _fasttext_names(names_of(data, path), path, notes)
    return _write_lines(data, path, names, _fasttext_line, (*notes, *_left_out(data, "fasttext")))


def write_annif(data: Dataset, path: Path) -> Written:
    """The file written: `text<TAB><name> <name>` lines."""
    names = names_of(data, path)
    _check_annif_names(names, path)
    return _write_lines(data, path, names, _annif_line, tuple(_left_out(data, "annif")))


def names_of(data: Dataset, path: Path) -> list[str]:
    """The names of the label columns, their numbers where they have none; DataError if there are no texts to write."""
    if data.texts is None:
        raise DataError(
            f"{path}: {data.source} has no texts, and this format holds texts; write 'xmc' or 'npz' instead"
        )
    return [str(column) for column in range(data.n_labels)] if data.label_names is None else list(data.label_names)


def _left_out(data: Dataset, format: str) -> Iterator[str]:
    """What a line of text cannot hold."""
    if any(_BREAK.search(text) for text in data.texts or ()):
        yield "line breaks and tabs in texts were written as spaces"
    if data.row_ids is not None:
        yield f"row ids were left out ({format} has no place for them)"
    if data.groups is not None:
        yield f"groups were left out ({format} has no place for them)"


def _write_lines(
    data: Dataset, path: Path, names: list[str], line: Callable[[Row], str], notes: tuple[str, ...] = ()
) -> Written:
    with atomic_output(path) as stream:
        for row in rows_of(data, names):
            stream.write(line(row).encode("utf-8") + b"\n")
    return Written((path,), notes)


def rows_of(data: Dataset, names: list[str]) -> Iterator[Row]:
    """(id, text, names of its labels) of every row."""
    texts = data.texts or ()
    ids = data.row_ids if data.row_ids is not None else [None] * len(texts)
    starts = data.y.indptr.tolist()
    columns = data.y.indices.tolist()
    for row, (row_id, text) in enumerate(zip(ids, texts, strict=True)):
        yield row_id, text, [names[column] for column in columns[starts[row] : starts[row + 1]]]


def groups_of(data: Dataset) -> list[str | None]:
    """The group of each row as text; None for a row that is in none."""
    return [None if is_alone(group) else group_text(group) for group in data.groups or ()]


def _json_line(row: Row, more: Mapping[str, Any] = MappingProxyType({})) -> str:
    row_id, text, labels = row
    item = {"text": text, "labels": labels, **more}
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


def _write_delimited(data: Dataset, path: Path, delimiter: str) -> Written:
    header, rows = cells_of(data, path)
    with atomic_output(path) as stream:
        stream.write((delimiter.join(header) + "\n").encode("utf-8"))
        for cells in rows:
            stream.write((delimiter.join(quoted(value, delimiter) for value in cells) + "\n").encode("utf-8"))
    return Written((path,))


def cells_of(data: Dataset, path: Path) -> tuple[list[str], Iterator[list[str]]]:
    """(the names of the columns, the cells of every row): id, text, labels, group, those that there are."""
    names = names_of(data, path)
    cell = label_cells(names)
    there = (data.row_ids is not None, True, True, data.groups is not None)
    groups = groups_of(data) if data.groups is not None else [None] * data.n_rows
    rows = (
        list(compress((row_id or "", text, cell(labels), group or ""), there))
        for (row_id, text, labels), group in zip(rows_of(data, names), groups, strict=True)
    )
    return list(compress(("id", "text", "labels", GROUP), there)), rows


def label_cells(names: Sequence[str]) -> Callable[[list[str]], str]:
    """What writes a row's labels into one cell: a bar between them, or a list if a name holds a separator itself."""
    marks = (*SEPARATORS, "[")
    listed = any(name != name.strip() or any(mark in name for mark in marks) for name in names)

    def cell(labels: list[str]) -> str:
        return "" if not labels else json.dumps(labels, ensure_ascii=False) if listed else "|".join(labels)

    return cell


def quoted(cell: str, delimiter: str) -> str:
    """The cell as CSV and TSV hold it, in quotes if it must be."""
    if delimiter in cell or '"' in cell or "\n" in cell or "\r" in cell:
        return '"' + cell.replace('"', '""') + '"'
    return cell


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
