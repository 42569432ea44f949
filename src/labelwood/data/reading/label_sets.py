"""Lists of labels -> the label matrix and the names of its columns.

Columns are in sorted order (numbers by size), so that the same set of labels gives the same columns in every
file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.reading.bad_rows import BadRows
from labelwood.data.reading.label_cells import CutLabels, Label
from labelwood.data.reading.odd_names import odd_names
from labelwood.data.reading.streams import COMPRESSED, lines
from labelwood.errors import DataError

# Files that name the columns of label numbers, as the XML repository and PECOS place them beside the data.
NAME_FILES = ("labels.txt", "Y.txt", "Yf.txt", "output-labels.txt")


@dataclass(frozen=True)
class LabelSets:
    """y (rows kept, labels), the names of its columns, which rows were kept, and what to tell."""

    y: sparse.csr_matrix
    names: list[str]
    kept: npt.NDArray[np.bool_]
    notes: list[str]


def label_sets(
    cut: CutLabels, row_lines: Sequence[int], path: Path, bad: BadRows, label_names: Sequence[str] | None
) -> LabelSets:
    """The label matrix of all undamaged rows.

    Numbers are columns of the label-name file that stands beside `path`, else names of their own.
    `label_names` fixes the columns (for a test file): other labels are left out and counted in the notes.
    """
    notes: list[str] = []
    rows = list(cut.labels)
    numeric = _all_numbers(rows)
    names_file = _find_name_file(path) if numeric else None
    if names_file is not None:
        file_names = read_label_names(names_file)
        notes.append(f"label numbers are columns of {names_file.name} ({len(file_names)} names)")
        _refuse_outside(rows, row_lines, len(file_names), names_file, bad)
        columns: dict[Label, str] = dict(enumerate(file_names))
        names = file_names
    else:
        every = {label for labels in rows if labels for label in labels}
        columns = _named(every, cut.titles)
        names = sorted(set(columns.values()), key=_number_first if numeric else str)
    place: dict[Label, int] = {}
    if label_names is None:
        number = {name: column for column, name in enumerate(names)}
        place = {label: number[name] for label, name in columns.items()}
    else:
        names = list(label_names)
        number = {name: column for column, name in enumerate(names)}
        if len(number) != len(names):
            twice = next(name for name, count in Counter(names).items() if count > 1)
            raise DataError(f"label_names holds {twice!r} twice; the names of columns must differ")
        for label, name in columns.items():
            for known_as in (name, str(label), *_titles_of(label, cut.titles)):
                if known_as in number:
                    place[label] = number[known_as]
                    break
    kept = np.array([labels is not None for labels in rows], dtype=bool)
    y, left_out = _matrix([labels for labels in rows if labels is not None], place, len(names))
    if label_names is None and names_file is None:
        notes += odd_names(names, y)
    if left_out:
        entries = "entry" if left_out.total() == 1 else "entries"
        most = ", ".join(repr(str(columns[label])) for label, _ in left_out.most_common(3))
        notes.append(f"{len(left_out)} unknown labels left out ({left_out.total()} {entries}; most often {most})")
    return LabelSets(y, names, kept, notes)


def _find_name_file(path: Path) -> Path | None:
    """The label-name file beside a data file, or None; in a folder of documents every file is a document."""
    if path.is_dir():
        return None
    for name in NAME_FILES:
        for suffix in ("", *COMPRESSED):
            candidate = path.parent / (name + suffix)
            if candidate != path and candidate.is_file():
                return candidate
    return None


def read_label_names(path: Path) -> list[str]:
    """The names of the columns: one a line, or 'number<TAB>name' on every line, where the name is used.

    A name that occurs again is made unique with the part before the tab, or with its column.
    """
    entries = []
    for number, line in lines(path):
        if not line.strip():
            raise DataError(f"{path}, line {number}: a label without name")
        entries.append(line.strip())
    if not entries:
        raise DataError(f"{path}: the file is empty")
    keys = [str(column) for column in range(len(entries))]
    if all(entry.count("\t") == 1 for entry in entries):
        keys, entries = map(list, zip(*(map(str.strip, entry.split("\t")) for entry in entries), strict=True))
    return _made_unique(keys, entries)


def _made_unique(keys: Sequence[str], names: Sequence[str]) -> list[str]:
    count = Counter(names)
    unique = [name if count[name] == 1 else f"{name} ({key})" for key, name in zip(keys, names, strict=True)]
    if len(set(unique)) < len(unique):  # a made-up name may meet a real one, or a key may be there twice
        unique = [f"{name} ({column})" for column, name in enumerate(unique)]
    return unique


def _all_numbers(rows: Sequence[Sequence[Label] | None]) -> bool:
    some = False
    for labels in rows:
        for label in labels or ():
            if not isinstance(label, int):
                return False
            some = True
    return some


def _refuse_outside(
    rows: list[list[Label] | None], row_lines: Sequence[int], n_labels: int, names_file: Path, bad: BadRows
) -> None:
    for row, labels in enumerate(rows):
        for label in labels or ():
            if not 0 <= int(label) < n_labels:
                bad.report(
                    row_lines[row],
                    f"label {label} is outside 0..{n_labels - 1}, the lines of {names_file.name}",
                )
                rows[row] = None
                break


def _named(every: set[Label], titles: dict[str, str]) -> dict[Label, str]:
    """Label -> name: its title when no other label shares it, else title and address together."""
    count = Counter(titles.get(str(label), str(label)) for label in every)
    named = {}
    for label in every:
        title = titles.get(str(label), str(label))
        named[label] = title if count[title] == 1 or title == str(label) else f"{title} ({label})"
    return named


def _titles_of(label: Label, titles: dict[str, str]) -> tuple[str, ...]:
    title = titles.get(str(label))
    return () if title is None else (title, f"{title} ({label})")


def _number_first(name: str) -> tuple[int, str]:
    return int(name), name


def _matrix(
    rows: list[list[Label]], place: dict[Label, int], n_labels: int
) -> tuple[sparse.csr_matrix, Counter[Label]]:
    left_out: Counter[Label] = Counter()
    indptr = np.zeros(len(rows) + 1, np.int64)
    indices: list[int] = []
    for row, labels in enumerate(rows):
        columns = set()
        for label in labels:
            column = place.get(label)
            if column is None:
                left_out[label] += 1
            else:
                columns.add(column)
        indices.extend(sorted(columns))
        indptr[row + 1] = len(indices)
    data = np.ones(len(indices), np.float32)
    y = sparse.csr_matrix((data, np.array(indices, np.int32), indptr), shape=(len(rows), n_labels))
    return y, left_out
