"""The rows of a comparison: training and test part with one numbering of labels, named by content, kept in a folder."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.data.fingerprint import data_fingerprint, label_names_sha256
from labelwood.data.groups import LARGEST_SHARE, group_numbers
from labelwood.data.writing.atomic_file import whole_file
from labelwood.errors import DataError
from labelwood.labelspace.names import name_ids, renumbered

STRINGS = ("texts", "label_names", "feature_names")
KEPT = (*STRINGS, "groups")


@dataclass(frozen=True, eq=False)
class Parts:
    """Rows to train on and rows to judge by; labels of the test rows that training lacks are its last columns.

    Groups are numbers, one for each row.
    """

    train: Dataset
    test: Dataset

    @property
    def fingerprint(self) -> str:
        """64 hexadecimal digits: the same for the same rows, texts, labels and names."""
        digest = hashlib.sha256()
        for part in (self.train, self.test):
            x = sparse.csr_matrix((part.n_rows, 0), dtype=np.float32) if part.x is None else part.x
            digest.update(data_fingerprint(x, part.y).encode())
            for name in STRINGS:
                values = getattr(part, name)
                digest.update(b"-" if values is None else label_names_sha256(values).encode())
            if part.filter_pairs is not None:
                digest.update(np.ascontiguousarray(part.filter_pairs, "<i8").tobytes())
            if part.groups is not None:
                digest.update(b"groups" + np.asarray(part.groups, "<i8").tobytes())
        return digest.hexdigest()

    def named(self) -> tuple[tuple[str, Dataset], tuple[str, Dataset]]:
        """Both parts with what they are called."""
        return ("train", self.train), ("test", self.test)

    def name(self, label: int) -> str:
        """The name of a label, else its number."""
        names = self.test.label_names
        return str(label) if names is None else names[label]


def parts_of(train: Dataset, test: Dataset) -> Parts:
    """The two parts with the labels of `test` in the numbering of `train`; DataError if they do not fit together."""
    train, test = _numbered(train, LARGEST_SHARE), _numbered(test, 1.0)
    if (train.x is None) != (test.x is None):
        holds = {True: "texts", False: "features"}
        raise DataError(
            f"{test.source}: holds {holds[test.x is None]}, but {train.source} holds {holds[train.x is None]}"
        )
    if train.x is not None and train.n_features != test.n_features:
        raise DataError(f"{test.source}: has {test.n_features} features, but {train.source} has {train.n_features}")
    if test.y.nnz == 0:
        raise DataError(f"{test.source}: no test row has a label, so there is nothing to compare with")
    if train.label_names is None or test.label_names is None:
        if test.n_labels > train.n_labels:
            raise DataError(f"{test.source}: has {test.n_labels} labels, but {train.source} has {train.n_labels}")
        wide = sparse.csr_matrix((test.y.data, test.y.indices, test.y.indptr), shape=(test.n_rows, train.n_labels))
        return Parts(train, replace(test, y=wide, label_names=train.label_names))
    if tuple(train.label_names) == tuple(test.label_names):
        return Parts(train, test)
    if test.filter_pairs is not None:
        raise DataError(f"{test.source}: has filter pairs, but other label columns than {train.source}")
    y, unknown = renumbered(test.y, test.label_names, name_ids(train.label_names))
    return Parts(train, replace(test, y=y, label_names=(*train.label_names, *unknown)))


def _numbered(part: Dataset, most: float) -> Dataset:
    """The part with numbers in place of its groups; DataError if one has more than the share `most` of its rows."""
    if part.groups is None:
        return part
    try:
        return replace(part, groups=group_numbers(part.groups, part.n_rows, most).tolist())
    except DataError as error:
        raise DataError(f"{part.source}: {error}") from None


def store(part: Dataset, folder: Path) -> None:
    """Keep a part in a folder, for the processes of the runs; a part that is there already is left as it is."""
    done = folder / "strings.json"  # written last
    if done.is_file():
        return
    folder.mkdir(parents=True, exist_ok=True)
    for letter, matrix in (("x", part.x), ("y", part.y)):
        if matrix is not None:
            sparse.save_npz(folder / f"{letter}.npz", matrix, compressed=False)
    if part.filter_pairs is not None:
        np.save(folder / "filter_pairs.npy", part.filter_pairs)
    with whole_file(done) as path:
        path.write_text(json.dumps({name: getattr(part, name) for name in KEPT}), encoding="utf-8")


def stored(folder: Path) -> Dataset:
    """The part that `store` kept."""
    strings: dict[str, Any] = json.loads((folder / "strings.json").read_text(encoding="utf-8"))
    x = sparse.load_npz(folder / "x.npz") if (folder / "x.npz").is_file() else None
    pairs = folder / "filter_pairs.npy"
    filter_pairs = np.load(pairs, allow_pickle=False) if pairs.is_file() else None
    return Dataset(x, sparse.load_npz(folder / "y.npz"), filter_pairs=filter_pairs, **strings)
