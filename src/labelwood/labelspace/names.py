"""Label names <-> label numbers: lists of names a row become a label matrix, and unknown names are told apart."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import DataError

SHOWN = 5
NEARLY = 0.85  # how alike a slip of the hand is: one letter of seven


def all_names(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Every name once, sorted: the same names give the same numbers in whatever order the rows come."""
    return tuple(sorted({name for names in rows for name in names}))


def name_ids(names: Sequence[str]) -> dict[str, int]:
    """Name -> number; DataError if a name stands for two labels."""
    ids = {name: number for number, name in enumerate(names)}
    if len(ids) != len(names):
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise DataError(f"the label name {twice!r} stands for two labels; names must differ")
    return ids


def label_matrix(rows: Sequence[Sequence[str]], ids: Mapping[str, int]) -> tuple[sparse.csr_matrix, tuple[str, ...]]:
    """(y, unknown): a CSR matrix of ones over the known names, then over the unknown ones in order of appearance.

    Unknown names keep columns of their own, so that an evaluation counts them as labels that were missed.
    """
    extra: dict[str, int] = {}
    indptr = np.zeros(len(rows) + 1, np.int64)
    columns: list[int] = []
    for row, names in enumerate(rows):
        numbers = set()
        for name in names:
            number = ids.get(name)
            numbers.add(extra.setdefault(name, len(ids) + len(extra)) if number is None else number)
        columns.extend(sorted(numbers))
        indptr[row + 1] = len(columns)
    shape = (len(rows), len(ids) + len(extra))
    return sparse.csr_matrix((np.ones(len(columns), np.float32), columns, indptr), shape=shape), tuple(extra)


def renumbered(
    y: sparse.csr_matrix, names: Sequence[str], ids: Mapping[str, int]
) -> tuple[sparse.csr_matrix, tuple[str, ...]]:
    """(y, unknown): the label matrix of `names` with its columns moved to `ids`; unknown names that occur come last."""
    used = np.zeros(len(names), bool)
    used[y.indices] = True
    target = np.full(len(names), -1, np.int64)
    unknown: list[str] = []
    for column, name in enumerate(names):
        number = ids.get(name)
        if number is None and used[column]:
            number = len(ids) + len(unknown)
            unknown.append(name)
        target[column] = -1 if number is None else number
    shape = (y.shape[0], len(ids) + len(unknown))
    moved = sparse.csr_matrix((y.data.copy(), target[y.indices], y.indptr.copy()), shape=shape)
    moved.sum_duplicates()  # two names may stand for one label
    np.minimum(moved.data, 1, out=moved.data)
    return moved, tuple(unknown)


def padded_counts(counts: npt.NDArray[np.int64], n_labels: int) -> npt.NDArray[np.int64]:
    """The training rows of each label, with zeros for labels that were not there in training."""
    return np.concatenate([counts, np.zeros(n_labels - len(counts), np.int64)])


def nearly_known(name: str, ids: Mapping[str, int]) -> str | None:
    """The known name that a new one is probably a slip of: it differs by a letter or by capitals; else None.

    Names with digits are ids or numbers, which differ by a digit from many others.
    """
    if any(letter.isdigit() for letter in name):
        return None
    folded = " ".join(name.casefold().split())
    same = next((known for known in ids if known != name and " ".join(known.casefold().split()) == folded), None)
    if same is not None:
        return same
    near = difflib.get_close_matches(name, ids, n=1, cutoff=NEARLY)
    return near[0] if near else None


def unknown_label(name: str, ids: Mapping[str, int]) -> str:
    """The message for an unknown label name: the nearest known names, not the whole (perhaps huge) list."""
    near = difflib.get_close_matches(name, ids, n=3, cutoff=0.6)
    if near:
        return f"unknown label {name!r}; did you mean {' or '.join(repr(other) for other in near)}?"
    some = ", ".join(repr(known) for known in list(ids)[:SHOWN])
    return f"unknown label {name!r}; the {len(ids)} known labels are {some}{', ...' if len(ids) > SHOWN else ''}"
