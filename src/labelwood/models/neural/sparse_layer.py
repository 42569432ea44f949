"""A linear layer on sparse rows whose gradient names only the features that occur in the batch.

On a CPU forward and backward are the native product of sparse rows with a table: the backward pass is the same
product with the batch transposed. torch's EmbeddingBag does the same job on a GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from labelwood import _native
from labelwood.models.neural.sampling import RowBatch


class SparseLinear(nn.Module):
    """Sparse rows times a table (n_features, dim), as nn.EmbeddingBag(mode="sum") with weights.

    sparse: the table's gradient is a sparse tensor of the features that occur (for the row optimisers), else dense.
    spread: how far from 0 the random weights are at the start.
    """

    def __init__(self, n_features: int, dim: int, *, sparse: bool = True, spread: float = 1.0) -> None:
        super().__init__()
        self.sparse = sparse
        self.weight = nn.Parameter(torch.empty(n_features, dim))
        # With spread 1, rows of length 1 then give outputs of length about 1.
        nn.init.normal_(self.weight, std=spread * dim**-0.5)

    def forward(self, batch: RowBatch) -> Tensor:
        """The products, (n, dim)."""
        if self.weight.device.type == "cpu":
            product: Tensor = _SparseProduct.apply(self.weight, batch.indices, batch.offsets, batch.values, self.sparse)  # type: ignore[no-untyped-call]
            return product
        return nn.functional.embedding_bag(
            batch.indices.long(),
            self.weight,
            batch.offsets,
            mode="sum",
            sparse=self.sparse,
            per_sample_weights=batch.values,
            include_last_offset=True,
        )


class _SparseProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, indices: Tensor, offsets: Tensor, values: Tensor, sparse: bool) -> Tensor:
        out = torch.empty(offsets.shape[0] - 1, weight.shape[1])
        _native.sparse_rows_times_dense(
            offsets.numpy(),
            indices.numpy(),
            values.numpy(),
            weight.detach().numpy(),
            out.numpy(),
            torch.get_num_threads(),
        )
        ctx.batch = (indices.numpy(), offsets.numpy(), values.numpy())
        ctx.shape = tuple(weight.shape)
        ctx.sparse = sparse
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        indices, offsets, values = ctx.batch
        gradient = gradients[0].contiguous()
        n_features, dim = ctx.shape
        by_feature = sparse.csr_matrix((values, indices, offsets), shape=(len(offsets) - 1, n_features)).tocsc()
        used = np.flatnonzero(np.diff(by_feature.indptr))
        starts = np.append(by_feature.indptr[used], by_feature.indptr[-1]).astype(np.int64)
        rows = torch.empty(len(used), dim)
        _native.sparse_rows_times_dense(
            starts,
            by_feature.indices.astype(np.int32, copy=False),
            by_feature.data,
            gradient.detach().numpy(),
            rows.numpy(),
            torch.get_num_threads(),
        )
        if not ctx.sparse:
            full = torch.zeros(n_features, dim)
            full[torch.from_numpy(used)] = rows
            return full, None, None, None, None
        index = torch.from_numpy(used)[None]
        table = torch.sparse_coo_tensor(index, rows, ctx.shape, is_coalesced=True, check_invariants=False)
        return table, None, None, None, None
