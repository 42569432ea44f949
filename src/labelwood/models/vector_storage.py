"""Vectors kept as floats, half floats or bytes; possibly memory-mapped, read where they lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood import _native
from labelwood.storage.schema import ArrayRule, Arrays, Schema, under

_TYPES = {"float": "float32", "half": "uint16", "byte": "int8"}
STORAGES = tuple(_TYPES)


def vector_rules(name: str, storage: str) -> Schema:
    """The arrays of vectors that are saved by a name in a storage."""
    rules = {"": ArrayRule(_TYPES[storage], ("_rows", "_numbers"))}
    if storage == "byte":
        rules["_scale"] = ArrayRule("float32", ("_rows",), finite=True)
    return under(name, rules)


@dataclass(frozen=True, eq=False)
class StoredVectors:
    """Vectors (n_rows, length): float32, half floats as uint16, or int8 times a scale of each row."""

    data: npt.NDArray[Any]
    scale: npt.NDArray[np.float32]

    @classmethod
    def of(cls, vectors: npt.NDArray[np.float32], storage: str) -> StoredVectors:
        """The vectors in a storage; a byte keeps each number within 0.4% of the row's largest."""
        none = np.zeros(0, np.float32)
        if storage == "float":
            return cls(vectors, none)
        if storage == "half":
            halves = np.empty(vectors.shape, np.uint16)
            _native.to_halves(vectors.ravel(), halves.reshape(-1))
            return cls(halves, none)
        scale = np.abs(vectors).max(axis=1, initial=0) / np.float32(127)
        safe = np.where(scale > 0, scale, 1)[:, None]
        return cls(np.rint(vectors / safe).astype(np.int8), scale.astype(np.float32))

    @property
    def n_rows(self) -> int:
        """The number of vectors."""
        return len(self.data)

    def floats(self, rows: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Some of the vectors as float32."""
        chosen = self.data[rows]
        if chosen.dtype == np.uint16:
            return np.asarray(chosen.view(np.float16), np.float32)
        if chosen.dtype == np.int8:
            return np.asarray(chosen * self.scale[rows][:, None], np.float32)
        return np.asarray(chosen, np.float32)

    def to_arrays(self, name: str) -> Arrays:
        """The arrays to save."""
        arrays: Arrays = {name: self.data}
        if self.data.dtype == np.int8:
            arrays[f"{name}_scale"] = self.scale
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays, name: str) -> StoredVectors:
        """The vectors of a saved model whose arrays keep `vector_rules`."""
        return cls(arrays[name], arrays.get(f"{name}_scale", np.zeros(0, np.float32)))
