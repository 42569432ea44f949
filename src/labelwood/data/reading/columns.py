"""Which columns of a table hold text, labels and row ids: as the caller said, else by usual names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from labelwood.errors import DataError, unknown_name
from labelwood.wording import Argument, Message

TITLE_NAMES = ("title", "headline", "name")
TEXT_NAMES = (
    "text", "content", "body", "description", "abstract", "document", "summary", "sentence", "question",
    "review", "comment", "message",
)  # fmt: skip
LABEL_NAMES = (
    "labels", "tags", "categories", "label", "tag", "category", "subjects", "keywords", "topics", "classes",
    "target_ind", "targets",
)  # fmt: skip
ID_NAMES = ("id", "document_id", "uid", "doc_id", "_id")


@dataclass(frozen=True)
class Columns:
    """The chosen columns; `labels` is None when the caller said that there are none (labels="")."""

    text: tuple[str, ...]
    labels: str | None
    row_id: str | None
    notes: tuple[str, ...] = ()


def choose_columns(path: Path, names: Sequence[str], text: str | None, labels: str | None) -> Columns:
    """The columns to read out of `names`; what had to be guessed is told in notes.

    text: one name, or several with commas between them. labels: one name; "" reads a table without labels.
    DataError lists the columns when a name is unknown or nothing fits.
    """
    notes = []
    lower = {name.strip().lower(): name for name in reversed(names)}
    if text is None:
        text_columns = _guess_text(lower)
        if not text_columns:
            raise _unknown(path, "text", names)
        notes.append(f"text taken from column {' + '.join(text_columns)} (guessed)")
    elif text in names:
        text_columns = (text,)
    else:
        text_columns = tuple(part.strip() for part in text.split(","))
    label_column = labels if labels else None
    if labels is None:
        label_column = next((lower[name] for name in LABEL_NAMES if name in lower), None)
        if label_column is None or label_column in text_columns:
            raise _unknown(path, "labels", names)
        notes.append(f"labels taken from column {label_column} (guessed)")
    for name in (*text_columns, *([label_column] if label_column else [])):
        if name not in names:
            raise DataError(f"{path}: {unknown_name('column', name, names)}")
        if list(names).count(name) > 1:
            raise DataError(f"{path}: column {name!r} stands there twice (columns: {', '.join(names)})")
    used = {*text_columns, label_column}
    row_id = next((lower[name] for name in ID_NAMES if name in lower and lower[name] not in used), None)
    return Columns(text_columns, label_column, row_id, tuple(notes))


def _unknown(path: Path, what: str, names: Sequence[str]) -> DataError:
    fault = f"{path}: no column looks like {what}; name it with "
    return DataError(Message(fault, Argument(what), f" (columns: {', '.join(names)})"))


def _guess_text(lower: dict[str, str]) -> tuple[str, ...]:
    """The usual text columns among lower-case names: a title before the main text, or either alone."""
    title = next((lower[name] for name in TITLE_NAMES if name in lower), None)
    main = next((lower[name] for name in TEXT_NAMES if name in lower), None)
    return tuple(column for column in (title, main) if column is not None)


def looks_like_header(cells: Sequence[str], text: str | None, labels: str | None) -> bool:
    """True if the first line of a table names its columns: one of them is asked for, or a usual name."""
    names = {cell.strip() for cell in cells} - {""}
    asked = {name.strip() for name in (text or "").split(",")} | {text, labels}
    if asked & names:
        return True
    usual = {*TITLE_NAMES, *TEXT_NAMES, *LABEL_NAMES}
    return any(name.lower() in usual for name in names)


def join_text(parts: Sequence[str]) -> str:
    """The text of a row whose text stands in several columns: filled parts, one a line."""
    return parts[0] if len(parts) == 1 else "\n".join(part for part in parts if part)
