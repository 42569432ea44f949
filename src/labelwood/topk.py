"""TopK: the one result type, used by models, metrics, ensembles, the CLI and the server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import DataError, ParamError

PAD = -1
USUAL_K = 5  # how many labels a row is answered with unless told
# More answers than labels are padding, 8 bytes for each place of each row: a convenience up to here, a slip beyond.
MOST_PADDED = 10_000
# What a repr shows: a page of a notebook at most.
SHOWN_ROWS, SHOWN_K = 5, 10


@dataclass(frozen=True, eq=False)
class TopK:
    """The k best labels of each row, best first: labels int32 (n, k), scores float32 (n, k).

    Rows with fewer than k answers are padded with label -1 and score -inf. Equal scores go to the smaller label.
    nearness: how like its most similar training row each row is, float32 (n,), from models that look; else None.
    """

    labels: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float32]
    nearness: npt.NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        labels = np.asarray(self.labels)
        scores = np.asarray(self.scores)
        if labels.ndim != 2 or labels.shape != scores.shape:
            raise DataError(
                f"TopK needs labels and scores of one shape (n, k), but got {labels.shape} and {scores.shape}"
            )
        if labels.size and not np.issubdtype(labels.dtype, np.integer):
            raise DataError(f"TopK labels must be integers, but are {labels.dtype}")
        if labels.size and int(labels.min()) < PAD:
            raise DataError(f"TopK labels must be -1 (padding) or above, but the smallest is {labels.min()}")
        object.__setattr__(self, "labels", np.ascontiguousarray(labels, dtype=np.int32))
        object.__setattr__(self, "scores", np.ascontiguousarray(scores, dtype=np.float32))
        if self.nearness is not None:
            nearness = np.ascontiguousarray(self.nearness, dtype=np.float32)
            if nearness.shape != labels.shape[:1]:
                raise DataError(f"TopK nearness must be one number for each of {len(labels)} rows: {nearness.shape}")
            object.__setattr__(self, "nearness", nearness)

    def __repr__(self) -> str:
        """The first rows, best label first, as a notebook shows them."""
        shown = [", ".join(f"{label}: {score:.4g}" for label, score in row) for row in self[:SHOWN_ROWS].cut(SHOWN_K)]
        places = ", ..." if self.k > SHOWN_K else ""
        lines = [f"  row {row}: {text or 'no label'}{places if text else ''}" for row, text in enumerate(shown)]
        lines += ["  ..."] if len(self) > SHOWN_ROWS else []
        return "\n".join([f"TopK(n_rows={len(self)}, k={self.k}): label: score", *lines])

    def __len__(self) -> int:
        return int(self.labels.shape[0])

    @property
    def k(self) -> int:
        """The number of answer places in each row."""
        return int(self.labels.shape[1])

    def __getitem__(self, rows: Any) -> TopK:
        """The TopK of some rows (an integer, a slice, a mask or an index array)."""
        if isinstance(rows, (int, np.integer)):
            rows = [rows]
        return TopK(self.labels[rows], self.scores[rows], None if self.nearness is None else self.nearness[rows])

    def __iter__(self) -> Iterator[list[tuple[int, float]]]:
        """Each row as a list of (label, score), padding left out."""
        for labels, scores in zip(self.labels.tolist(), self.scores.tolist(), strict=True):
            yield [(label, score) for label, score in zip(labels, scores, strict=True) if label != PAD]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """The labels (n, k), for np.asarray."""
        return np.array(self.labels, dtype=dtype, copy=True if copy is None else copy)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """The TopK of several in a row for np.concatenate, which scikit-learn's cross_val_predict calls."""
        if function is not np.concatenate or kwargs or len(args) != 1:
            return NotImplemented
        return joined(args[0])

    def cut(self, k: int) -> TopK:
        """The first k answers of each row, padded if there are fewer."""
        if k <= self.k:
            return TopK(self.labels[:, :k], self.scores[:, :k], self.nearness)
        wide = empty(len(self), k, self.nearness)
        wide.labels[:, : self.k] = self.labels
        wide.scores[:, : self.k] = self.scores
        return wide

    def names(self, label_names: Sequence[str]) -> list[list[tuple[str, float]]]:
        """Each row as a list of (label name, score)."""
        return [[(label_names[label], score) for label, score in row] for row in self]

    def to_csr(self, n_labels: int) -> sparse.csr_matrix:
        """The scores as a sparse (n, n_labels) matrix, as PECOS and xclib users know it."""
        real = self.labels != PAD
        indptr = np.concatenate([[0], np.cumsum(real.sum(axis=1))])
        matrix = sparse.csr_matrix((self.scores[real], self.labels[real], indptr), shape=(len(self), n_labels))
        matrix.sort_indices()
        return matrix

    @classmethod
    def from_csr(cls, scores: sparse.spmatrix, k: int) -> TopK:
        """The k best stored entries of each row of a sparse score matrix."""
        matrix = sparse.csr_matrix(scores)
        top = empty(matrix.shape[0], k)
        for row in range(matrix.shape[0]):
            part = slice(matrix.indptr[row], matrix.indptr[row + 1])
            labels, values = matrix.indices[part], matrix.data[part]
            order = np.lexsort((labels, -values))[:k]
            top.labels[row, : len(order)] = labels[order]
            top.scores[row, : len(order)] = values[order]
        return top

    @classmethod
    def from_lists(cls, rows: Sequence[Sequence[tuple[int, float]]], k: int | None = None) -> TopK:
        """The TopK of lists of (label, score), given best first."""
        width = k if k is not None else max((len(row) for row in rows), default=0)
        top = empty(len(rows), width)
        for i, row in enumerate(rows):
            for j, (label, score) in enumerate(row[:width]):
                top.labels[i, j] = label
                top.scores[i, j] = score
        return top


def joined(parts: Sequence[TopK]) -> TopK:
    """The TopK of the rows of several, one behind the other; all must have as many places."""
    nearness = [part.nearness for part in parts if part.nearness is not None]
    return TopK(
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.scores for part in parts]),
        np.concatenate(nearness) if nearness and len(nearness) == len(parts) else None,
    )


def checked_k(k: Any, n_labels: int) -> int:
    """The k as an int; ParamError unless it is a whole number from 1 to n_labels, or to MOST_PADDED if that is more."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise ParamError(f"k must be a whole number from 1 up, but is {k!r}")
    most = max(n_labels, MOST_PADDED)
    if k > most:
        raise ParamError(f"k must be at most {most} where there are {n_labels} labels, but is {k}")
    return int(k)


def empty(n_rows: int, k: int, nearness: npt.NDArray[np.float32] | None = None) -> TopK:
    """A TopK of padding only, to be filled by a model."""
    top = object.__new__(TopK)  # nothing to check: a single query would feel it
    object.__setattr__(top, "labels", np.full((n_rows, k), PAD, np.int32))
    object.__setattr__(top, "scores", np.full((n_rows, k), -np.inf, np.float32))
    object.__setattr__(top, "nearness", nearness)
    return top
