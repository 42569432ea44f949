"""Tables of texts with labels -> Dataset: the rows that a reader gives, their labels cut and numbered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from labelwood.data.dataset import Dataset, TableForm
from labelwood.data.formats import FORMATS, format_names
from labelwood.data.reading.bad_rows import BadRows
from labelwood.data.reading.label_cells import Label, cut_labels
from labelwood.data.reading.label_sets import label_sets
from labelwood.data.reading.one_label_lines import join_lines
from labelwood.data.reading.text_rows import TableOptions, TextRows
from labelwood.errors import DataError, ParamError, unknown_name
from labelwood.progress import SILENT, Progress
from labelwood.wording import Argument, Message

T = TypeVar("T")
LONG_LABELS = 40  # characters of labels that are sentences


def read_table(
    path: str | Path,
    *,
    format: str,
    text: str | None = None,
    labels: str | None = None,
    separator: str | None = None,
    on_bad_row: str = "error",
    label_names: Sequence[str] | None = None,
    encoding: str | None = None,
    like: TableForm | None = None,
    keep_columns: bool = False,
    group: str | None = None,
    progress: Progress = SILENT,
) -> Dataset:
    """The texts, labels and ids of a table, a Dataset without features; what was guessed is in its notes.

    format: one that holds texts. text: the text column, or several ("title,description", joined line by
    line). labels: the label column, or several; "" for a table without labels. separator: where label strings are cut
    ("" never); found over the column when not given. label_names: the columns of y, for a test file read after
    its training file; other labels are left out and counted in the notes. Without it the columns are the
    labels in sorted order. encoding: of a text file that is not UTF-8. like: how another table was read, for what text,
    labels and separator leave open. keep_columns: keep every column in `Dataset.columns`. group: the column that
    says what group each row is of.
    """
    path = Path(path)
    tables = format_names("texts")
    if format not in tables:
        raise ParamError(unknown_name("table format", format, tables))
    bad = BadRows(path, on_bad_row, unit=FORMATS[format].unit)
    options = TableOptions(path, bad, text, labels, separator, progress, encoding, like, keep_columns, group)
    rows: TextRows = FORMATS[format].reader()(options)
    if group is not None and rows.texts and not rows.form.text:
        raise DataError(Message(f"{path}: {format} has no columns that ", Argument("group"), " could name"))
    cut = cut_labels(rows)
    # Who wants every column back wants every line back.
    joined = None if keep_columns else join_lines(rows.texts, rows.row_ids, cut.labels, rows.groups or None)
    sets = label_sets(cut, rows.lines, path, bad, label_names)
    if not sets.kept.any():
        were = "row was" if bad.count == 1 else "rows were"
        skipped = f"; {bad.count} bad {were} skipped, first {bad.first[0]}" if bad.count else ""
        raise DataError(f"{path}: no rows{skipped}")
    wrong_way = _wrong_way(rows.texts, cut.labels)
    progress.step("reading rows", len(rows.texts), len(rows.texts))
    return Dataset(
        x=None,
        y=sets.y,
        texts=_kept(rows.texts, sets.kept),
        label_names=sets.names,
        row_ids=_kept(rows.row_ids, sets.kept) if rows.row_ids else None,
        source=str(path),
        notes=(*rows.notes, *cut.notes, *wrong_way, *([] if joined is None else [joined]), *sets.notes, *bad.notes()),
        form=replace(rows.form, separator=cut.separator),
        columns=_columns(rows, sets.kept) if keep_columns else None,
        groups=None if group is None else _kept(rows.groups, sets.kept),
    )


def _wrong_way(texts: Sequence[str], labels: Sequence[Sequence[Label] | None]) -> list[str | Message]:
    """A note if labels are sentences and texts are short: somebody may have taken the one for the other."""
    lengths = [len(label) for cell in labels for label in cell or () if isinstance(label, str)]
    if not lengths or not texts:
        return []
    of_label, of_text = sum(lengths) / len(lengths), sum(map(len, texts)) / len(texts)
    if of_label < LONG_LABELS or of_label < 2 * of_text:
        return []
    told = f"a label has {of_label:.0f} characters and a text {of_text:.0f}: are "
    return [Message(told, Argument("text"), " and ", Argument("labels"), " the wrong way round?")]


def _columns(rows: TextRows, kept: npt.NDArray[np.bool_]) -> dict[str, list[Any]]:
    """Every column of the table; of a format without columns the ids and texts."""
    if not rows.names:
        ids = {"id": _kept(rows.row_ids, kept)} if rows.row_ids else {}
        return {**ids, "text": _kept(rows.texts, kept)}
    cells = _kept(rows.kept, kept)
    # JSON rows may lack keys that came up later.
    return {name: [row[place] if place < len(row) else None for row in cells] for place, name in enumerate(rows.names)}


def _kept(items: list[T], kept: npt.NDArray[np.bool_]) -> list[T]:
    return list(compress(items, kept.tolist()))
