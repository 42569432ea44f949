"""Texts and labels as callers give them: checked, and turned into rows, a label matrix and names."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.copies import copies_together
from labelwood.data.dataset import Dataset
from labelwood.data.groups import group_numbers, is_missing, listed
from labelwood.errors import DataError
from labelwood.labelspace.classes import understood
from labelwood.tagger.learning import Lesson


def checked_texts(texts: Iterable[str]) -> list[str]:
    """The texts as a list; DataError says which one is no string."""
    if isinstance(texts, (str, bytes, Path)):
        raise DataError(f"texts must be a list of texts, but {_one_text(texts)}")
    if isinstance(texts, Dataset):
        raise DataError("texts must be a list of texts, but a Dataset came; write data.texts")
    if isinstance(texts, Mapping):
        listed_keys = ", ".join(map(repr, list(texts)[:10]))
        raise DataError(f"texts must be a list of texts, but a dict with the keys {listed_keys} came")
    if texts is None or not isinstance(texts, Iterable):
        raise DataError(f"texts must be a list of texts, but got {texts!r}")
    if hasattr(texts, "to_pylist"):  # a column of Arrow, whose items are no strings
        texts = texts.to_pylist()
    columns = getattr(texts, "columns", None)
    if columns is not None:  # of a data frame, whose iteration gives the names of its columns
        names = list(columns)
        listed = ", ".join(map(str, names[:10]))
        what = f"with columns {listed}" if len(names) > 1 else "of one column"
        raise DataError(f"texts must be a column, but a table {what} came; write table[{(names or ['text'])[0]!r}]")
    rows = list(texts)
    for row, text in enumerate(rows):
        if not isinstance(text, str):
            hint = "; leave rows without a text out, or give ''" if is_missing(text) else ""
            raise DataError(f"texts, row {row}: expected a string, but got {text!r}{hint}")
    return rows


def _one_text(text: str | bytes | Path) -> str:
    """What came in place of a list of texts, and what to write instead."""
    if not isinstance(text, bytes):
        try:
            a_file = Path(text).is_file()
        except (OSError, ValueError):  # too long a name, or a NUL in it: a text
            a_file = False
        if a_file:
            return f"the name of a file came; labelwood.read({str(text)!r}) gives its rows"
    return f"{'a path' if isinstance(text, Path) else 'one string'} came; write [text]"


def held_together(
    texts: Any, groups: Any, rows: Sequence[str], y: sparse.csr_matrix
) -> tuple[npt.NDArray[np.int64] | None, tuple[str, ...]]:
    """(the number of the group of each row, what there is to say): groups of a Dataset, or as given beside the texts.

    Without them copies are groups where there are many, else there are none.
    """
    of_rows = texts.groups if isinstance(texts, Dataset) else None
    if of_rows is not None and groups is not None:
        raise DataError("fit: the Dataset has groups already; give them once")
    given = of_rows if groups is None else groups
    if given is not None:
        return group_numbers(given, len(rows)), ()
    return copies_together(rows, y)


def training_rows(texts: Any, labels: Any) -> tuple[Sequence[str], sparse.csr_matrix, tuple[str, ...]]:
    """(texts, y, label names) to train on, checked."""
    if isinstance(texts, Dataset):
        if labels is not None:
            raise DataError("fit takes a Dataset alone, or texts and labels")
        rows, y = texts_of(texts), texts.y
        label_names = tuple(texts.label_names or (str(number) for number in range(texts.n_labels)))
    else:
        rows = checked_texts(texts)
        y, label_names = named_labels(labels_for(labels))
        check_as_many(len(rows), y.shape[0])
    if not len(rows):
        raise DataError("fit needs at least one text")
    if y.nnz == 0:
        raise DataError("no text has a label: there is nothing to learn")
    return rows, y, label_names


def lesson_of(
    texts: Any,
    labels: Any,
    ids: Sequence[str] | None,
    groups: Sequence[Any] | None = None,
    known: Container[str] | None = None,
) -> Lesson:
    """The texts, label names, ids and groups to learn from, checked; texts without any label are corrections, too.

    known: the tagger's labels, for `named_labels`.
    """
    if isinstance(texts, Dataset):
        if labels is not None or ids is not None or groups is not None:
            raise DataError("learn takes a Dataset alone, or texts, labels, ids and groups")
        rows, y, ids, groups = texts_of(texts), texts.y, texts.row_ids, texts.groups
        names = tuple(texts.label_names or (str(number) for number in range(texts.n_labels)))
    else:
        rows = checked_texts(texts)
        y, names = named_labels(labels_for(labels), known)
        check_as_many(len(rows), y.shape[0])
    if ids is not None and len(ids) != len(rows):
        raise DataError(f"there are {len(rows)} texts but {len(ids)} ids: each text needs its own")
    if groups is not None and len(groups := listed(groups)) != len(rows):
        raise DataError(f"there are {len(groups)} groups for {len(rows)} texts: give one for each text")
    lists = [[names[label] for label in row] for row in np.split(y.indices, y.indptr[1:-1])] if len(rows) else []
    return Lesson(rows, lists, ids, groups)


def named_labels(labels: Any, known: Container[str] | None = None) -> tuple[sparse.csr_matrix, tuple[str, ...]]:
    """(y, the name of each column): ids and column numbers become names as they are written.

    known: the labels of a tagger; DataError if labels are a matrix without names and no column's number is one of them.
    """
    y, classes = understood(labels, "labels")
    if classes.names is not None:
        return y, classes.names
    names = tuple(str(label) for label in classes.array().tolist())
    if known is not None and classes.ids is None and names and not any(name in known for name in names):
        fault = (
            "labels are a matrix without names of its columns, but the tagger knows labels by name; give lists of names"
        )
        raise DataError(f"{fault}, or a data frame whose columns are the names")
    return y, names


def texts_of(data: Dataset) -> Sequence[str]:
    """The texts of a data set; DataError if it has none."""
    if data.texts is None:
        raise DataError(f"{data.source}: its rows have features but no texts, and a Tagger works on texts; use a model")
    return data.texts


def labels_for(labels: Any) -> Any:
    """The labels themselves; DataError if there are none."""
    if labels is None:
        raise DataError("labels are missing: give one list of names for each text, or a Dataset with texts")
    return labels


def check_as_many(n_texts: int, n_lists: int) -> None:
    """DataError unless every text has its list of labels."""
    if n_texts != n_lists:
        raise DataError(f"there are {n_texts} texts but {n_lists} lists of labels: each text needs its own list")
