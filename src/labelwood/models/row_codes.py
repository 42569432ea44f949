"""What the classifiers of HierarchicalXC see of a row: its features, an autoencoder's code, waves of a Gaussian kernel.

A kernel's classifier needs a product with every training row. Waves cos(w z + b) with random w and b have, on average,
the kernel as their product (Rahimi and Recht, NIPS 2007), so that linear classifiers of them are those of the kernel,
the nearer the more waves there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import ModelFileError
from labelwood.matrices import normalized_rows
from labelwood.models.linear_encoding import encoded
from labelwood.models.neural.layer_stack import LAYERS, LayerStack
from labelwood.storage.schema import ArrayRule, Arrays, Schema, part, prefixed, under

Floats = npt.NDArray[np.float32]
_NETWORK = "network."


@dataclass(frozen=True, eq=False)
class RowCode:
    """A linear encoder (n_features, dim) or a network, if there is one, then waves (n_inputs, n_waves), if any."""

    encoder: Floats | None = None
    network: LayerStack | None = None
    waves: Floats | None = None
    phases: Floats | None = None

    @property
    def is_linear(self) -> bool:
        """Whether a classifier's margin is a sum over features."""
        return self.network is None and self.waves is None

    def of(self, x: sparse.csr_matrix) -> sparse.csr_matrix:
        """What classifiers see of the rows; a row's result does not depend on the others."""
        rows = self.before_waves(x)
        if self.waves is None or self.phases is None:
            return rows
        sums = np.asarray(rows @ self.waves, np.float32) + self.phases
        return sparse.csr_matrix(np.cos(sums) * np.float32(np.sqrt(2 / self.waves.shape[1])))

    def before_waves(self, x: sparse.csr_matrix) -> sparse.csr_matrix:
        """The rows, or their codes."""
        if self.encoder is not None:
            return encoded(normalized_rows(x), self.encoder)
        return x if self.network is None else sparse.csr_matrix(self.network.forward(x))

    def to_arrays(self) -> Arrays:
        """The arrays, as `code_schema` tells them."""
        alone = {"encoder": self.encoder, "waves": self.waves, "phases": self.phases}
        arrays: Arrays = {name: array for name, array in alone.items() if array is not None}
        return arrays if self.network is None else arrays | prefixed(_NETWORK, self.network.to_arrays())

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_features: int, owner: str) -> RowCode:
        """The code of saved arrays; ModelFileError if they do not fit together."""
        layers: dict[str, Any] = part(_NETWORK, arrays)
        network, width = None, n_features
        if layers:
            places = [int(name.removeprefix("weight")) for name in layers if name.startswith("weight")]
            width = int(layers[f"weight{max(places, default=0)}"].shape[1]) if places else 0
            network = LayerStack.from_arrays(layers, width, owner)
        encoder = arrays.get("encoder")
        width = width if encoder is None else int(encoder.shape[1])
        waves = arrays.get("waves")
        if waves is not None and len(waves) != width:
            raise ModelFileError(f"{owner}: waves of {len(waves)} numbers for codes of {width}")
        return cls(encoder, network, waves, arrays.get("phases"))


def code_schema(*, linear: bool, network: bool, waves: bool) -> Schema:
    """The arrays of a code with these parts."""
    rules: dict[str, ArrayRule] = {}
    if linear:
        rules |= {"encoder": ArrayRule("float32", ("n_features", "n_code"))}
    if network:
        rules |= under(_NETWORK, LAYERS)
    if waves:
        inputs = "n_code" if linear or network else "n_features"
        rules |= {
            "waves": ArrayRule("float32", (inputs, "n_waves"), finite=True),
            "phases": ArrayRule("float32", ("n_waves",), finite=True),
        }
    return rules


def gaussian_waves(rows: sparse.csr_matrix, n_waves: int, gamma: float | None, seed: int) -> tuple[Floats, Floats]:
    """(waves (n_inputs, n_waves), phases) of the kernel exp(-gamma |a - b|^2).

    gamma None: 1 / (number of inputs times the variance of their values), as scikit-learn's SVC has it.
    """
    n_inputs = int(rows.shape[1])
    if gamma is None:
        mean = float(rows.sum(dtype=np.float64)) / max(1, rows.shape[0] * n_inputs)
        square = float(np.square(rows.data, dtype=np.float64).sum()) / max(1, rows.shape[0] * n_inputs)
        gamma = 1.0 / (n_inputs * (square - mean * mean)) if square > mean * mean else 1.0
    random = np.random.default_rng(seed)
    waves = random.normal(scale=np.sqrt(2 * gamma), size=(n_inputs, n_waves))
    return waves.astype(np.float32), random.uniform(0, 2 * np.pi, n_waves).astype(np.float32)
