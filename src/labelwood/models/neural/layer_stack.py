"""A stack of layers at work without torch: sparse rows in, numbers out, and what each feature adds to one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import ModelFileError
from labelwood.models.neural.forward import dense_product, sparse_product

Floats = npt.NDArray[np.float32]
ACTIVATIONS = ("none", "relu", "tanh")


class LayerStack:
    """Layers h -> activation(h W + b), the first on sparse rows; weights (inputs, outputs), float32.

    shortcut (first width, outputs): the activated first layer times this is added to the sums of the last layer.
    Every row is computed the same to the last bit in any batch.
    """

    def __init__(
        self,
        weights: Sequence[Floats],
        biases: Sequence[Floats],
        activations: Sequence[str],
        shortcut: Floats | None = None,
    ) -> None:
        self.weights, self.biases, self.activations = list(weights), list(biases), list(activations)
        self.shortcut = shortcut

    @property
    def n_outputs(self) -> int:
        """The width of the last layer."""
        return int(self.weights[-1].shape[1])

    def forward(self, x: sparse.csr_matrix, n_threads: int | None = None) -> Floats:
        """The outputs (n, n_outputs)."""
        first = _activated(sparse_product(x, self.weights[0], n_threads) + self.biases[0], self.activations[0])
        values: Floats = first
        for level in range(1, len(self.weights)):
            sums = dense_product(values, self.weights[level], n_threads)
            sums += self.biases[level]
            if self.shortcut is not None and level + 1 == len(self.weights):
                sums += dense_product(first, self.shortcut, n_threads)
            values = _activated(sums, self.activations[level])
        return values

    def reasons(self, row: sparse.csr_matrix, output: int) -> tuple[npt.NDArray[np.float64], float]:
        """(effective weight of every feature of the row, rest): values times weights and the rest sum to the output.

        Every activation is replaced by its gain at this row, activated sum / sum: 0 or 1 for ReLU, tanh(s) / s for
        tanh. That is exact for this row, and this row only.
        """
        sums: list[npt.NDArray[np.float64]] = []
        values = row.data.astype(np.float64) @ self.weights[0][row.indices].astype(np.float64)
        for level, (bias, activation) in enumerate(zip(self.biases, self.activations, strict=True)):
            if level:
                values = values @ self.weights[level].astype(np.float64)
            values = values + bias
            if self.shortcut is not None and level + 1 == len(self.weights):
                first = _activated(sums[0], self.activations[0])
                values = values + first @ self.shortcut.astype(np.float64)
            sums.append(values)
            values = _activated(values, activation)
        weight = np.zeros(self.n_outputs)
        weight[output] = 1.0
        last_gain = _gain(sums[-1], self.activations[-1])[output]
        rest = 0.0
        for level in reversed(range(len(sums))):
            if self.shortcut is not None and not level:
                weight = weight + last_gain * self.shortcut[:, output]
            weight = weight * _gain(sums[level], self.activations[level])
            rest += float(weight @ self.biases[level])
            table = self.weights[level] if level else self.weights[0][row.indices]
            weight = table.astype(np.float64) @ weight
        return weight, rest

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays to save."""
        arrays: dict[str, npt.NDArray[Any]] = {
            "layers": np.array([ACTIVATIONS.index(name) for name in self.activations], np.int32)
        }
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            arrays[f"weight{number}"], arrays[f"bias{number}"] = weight, bias
        if self.shortcut is not None:
            arrays["shortcut"] = self.shortcut
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], n_inputs: int, n_outputs: int, owner: str) -> LayerStack:
        """The stack of a saved model; ModelFileError if the layers do not fit together."""
        kinds = arrays["layers"]
        if kinds.dtype != np.int32 or kinds.ndim != 1 or not 1 <= len(kinds) <= 64:
            raise ModelFileError(f"{owner}: layers must be a short int32 array, but is {kinds.dtype} {kinds.shape}")
        if kinds.min() < 0 or kinds.max() >= len(ACTIVATIONS):
            raise ModelFileError(f"{owner}: unknown activation {kinds.max()}")
        weights, biases, width = [], [], n_inputs
        for number in range(len(kinds)):
            weight, bias = arrays[f"weight{number}"], arrays[f"bias{number}"]
            good = weight.dtype == bias.dtype == np.float32 and weight.ndim == 2 and weight.shape[0] == width
            if not good or bias.shape != (weight.shape[1],):
                raise ModelFileError(
                    f"{owner}: layer {number} must be float32 ({width}, m) with m biases, but is {weight.shape}, "
                    f"{bias.shape}"
                )
            weights.append(weight)
            biases.append(bias)
            width = int(weight.shape[1])
        if width != n_outputs:
            raise ModelFileError(f"{owner}: the last layer gives {width} numbers for {n_outputs} labels")
        shortcut = arrays.get("shortcut")
        if shortcut is not None:
            wanted = (weights[0].shape[1], n_outputs)
            if shortcut.dtype != np.float32 or shortcut.shape != wanted or len(weights) < 2:
                raise ModelFileError(
                    f"{owner}: shortcut must be float32 {wanted} beside two layers or more, but is "
                    f"{shortcut.dtype} {shortcut.shape}"
                )
        return cls(weights, biases, [ACTIVATIONS[kind] for kind in kinds], shortcut)


def _activated(values: Any, activation: str) -> Any:
    if activation == "relu":
        return np.maximum(values, 0)
    return np.tanh(values) if activation == "tanh" else values


def _gain(sums: npt.NDArray[np.float64], activation: str) -> npt.NDArray[np.float64]:
    if activation == "none":
        return np.ones_like(sums)
    if activation == "relu":
        return (sums > 0).astype(np.float64)
    small = np.abs(sums) < 1e-6
    return np.where(small, 1.0, np.tanh(sums) / np.where(small, 1.0, sums))
