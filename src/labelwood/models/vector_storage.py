"""Vectors kept as floats, half floats or bytes; possibly memory-mapped, read where they lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood import _native
from labelwood.errors import ModelFileError
from labelwood.models.base import Arrays

_TYPES: dict[str, Any] = {"float": np.float32, "half": np.uint16, "byte": np.int8}
STORAGES = tuple(_TYPES)


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
    def from_arrays(cls, arrays: Arrays, name: str, storage: str) -> StoredVectors:
        """The vectors of a saved model; ModelFileError if they are of another kind."""
        data = arrays[name]
        if data.dtype != _TYPES[storage] or data.ndim != 2:
            raise ModelFileError(
                f"{name} must be {np.dtype(_TYPES[storage])} in rows, but is {data.dtype} {data.shape}"
            )
        scale = arrays[f"{name}_scale"] if storage == "byte" else np.zeros(0, np.float32)
        if storage == "byte" and (scale.dtype != np.float32 or not np.isfinite(scale).all()):
            raise ModelFileError(f"{name}_scale must be finite float32 numbers")
        return cls(data, scale)
