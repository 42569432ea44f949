"""Tables of texts with labels -> Dataset: CSV, TSV, JSON, Parquet, fastText, Annif, PECOS, LibMultiLabel."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import compress
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from labelwood.data.dataset import Dataset
from labelwood.data.reading.annif_text import SUBJECTS, read_annif
from labelwood.data.reading.bad_rows import BadRows
from labelwood.data.reading.columns import looks_like_header
from labelwood.data.reading.delimited import read_delimited
from labelwood.data.reading.fasttext_text import PREFIX, read_fasttext
from labelwood.data.reading.jsonl import read_jsonl
from labelwood.data.reading.label_cells import cut_labels
from labelwood.data.reading.label_sets import label_sets
from labelwood.data.reading.labelled_lines import PECOS_LABELS, read_libmultilabel, read_pecos
from labelwood.data.reading.parquet import read_parquet
from labelwood.data.reading.streams import plain_name
from labelwood.data.reading.text_rows import TableOptions, TextRows
from labelwood.data.writing.table_write import write_table
from labelwood.errors import DataError, ParamError, unknown_name
from labelwood.progress import SILENT, Progress

__all__ = ["TABLE_FORMATS", "read_table", "sniff_table", "write_table"]

T = TypeVar("T")

_READERS: dict[str, Callable[[TableOptions], TextRows]] = {
    "annif": read_annif,
    "csv": lambda options: read_delimited(options, None),
    "fasttext": read_fasttext,
    "jsonl": read_jsonl,
    "libmultilabel": read_libmultilabel,
    "parquet": read_parquet,
    "pecos": read_pecos,
    "tsv": lambda options: read_delimited(options, "\t"),
}
TABLE_FORMATS = tuple(_READERS)

_FEATURE = re.compile(r"\d+:[-+.\deE]+")


def read_table(
    path: str | Path,
    *,
    format: str,
    text: str | None = None,
    labels: str | None = None,
    separator: str | None = None,
    on_bad_row: str = "error",
    label_names: Sequence[str] | None = None,
    progress: Progress = SILENT,
) -> Dataset:
    """The texts, labels and ids of a table, a Dataset without features; what was guessed is in its notes.

    format: one of TABLE_FORMATS. text: the text column, or several ("title,description", joined line by
    line). labels: the label column; "" for a table without labels. separator: where label strings are cut (""
    never); found over the column when not given. label_names: the columns of y, for a test file read after
    its training file; other labels are left out and counted in the notes. Without it the columns are the
    labels in sorted order.
    """
    path = Path(path)
    if format not in _READERS:
        raise ParamError(unknown_name("table format", format, _READERS))
    bad = BadRows(path, on_bad_row)
    rows = _READERS[format](TableOptions(path, bad, text, labels, separator, progress))
    cut = cut_labels(rows)
    sets = label_sets(cut, rows.lines, path, bad, label_names)
    if not sets.kept.any():
        skipped = f"; {bad.count} bad rows were skipped, first {bad.first[0]}" if bad.count else ""
        raise DataError(f"{path}: no rows{skipped}")
    progress.step("reading rows", len(rows.texts), len(rows.texts))
    return Dataset(
        x=None,
        y=sets.y,
        texts=_kept(rows.texts, sets.kept),
        label_names=sets.names,
        row_ids=_kept(rows.row_ids, sets.kept) if rows.row_ids else None,
        source=str(path),
        notes=(*rows.notes, *cut.notes, *sets.notes, *bad.notes()),
    )


def sniff_table(name: str, head: bytes) -> str | None:
    """The table format of a file, from its name and first (uncompressed) bytes; None if it is no text table.

    Content decides between the formats that share a suffix; .csv, .jsonl and .parquet are believed.
    """
    suffix = Path(plain_name(name)).suffix.lower()
    if suffix in (".parquet", ".pq") or head.startswith(b"PAR1"):
        return "parquet"
    if suffix in (".jsonl", ".ndjson", ".json"):
        return "jsonl"
    if suffix == ".csv":
        return "csv"
    lines = _whole_lines(head)
    if any(line.startswith(PREFIX) for line in lines):
        return "fasttext"
    if suffix in (".txt", "", ".tsv", ".tab", ".data", ".train", ".test"):
        if lines and lines[0].startswith("{"):
            return "jsonl"
        guess = _sniff_tabs(lines)
        if guess is not None:
            return guess
    return "tsv" if suffix in (".tsv", ".tab") else None


def _sniff_tabs(lines: list[str]) -> str | None:
    """Which of the formats with tabs the lines are in."""
    cells = [line.split("\t") for line in lines]
    if not cells or any(len(row) < 2 for row in cells):
        return None
    if any(_FEATURE.fullmatch(row[1].strip()) for row in cells):
        return None  # svmlight with tabs
    if all(len(row) == 2 and SUBJECTS.fullmatch(row[1]) for row in cells) and any("<" in row[1] for row in cells):
        return "annif"
    if all(len(row) == 2 and PECOS_LABELS.fullmatch(row[0]) for row in cells) and any(row[0] for row in cells):
        return "pecos"
    if looks_like_header(cells[0], None, None):
        return "tsv"
    widths = {len(row) for row in cells}
    if widths == {3}:
        return "libmultilabel"
    if widths != {2}:
        return "tsv"
    # Labels before a longer text, cut by spaces and by nothing else: LibMultiLabel.
    front = [row[0] for row in cells]
    shorter = sum(map(len, front)) < sum(len(row[1]) for row in cells)
    spaces_only = any(" " in labels for labels in front) and not any(
        mark in labels for labels in front for mark in "|;,"
    )
    return "libmultilabel" if shorter and spaces_only else "tsv"


def _whole_lines(head: bytes) -> list[str]:
    """The filled lines of the first bytes; the last one is left out when it may be cut and is not alone."""
    lines = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace").splitlines()
    if len(lines) > 1 and not head.endswith((b"\n", b"\r")):
        lines.pop()
    return [line for line in lines if line.strip()]


def _kept(items: list[T], kept: npt.NDArray[np.bool_]) -> list[T]:
    return list(compress(items, kept.tolist()))
