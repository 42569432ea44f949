"""How much two labels belong together, between 0 and 1, from how often they occur together in all training rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import ParamError, unknown_name
from labelwood.labelspace.cooccurrence import cooccurrence
from labelwood.matrices import as_labels

AFFINITIES = ("arithmetic", "geometric", "pmi", "jaccard")
# Up to so many label pairs (12 bytes each) the whole matrix is kept; above, blocks are made from the label columns.
KEPT_PAIRS = 30_000_000

Floats = npt.NDArray[np.float32]


class LabelAffinity:
    """The symmetric matrix U of label affinities with diagonal 1, given out block by block.

    With A the co-occurrence counts of all rows: "arithmetic" (A_ij / A_ii + A_ij / A_jj) / 2, the mean of the two
    conditional frequencies (GLaS, Guo et al., NeurIPS 2019, section 3.2); "geometric" A_ij / sqrt(A_ii A_jj); "pmi" the
    pointwise mutual information divided by -log(A_ij / n), negative values as 0; "jaccard" A_ij / (A_ii + A_jj - A_ij).
    A label without rows belongs to itself alone.
    """

    def __init__(self, y: Any, kind: str = "arithmetic", kept_pairs: int = KEPT_PAIRS) -> None:
        if kind not in AFFINITIES:
            raise ParamError(unknown_name("affinity", kind, AFFINITIES))
        labels = as_labels(y)
        self.kind = kind
        self.n_rows = int(labels.shape[0])
        self.n_labels = int(labels.shape[1])
        self.counts = np.bincount(labels.indices, minlength=self.n_labels).astype(np.float64)
        pairs = float(np.square(np.diff(labels.indptr).astype(np.float64)).sum())
        self._whole: sparse.csr_matrix | None = None
        if pairs <= kept_pairs:
            self._whole = self._from_counts(cooccurrence(labels))
        else:
            self._columns = labels.tocsc()

    def block(self, labels: npt.ArrayLike) -> Floats:
        """U of some distinct labels among themselves, float32 (b, b)."""
        wanted = np.asarray(labels, dtype=np.int64)
        table = np.zeros((len(wanted), len(wanted)), np.float32)
        if self._whole is not None:
            part = self._whole[wanted]
            place = np.full(self.n_labels, -1, np.int64)
            place[wanted] = np.arange(len(wanted))
            column = place[part.indices]
            inside = column >= 0
            row = np.repeat(np.arange(len(wanted)), np.diff(part.indptr))
            table[row[inside], column[inside]] = part.data[inside]
        else:
            columns = self._columns[:, wanted]
            together = (columns.T @ columns).tocoo()
            table[together.row, together.col] = self._values(together.data, wanted[together.row], wanted[together.col])
        np.fill_diagonal(table, 1.0)
        return table

    def _from_counts(self, counts: sparse.csr_matrix) -> sparse.csr_matrix:
        row = np.repeat(np.arange(self.n_labels), np.diff(counts.indptr))
        values = self._values(counts.data, row, counts.indices)
        return sparse.csr_matrix((values, counts.indices, counts.indptr), shape=counts.shape)

    def _values(self, together: Any, first: Any, second: Any) -> Floats:
        both = np.asarray(together, dtype=np.float64)
        rows_of_first, rows_of_second = self.counts[first], self.counts[second]
        if self.kind == "arithmetic":
            values = 0.5 * (both / rows_of_first + both / rows_of_second)
        elif self.kind == "geometric":
            values = both / np.sqrt(rows_of_first * rows_of_second)
        elif self.kind == "jaccard":
            values = both / (rows_of_first + rows_of_second - both)
        else:
            log_share = np.log(both / self.n_rows)
            pmi = log_share - np.log(rows_of_first / self.n_rows) - np.log(rows_of_second / self.n_rows)
            # Labels of every row: log_share is 0 and they always go together.
            values = np.where(log_share < 0, pmi / np.where(log_share < 0, -log_share, 1.0), 1.0)
        return np.asarray(np.clip(values, 0.0, 1.0), dtype=np.float32)
