"""The table that `predict --out` writes: the rows that came in, with their tags, scores and reasons beside them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelwood.cli.answers import check_suffix
from labelwood.cli.explain import pushes_of
from labelwood.data.dataset import TableForm
from labelwood.data.writing.columns_write import ENDINGS, VALUES, check_writable, ending_of, write_columns
from labelwood.errors import ParamError

if TYPE_CHECKING:
    from labelwood.cli.loaded import Loaded
    from labelwood.data.dataset import Dataset
    from labelwood.progress import Progress
    from labelwood.tagger.reasons import TagReason
    from labelwood.topk import TopK

Answers = Sequence[Sequence[tuple[str, float]]]  # the (name, score) of each row's tags, best first
SHAPES = ("wide", "long")
REASON_WORDS = 3


def check_out(out: Path | None, shape: str, *, reasons: bool) -> bool:
    """True if a table of the rows is to be written; ParamError for endings and options that do not go together."""
    if shape not in SHAPES:
        raise ParamError(f"--shape must be one of {', '.join(SHAPES)}, but is {shape!r}")
    table = out is not None and shape == "wide" and bool(ending_of(out))
    if reasons and not table:
        raise ParamError(f"--reasons are a column of a table, so they need --out with one of {', '.join(ENDINGS)}")
    if out is not None and not table:
        check_suffix(out, ENDINGS if shape == "wide" else ())
    if out is not None and table:
        check_writable(out)  # before the rows are read and answered
    return table


def write_tagged(
    path: Path,
    rows: Dataset,
    answers: Answers,
    names: Sequence[Sequence[str]] | None = None,
    *,
    measure: str = "scores",
    separator: str | None = None,
    reasons: Sequence[str] | None = None,
) -> list[str]:
    """Notes on what the file could not hold; it has one row for each of `rows`, all their columns, then the answers.

    names: those of the tags in the vocabulary, where labels are its ids. measure: the name of the column of numbers,
    "scores" or "probabilities". separator: what stands between the tags of a cell, as in training. reasons: one text a
    row. A .csv file has the delimiter of the one that the rows came from, and a mark for Excel if that had one.
    """
    added: dict[str, list[Any]] = {
        "tags": [[name for name, _ in row] for row in answers],
        measure: [[float(f"{score:.4g}") for _, score in row] for row in answers],
    }
    if names is not None:
        added = {"tags": added["tags"], "names": [list(row) for row in names], measure: added[measure]}
    if ending_of(path) not in VALUES:
        mark = _mark([*added["tags"], *(names or ())], separator)
        for column in ("tags", *(() if names is None else ("names",))):
            added[column] = [_joined(parts, mark) for parts in added[column]]
        added[measure] = [_joined([f"{score:g}" for score in scores], mark) for scores in added[measure]]
    if reasons is not None:
        added["reasons"] = list(reasons)
    came = dict(rows.columns) if rows.columns is not None else _made_columns(rows)
    if ending_of(path) not in VALUES:
        came = {name: _cells(values, separator) for name, values in came.items()}
    if set(added) & set(came):  # a table that has tags already keeps them
        added = {f"predicted_{name}": values for name, values in added.items()}
    form = rows.form or TableForm()
    return write_columns(path, {**came, **added}, delimiter=form.delimiter, of_excel=form.of_excel)


def _made_columns(rows: Dataset) -> dict[str, Sequence[Any]]:
    """The columns of rows that came from no table: ids (else row numbers) and texts."""
    ids: Sequence[Any] = range(rows.n_rows) if rows.row_ids is None else rows.row_ids
    return {"id": ids} | ({} if rows.texts is None else {"text": rows.texts})


def _cells(values: Sequence[Any], separator: str | None) -> Sequence[Any]:
    """The values of a column for a format without lists: lists of texts, as JSON has them, become one text each."""
    if not any(isinstance(value, list) for value in values):
        return values
    lists = [[str(part) for part in value] if isinstance(value, list) else None for value in values]
    mark = _mark([parts for parts in lists if parts is not None], separator)
    return [value if parts is None else _joined(parts, mark) for value, parts in zip(values, lists, strict=True)]


def _mark(rows: Sequence[Sequence[str]], separator: str | None) -> str | None:
    """What to put between tags: as in training, else the first usual mark that is in no name; None: lists as JSON."""
    every = {name for row in rows for name in row}
    marks = [*([separator] if separator else []), ";", "|", ","]
    return next((mark for mark in marks if not any(mark in name for name in every)), None)


def _joined(parts: Sequence[str], mark: str | None) -> str:
    if mark is None:
        return json.dumps(list(parts), ensure_ascii=False) if parts else ""
    return mark.join(parts)


def reasons_of(
    loaded: Loaded, rows: Dataset, top: TopK, progress: Progress, names: Sequence[str] | None = None
) -> list[str]:
    """Why each row gets its tags: 'dessert: cake +1.2, cream +0.4 | apple: apple +2.1'.

    names: of all numbers, also of concepts that a rule added, which no word speaks for.
    """
    texts = []
    for row, answers in enumerate(top):
        asked = rows.take([row])
        parts = [
            _reason_text(loaded.reason(asked, label))
            if names is None or label < loaded.n_labels
            else f"{names[label]}: stands above another tag"
            for label, _ in answers
        ]
        texts.append(" | ".join(parts))
        progress.step("finding reasons", row + 1, rows.n_rows)
    return texts


def _reason_text(reason: TagReason) -> str:
    label, pushes = reason.label, sorted(pushes_of(reason), key=lambda item: -item[1])
    strongest = [f"{word} {push:+.2g}" for word, push in pushes if push > 0][:REASON_WORDS]
    return f"{label}: {', '.join(strongest)}" if strongest else f"{label}: no word of the text"
