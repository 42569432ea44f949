"""Which columns of a table hold text, labels and row ids: as the caller said, else by usual names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labelwood.data.dataset import TableForm
from labelwood.data.reading.column_names import ID_NAMES, LABEL_NAMES, TEXT_NAMES, TITLE_NAMES, plain_name
from labelwood.data.reading.text_rows import LabelCells, TableOptions, TextRows
from labelwood.errors import DataError, unknown_name
from labelwood.wording import Argument, Message


@dataclass(frozen=True)
class Columns:
    """The chosen columns; `labels` is empty when the caller said that there are none (labels="")."""

    text: tuple[str, ...]
    labels: tuple[str, ...]
    row_id: str | None
    notes: tuple[str, ...] = ()
    group: str | None = None

    def begin(self, options: TableOptions, names: Sequence[str]) -> TextRows:
        """The rows of a table with these columns, still empty."""
        rows = TextRows(options, notes=list(self.notes), form=TableForm(self.text, self.labels))
        if len(self.labels) > 1 and options.separator is None:
            rows.separator = ""
        if options.keep_columns:
            rows.names = _distinct(names)
        return rows


def choose_columns(options: TableOptions, names: Sequence[str]) -> Columns:
    """The columns to read out of `names`; what had to be guessed is told in notes.

    The options' text: one name, or several with commas between them; labels: the same, and "" reads a table without
    labels. What they leave open is read as in `options.like`, whose columns are taken if they are there.
    DataError lists the columns when a name is unknown or nothing fits.
    """
    path, like = options.path, options.like or TableForm()
    notes: list[str] = []
    plain = {plain_name(name): name for name in reversed(names)}
    text = _named(options.text, names) or _as_before(path, "text", like.text, names, notes)
    if not text:
        text = _guess_text(plain)
        if not text:
            raise _unknown(path, "text", names)
        notes.append(f"text taken from column {' + '.join(text)} ({_guessed(plain, TEXT_NAMES, text)})")
    labels = _named(options.labels, names)
    if options.labels is None:
        labels = _as_before(path, "labels", like.labels, names, notes)
        if not labels:
            usual = next((plain[name] for name in LABEL_NAMES if name in plain), None)
            if usual is None or usual in text:
                raise _unknown(path, "labels", names)
            labels = (usual,)
            notes.append(f"labels taken from column {usual} ({_guessed(plain, LABEL_NAMES, labels)})")
    for name in (*text, *labels, *(() if options.group is None else (options.group,))):
        if name not in names:
            raise DataError(f"{path}: {unknown_name('column', name, names)}")
        if list(names).count(name) > 1:
            raise DataError(f"{path}: column {name!r} stands there twice (columns: {_listed(names)})")
    used = {*text, *labels}
    if options.group in used:
        raise DataError(
            Message(f"{path}: column {options.group!r} holds text or labels, so it cannot be ", Argument("group"))
        )
    row_id = next((plain[name] for name in ID_NAMES if name in plain and plain[name] not in used), None)
    return Columns(text, labels, row_id, tuple(notes), options.group)


def _named(asked: str | None, names: Sequence[str]) -> tuple[str, ...]:
    """The columns that an option names: one, or several with commas between them."""
    if not asked:
        return ()
    return (asked,) if asked in names else tuple(part.strip() for part in asked.split(","))


def _as_before(
    path: Path, what: str, before: tuple[str, ...], names: Sequence[str], notes: list[str]
) -> tuple[str, ...]:
    """The columns of training, if all are there; () if none is; DataError between: half a text is another text."""
    missing = [name for name in before if name not in names]
    if not missing:
        return before
    listed = ", ".join(before)
    if len(missing) < len(before):
        fault = f"{path}: the model was trained with {what} from {listed}, but {', '.join(missing)} is not there; name "
        raise DataError(Message(fault, "the columns with ", Argument(what), f" (columns: {_listed(names)})"))
    columns = f"columns {listed} are" if len(before) > 1 else f"column {listed} is"
    notes.append(f"the training {columns} not in this file")
    return ()


def label_cell(cells: Sequence[Any]) -> Any:
    """The label cell of a row: of one label column its cell, of several all of them, of none None."""
    if len(cells) == 1:
        return cells[0]
    return LabelCells(cells) if cells else None


def _distinct(names: Sequence[str]) -> list[str]:
    """Names that differ, none empty: a second "price" becomes "price (2)"."""
    distinct: list[str] = []
    for number, name in enumerate(names, 1):
        plain = name or f"column {number}"
        known, again = plain, 1
        while known in distinct:
            again += 1
            known = f"{plain} ({again})"
        distinct.append(known)
    return distinct


def _unknown(path: Path, what: str, names: Sequence[str]) -> DataError:
    fault = f"{path}: no column looks like {what}; name it with "
    return DataError(Message(fault, Argument(what), f" (columns: {_listed(names)})"))


def _listed(names: Sequence[str]) -> str:
    """The names for a message: the first ten, long ones cut, with nothing that a terminal would not show."""
    shown = [name if name.isprintable() else repr(name)[1:-1] for name in (name[:40] for name in names[:10])]
    return ", ".join(shown) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _guess_text(plain: dict[str, str]) -> tuple[str, ...]:
    """The usual text columns among plain names: a title before the main text, or either alone."""
    title = next((plain[name] for name in TITLE_NAMES if name in plain), None)
    main = next((plain[name] for name in TEXT_NAMES if name in plain), None)
    return tuple(column for column in (title, main) if column is not None)


def _guessed(plain: dict[str, str], usual: Sequence[str], chosen: tuple[str, ...]) -> str:
    """What a note says of a guess: which other columns have a usual name, too."""
    others = [plain[name] for name in usual if name in plain and plain[name] not in chosen]
    return f"guessed; {_listed(others)} would fit, too" if others else "guessed"


def looks_like_header(cells: Sequence[str], options: TableOptions | None = None) -> bool:
    """True if the first line of a table names its columns: one of them is asked for, or a usual name."""
    names = {cell.strip() for cell in cells} - {""}
    asked: set[str] = set()
    if options is not None:
        asked |= {options.group or ""}
        for option in (options.text or "", options.labels or ""):
            asked |= {option, *(name.strip() for name in option.split(","))}
        if options.like is not None:
            asked |= {*options.like.text, *options.like.labels}
    if asked & names:
        return True
    usual = {*TITLE_NAMES, *TEXT_NAMES, *LABEL_NAMES, *ID_NAMES}
    return any(plain_name(name) in usual for name in names)


def join_text(parts: Sequence[str]) -> str:
    """The text of a row whose text stands in several columns: filled parts, one a line."""
    return parts[0] if len(parts) == 1 else "\n".join(part for part in parts if part)
