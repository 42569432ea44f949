"""ServedModel: one loaded folder and what is asked of it; ServedModels: all of them, each swapped whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import UNSET, UnsetType
from scipy import sparse

from labelwood.calibration.fitted import FittedCalibration
from labelwood.calibration.row_context import LOOKED
from labelwood.errors import DataError, LabelwoodError
from labelwood.labelspace.names import name_ids, padded_counts, unknown_label
from labelwood.loading import load
from labelwood.models.base import Model
from labelwood.server.label_search import LabelSearch, searched_names
from labelwood.storage.format import MANIFEST
from labelwood.storage.load import read_manifest
from labelwood.tagger.fitted import FittedTagger
from labelwood.tagger.tagger import Tagger
from labelwood.topk import TopK
from labelwood.vocabulary.vocabulary import Vocabulary

Identity = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Answers:
    """The best labels of some rows.

    known: which rows hold a word that the model knows; certain: which a person gave these labels (None: not asked).
    """

    top: TopK
    known: npt.NDArray[np.bool_] | None = None
    certain: npt.NDArray[np.bool_] | None = None

    def __getitem__(self, rows: slice) -> Answers:
        """The answers of some rows."""
        return Answers(self.top[rows], *(None if of is None else of[rows] for of in (self.known, self.certain)))


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A model or tagger as it was loaded from a folder; it never changes."""

    name: str
    folder: Path
    loaded: Tagger | Model[Any, Any]
    label_names: tuple[str, ...]
    ids: Mapping[str, int]
    manifest: Mapping[str, Any]
    identity: Identity | None
    search: Future[LabelSearch]  # made in the background: a million names take seconds

    @property
    def takes_texts(self) -> bool:
        """True for a tagger."""
        return isinstance(self.loaded, Tagger)

    @property
    def model(self) -> Model[Any, Any]:
        """The model itself, without the words of a tagger."""
        return self.loaded.model_ if isinstance(self.loaded, Tagger) else self.loaded

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The thesaurus that the labels are ids of; None if they are plain names."""
        return self.loaded.fitted_.vocabulary if isinstance(self.loaded, Tagger) else None

    @cached_property  # asked for by every search: 8 MB for a million labels
    def label_counts(self) -> npt.NDArray[np.int64]:
        """The training rows of each label; 0 for those that came later."""
        if isinstance(self.loaded, Tagger):
            return padded_counts(self.loaded.fitted_.label_counts, self.n_labels)
        return padded_counts(self.loaded.fitted_.trained_on.label_counts, self.n_labels)

    @property
    def n_train(self) -> int:
        """How many rows it was trained on."""
        fitted = self.loaded.fitted_
        return fitted.n_texts if isinstance(fitted, FittedTagger) else fitted.trained_on.n_rows

    @property
    def n_labels(self) -> int:
        """How many labels it knows."""
        return len(self.label_names)

    @property
    def calibration(self) -> FittedCalibration | None:
        """How sure its answers are and which labels are assigned; None if that was not learnt."""
        if not isinstance(self.loaded, Tagger) or self.loaded.fitted_.calibration is None:
            return None
        return self.loaded.fitted_.sure()

    def title(self, label: str, lang: str | None) -> str | UnsetType:
        """The name of a label in the vocabulary, in a language or in its own; UNSET without a vocabulary."""
        return UNSET if self.vocabulary is None else self.vocabulary.name(label, lang)

    def check_language(self, lang: str | None) -> None:
        """DataError if names are wanted in a language in which there are none."""
        if lang is None:
            return
        if self.vocabulary is None:
            raise DataError(f"the model {self.name!r} was trained without a vocabulary: there are no names in {lang!r}")
        self.vocabulary.checked_language(lang)

    def predict_texts(self, texts: Sequence[str], k: int) -> Answers:
        """The k best labels of each text or more, on one thread: batches run beside each other.

        How sure a label is depends on the first answers of its row, so that a calibrated tagger gives at least those.
        """
        if not isinstance(self.loaded, Tagger):
            raise DataError(f"the model {self.name!r} takes features, not texts")
        state = self.loaded.fitted_
        if state.calibration is None:
            return Answers(state.predict(texts, k, 1))
        width = max(k, min(LOOKED, len(state.label_names)))
        return Answers(*state.predict_known(texts, width, 1), state.late.certain(texts))

    def predict_features(self, rows: Sequence[tuple[Sequence[int], Sequence[float]]], k: int) -> Answers:
        """The k best labels of rows given as (feature numbers, values)."""
        model = self.model
        indptr = np.cumsum([0, *(len(indices) for indices, _ in rows)])
        columns = np.array([index for indices, _ in rows for index in indices], np.int32)
        data = np.array([value for _, values in rows for value in values], np.float64)
        tagger = self.loaded.fitted_ if isinstance(self.loaded, Tagger) else None
        width = model.fitted_.n_features if tagger is None else tagger.words.n_features
        x = sparse.csr_matrix((data.astype(np.float32), columns, indptr), shape=(len(rows), width))
        x.sort_indices()
        if tagger is not None:
            return Answers(tagger.predict_rows(x, k, 1))
        model.n_threads = 1
        return Answers(model.predict(x, k))

    def check_features(self, rows: Sequence[tuple[Sequence[int], Sequence[float]]]) -> None:
        """DataError says which row does not fit the model."""
        n_features = self.model.fitted_.n_features
        largest = float(np.finfo(np.float32).max)
        for number, (indices, values) in enumerate(rows):
            if len(indices) != len(values):
                raise DataError(f"features, row {number}: {len(indices)} indices but {len(values)} values")
            if indices and max(indices) >= n_features:
                raise DataError(f"features, row {number}: {max(indices)} is outside 0..{n_features - 1}")
            if len(set(indices)) != len(indices):
                raise DataError(f"features, row {number}: an index is given twice")
            if values and max(map(abs, values)) > largest:
                raise DataError(f"features, row {number}: a value is larger than a 32-bit float can be")

    def knows(self, label: str) -> bool:
        """True if the label, or the concept of this name, is one of the model's labels."""
        return (self.loaded.fitted_.meant(label) if isinstance(self.loaded, Tagger) else label) in self.ids

    def label_number(self, label: int | str) -> int:
        """The number of a label given by number, by name or by the name of its concept; DataError if there is none."""
        if isinstance(label, str):
            label = self.loaded.fitted_.label_named(label) if isinstance(self.loaded, Tagger) else label
            if label not in self.ids:
                raise DataError(unknown_label(label, self.ids))
            return self.ids[label]
        if not 0 <= label < self.n_labels:
            raise DataError(f"label {label} is outside 0..{self.n_labels - 1}")
        return label

    def label_numbers(self, labels: Iterable[int | str]) -> frozenset[int]:
        """The numbers of labels that are given by number or name; with a vocabulary also "below:ID" and "scheme:ID"."""
        numbers: set[int] = set()
        for label in labels:
            if isinstance(self.loaded, Tagger) and isinstance(label, str):
                chosen = self.loaded.fitted_.chosen(label)
                numbers.update(self.ids[name] for name in chosen if name in self.ids)
            else:
                numbers.add(self.label_number(label))
        return frozenset(numbers)


def folder_identity(folder: Path) -> Identity | None:
    """What tells a saved folder from its successor, without reading it; None if there is none."""
    try:
        status = (folder / MANIFEST).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def load_served(name: str, folder: Path, background: ThreadPoolExecutor, *, verify: bool = False) -> ServedModel:
    """The model of a folder, ready to answer: everything is checked, and one question was answered."""
    identity = folder_identity(folder)
    loaded = load(folder, verify=verify)
    model = loaded.model_ if isinstance(loaded, Tagger) else loaded
    classes = model.fitted_.trained_on.classes
    label_names = classes.names if classes.names is not None else tuple(map(str, classes.array().tolist()))
    vocabulary = None
    if isinstance(loaded, Tagger):
        label_names, vocabulary = loaded.label_names, loaded.fitted_.vocabulary
        loaded.predict_top(["a first question"], 1)
    search = background.submit(searched_names, label_names, vocabulary)
    manifest = read_manifest(folder)
    return ServedModel(name, folder, loaded, label_names, name_ids(label_names), manifest, identity, search)


class ServedModels:
    """The models of a service by name; the first is the usual one. A reload puts a whole new model in one's place."""

    def __init__(self, folders: Mapping[str, Path], *, verify: bool = False) -> None:
        self._verify = verify
        self._background = ThreadPoolExecutor(1, "background")
        self._by_name = {
            name: load_served(name, folder, self._background, verify=verify) for name, folder in folders.items()
        }
        self._refused: dict[str, Identity | None] = {}

    def __iter__(self) -> Any:
        return iter(list(self._by_name.values()))

    def get(self, name: str | None) -> ServedModel | None:
        """The model of that name, the usual one for None, and None if there is no such model."""
        return next(iter(self._by_name.values())) if name is None else self._by_name.get(name)

    def changed(self) -> list[str]:
        """The names of models whose folders have changed since they were loaded or refused."""
        return [
            served.name
            for served in self
            if (now := folder_identity(served.folder)) not in (None, served.identity)
            and now != self._refused.get(served.name)
        ]

    def reload(self, name: str) -> None:
        """Put the model that is in the folder now in place of the old one; if it is damaged the old one stays."""
        old = self._by_name[name]
        seen = folder_identity(old.folder)
        try:
            new = load_served(name, old.folder, self._background, verify=self._verify)
        except LabelwoodError:
            self._refused[name] = seen
            raise
        self._by_name[name] = new
        self._refused.pop(name, None)

    def close(self) -> None:
        """End the background thread."""
        self._background.shutdown(wait=False, cancel_futures=True)
