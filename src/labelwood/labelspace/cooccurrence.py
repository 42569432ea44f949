"""How often labels occur together."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from labelwood.errors import ParamError
from labelwood.matrices import as_labels

# Products of so many label pairs are made at once (8 bytes each, with some copies): memory stays below about
# 1 GB.
_PAIRS_AT_ONCE = 20_000_000


def cooccurrence(y: Any, *, max_per_label: int | None = None, diagonal: bool = True) -> sparse.csr_matrix:
    """The number of rows with both labels, CSR float32 (n_labels, n_labels): y transposed times y.

    max_per_label: keep only so many of the largest counts of each label (ties: the smaller label), its own
    count not included; the result is then no longer symmetric. diagonal: keep each label's own count.
    """
    if max_per_label is not None and (isinstance(max_per_label, bool) or max_per_label < 1):
        raise ParamError(f"max_per_label must be a whole number from 1 up or None, but is {max_per_label!r}")
    labels = as_labels(y)
    by_label = labels.T.tocsr()
    # An upper bound of the pairs of each label: the labels of all its rows.
    row_sizes = np.diff(labels.indptr).astype(np.int64)
    pairs = np.concatenate([[0], np.cumsum(row_sizes[by_label.indices])])[by_label.indptr]
    parts = []
    begin = 0
    while begin < labels.shape[1]:
        end = int(np.searchsorted(pairs, pairs[begin] + _PAIRS_AT_ONCE, side="right")) - 1
        end = min(max(end, begin + 1), labels.shape[1])
        part = (by_label[begin:end] @ labels).tocsr()
        part.sort_indices()
        parts.append(_trimmed(part, begin, max_per_label, diagonal))
        begin = end
    if not parts:
        return sparse.csr_matrix((0, 0), dtype=np.float32)
    return sparse.vstack(parts, format="csr").astype(np.float32)


def _trimmed(part: sparse.csr_matrix, first: int, most: int | None, diagonal: bool) -> sparse.csr_matrix:
    """The rows `first`, `first + 1`, ... of the counts with what was asked for."""
    if most is None and diagonal:
        return part
    row = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
    on_diagonal = part.indices == row + first
    keep = ~on_diagonal
    if most is not None:
        others = np.flatnonzero(keep)
        order = others[np.lexsort((part.indices[others], -part.data[others], row[others]))]
        starts = np.searchsorted(row[order], np.arange(part.shape[0]))
        place = np.arange(len(order)) - starts[row[order]]
        keep[order[place >= most]] = False
    if diagonal:
        keep |= on_diagonal
    counts = np.bincount(row[keep], minlength=part.shape[0])
    return sparse.csr_matrix(
        (part.data[keep], part.indices[keep], np.concatenate([[0], np.cumsum(counts)])), shape=part.shape
    )
