"""Row numbers of a split: the XMC repository's trSplit and tstSplit files, one column for each of several splits."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from labelwood.data.dataset import Dataset
from labelwood.data.reading.streams import lines, plain_name
from labelwood.errors import DataError, ParamError
from labelwood.wording import Argument, Message

_NAME = re.compile(r"(?P<front>.*)(?P<part>tr|tst)Split\.txt", re.IGNORECASE)
TRAINING, TEST = "tr", "tst"


def split_rows(path: Path, column: int, n_rows: int) -> npt.NDArray[np.int64]:
    """The rows, counted from 0, that one column (from 1) of a split file lists; DataError names a line that cannot be.

    The file counts rows from 1, columns are separated by spaces, tabs or commas.
    """
    numbers = []
    for number, line in lines(path):
        words = line.replace(",", " ").split()
        if not words:
            continue
        if not 1 <= column <= len(words):
            columns = "column" if len(words) == 1 else "columns"
            fault = f"{path}, line {number}: has {len(words)} {columns}, but "
            raise ParamError(Message(fault, Argument("split_column"), f" asks for {column}"))
        word = words[column - 1]
        row = int(word) if word.isascii() and word.isdigit() and len(word) < 19 else 0
        if not 1 <= row <= n_rows:
            raise DataError(f"{path}, line {number}: {word!r} is not a row number from 1 to {n_rows}")
        numbers.append(row - 1)
    if not numbers:
        raise DataError(f"{path}: no row numbers in it")
    rows = np.array(numbers, np.int64)
    if len(np.unique(rows)) < len(rows):
        twice = int(np.flatnonzero(np.bincount(rows) > 1)[0]) + 1
        raise DataError(f"{path}: row {twice} stands in column {column} twice")
    return rows


def split_beside(data: Path, part: str) -> Path:
    """The one trSplit (part "tr") or tstSplit ("tst") file beside a data file; DataError lists what is there."""
    splits = [path for path in sorted(data.parent.iterdir()) if _part_of(path) == part]
    if len(splits) != 1:
        listed = ", ".join(path.name for path in splits) or "none"
        fault = f"{data}: needs one {part}Split.txt file beside it, but there is {listed}; name one with "
        raise DataError(Message(fault, Argument("split")))
    return splits[0]


def listed_parts(data: Dataset, split: Path, column: int) -> tuple[Dataset, Dataset]:
    """(training part, test part): the rows of a trSplit file; those of the tstSplit file beside, else the others."""
    training = split_rows(split, column, data.n_rows)
    other = _partner(split)
    if other is None:
        left = np.setdiff1d(np.arange(data.n_rows), training)
        if not len(left):
            raise DataError(f"{split}: lists every row, so that none is left for testing")
        return data.take(training), data.take(left)
    test = split_rows(other, column, data.n_rows)
    both = np.intersect1d(training, test)
    if len(both):
        raise DataError(f"{other}: row {both[0] + 1} is in {split.name} too")
    return data.take(training), data.take(test)


def _partner(split: Path) -> Path | None:
    name = _NAME.fullmatch(plain_name(split))
    if name is None or name["part"].lower() != TRAINING:
        return None
    start, end = name.span("part")
    other = split.with_name(split.name[:start] + TEST + split.name[end:])
    return other if other.is_file() else None


def _part_of(path: Path) -> str | None:
    name = _NAME.fullmatch(plain_name(path))
    return None if name is None else name["part"].lower()
