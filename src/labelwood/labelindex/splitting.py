"""Trees grown from the root, level by level; the splits by label vectors are native (labelindex/twomeans.hpp)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import DataError, ParamError
from labelwood.labelindex.tree import LabelTree
from labelwood.matrices import as_features, column_ids, row_pointers
from labelwood.progress import SILENT, Progress

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
NOTHING: Float64 = np.zeros(0)

# (sizes of the nodes of a level, its depth) -> which of them are split
IsInner = Callable[[Int64, int], npt.NDArray[np.bool_]]
# (order, first, size, number of the node, depth) -> labels of each child (n_nodes, most children), 0 where
# there is none
SplitLevel = Callable[[Int32, Int64, Int64, Int64, int], Int64]


def check_whole(name: str, value: Any, low: int) -> None:
    """Refuse a parameter that is no whole number from `low` up."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
        raise ParamError(f"{name} must be a whole number from {low} up, but is {value!r}")


def checked_frequencies(values: Any, n_labels: int | None, what: str = "frequencies") -> Float64:
    """One finite, non-negative float64 for each label, not all 0."""
    array = np.ascontiguousarray(values, np.float64)
    if array.ndim != 1 or len(array) == 0 or (n_labels is not None and len(array) != n_labels):
        expected = "one number a label" if n_labels is None else f"one number for each of {n_labels} labels"
        raise DataError(f"{what} must have {expected}, but has shape {array.shape}")
    if not np.all(np.isfinite(array)) or array.min() < 0 or not array.any():
        raise DataError(f"{what} must be finite, not negative and not all 0")
    return array


class Splitter:
    """Splits slices of a permutation of the labels by the vectors (and frequencies) of the labels."""

    @classmethod
    def of(cls, vectors: Any, frequencies: Float64 | None = None, cover_frequencies: Float64 | None = None) -> Splitter:
        """The splitter of these vectors; vectors that are a splitter themselves split on their own."""
        if isinstance(vectors, Splitter):
            return vectors.with_frequencies(frequencies, cover_frequencies)
        return cls(vectors, frequencies, cover_frequencies)

    def __init__(
        self, vectors: Any, frequencies: Float64 | None = None, cover_frequencies: Float64 | None = None
    ) -> None:
        matrix: sparse.csr_matrix = as_features(vectors, "label vectors")
        self.n_labels = int(matrix.shape[0])
        if self.n_labels == 0:
            raise DataError("label vectors have no rows: a label tree needs at least one label")
        self._vectors = _native.LabelVectors(int(matrix.shape[1]))
        self._vectors.add(row_pointers(matrix), column_ids(matrix), matrix.data)
        self._frequencies = NOTHING if frequencies is None else frequencies
        self._cover = NOTHING if cover_frequencies is None else cover_frequencies

    @classmethod
    def of_shards(
        cls,
        shards: Sequence[sparse.csr_matrix],
        bounds: Sequence[int],
        labels: Int32,
        frequencies: Float64 = NOTHING,
        cover_frequencies: Float64 = NOTHING,
    ) -> Splitter:
        """The splitter of some labels, numbered anew in their order; shard i has those from bounds[i] on.

        labels: they rise. Most of the labels are read where they are, for a copy costs more than their split; few of
        them are copied, for they would lie far from each other.
        """
        splitter = cls.__new__(cls)
        splitter.n_labels = len(labels)
        splitter._vectors = _native.LabelVectors(int(shards[0].shape[1]))
        cuts = np.searchsorted(labels, bounds)
        for shard, bound, low, high in zip(shards, bounds, cuts[:-1], cuts[1:], strict=False):
            if high > low:
                rows = (labels[low:high] - bound).astype(np.int32)
                splitter._vectors.add(row_pointers(shard), column_ids(shard), shard.data, rows)
        if 2 * len(labels) <= bounds[-1]:
            splitter._vectors.gather()
        splitter._frequencies, splitter._cover = frequencies, cover_frequencies
        return splitter

    def with_frequencies(self, frequencies: Float64 | None, cover_frequencies: Float64 | None) -> Splitter:
        """A splitter by the same vectors and these frequencies."""
        other = copy(self)
        other._frequencies = NOTHING if frequencies is None else frequencies
        other._cover = NOTHING if cover_frequencies is None else cover_frequencies
        return other

    def split(
        self,
        order: Int32,
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
            self._vectors,
            self._frequencies,
            self._cover,
            first,
            size,
            wanted,
            key,
            order,
            n_left,
            objective,
            options,
        )
        return n_left, objective

    def clusters(
        self,
        order: Int32,
        first: Int64,
        size: Int64,
        key: Int64,
        arity: int,
        *,
        max_iterations: int,
        tolerance: float,
        seed: int,
        n_threads: int | None,
    ) -> Int64:
        """The labels of each of up to `arity` children (n_nodes, arity) by k-means; `order` is rearranged in place."""
        counts = np.zeros((len(first), arity), np.int64)
        _native.kmeans_nodes(
            self._vectors,
            first,
            size,
            key,
            arity,
            max_iterations,
            tolerance,
            seed,
            n_threads or 0,
            order,
            counts,
        )
        return counts


def grow(order: Int32, split_level: SplitLevel, is_inner: IsInner, progress: Progress = SILENT) -> LabelTree:
    """The tree that grows from one node with all labels of `order` when each level is split.

    The number of a node, given to split_level, is the key of its randomness. `order` is rearranged in place.
    """
    first, size = np.zeros(1, np.int64), np.array([len(order)], np.int64)
    n_children: list[Int64] = []
    n_labels_in: list[Int64] = []
    done, depth, n_nodes = 0, 0, 0
    while len(first):
        inner = is_inner(size, depth) & (size > 1)
        children = np.zeros(len(size), np.int64)
        n_children.append(children)
        n_labels_in.append(np.where(inner, 0, size))
        done += int(size[~inner].sum())
        progress.step("label tree", done, len(order))
        number = n_nodes + np.flatnonzero(inner)
        n_nodes += len(first)
        first, size = first[inner], size[inner]
        if len(first):
            parts = split_level(order, first, size, number, depth)
            children[inner] = np.count_nonzero(parts, axis=1)
            starts = first[:, None] + np.cumsum(parts, axis=1) - parts
            first, size = starts[parts > 0], parts[parts > 0]
        depth += 1
    return LabelTree.from_shape(np.concatenate(n_children), np.concatenate(n_labels_in), order)


def in_two(left: Int64, size: Int64) -> Int64:
    """The labels of both children, (n_nodes, 2)."""
    return np.stack([left, size - left], axis=1)


def split_evenly(size: Int64, arity: int, cut: Callable[[Int64, Int64, Int64], None]) -> Int64:
    """The labels of min(arity, size) children that differ by at most one label, (n_nodes, arity).

    They come about by two-way cuts: cut(offsets, sizes, wanted) puts the `wanted` labels that belong together
    first in the slices of the level that begin at `offsets` (counted over the sizes of all nodes).
    """
    offset = np.cumsum(size) - size
    parts = np.minimum(size, arity)
    node, place = np.arange(len(size)), np.zeros(len(size), np.int64)
    while np.any(parts > 1):
        cutting = np.flatnonzero(parts > 1)
        left_parts = (parts[cutting] + 1) // 2
        # The first size % parts parts get one label more, so parts never differ by more than one label.
        smaller, rest = np.divmod(size[cutting], parts[cutting])
        left = left_parts * smaller + np.minimum(rest, left_parts)
        cut(offset[cutting], size[cutting], left)
        right = np.arange(len(cutting)) + cutting + 1  # where the right pieces stand after the repeat
        pieces = np.where(parts > 1, 2, 1)
        offset, size, parts, node, place = (np.repeat(a, pieces) for a in (offset, size, parts, node, place))
        offset[right] += left
        size[right] -= left
        size[right - 1] = left
        parts[right] -= left_parts
        parts[right - 1] = left_parts
        place[right] += left_parts
    counts = np.zeros((int(node[-1]) + 1, arity), np.int64)
    counts[node, place] = size
    return counts
