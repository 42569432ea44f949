"""Dense vectors as the exact search wants them: padded to 16 columns, as float32, bfloat16 or int8."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood import _native
from labelwood.errors import DataError, ModelFileError, ParamError, unknown_name
from labelwood.storage.schema import Array, ArrayRule, Arrays, Schema

Float32 = npt.NDArray[np.float32]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

LANES = 16
METRICS = ("ip", "cosine", "l2")
STORAGES = ("float32", "bfloat16", "int8")
_DTYPES = {"float32": np.float32, "bfloat16": np.uint16, "int8": np.int8}
STORE: Schema = {
    "vectors": ArrayRule(("float32", "uint16", "int8"), ("n_vectors", "n_padded")),
    "scale": ArrayRule("float32", ("n_vectors",), optional=True),
    "bias": ArrayRule("float32", ("n_vectors",), optional=True),
}


def _checked_vectors(vectors: Any, what: str = "vectors") -> Float32:
    """A finite float32 array (n, dim) of the caller's vectors; one vector may also come as a 1-d array."""
    try:
        with np.errstate(over="ignore"):
            array = np.asarray(vectors, np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} must be an array of numbers, but is {type(vectors).__name__}") from error
    if array.ndim == 1:
        array = array[None, :]
    if array.ndim != 2 or array.shape[1] == 0:
        raise DataError(f"{what} must have shape (n, dim) with dim from 1 up, but have {array.shape}")
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise DataError(f"{what}, row {row}: only finite numbers are allowed")
    return array


def unit_rows(vectors: Float32) -> Float32:
    """The vectors with length 1; zero vectors stay zero."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    lengths[lengths == 0] = 1
    scaled: Float32 = (vectors / lengths[:, None]).astype(np.float32)
    return scaled


def padded(vectors: Float32) -> Float32:
    """The vectors with zero columns up to a multiple of 16, contiguous."""
    missing = -vectors.shape[1] % LANES
    if missing == 0:
        return np.ascontiguousarray(vectors)
    wide = np.zeros((vectors.shape[0], vectors.shape[1] + missing), np.float32)
    wide[:, : vectors.shape[1]] = vectors
    return wide


@dataclass(frozen=True, eq=False)
class VectorStore:
    """n vectors of `dim` numbers; scores are inner products, cosines or negative squared distances (`metric`).

    Products are summed in one fixed order: the same bits alone or in a batch, for any number of threads, on any CPU.
    """

    data: Array  # (n, dim padded to 16) in the storage's type
    scale: Float32 | None  # int8: one a vector
    bias: Float32 | None  # l2: -|v|^2 / 2, so that the largest product + bias is the nearest
    dim: int
    metric: str

    @classmethod
    def of(cls, vectors: Any, metric: str = "ip", storage: str = "float32") -> VectorStore:
        """The store of some vectors; bfloat16 halves the memory and int8 quarters it, at rounded scores."""
        for what, name, known in (("metric", metric, METRICS), ("storage", storage, STORAGES)):
            if name not in known:
                raise ParamError(unknown_name(what, name, known))
        array = _checked_vectors(vectors)
        if array.shape[0] > np.iinfo(np.int32).max:
            raise DataError(f"{array.shape[0]} vectors are too many; at most {np.iinfo(np.int32).max} can be numbered")
        wide = padded(unit_rows(array) if metric == "cosine" else array)
        scale = None
        if storage == "int8":
            scale = np.maximum(np.abs(wide).max(axis=1, initial=0), np.float32(1e-30)) / np.float32(127)
            data: Array = np.rint(wide / scale[:, None]).astype(np.int8)
            rounded = data.astype(np.float32) * scale[:, None]
        elif storage == "bfloat16":
            data = _to_bfloat16(wide)
            rounded = (data.astype(np.uint32) << np.uint32(16)).view(np.float32)
        else:
            data = rounded = wide
        bias = None
        if metric == "l2":
            bias = (-0.5 * np.einsum("ij,ij->i", rounded, rounded, dtype=np.float64)).astype(np.float32)
        return cls(data, scale, bias, array.shape[1], metric)

    def __len__(self) -> int:
        return int(self.data.shape[0])

    @property
    def storage(self) -> str:
        """How the vectors are kept: float32, bfloat16 or int8."""
        return next(name for name, dtype in _DTYPES.items() if self.data.dtype == dtype)

    def floats(self, rows: Any = slice(None)) -> Float32:
        """Some of the vectors as float32 (n, dim), as they are searched."""
        part = self.data[rows]
        if self.scale is not None:
            part = part.astype(np.float32) * self.scale[rows][:, None]
        elif part.dtype == np.uint16:
            part = (part.astype(np.uint32) << np.uint32(16)).view(np.float32)
        plain: Float32 = np.ascontiguousarray(part[:, : self.dim])
        return plain

    def queries(self, queries: Any) -> Float32:
        """The queries ready for the search: checked, of length 1 for cosines, padded."""
        array = _checked_vectors(queries, "queries")
        if array.shape[1] != self.dim:
            raise DataError(f"queries have {array.shape[1]} columns, but the vectors have {self.dim}")
        return padded(unit_rows(array) if self.metric == "cosine" else array)

    def nearest(
        self,
        queries: Float32,
        k: int,
        *,
        starts: Int64 | None = None,
        probes: Int32 | None = None,
        ids: Int32 | None = None,
        n_threads: int | None = None,
    ) -> tuple[Int32, Float32]:
        """(ids, scores), both (n, k), best first, of ready queries: an exact search over all vectors or some ranges.

        Range r holds the vectors starts[r] .. starts[r + 1] - 1; probes (n, p) name the ranges of each query, -1 for
        none; ids gives the vectors other numbers. Equal scores go to the smaller id; padded with -1 and -inf.
        """
        nearest, scores = _room(queries, k)
        if starts is None:
            starts = np.array([0, len(self)], np.int64)
        where = (self.data, self.scale, self.bias, starts, probes, ids)
        _native.search_ranges(*where, queries, n_threads or 0, nearest, scores)
        return nearest, self._final(queries, scores)

    def best_of(
        self, queries: Float32, candidates: Int64, k: int, n_threads: int | None = None
    ) -> tuple[Int32, Float32]:
        """(ids, scores), both (n, k), best first: the nearest among candidates (n, c), where -1 is none."""
        nearest, scores = _room(queries, k)
        parts = (self.data, self.scale, self.bias, np.ascontiguousarray(candidates, np.int64))
        _native.search_candidates(*parts, queries, n_threads or 0, nearest, scores)
        return nearest, self._final(queries, scores)

    def arrays(self) -> Arrays:
        """The store as named arrays, ready to be saved; `restore` takes them back, also memory-mapped."""
        parts = {"vectors": self.data, "scale": self.scale, "bias": self.bias}
        return {name: array for name, array in parts.items() if array is not None}

    @classmethod
    def restore(cls, arrays: Mapping[str, Array], dim: int, metric: str) -> VectorStore:
        """The store that `arrays` gave, which keep STORE; ModelFileError if they do not fit together."""
        data, scale, bias = arrays["vectors"], arrays.get("scale"), arrays.get("bias")
        width = data.shape[1]
        if metric not in METRICS or width % LANES or not width - LANES < dim <= width:
            raise ModelFileError(f"metric {metric!r:.40} and {dim!r:.40} columns do not fit {width} padded ones")
        for name, part, needed in (("scale", scale, data.dtype == np.int8), ("bias", bias, metric == "l2")):
            if (part is not None) != needed:
                raise ModelFileError(f"{name} must be {'there' if needed else 'absent'}")
        return cls(data, scale, bias, int(dim), metric)

    def _final(self, queries: Float32, scores: Float32) -> Float32:
        if self.metric == "l2":
            # (q.v - |v|^2 / 2) doubled minus |q|^2; rounding may lift a distance of 0 a little above 0.
            squares = np.einsum("ij,ij->i", queries, queries, dtype=np.float64).astype(np.float32)
            np.multiply(scores, 2, out=scores)
            np.subtract(scores, squares[:, None], out=scores)
            np.minimum(scores, 0, out=scores)
        return scores


def check_k(k: Any) -> None:
    """Refuse a number of neighbours that is not a whole number from 1 up."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise ParamError(f"k must be a whole number from 1 up, but is {k!r}")


def _room(queries: Float32, k: int) -> tuple[Int32, Float32]:
    check_k(k)
    shape = (queries.shape[0], int(k))
    return np.empty(shape, np.int32), np.empty(shape, np.float32)


def _to_bfloat16(values: Float32) -> npt.NDArray[np.uint16]:
    """The upper halves of the floats, rounded to nearest even."""
    bits = values.view(np.uint32)
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    halves: npt.NDArray[np.uint16] = ((bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)).astype(np.uint16)
    return halves
