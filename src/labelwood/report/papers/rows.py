"""The rows of an experiment: a data set found by its name below a folder, its splits, and a small part of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.catalogue import folder_named
from labelwood.data.dataset import Dataset
from labelwood.data.keyed_random import keyed_order
from labelwood.data.reading.read import read
from labelwood.data.reading.split_rows import listed_parts
from labelwood.data.reading.streams import lines, plain_name
from labelwood.errors import DataError
from labelwood.report.compare_data import Parts, parts_of

QUICK_ROWS = (600, 300)  # to train on, to judge by
_TRAINING = re.compile(r"(?P<front>.*?)(?P<part>train|trn)(?P<end>(?:_X_Xf)?\.[a-z]+)", re.IGNORECASE)
_PARTNER = {"train": "test", "trn": "tst"}
_WHOLE = re.compile(r"(?:.*[_-])?data\.txt", re.IGNORECASE)
_SPLIT = re.compile(r".*trSplit\.txt", re.IGNORECASE)
Rows = npt.NDArray[np.int64]


def data_folder(root: Path, name: str) -> Path | None:
    """The folder of a data set below `root`, by its name however it is written; None if there is none."""
    return folder_named(root, name)


def splits(
    folder: Path, n_splits: int, *, quick: bool = False, most_rows: int | None = None, seed: int = 0
) -> Iterator[Parts]:
    """The training and test rows of every split; DataError if the folder has no rows to split.

    One split is the given one: a training and a test file, or the first column of a trSplit file. Several are those of
    a trSplit file with as many columns, else drawn from all rows with the sizes of the given one. most_rows: of the
    training rows so many by chance. quick: few rows only.
    """
    n_train, n_test = QUICK_ROWS if quick else (None, None)
    if most_rows is not None:
        n_train = most_rows if n_train is None else min(n_train, most_rows)
    for parts in _given(folder) if n_splits == 1 else _several(folder, n_splits):
        yield Parts(_some(parts.train, n_train, seed), _some(parts.test, n_test, seed))


def drawn_split(n_rows: int, n_train: int, split: int) -> tuple[Rows, Rows]:
    """(training rows, test rows) of a random split by its number."""
    order = np.random.default_rng(split).permutation(n_rows)
    return order[:n_train], order[n_train:]


def _given(folder: Path) -> Iterator[Parts]:
    pair = _pair(folder)
    if pair is not None:
        train = read(pair[0])
        widths: dict[str, Any] = {} if train.x is None else {"n_features": train.n_features}
        if train.x is not None and train.label_names is None:
            widths["n_labels"] = train.n_labels
        yield parts_of(train, read(pair[1], **widths))
        return
    whole, split = _whole(folder), _split_file(folder, 1)
    if whole is None or split is None:
        listed = ", ".join(sorted(path.name for path in folder.iterdir())[:20])
        raise DataError(f"{folder}: needs a training and a test file (train.txt and test.txt), but has {listed}")
    yield parts_of(*listed_parts(read(whole), split, 1))


def _several(folder: Path, n_splits: int) -> Iterator[Parts]:
    whole, split = _whole(folder), _split_file(folder, n_splits)
    if whole is not None and split is not None:
        data = read(whole)
        for column in range(1, n_splits + 1):
            yield parts_of(*listed_parts(data, split, column))
        return
    given = next(_given(folder))
    data = read(whole) if whole is not None else _joined(given)
    for number in range(n_splits):
        train, test = drawn_split(data.n_rows, given.train.n_rows, number)
        yield parts_of(data.take(train), data.take(test))


def _joined(parts: Parts) -> Dataset:
    """All rows; labels that training lacks are the last columns."""
    train, test = parts.train, parts.test
    wide = sparse.csr_matrix((train.y.data, train.y.indices, train.y.indptr), shape=(train.n_rows, test.n_labels))
    y = sparse.vstack([wide, test.y], format="csr")
    if train.x is None or test.x is None:
        return replace(train, y=y, texts=(*(train.texts or ()), *(test.texts or ())), label_names=test.label_names)
    return Dataset(sparse.vstack([train.x, test.x], format="csr"), y, label_names=test.label_names, source=train.source)


def _some(data: Dataset, most: int | None, seed: int) -> Dataset:
    """So many random rows in their order; all where `most` is None."""
    return data if most is None else data.take(np.sort(keyed_order(data.n_rows, seed)[:most]))


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file())


def _pair(folder: Path) -> tuple[Path, Path] | None:
    """(training file, test file) whose names differ in that word alone."""
    by_name = {plain_name(path).lower(): path for path in _files(folder)}
    for name, path in by_name.items():
        match = _TRAINING.fullmatch(name)
        partner = None if match is None else f"{match['front']}{_PARTNER[match['part']]}{match['end']}"
        if partner in by_name:
            return path, by_name[partner]
    return None


def _whole(folder: Path) -> Path | None:
    return next((path for path in _files(folder) if _WHOLE.fullmatch(plain_name(path))), None)


def _split_file(folder: Path, n_columns: int) -> Path | None:
    """The first trSplit file with at least so many columns."""
    for path in _files(folder):
        if _SPLIT.fullmatch(plain_name(path)):
            first = next((line for _, line in lines(path) if line.strip()), "")
            if len(first.replace(",", " ").split()) >= n_columns:
                return path
    return None
