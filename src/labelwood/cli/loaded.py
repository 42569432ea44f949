"""A saved model or tagger behind one face: reads the data that fits it, answers, and names its labels."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelwood.cli.inputs import read_data
from labelwood.errors import DataError, ParamError
from labelwood.progress import SILENT, Progress

if TYPE_CHECKING:
    from scipy import sparse

    from labelwood.data.dataset import Dataset
    from labelwood.topk import TopK


class Loaded:
    """What a saved folder holds, and how to ask it."""

    def __init__(self, folder: Path, threads: int | None = None, *, verify: bool = False) -> None:
        from labelwood.loading import load
        from labelwood.storage.load import read_manifest
        from labelwood.tagger.tagger import Tagger

        loaded = load(folder, verify=verify)
        self.extra = read_manifest(folder)["extra"]
        self.folder = folder
        loaded.n_threads = threads
        self.tagger = loaded if isinstance(loaded, Tagger) else None
        self.model = loaded.model_ if isinstance(loaded, Tagger) else loaded

    @property
    def label_names(self) -> Sequence[str] | None:
        """The names of the labels, or their ids, if they have some."""
        classes = self.model.fitted_.trained_on.classes
        return classes.names if classes.ids is None else [str(label) for label in classes.ids.tolist()]

    @property
    def no_labels(self) -> str | None:
        """The `labels` option of the reader for rows whose labels do not matter: tables may then lack the column."""
        return "" if self.tagger is not None else None

    def name(self, label: int) -> str:
        """The name of a label, else its number."""
        return self.label_names[label] if self.label_names is not None else str(label)

    def label(self, name: str) -> int:
        """The number of a label given by name or, where labels have no names, by number."""
        if self.label_names is None:
            if not (name.isascii() and name.isdigit()) or int(name) >= self.model.n_labels_:
                raise DataError(f"label {name!r} is outside 0..{self.model.n_labels_ - 1} (these labels have no names)")
            return int(name)
        from labelwood.labelspace.names import name_ids, unknown_label

        ids = name_ids(self.label_names)
        if name not in ids:
            raise DataError(unknown_label(name, ids))
        return ids[name]

    def read(self, path: Path, *, progress: Progress = SILENT, quiet: bool = False, **choices: Any) -> Dataset:
        """The data of a file, read as this model needs it: texts for a tagger, features for a model."""
        if self.tagger is not None and str(path) == "-":
            return _lines_of_stdin()
        choices.update(self._fitting(path, choices))
        return read_data(path, progress=progress, quiet=quiet, **choices)

    def _fitting(self, path: Path, choices: Mapping[str, Any]) -> dict[str, Any]:
        """What the reader must know so that the file's columns are the model's; DataError if the file cannot fit."""
        from labelwood.data.formats import format_names
        from labelwood.data.reading.read import find_format

        kind = "folder" if path.is_dir() else choices.get("format") or find_format(path)
        if self.tagger is not None:
            if kind in format_names("features"):
                raise DataError(f"{path}: holds features, but {self.folder} is a tagger and needs texts")
            return {}
        if kind in format_names("texts"):
            raise DataError(f"{path}: holds texts, but {self.folder} is a model of feature rows")
        widths: dict[str, Any] = {"n_features": self.model.n_features_}
        if kind != "arff":  # ARFF files name their labels, and `truth` goes by the names
            widths["n_labels"] = self.model.n_labels_
        if kind == "svmlight" and choices.get("index_base") is None:
            # As in training: a test file that happens to lack the first feature would be read off by one.
            widths["index_base"] = self.extra.get("index_base")
        return widths

    def titles(self, lang: str | None = None) -> list[str] | None:
        """The names of the labels in the vocabulary; None without one."""
        if self.tagger is None or self.tagger.fitted_.vocabulary is None:
            if lang is not None:
                raise ParamError(f"--lang: {self.folder} was trained without --vocab: its labels have one name only")
            return None
        if lang is not None:
            self.tagger.fitted_.vocabulary.checked_language(lang)
        return [self.tagger.name(label, lang) for label in self.tagger.label_names]

    def predict(self, data: Dataset, k: int, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> TopK:
        """The k best labels of every row, of those that are allowed."""
        if self.tagger is not None:
            return self.tagger.predict_top(data.texts or (), k, include=include, exclude=exclude)
        if include or exclude:
            raise ParamError(f"--include and --exclude need a vocabulary, and {self.folder} is a model of feature rows")
        return self.model.predict(data.features(), k)

    def search_figures(self, data: Dataset, ks: Sequence[int]) -> dict[str, float]:
        """What the model's search costs at each k, mean per row; empty for models that do not search."""
        from labelwood.models.fitted import Fitted

        if type(self.model.fitted_).search_figures is Fitted.search_figures:
            return {}  # nothing to ask for, so texts need not be turned into features once more
        rows = data.features() if self.tagger is None else self.tagger.vectorizer_.transform(data.texts or ())
        figures: dict[str, float] = {}
        for k in ks:
            figures.update(self.model.search_figures(rows, k))
        return figures

    def truth(self, data: Dataset) -> tuple[sparse.csr_matrix, tuple[str, ...]]:
        """(y, unknown): the true labels in this model's numbering, with columns for unknown names at its end."""
        if (
            self.tagger is None
            and data.n_labels == self.model.n_labels_
            and data.label_names in (None, self.label_names)
        ):
            return data.y, ()  # the same columns; names, if any, need not even differ from each other
        if self.label_names is None or data.label_names is None:
            if self.tagger is not None:
                raise DataError(f"{data.source}: its labels have no names, but {self.folder} knows labels by name")
            raise DataError(
                f"{data.source}: has {data.n_labels} labels, but {self.folder} knows {self.model.n_labels_}"
            )
        from labelwood.labelspace.names import name_ids, renumbered

        return renumbered(data.y, data.label_names, name_ids(self.label_names))

    def metrics(
        self, top: TopK, data: Dataset, ks: Sequence[int]
    ) -> tuple[dict[str, float], sparse.csr_matrix, tuple[str, ...]]:
        """(metrics with bands, true labels, unknown names); propensities and bands come from the training counts."""
        import numpy as np

        from labelwood.metrics.evaluate import evaluate

        y, unknown = self.truth(data)
        figures = evaluate(
            top,
            y,
            train_y=self.counts(y.shape[1]),
            n_train=self.model.n_rows_,
            ks=ks,
            filter_pairs=data.filter_pairs,
            per_band=bool(np.any(self.counts(y.shape[1]))),
        )
        return figures, y, unknown

    def hierarchy_figures(
        self, top: TopK, y: sparse.csr_matrix, unknown: Sequence[str], ks: Sequence[int]
    ) -> dict[str, float]:
        """hP, hR and hF1 at each k, with a vocabulary that has broader concepts; else nothing."""
        return {} if self.tagger is None else self.tagger.fitted_.hierarchy_figures(top, y, unknown, ks)

    def counts(self, n_labels: int) -> Any:
        """Training rows of each label, with zeros for labels beyond those the model knows."""
        from labelwood.labelspace.names import padded_counts

        return padded_counts(self.model.label_counts_, n_labels)


def _lines_of_stdin() -> Dataset:
    from scipy import sparse

    from labelwood.data.dataset import Dataset

    try:
        texts = [line.rstrip("\r\n") for line in sys.stdin]
    except UnicodeDecodeError as error:
        raise DataError(f"standard input: not valid UTF-8 ({error.reason})") from None
    return Dataset(None, sparse.csr_matrix((len(texts), 0)), texts=texts, source="standard input")
