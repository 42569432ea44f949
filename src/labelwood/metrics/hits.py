"""The hit matrix: which predicted labels are true. Computed once; every metric is made from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import DataError
from labelwood.matrices import as_labels, column_ids, row_pointers
from labelwood.topk import PAD, TopK

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Hits:
    """Predictions beside the truth: hit[i, j] is 1 if the j-th answer of row i is a true label of that row.

    top: the predictions (n, k). y: the truth, CSR of ones (n, n_labels). hit: uint8 (n, k). n_true: int64
    (n,).
    """

    top: TopK
    y: sparse.csr_matrix
    hit: npt.NDArray[np.uint8]
    n_true: Ints
    _upto: dict[int, Ints] = field(default_factory=dict, repr=False)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.hit.shape[0])

    @property
    def n_labels(self) -> int:
        """The number of label columns, used or not."""
        return int(self.y.shape[1])

    def upto(self, k: int) -> Ints:
        """The hits among the first k answers of each row, int64 (n,); beyond the last place there are none."""
        k = min(k, self.top.k)
        if k not in self._upto:
            # Start from the nearest smaller k that is known: with k = 1, 3, 5 every column is added once.
            known = max((done for done in self._upto if done < k), default=0)
            counts = self._upto[known].copy() if known else np.zeros(self.n_rows, np.int64)
            if k - known <= 8:  # a few strided columns are faster than numpy's reduction over a short axis
                for j in range(known, k):
                    counts += self.hit[:, j]
            else:
                counts += self.hit[:, known:k].sum(axis=1, dtype=np.int64)
            self._upto[k] = counts
        return self._upto[k]

    def answered(self, k: int) -> Ints:
        """The number of answers (not padding) among the first k places of each row, int64 (n,)."""
        counts = np.zeros(self.n_rows, np.int64)
        for j in range(k):  # column by column: numpy is slow over a short last axis
            counts += self.top.labels[:, j] != PAD
        return counts


def hit_matrix(top: TopK, y: Any, *, n_threads: int | None = None) -> Hits:
    """The Hits of a prediction; DataError if rows do not match, or a label is given twice or is outside y."""
    truth = as_labels(y)
    if len(top) != truth.shape[0]:
        raise DataError(f"the prediction has {len(top)} rows but y has {truth.shape[0]}")
    if len(top) == 0:
        raise DataError("the prediction has no rows: nothing to evaluate")
    indptr = row_pointers(truth)
    hit = np.empty(top.labels.shape, np.uint8)
    bad = _native.hit_matrix(top.labels, indptr, column_ids(truth), truth.shape[1], hit, n_threads or 0)
    if bad >= 0:
        raise DataError(_fault(top, bad, truth.shape[1]))
    return Hits(top, truth, hit, np.diff(indptr))


def _fault(top: TopK, row: int, n_labels: int) -> str:
    seen: set[int] = set()
    for label in top.labels[row].tolist():
        if label >= n_labels:
            return f"prediction, row {row}: label {label} is outside 0..{n_labels - 1}"
        if label != PAD and label in seen:
            return f"prediction, row {row}: label {label} is given twice; each label may be answered once"
        seen.add(label)
    return f"prediction, row {row}: damaged"
