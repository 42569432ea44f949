"""Batches straight from CSR matrices, in an order that depends only on (seed, epoch)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from labelwood.data.groups import stretches
from labelwood.data.keyed_random import keyed_order
from labelwood.matrices import column_ids, row_pointers

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RowBatch:
    """Some sparse rows: row i has the columns indices[offsets[i]:offsets[i + 1]] with these values.

    indices int32 (n_values,), offsets int64 (n_rows + 1,), values float32 (n_values,).
    """

    indices: Tensor
    offsets: Tensor
    values: Tensor

    def __len__(self) -> int:
        return int(self.offsets.shape[0]) - 1

    def to(self, device: Any) -> RowBatch:
        """The batch on another device."""
        return RowBatch(self.indices.to(device), self.offsets.to(device), self.values.to(device))

    def thinned(self, keep: float) -> RowBatch:
        """The batch with every value kept with probability `keep`, else 0; nothing is scaled up for it."""
        if keep >= 1:
            return self
        # The places stay: forward and backward then cost the same, and no row pointers must be rebuilt.
        return RowBatch(self.indices, self.offsets, self.values * torch.rand_like(self.values).lt(keep))

    def take(self, rows: Tensor) -> RowBatch:
        """Some of the rows, in the order given."""
        starts, counts = self.offsets[:-1][rows], self.offsets.diff()[rows]
        offsets = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        within = torch.arange(int(offsets[-1]), device=rows.device) - offsets[:-1].repeat_interleave(counts)
        places = starts.repeat_interleave(counts) + within
        return RowBatch(self.indices[places], offsets, self.values[places])


def row_batch(x: sparse.csr_matrix, rows: npt.ArrayLike, device: Any = "cpu") -> RowBatch:
    """The given rows of a CSR matrix as torch tensors."""
    part = x[np.asarray(rows)]
    batch = RowBatch(
        torch.from_numpy(column_ids(part)),
        torch.from_numpy(row_pointers(part)),
        torch.from_numpy(np.ascontiguousarray(part.data, dtype=np.float32)),
    )
    return batch if str(device) == "cpu" else batch.to(device)


def epoch_order(n_rows: int, seed: int, epoch: int) -> Rows:
    """The order in which an epoch visits the rows: the same for the same (seed, epoch), whatever came before."""
    return keyed_order(n_rows, seed, epoch)


def validation_split(
    n_rows: int, share: float, seed: int, most: int = 5000, run: int = 1, groups: Rows | None = None
) -> tuple[Rows, Rows]:
    """(training rows, validation rows), both sorted: a random share of the rows, at most `most`, for validation.

    run: so many neighbouring rows go together. Neighbours are often of one source or day and nearly alike; held out one
    by one they would be judged by a model that has seen their twins. groups: of each row, where they are known: these
    then go together in place of neighbours.
    """
    n_validation = min(int(n_rows * share), most)
    if groups is not None and n_validation:
        (held,) = stretches(keyed_order(n_rows, seed, 0x76616C), n_validation, 1, groups)
        return np.setdiff1d(np.arange(n_rows), held), np.sort(held[:most])
    order = keyed_order(-(-n_rows // run), seed, 0x76616C)
    if run > 1:
        order = (order[:, None] * run + np.arange(run)).ravel()
        order = order[order < n_rows]
    return np.sort(order[n_validation:]), np.sort(order[:n_validation])


def label_batch(y: sparse.csr_matrix, rows: npt.ArrayLike) -> tuple[Rows, Rows]:
    """(row in the batch, label) of every label of the given rows, row after row."""
    part = y[np.asarray(rows)]
    counts = np.diff(part.indptr)
    return np.repeat(np.arange(part.shape[0], dtype=np.int64), counts), part.indices.astype(np.int64)


def multi_hot(y: sparse.csr_matrix, rows: npt.ArrayLike, columns: npt.ArrayLike | None = None) -> Tensor:
    """The labels of the given rows as a dense 0/1 tensor (n, n_labels), or of some label columns only.

    columns: distinct labels; column j of the result is the label columns[j].
    """
    row, label = label_batch(y, rows)
    width = y.shape[1]
    if columns is not None:
        wanted = np.asarray(columns)
        place = np.full(width, -1, np.int64)
        place[wanted] = np.arange(len(wanted))
        column = place[label]
        row, label, width = row[column >= 0], column[column >= 0], len(wanted)
    dense = torch.zeros(np.asarray(rows).shape[0], width)
    dense[torch.from_numpy(row), torch.from_numpy(label)] = 1.0
    return dense
