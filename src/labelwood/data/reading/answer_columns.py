"""Tables with a column for each label that says yes or no (1/0, x, true/false) -> the labels of every row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from labelwood.data.reading.text_rows import LabelCells

_YES = ("1", "true", "yes", "y", "x", "✓", "✔")
_NO = ("0", "false", "no", "n", "-")


@dataclass(frozen=True)
class Answered:
    """The names of the columns that say yes, row by row, and a note on how they were read."""

    labels: list[list[str | int]]
    note: str


def answered_columns(rows: Sequence[Any], columns: Sequence[str]) -> Answered | None:
    """The labels of each row if several label columns say nothing but yes or no, in one way; else None."""
    if len(columns) < 2:
        return None
    yes: set[str] = set()
    no: set[str] = set()
    labels: list[list[str | int]] = []
    for cells in rows:
        if not isinstance(cells, LabelCells):
            return None
        said = [_word(cell) for cell in cells]
        for word in said:
            if word in _YES:
                yes.add(word)
            elif word in _NO:
                no.add(word)
            elif word:
                return None
        if len(yes) > 1 or len(no) > 1:
            return None
        labels.append([column for column, word in zip(columns, said, strict=True) if word in _YES])
    if not yes:
        return None
    word = yes.pop()
    return Answered(labels, f"the label columns say yes or no: a row has the labels whose columns hold {word!r}")


def _word(cell: Any) -> str:
    """A cell as a word: 1, 1.0, "1" and " 1.0" are one, True and "TRUE" are another; an empty cell is ''."""
    if cell is None or cell != cell:  # NaN
        return ""
    if isinstance(cell, (bool, int, float)):
        return str(cell).lower().removesuffix(".0")
    return str(cell).strip().lower().removesuffix(".0")
