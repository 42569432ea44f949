"""FitInput: what a model is trained on, checked once and never changed; TrainedOn: what a model remembers of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.data.groups import group_numbers
from labelwood.errors import DataError
from labelwood.labelindex.tree import LabelTree
from labelwood.labelspace.classes import Classes, understood
from labelwood.matrices import as_features, as_labels, check_same_rows, column_names
from labelwood.progress import SILENT, Progress


@dataclass(frozen=True, eq=False)
class TrainedOn:
    """What a model remembers of its training rows: their number, and of every label its rows and what it stands for."""

    n_rows: int
    n_features: int
    label_counts: npt.NDArray[np.int64]
    classes: Classes
    column_names: tuple[str, ...] | None = None  # of a data frame, if the rows came in one

    @property
    def n_labels(self) -> int:
        """The number of label columns."""
        return len(self.label_counts)

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """The names of the labels, if they have some."""
        return self.classes.names


@dataclass(frozen=True, eq=False)
class FitInput:
    """Checked training rows and what came with them.

    x: float32 CSR (n_rows, n_features). y: CSR of ones (n_rows, n_labels). texts: one a row, for models that read them.
    feature_names: the words behind the columns of x. called: the names of every label, one a line, where its own is an
    id. stemmed: their usual names in the words of feature_names, where those are stems. row_weights: how much each row
    counts, if not all the same. tree, negatives, label_graph: what some models take in place of their own. groups: the
    number of the group of each row; rows of one group are held out together.
    """

    x: sparse.csr_matrix
    y: sparse.csr_matrix
    classes: Classes
    texts: Sequence[str] | None = None
    feature_names: Sequence[str] | None = None
    column_names: tuple[str, ...] | None = None
    row_weights: npt.NDArray[np.float32] | None = None
    tree: LabelTree | None = None
    negatives: sparse.csr_matrix | None = None
    label_graph: Any = None
    called: tuple[str, ...] | None = None
    stemmed: tuple[str, ...] | None = None
    groups: npt.NDArray[np.int64] | None = None
    progress: Progress = SILENT

    @property
    def n_labels(self) -> int:
        """The number of label columns."""
        return int(self.y.shape[1])

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """The names of the labels, if they have some."""
        return self.classes.names

    @property
    def label_words(self) -> tuple[str, ...] | None:
        """What each label is called: its names, one a line, the usual one first; None if labels are but numbers."""
        return self.label_names if self.called is None else self.called

    @property
    def label_stems(self) -> tuple[str, ...] | None:
        """The usual name of each label, in stems where the names of the columns are stems."""
        return self.label_words if self.stemmed is None else self.stemmed

    def trained_on(self) -> TrainedOn:
        """What a model keeps of this input."""
        counts = np.bincount(self.y.indices, minlength=self.n_labels).astype(np.int64)
        return TrainedOn(int(self.x.shape[0]), int(self.x.shape[1]), counts, self.classes, self.column_names)

    def take(self, rows: npt.NDArray[np.int64]) -> FitInput:
        """The same input with some of the rows, in the order given."""
        return replace(
            self,
            x=self.x[rows],
            y=self.y[rows],
            texts=None if self.texts is None else [self.texts[row] for row in rows],
            row_weights=None if self.row_weights is None else self.row_weights[rows],
            negatives=None if self.negatives is None else self.negatives[rows],
            groups=None if self.groups is None else self.groups[rows],
        )

    def with_progress(self, progress: Progress) -> FitInput:
        """The same input, reporting somewhere else."""
        return replace(self, progress=progress)


def checked_input(
    x: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    tree: LabelTree | None = None,
    negatives: Any = None,
    label_graph: Any = None,
    groups: Any = None,
    progress: Progress = SILENT,
    what: str = "fit",
) -> FitInput:
    """The input of a training run, from features x and labels y in any of their forms, or from a Dataset.

    DataError says what does not fit; nothing of the caller's is changed.
    """
    if isinstance(x, Dataset):
        if y is not None:
            raise DataError(f"{what} takes a Dataset alone, or x and y")
        if groups is not None and x.groups is not None:
            raise DataError(f"{what}: the Dataset has groups already; give them once")
        groups = x.groups if groups is None else groups
        names = None if x.label_names is None else tuple(x.label_names)
        features, labels, classes = as_features(x.features()), as_labels(x.y), Classes(x.n_labels, names=names)
        texts, feature_names, columns = x.texts, x.feature_names, None
        called = None if x.label_words is None else tuple(x.label_words)
        stemmed = None if x.label_stems is None else tuple(x.label_stems)
    else:
        if y is None:
            raise DataError(
                f"{what} requires y to be passed, but the target y is None: {what}(x, y) or {what}(dataset)"
            )
        columns = column_names(x)
        features = as_features(x)
        labels, classes = understood(y)
        texts, feature_names, called, stemmed = None, columns, None, None
    check_same_rows(features, labels)
    if features.shape[0] == 0:
        raise DataError(f"{what} needs at least one row")
    if labels.shape[1] == 0:
        raise DataError(f"{what} needs at least one label column, but no row has a label")
    spare = None if negatives is None else as_labels(negatives, "negatives")
    if spare is not None and spare.shape != labels.shape:
        raise DataError(f"negatives has the shape {spare.shape}, but must have that of y, {labels.shape}")
    return FitInput(
        features,
        labels,
        classes,
        texts=texts,
        feature_names=feature_names,
        column_names=columns,
        called=called,
        stemmed=stemmed,
        row_weights=_checked_weights(sample_weight, features.shape[0]),
        tree=tree,
        negatives=spare,
        label_graph=label_graph,
        groups=None if groups is None else group_numbers(groups, features.shape[0]),
        progress=progress,
    )


def _checked_weights(sample_weight: Any, n_rows: int) -> npt.NDArray[np.float32] | None:
    """The weights as float32; None if all rows count the same."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, np.float32)
    except (TypeError, ValueError):
        raise DataError(f"sample_weight must hold a number for each row, but is {sample_weight!r:.60}") from None
    if weights.ndim == 0:
        weights = np.full(n_rows, weights, np.float32)
    if weights.shape != (n_rows,):
        raise DataError(f"sample_weight must hold {n_rows} numbers, one a row, but has the shape {weights.shape}")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        raise DataError(f"sample_weight, row {wrong[0]}: must be a number from 0 up, but is {weights[wrong[0]]}")
    if not weights.any():
        raise DataError("sample_weight is zero for every row: there is nothing to learn")
    return None if np.all(weights == 1) else weights
