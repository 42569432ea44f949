"""Label cells of a table -> lists of labels: lists as they are, strings cut at the separator found."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

from labelwood.data.dataset import TableForm
from labelwood.data.reading.answer_columns import answered_columns
from labelwood.data.reading.spelled_lists import Lists, list_in_cell, lists_in
from labelwood.data.reading.text_rows import LabelCells, TextRows, text_fault
from labelwood.wording import Argument, Message

Label = str | int
NEWLINE = "\n"
SEPARATORS = ("|", ";", NEWLINE, ",")  # a line break before a comma: names hold commas, but no line breaks
# A separator counts when this share of the filled cells holds it: one stray '|' in a name does not decide for
# a column.
SEPARATOR_SHARE = 0.01
# Where more cells than this differ, of at least so many, a column of single labels could teach nothing.
OWN_LABELS, LEAST_CELLS = 0.5, 20


@dataclass
class CutLabels:
    """Labels of each row (None: damaged and skipped), and the reading names of labels known by an address.

    separator: where strings were cut; None if there was no string.
    """

    labels: list[list[Label] | None]
    titles: dict[str, str]
    notes: list[str]
    separator: str | None = None


def cut_labels(rows: TextRows) -> CutLabels:
    """The labels of every row; strings become numbers when all labels of the file are written as numbers."""
    notes: list[str] = []
    asked, separator = _asked(rows), _known_separator(rows)
    answered = None if asked is not None else answered_columns(rows.cells, rows.form.labels)
    if answered is not None:
        return CutLabels(list(answered.labels), {}, [answered.note])
    if asked is None and len(rows.form.labels) > 1:
        columns = ", ".join(rows.form.labels)
        notes.append(Message(f"each cell of {columns} is one label; ", Argument("separator"), " cuts them"))
    single = [cell for row in rows.cells for cell in (row if isinstance(row, LabelCells) else (row,))]
    strings = [cell for cell in single if isinstance(cell, str) and cell]
    lists: Lists | None = None
    if separator is None and strings:
        spelled = lists_in(strings)
        if spelled is None:
            separator, note = _find_separator(strings)
        else:
            lists, note = spelled
        notes.append(note)
    elif asked and strings and not any(asked in cell for cell in strings):
        notes.append(_of_no_use(asked, strings))
    result = CutLabels([], {}, notes, separator if strings else None)
    for line, cell in zip(rows.lines, rows.cells, strict=True):
        try:
            if isinstance(cell, LabelCells):
                cut = [_labels_of(part, separator, result.titles) for part in cell]
                result.labels.append(list(chain.from_iterable(cut)))
            else:
                result.labels.append(_labels_of(cell, separator, result.titles, lists))
        except _LabelError as error:
            rows.options.bad.report(line, str(error))
            result.labels.append(None)
    if strings and len(strings) == sum(cell is not None and cell != "" for cell in single):
        _numbers_from_strings(result)
    return result


def _asked(rows: TextRows) -> str | None:
    """The separator that the caller named; a line break or tab may be written as it is in programs."""
    asked = rows.options.separator
    return None if asked is None else {"\\n": NEWLINE, "\\t": "\t"}.get(asked, asked)


def _known_separator(rows: TextRows) -> str | None:
    """What the caller said, else what the format says, else what cut the same columns before; None: to be found."""
    if rows.options.separator is not None:
        return _asked(rows)
    like = rows.options.like or TableForm()
    if rows.separator is None and rows.form.labels and rows.form.labels == like.labels:
        return like.separator
    return rows.separator


def _find_separator(cells: list[str]) -> tuple[str, str]:
    """The separator of a column of label strings ('' when every cell is one label), and a note on it."""
    plain = [cell for cell in cells if not cell.lstrip().startswith("[")]
    for separator in SEPARATORS:
        n_cells = sum(separator in cell.strip() for cell in plain)
        if n_cells and n_cells >= SEPARATOR_SHARE * len(plain):
            where = f"found in {n_cells:,} of {len(plain):,} cells"
            return separator, f"labels cut at {'line breaks' if separator == NEWLINE else repr(separator)} ({where})"
    if not plain:
        return "", "labels are lists in the cells"
    note = "no separator found in the label column: each cell is one label"
    n_labels = len(set(plain))
    if len(plain) < LEAST_CELLS or n_labels < OWN_LABELS * len(plain):
        return "", note
    several = f", {n_labels:,} labels in {len(plain):,} cells; if a cell holds several, name what is between them with "
    # Tags that are words of their own come again beside others; sentences have ever new words.
    words = {word for cell in plain for word in cell.split()}
    spaces = f" (cut at spaces they would be {len(words):,} labels)" if 2 * len(words) <= n_labels else ""
    return "", Message(note, several, Argument("separator"), spaces)


def _of_no_use(asked: str, cells: list[str]) -> Message:
    """A note that no cell holds the separator that was asked for, and which one they do hold."""
    found, where = _find_separator(cells)
    front = f"no label cell holds the separator {asked!r}, so each cell is one label"
    if not found:
        return Message(front)
    return Message(f"{front}; did you mean ", Argument("separator"), f" {found!r}{where.partition(repr(found))[2]}?")


class _LabelError(Exception):
    """A label cell is damaged."""


def _labels_of(cell: Any, separator: str | None, titles: dict[str, str], lists: Lists | None = None) -> list[Label]:
    if cell is None:
        return []
    if isinstance(cell, list):
        if set(map(type, cell)) == {int}:  # the usual case of large files, 0.2 s of 45,000 EURLEX57K rows
            return cell
        return [_label(item, titles) for item in cell]
    if isinstance(cell, int) and not isinstance(cell, bool):
        return [cell]
    if not isinstance(cell, str):
        raise _LabelError(f"labels must be a list or a string, but are {_shown(cell)}")
    text = cell.strip()
    if not text:
        return []
    if lists is not None:
        return [_label(item, titles) for item in lists(text)]
    if text.startswith("[") and text.endswith("]"):
        listed = list_in_cell(text)
        if listed is not None:
            return [_label(item, titles) for item in listed]
    if not separator:
        pieces = [text]
    elif separator.isspace():
        pieces = text.split() if separator == " " else [piece for piece in text.split(separator) if piece.strip()]
    else:
        # "a;b;" ends as many a program ends a list; an empty place between two labels is damage
        pieces = (text.removeprefix(separator).removesuffix(separator) or text).split(separator)
    return [_label(piece, titles) for piece in pieces]


def _label(item: Any, titles: dict[str, str]) -> Label:
    if isinstance(item, str):
        name = item.strip()
        if not name:
            raise _LabelError("an empty label")
        fault = text_fault(name)
        if fault:
            raise _LabelError(f"a label {fault}")
        return name
    if isinstance(item, int) and not isinstance(item, bool):
        return item
    if isinstance(item, float) and item.is_integer():
        return int(item)
    if isinstance(item, dict):
        return _label_of_object(item, titles)
    if item is None:
        raise _LabelError("an empty label (null)")
    raise _LabelError(f"a label must be a string or a whole number, but is {_shown(item)}")


def _label_of_object(item: dict[str, Any], titles: dict[str, str]) -> str:
    """Annif's subjects: known by `uri`, read by `label`; one of them is enough."""
    uri = item.get("uri") or item.get("id")
    title = item.get("label") or item.get("name")
    if uri is None and title is None:
        raise _LabelError(f"a label without name: {_shown(item)} has neither 'uri' nor 'label'")
    key = _label(uri if uri is not None else title, {})
    if uri is not None and title is not None:
        titles[str(key)] = str(_label(title, {}))
    return str(key)


def _numbers_from_strings(result: CutLabels) -> None:
    every = {label for labels in result.labels if labels for label in labels if isinstance(label, str)}
    if every and all(label.isascii() and label.isdecimal() and str(int(label[:18])) == label for label in every):
        result.labels = [None if labels is None else [int(label) for label in labels] for labels in result.labels]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
