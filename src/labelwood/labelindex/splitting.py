"""Trees grown from the root by two-way splits, level by level; the splits themselves are native (native/twomeans.hpp)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import DataError, ParamError
from labelwood.labelindex.tree import LabelTree
from labelwood.matrices import as_features, column_ids, row_pointers
from labelwood.progress import SILENT, Progress

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]


def check_whole(name: str, value: Any, low: int) -> None:
    """Refuse a parameter that is no whole number from `low` up."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
        raise ParamError(f"{name} must be a whole number from {low} up, but is {value!r}")


class Splitter:
    """Splits slices of a permutation of the labels in two, by the vectors and frequencies of the labels."""

    def __init__(self, vectors: Any, frequencies: Float64 | None = None, cover_frequencies: Float64 | None = None) -> None:
        matrix: sparse.csr_matrix = as_features(vectors, "label vectors")
        self.n_labels = int(matrix.shape[0])
        if self.n_labels == 0:
            raise DataError("label vectors have no rows: a label tree needs at least one label")
        self._matrix = (row_pointers(matrix), column_ids(matrix), matrix.data, int(matrix.shape[1]))
        nothing = np.zeros(0)
        self._frequencies = nothing if frequencies is None else np.ascontiguousarray(frequencies, np.float64)
        self._cover = nothing if cover_frequencies is None else np.ascontiguousarray(cover_frequencies, np.float64)

    def split(
        self,
        order: npt.NDArray[np.int32],
        first: Int64,
        size: Int64,
        key: Int64,
        options: _native.SplitOptions,
        want_left: Int64 | None = None,
    ) -> tuple[Int64, Float64]:
        """How many labels each node's first child gets, and the objective; `order` is rearranged in place."""
        n_left, objective = np.zeros(len(first), np.int64), np.zeros(len(first))
        wanted = np.full(len(first), -1, np.int64) if want_left is None else want_left
        _native.split_nodes(
            *self._matrix, self._frequencies, self._cover, first, size, wanted, key, order, n_left, objective, options
        )
        return n_left, objective


# (order, first, size, key, depth) of the nodes to split -> labels of their first children
SplitLevel = Callable[[npt.NDArray[np.int32], Int64, Int64, Int64, int], Int64]


def grow_binary(
    order: npt.NDArray[np.int32],
    split_level: SplitLevel,
    is_inner: Callable[[Int64, int], npt.NDArray[np.bool_]],
    progress: Progress = SILENT,
) -> LabelTree:
    """The binary tree that grows from one node with all labels of `order` by splitting the inner nodes of each level.

    is_inner(sizes, depth) says which nodes of a level are split; the number of a node is the key of its randomness.
    """
    first, size = np.zeros(1, np.int64), np.array([len(order)], np.int64)
    n_children: list[Int64] = []
    n_labels_in: list[Int64] = []
    done, depth, n_nodes = 0, 0, 0
    while len(first):
        inner = is_inner(size, depth) & (size > 1)
        n_children.append(np.where(inner, 2, 0))
        n_labels_in.append(np.where(inner, 0, size))
        done += int(size[~inner].sum())
        progress.step("label tree", done, len(order))
        key = n_nodes + np.flatnonzero(inner)
        n_nodes += len(first)
        first, size = first[inner], size[inner]
        if len(first):
            left = split_level(order, first, size, key, depth)
            first = np.stack([first, first + left], axis=1).ravel()
            size = np.stack([left, size - left], axis=1).ravel()
        depth += 1
    return LabelTree.from_shape(np.concatenate(n_children), np.concatenate(n_labels_in), order)
