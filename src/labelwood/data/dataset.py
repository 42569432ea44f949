"""Dataset: rows with features or texts (or both) and labels, aligned and immutable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.groups import listed
from labelwood.errors import DataError
from labelwood.matrices import as_features, as_labels, check_same_rows


@dataclass(frozen=True)
class TableForm:
    """How a table was read: its text columns, its label columns, and what its label cells were cut at (None: lists).

    headless: it is a table of two columns in which no line was taken for a header. delimiter: what stands between
    cells where CSV is written for the same people, comma or semicolon; of_excel: it came in an encoding with a mark, or
    of Windows, as Excel writes and reads it.
    """

    text: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    separator: str | None = None
    headless: bool = False
    delimiter: str = ","
    of_excel: bool = False

    def saved(self) -> dict[str, Any]:
        """The form as JSON holds it; `restored` takes it back."""
        return {"text": list(self.text), "labels": list(self.labels), "separator": self.separator}

    @classmethod
    def restored(cls, saved: Any) -> TableForm:
        """The form of what `saved` gave; DataError if it is something else."""
        shape = {name: type(value) for name, value in saved.items()} if isinstance(saved, dict) else {}
        names = [*saved["text"], *saved["labels"]] if shape.get("text") is shape.get("labels") is list else [None]
        if not all(isinstance(name, str) for name in names) or shape.get("separator") not in (str, type(None)):
            raise DataError(f"text, labels and separator of a table are expected, but got {saved!r:.80}")
        return cls(tuple(saved["text"]), tuple(saved["labels"]), saved["separator"])


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows to learn from or to judge by: features `x`, labels `y`, and what is known beside them.

    x: CSR float32 (n_rows, n_features), or None for raw texts. y: CSR of ones (n_rows, n_labels).
    texts and row_ids: one a row. label_names: one a column of y. feature_names: one a column of x.
    label_words: what each label is called, where label_names are ids: its names, one a line, the usual one first.
    label_stems: the usual name of each label in the words of feature_names, where those are stems.
    filter_pairs: int64 (m, 2) pairs (row, label) to leave out of an evaluation (LF-* data sets).
    source: where it came from. notes: what the reader wants to tell (index base found, rows skipped, ...).
    index_base: the number of the first feature in the file, where files differ in it (svmlight).
    form: how the table was read that it came from. columns: name -> values of every column of that table, one a row,
    kept only when `read(keep_columns=True)` asks for them. groups: what group each row is of, such as a customer (None,
    NaN, "": of none): rows of one group are held out together, and a split keeps them on one side.
    """

    x: sparse.csr_matrix | None
    y: sparse.csr_matrix
    texts: Sequence[str] | None = None
    label_names: Sequence[str] | None = None
    feature_names: Sequence[str] | None = None
    row_ids: Sequence[str] | None = None
    filter_pairs: npt.NDArray[np.int64] | None = None
    source: str = "memory"
    notes: tuple[str, ...] = ()
    index_base: int | None = None
    form: TableForm | None = None
    columns: Mapping[str, Sequence[Any]] | None = None
    label_words: Sequence[str] | None = None
    label_stems: Sequence[str] | None = None
    groups: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        if self.x is None and self.texts is None:
            raise DataError(f"{self.source}: a data set needs features (x) or texts")
        y = as_labels(self.y)
        object.__setattr__(self, "y", y)
        if self.x is not None:
            x = as_features(self.x)
            object.__setattr__(self, "x", x)
            check_same_rows(x, y)
        if self.groups is not None:
            object.__setattr__(self, "groups", listed(self.groups))
        for name, items, expected, what in (
            ("texts", self.texts, y.shape[0], "rows"),
            ("row_ids", self.row_ids, y.shape[0], "rows"),
            ("groups", self.groups, y.shape[0], "rows"),
            ("label_names", self.label_names, y.shape[1], "label columns"),
            ("label_words", self.label_words, y.shape[1], "label columns"),
            ("label_stems", self.label_stems, y.shape[1], "label columns"),
            ("feature_names", self.feature_names, None if self.x is None else self.x.shape[1], "feature columns"),
        ):
            if items is None or expected is None:
                continue
            if len(items) != expected:
                raise DataError(f"{self.source}: {len(items)} {name} for {expected} {what}")
            object.__setattr__(self, name, tuple(items))
        for name, values in (self.columns or {}).items():
            if len(values) != y.shape[0]:
                raise DataError(f"{self.source}: {len(values)} values of column {name!r} for {y.shape[0]} rows")
        if self.filter_pairs is not None:
            object.__setattr__(self, "filter_pairs", _checked_pairs(self.filter_pairs, y.shape, self.source))

    def __repr__(self) -> str:
        """Its sizes, not its rows: a notebook would print a million of them."""
        parts = [f"n_rows={self.n_rows}"]
        parts += [] if self.texts is None else ["with texts"]
        parts += [] if self.x is None else [f"n_features={self.n_features}"]
        return f"Dataset({', '.join([*parts, f'n_labels={self.n_labels}', f'source={self.source!r}'])})"

    def __len__(self) -> int:
        return int(self.y.shape[0])

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.y.shape[0])

    @property
    def n_labels(self) -> int:
        """The number of label columns, used or not."""
        return int(self.y.shape[1])

    @property
    def n_features(self) -> int:
        """The number of feature columns; 0 when there are only texts."""
        return 0 if self.x is None else int(self.x.shape[1])

    def features(self) -> sparse.csr_matrix:
        """The feature matrix; DataError if the rows are raw texts."""
        if self.x is None:
            raise DataError(
                f"{self.source}: the rows are texts without features; use labelwood.Tagger (or `labelwood train` with "
                "--text), which makes features from texts"
            )
        return self.x

    def take(self, rows: Any) -> Dataset:
        """The data set of some rows (a slice, a mask or an index array), everything kept aligned."""
        index = np.arange(self.n_rows)[rows]
        pairs = None
        if self.filter_pairs is not None:
            place = np.full(self.n_rows, -1, np.int64)
            place[index] = np.arange(len(index))
            kept = place[self.filter_pairs[:, 0]] >= 0
            pairs = np.column_stack([place[self.filter_pairs[kept, 0]], self.filter_pairs[kept, 1]])
        return replace(
            self,
            x=None if self.x is None else self.x[index],
            y=self.y[index],
            texts=None if self.texts is None else [self.texts[i] for i in index],
            row_ids=None if self.row_ids is None else [self.row_ids[i] for i in index],
            groups=None if self.groups is None else [self.groups[i] for i in index],
            filter_pairs=pairs,
            columns=None
            if self.columns is None
            else {name: [values[i] for i in index] for name, values in self.columns.items()},
        )

    def split(self, test: float = 0.2, seed: int = 0, stratify: bool | None = None) -> tuple[Dataset, Dataset]:
        """(training part, test part), as `labelwood.data.split.split` makes them."""
        from labelwood.data.split import split

        return split(self, test=test, seed=seed, stratify=stratify)


def _checked_pairs(pairs: Any, shape: tuple[int, int], source: str) -> npt.NDArray[np.int64]:
    array = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    for column, size, what in ((0, shape[0], "row"), (1, shape[1], "label")):
        bad = np.flatnonzero((array[:, column] < 0) | (array[:, column] >= size))
        if len(bad):
            raise DataError(
                f"{source}, filter pair {bad[0] + 1}: {what} {array[bad[0], column]} is outside 0..{size - 1}"
            )
    return array
