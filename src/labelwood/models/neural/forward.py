"""Trained encoders at work, without torch: NumPy and native products whose rows do not depend on their batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import ModelFileError
from labelwood.matrices import column_ids, row_pointers
from labelwood.storage.schema import ArrayRule, Schema, check_arrays

Floats = npt.NDArray[np.float32]
ACTIVATIONS = ("relu", "tanh", "none")  # a saved activation is its place here, as in native/index_search.hpp
# The second number of an encoder's "kind": what is added to the output of its last layer. Nothing; the activated
# first layer; or the first layer before its activation (of a wide first layer, as many outputs as the last has).
NO_SUM, ACTIVATED_SUM, LINEAR_SUM = range(3)
# The arrays of an encoder; check_encoder tells whether its layers follow each other.
ENCODER: Schema = {
    "table": ArrayRule("float32", ("n_features", "n_first")),
    "bias": ArrayRule("float32", ("n_first",)),
    "kind": ArrayRule("int32", (2,), low=0, below=3),
    "inner": ArrayRule("float32", ("n_first", "n_inner"), optional=True),
    "inner_bias": ArrayRule("float32", ("n_inner",), optional=True),
    "outer": ArrayRule("float32", ("n_middle", "n_outer"), optional=True),
    "outer_bias": ArrayRule("float32", ("n_outer",), optional=True),
}


def activated(values: Any, activation: str, out: Any = None) -> Any:
    """The values after one of ACTIVATIONS; out: where to write them, such as the values themselves."""
    if activation == "relu":
        return np.maximum(values, 0, out=out)
    return np.tanh(values, out=out) if activation == "tanh" else values


def gain(sums: npt.NDArray[np.float64], activation: str) -> npt.NDArray[np.float64]:
    """What an activation multiplies each of these sums by: 0 or 1 for ReLU, tanh(s) / s for tanh."""
    if activation == "none":
        return np.ones_like(sums)
    if activation == "relu":
        return (sums > 0).astype(np.float64)
    small = np.abs(sums) < 1e-6
    return np.where(small, 1.0, np.tanh(sums) / np.where(small, 1.0, sums))


def bag_forward(arrays: Mapping[str, Any], x: sparse.csr_matrix, n_threads: int | None = None) -> Floats:
    """The vectors (n, dim), float32, that a trained BagEncoder gives sparse rows; `arrays` is BagEncoder.arrays()."""
    return _block_forward(arrays, sparse_product(x, arrays["table"], n_threads), n_threads)


def sparse_product(x: sparse.csr_matrix, table: Floats, n_threads: int | None = None) -> Floats:
    """Sparse rows times a table (n_features, dim): (n, dim)."""
    out = np.empty((x.shape[0], table.shape[1]), np.float32)
    values = np.ascontiguousarray(x.data, dtype=np.float32)
    _native.sparse_rows_times_dense(row_pointers(x), column_ids(x), values, table, out, n_threads or 0)
    return out


def dense_product(rows: Floats, table: Floats, n_threads: int | None = None) -> Floats:
    """Dense rows (n, m) times a table (m, dim): (n, dim), each row the same to the last bit in any batch."""
    out = np.empty((rows.shape[0], table.shape[1]), np.float32)
    _native.dense_rows_times_dense(np.ascontiguousarray(rows, dtype=np.float32), table, out, n_threads or 0)
    return out


def unit_rows(vectors: Floats) -> Floats:
    """The rows scaled to length 1, each summed by itself; rows of zeros stay zeros."""
    # A sum along the last axis takes every row in the same order, whatever the number of rows; a product need not.
    lengths = np.sqrt(np.square(vectors, dtype=np.float64).sum(axis=1))
    lengths[lengths == 0] = 1
    return np.asarray(vectors / lengths[:, None], dtype=np.float32)


def check_encoder(arrays: Mapping[str, Any], n_inputs: int, owner: str, *, wide: bool = False) -> int:
    """The dimension of a saved encoder's vectors; ModelFileError if its arrays do not fit together.

    wide: the first layer may have more outputs than the vectors have numbers, where a last layer follows.
    """
    check_arrays(ENCODER, arrays, {"n_features": n_inputs}, owner)
    for layer in ("inner", "outer"):
        if (layer in arrays) != (f"{layer}_bias" in arrays):
            raise ModelFileError(f"{owner}: {layer} and {layer}_bias must come together")
    dim = width = int(arrays["table"].shape[1])
    if "inner" in arrays:
        width = len(arrays["inner_bias"])
    last = width
    if "outer" in arrays:
        last = len(arrays["outer_bias"])
        if arrays["outer"].shape[0] != width:
            raise ModelFileError(f"{owner}: the last layer takes {arrays['outer'].shape[0]} numbers, but gets {width}")
        if wide and arrays["kind"][1] != ACTIVATED_SUM and last < dim:
            return last
    if last != dim:
        raise ModelFileError(f"{owner}: the last layer gives {last} numbers, not {dim}")
    return dim


def _block_forward(arrays: Mapping[str, Any], vectors: Floats, n_threads: int | None) -> Floats:
    """The block after the first layer, in place where it can be."""
    activation, added = ACTIVATIONS[int(arrays["kind"][0])], int(arrays["kind"][1])
    vectors += arrays["bias"]
    first: Floats = activated(vectors, activation, out=None if added == LINEAR_SUM else vectors)
    inside = first
    if "inner" in arrays:
        inside = dense_product(first, arrays["inner"], n_threads)
        inside += arrays["inner_bias"]
        inside = activated(inside, activation, out=inside)
    if "outer" in arrays:
        inside = dense_product(inside, arrays["outer"], n_threads)
        inside += arrays["outer_bias"]
    if added and inside is not first:
        inside += vectors[:, : inside.shape[1]] if added == LINEAR_SUM else first
    return inside
