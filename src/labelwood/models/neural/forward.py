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

Floats = npt.NDArray[np.float32]
ACTIVATIONS = ("relu", "tanh", "none")
# The second number of an encoder's "kind": what is added to the output of its last layer. Nothing; the activated
# first layer; or the first layer before its activation (of a wide first layer, as many outputs as the last has).
NO_SUM, ACTIVATED_SUM, LINEAR_SUM = range(3)


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
    table = arrays["table"]
    if table.dtype != np.float32 or table.ndim != 2 or table.shape[0] != n_inputs:
        raise ModelFileError(
            f"{owner}: the table must be float32 ({n_inputs}, dim), but is {table.dtype} {table.shape}"
        )
    dim = int(table.shape[1])
    kind = arrays["kind"]
    if (
        kind.dtype != np.int32
        or kind.shape != (2,)
        or not 0 <= kind[0] < len(ACTIVATIONS)
        or not 0 <= kind[1] <= LINEAR_SUM
    ):
        raise ModelFileError(f"{owner}: unknown kind of encoder")
    expected: dict[str, tuple[int, ...]] = {"bias": (dim,)}
    width = dim
    if "inner" in arrays:
        width = int(arrays["inner"].shape[-1])
        expected |= {"inner": (dim, width), "inner_bias": (width,)}
    if "outer" in arrays:
        if wide and kind[1] != ACTIVATED_SUM and arrays["outer"].ndim == 2:
            dim = min(dim, int(arrays["outer"].shape[1]))
        expected |= {"outer": (width, dim), "outer_bias": (dim,)}
    elif width != dim:
        raise ModelFileError(f"{owner}: the inner layer gives {width} numbers, not {dim}")
    for name, shape in expected.items():
        if arrays[name].dtype != np.float32 or arrays[name].shape != shape:
            raise ModelFileError(
                f"{owner}: {name} must be float32 {shape}, but is {arrays[name].dtype} {arrays[name].shape}"
            )
    return dim


def _block_forward(arrays: Mapping[str, Any], vectors: Floats, n_threads: int | None) -> Floats:
    """The block after the first layer, in place where it can be."""
    activation, added = ACTIVATIONS[int(arrays["kind"][0])], int(arrays["kind"][1])
    vectors += arrays["bias"]
    first = _activated(vectors.copy() if added == LINEAR_SUM else vectors, activation)
    inside = first
    if "inner" in arrays:
        inside = dense_product(first, arrays["inner"], n_threads)
        inside += arrays["inner_bias"]
        inside = _activated(inside, activation)
    if "outer" in arrays:
        inside = dense_product(inside, arrays["outer"], n_threads)
        inside += arrays["outer_bias"]
    if added and inside is not first:
        inside += vectors[:, : inside.shape[1]] if added == LINEAR_SUM else first
    return inside


def _activated(vectors: Floats, activation: str) -> Floats:
    if activation == "relu":
        np.maximum(vectors, 0, out=vectors)
    elif activation == "tanh":
        np.tanh(vectors, out=vectors)
    return vectors
