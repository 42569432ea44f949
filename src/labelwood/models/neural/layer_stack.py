"""A stack of layers at work without torch: sparse rows in, numbers out, and what each feature adds to one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import ModelFileError
from labelwood.models.neural.forward import ACTIVATIONS, activated, dense_product, gain, sparse_product
from labelwood.storage.schema import ArrayRule, Schema

Floats = npt.NDArray[np.float32]
MOST_LAYERS = 64
# The codes of the array "layers", which older folders have in place of "activations".
_OLDER_CODES = ("none", "relu", "tanh")


def _layer_rules(number: int) -> dict[str, ArrayRule]:
    """The rules of one layer, whose inputs are the outputs of the one before."""
    inputs, outputs = (f"width{place}" if place else "n_features" for place in (number, number + 1))
    return {
        f"weight{number}": ArrayRule("float32", (inputs, outputs), optional=True),
        f"bias{number}": ArrayRule("float32", (outputs,), optional=True),
    }


LAYERS: Schema = {
    "activations": ArrayRule("int32", ("n_layers",), low=0, below=len(ACTIVATIONS), optional=True),
    "layers": ArrayRule("int32", ("n_layers",), low=0, below=len(_OLDER_CODES), optional=True),
    **{name: rule for number in range(MOST_LAYERS) for name, rule in _layer_rules(number).items()},
}
SHORTCUT: Schema = {"shortcut": ArrayRule("float32", ("width1", "n_labels"))}


@dataclass(frozen=True, eq=False)
class LayerStack:
    """Layers h -> activation(h W + b), the first on sparse rows; weights (inputs, outputs), float32.

    shortcut (first width, outputs): the activated first layer times this is added to the sums of the last layer.
    Every row is computed the same to the last bit in any batch.
    """

    weights: Sequence[Floats]
    biases: Sequence[Floats]
    activations: Sequence[str]
    shortcut: Floats | None = None

    @property
    def n_outputs(self) -> int:
        """The width of the last layer."""
        return int(self.weights[-1].shape[1])

    def forward(self, x: sparse.csr_matrix, n_threads: int | None = None) -> Floats:
        """The outputs (n, n_outputs)."""
        first = activated(sparse_product(x, self.weights[0], n_threads) + self.biases[0], self.activations[0])
        values: Floats = first
        for level in range(1, len(self.weights)):
            sums = dense_product(values, self.weights[level], n_threads)
            sums += self.biases[level]
            if self.shortcut is not None and level + 1 == len(self.weights):
                sums += dense_product(first, self.shortcut, n_threads)
            values = activated(sums, self.activations[level])
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
                first = activated(sums[0], self.activations[0])
                values = values + first @ self.shortcut.astype(np.float64)
            sums.append(values)
            values = activated(values, activation)
        weight = np.zeros(self.n_outputs)
        weight[output] = 1.0
        last_gain = gain(sums[-1], self.activations[-1])[output]
        rest = 0.0
        for level in reversed(range(len(sums))):
            if self.shortcut is not None and not level:
                weight = weight + last_gain * self.shortcut[:, output]
            weight = weight * gain(sums[level], self.activations[level])
            rest += float(weight @ self.biases[level])
            table = self.weights[level] if level else self.weights[0][row.indices]
            weight = table.astype(np.float64) @ weight
        return weight, rest

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays to save."""
        arrays: dict[str, npt.NDArray[Any]] = {
            "activations": np.array([ACTIVATIONS.index(name) for name in self.activations], np.int32)
        }
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            arrays[f"weight{number}"], arrays[f"bias{number}"] = weight, bias
        if self.shortcut is not None:
            arrays["shortcut"] = self.shortcut
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], n_outputs: int, owner: str) -> LayerStack:
        """The stack of saved arrays that keep LAYERS and SHORTCUT; ModelFileError if the layers do not fit together."""
        if ("activations" in arrays) == ("layers" in arrays):
            raise ModelFileError(f"{owner}: the activations of the layers must be there, once")
        older = "layers" in arrays
        names, codes = (_OLDER_CODES, arrays["layers"]) if older else (ACTIVATIONS, arrays["activations"])
        activations = [names[code] for code in codes.tolist()]
        numbers = range(len(activations))
        layers = {name for name in arrays if name.startswith(("weight", "bias"))}
        if not activations or layers != {f"{kind}{number}" for kind in ("weight", "bias") for number in numbers}:
            raise ModelFileError(f"{owner}: {len(numbers)} activations for the layers {', '.join(sorted(layers))}")
        weights = [arrays[f"weight{number}"] for number in numbers]
        if weights[-1].shape[1] != n_outputs:
            raise ModelFileError(f"{owner}: the last layer gives {weights[-1].shape[1]} numbers for {n_outputs} labels")
        shortcut = arrays.get("shortcut")
        if shortcut is not None and len(weights) < 2:
            raise ModelFileError(f"{owner}: a shortcut needs two layers or more")
        return cls(weights, [arrays[f"bias{number}"] for number in numbers], activations, shortcut)
