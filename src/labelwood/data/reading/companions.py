"""What lies beside a data file: names of labels and features, and pairs to leave out of an evaluation."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from labelwood.data.reading.bad_rows import BadRows
from labelwood.data.reading.csr_rows import RowFormat
from labelwood.data.reading.sparse_rows import read_rows
from labelwood.data.reading.streams import COMPRESSED, plain_name, read_all
from labelwood.errors import DataError

LABEL_FILES = ("labels.txt", "Y.txt", "label_map.txt", "label_map")
FEATURE_FILES = ("vocab.txt", "Xf.txt")


def existing(path: Path) -> Path | None:
    """The file itself or a compressed form of it, if there is one."""
    for suffix in ("", *COMPRESSED):
        candidate = path.with_name(path.name + suffix)
        if candidate.is_file():
            return candidate
    return None


def label_names_beside(path: Path, n_labels: int) -> tuple[list[str] | None, list[str]]:
    """(names of the label columns, notes), from labels.txt, Y.txt or label_map beside when the count fits.

    Lines of the form `id<TAB>name` give the name.
    """
    return _names(path, LABEL_FILES, n_labels, "labels")


def feature_names_beside(path: Path, n_features: int) -> tuple[list[str] | None, list[str]]:
    """(names of the feature columns, notes), from vocab.txt or Xf.txt beside when the count fits."""
    return _names(path, FEATURE_FILES, n_features, "features")


def filter_pairs_beside(path: Path, shape: tuple[int, int]) -> npt.NDArray[np.int64] | None:
    """(row, label) pairs to leave out, from filter_labels_train.txt or filter_labels_test.txt beside."""
    words = set(re.split(r"[^a-z]+", plain_name(path).lower()))
    part = next((part for part, marks in _PARTS.items() if words & marks), None)
    beside = existing(path.with_name(f"filter_labels_{part}.txt")) if part else None
    return None if beside is None else _read_pairs(beside, shape)


_PARTS = {"train": {"trn", "train", "training"}, "test": {"tst", "test", "testing"}}


def _read_pairs(path: Path, shape: tuple[int, int]) -> npt.NDArray[np.int64]:
    """The int64 (m, 2) array of `row label` lines; DataError names the line of one outside `shape`."""
    if not path.stat().st_size:
        return np.empty((0, 2), np.int64)
    # A pair looks like an svmlight row with a label and a feature without value: the same parser reads it.
    how = RowFormat(svmlight=True, item="label", n_features=shape[1])
    try:
        rows = read_rows(path, how, BadRows(path))
    except DataError as error:
        raise DataError(f"{error} (a filter file has lines `row label`)") from None
    wrong = np.flatnonzero((np.diff(rows.x.indptr) != 1) | (np.diff(rows.y.indptr) != 1))
    if len(wrong):
        raise DataError(f"{path}, pair {wrong[0] + 1}: expected two numbers, `row label`")
    pairs = np.column_stack([rows.y.indices, rows.x.indices]).astype(np.int64)
    outside = np.flatnonzero(pairs[:, 0] >= shape[0])
    if len(outside):
        row = pairs[outside[0], 0]
        raise DataError(f"{path}, pair {outside[0] + 1}: row {row} is outside 0..{shape[0] - 1}")
    return pairs


def _names(path: Path, files: tuple[str, ...], count: int, what: str) -> tuple[list[str] | None, list[str]]:
    notes = []
    for name in files:
        beside = existing(path.with_name(name))
        if beside is None or beside == path:
            continue
        try:
            names = read_names(beside)
        except DataError as error:
            notes.append(f"{error}; not used for names")
            continue
        if len(names) == count:
            return names, notes
        notes.append(f"{beside}: {len(names)} names for {count} {what}; not used")
    return None, notes


def read_names(path: Path) -> list[str]:
    """The names in a file of one name, or `id<TAB>name`, a line."""
    try:
        text = bytes(read_all(path)).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}, line {line}: not valid UTF-8") from None
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    names = [line.rstrip("\r") for line in lines]
    if names and all(name.count("\t") == 1 for name in names):
        names = [name.split("\t")[1] for name in names]
    return names
