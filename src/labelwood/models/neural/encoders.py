"""Encoders: sparse or dense rows -> vectors. What they learn is taken out as arrays for `forward.bag_forward`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor, nn

from labelwood.errors import ParamError, unknown_name
from labelwood.models.neural.forward import ACTIVATED_SUM, ACTIVATIONS, LINEAR_SUM, NO_SUM
from labelwood.models.neural.row_shares import RowDropout
from labelwood.models.neural.sampling import RowBatch
from labelwood.models.neural.sparse_layer import SparseLinear
from labelwood.storage.schema import Arrays


def _same(vectors: Tensor) -> Tensor:
    return vectors


FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "none": _same,
}


class _Block(nn.Module):
    """What follows the first layer: e -> activation -> dropout, then (residual) dense layers.

    hidden 0: one layer e + activation(W e + b); hidden h: two layers e + W2 activation(W1 e + b1) + b2; without
    `residual` the sum's first term is left out, and with hidden 0 the whole block is.
    """

    def __init__(self, dim: int, hidden: int, residual: bool, dropout: float, activation: str) -> None:
        super().__init__()
        _check_activation(activation)
        self.bias = nn.Parameter(torch.zeros(dim))
        self.residual = residual
        self.activation = activation
        self.dropout = RowDropout(dropout)
        self.inner = nn.Linear(dim, hidden or dim) if residual or hidden else None
        self.outer = nn.Linear(hidden, dim) if hidden else None
        last = self.outer or self.inner
        if residual and last is not None:
            _near_zero(last)

    def forward(self, vectors: Tensor) -> Tensor:
        function = FUNCTIONS[self.activation]
        first: Tensor = self.dropout(function(vectors + self.bias))
        if self.inner is None:
            return first
        inside: Tensor = self.dropout(function(self.inner(first)))
        if self.outer is not None:
            inside = self.outer(inside)
        return first + inside if self.residual else inside

    def arrays(self) -> Arrays:
        """What forward.py needs, matrices as (inputs, outputs)."""
        layers = {"inner": self.inner, "outer": self.outer}
        return _block_arrays(self.bias, layers, self.activation, ACTIVATED_SUM if self.residual else NO_SUM)


class _CorrectedBlock(nn.Module):
    """What follows the first layer: e + W activation(e) + c, dropout on both terms: a linear map and its correction.

    The sum's first term never goes through the activation, so the block can do all that a linear layer can.
    """

    def __init__(self, dim: int, dropout: float, activation: str) -> None:
        super().__init__()
        _check_activation(activation)
        self.bias = nn.Parameter(torch.zeros(dim))
        self.activation = activation
        self.dropout = RowDropout(dropout)
        self.outer = nn.Linear(dim, dim)
        _near_zero(self.outer)

    def forward(self, vectors: Tensor) -> Tensor:
        vectors = vectors + self.bias
        corrected: Tensor = self.dropout(vectors) + self.outer(self.dropout(FUNCTIONS[self.activation](vectors)))
        return corrected

    def arrays(self) -> Arrays:
        """What forward.py needs, matrices as (inputs, outputs)."""
        return _block_arrays(self.bias, {"outer": self.outer}, self.activation, LINEAR_SUM)


def _check_activation(activation: str) -> None:
    if activation not in ACTIVATIONS:
        raise ParamError(unknown_name("activation", activation, ACTIVATIONS))


def _near_zero(layer: nn.Linear) -> None:
    # The block starts close to the identity: deeper layers learn corrections (as Astec and NGAME do).
    nn.init.normal_(layer.weight, std=0.1 * layer.out_features**-0.5)
    nn.init.zeros_(layer.bias)


def _block_arrays(bias: Tensor, layers: Mapping[str, nn.Linear | None], activation: str, added: int) -> Arrays:
    tensors: dict[str, Tensor] = {"bias": bias}
    for name, layer in layers.items():
        if layer is not None:
            tensors[name] = layer.weight.T
            tensors[f"{name}_bias"] = layer.bias
    arrays = {name: tensor.detach().cpu().numpy().astype(np.float32, order="C") for name, tensor in tensors.items()}
    arrays["kind"] = np.array([ACTIVATIONS.index(activation), added], np.int32)
    return arrays


class BagEncoder(nn.Module):
    """Vectors (n, dim) of sparse rows: a weighted sum of feature vectors, then a (residual) block.

    e = activation(x E + b), dropout; hidden=0: e + activation(W e + c); hidden=h: e + W2 activation(W1 e + c1) + c2;
    residual=False leaves the "e +" out (with hidden=0: gives e itself). corrected: instead of all that,
    x E + b + W activation(x E + b) + c, dropout on both terms. `sparse`, `spread`: see SparseLinear; a sparse table
    wants the optimizer "sparse_adam" (see training.ParameterGroup); `dense_parameters` are all the others.
    """

    def __init__(
        self,
        n_features: int,
        dim: int,
        hidden: int = 0,
        residual: bool = True,
        dropout: float = 0.5,
        activation: str = "relu",
        sparse: bool = True,
        corrected: bool = False,
        spread: float = 1.0,
    ) -> None:
        super().__init__()
        self.table = SparseLinear(n_features, dim, sparse=sparse, spread=spread)
        self.block: _Block | _CorrectedBlock = _Block(dim, hidden, residual, dropout, activation)
        if corrected:
            self.block = _CorrectedBlock(dim, dropout, activation)

    def forward(self, batch: RowBatch) -> Tensor:
        """The vectors of the rows of a batch."""
        vectors: Tensor = self.block(self.table(batch))
        return vectors

    def table_parameters(self) -> list[nn.Parameter]:
        """The large table of feature vectors."""
        return [self.table.weight]

    def dense_parameters(self) -> list[nn.Parameter]:
        """All parameters but the table."""
        return list(self.block.parameters())

    def arrays(self) -> Arrays:
        """The encoder for `forward.bag_forward`: float32 copies."""
        return {"table": self.table.weight.detach().cpu().numpy().astype(np.float32), **self.block.arrays()}
