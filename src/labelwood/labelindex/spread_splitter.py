"""Splits of label sets done in pieces, each by the label vectors it needs; the same splits as in one piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from labelwood import _native
from labelwood.labelindex.splitting import NOTHING, Float64, Int32, Int64, Splitter
from labelwood.spreading import Spread, even_ranges

# Fewer labels are split here and now: a piece takes milliseconds to hand over.
SMALLEST_PIECE = 2000
_OPTIONS = [name for name in dir(_native.SplitOptions) if not name.startswith("_") and name != "n_threads"]


class SpreadSplitter(Splitter):
    """A splitter whose label vectors lie in shards, label after label, where the spread keeps them.

    Every level of a tree is split in pieces of whole nodes. A piece reads only the vectors of its own labels in the
    shards.
    """

    def __init__(self, spread: Spread, shards: Sequence[Any], bounds: Sequence[int]) -> None:
        self._spread, self._shards, self._bounds = spread, list(shards), list(bounds)
        self.n_labels = int(bounds[-1])
        self._frequencies = self._cover = NOTHING

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
        chosen = {name: getattr(options, name) for name in _OPTIONS}

        def job(nodes: slice, labels: Int32) -> tuple[Any, ...]:
            wanted = None if want_left is None else want_left[nodes]
            frequencies = [NOTHING if not len(of) else of[np.sort(labels)] for of in (self._frequencies, self._cover)]
            return (*frequencies, chosen, wanted)

        parts = self._pieces(split_piece, order, first, size, key, job)
        return np.concatenate([left for left, _ in parts]), np.concatenate([objective for _, objective in parts])

    def clusters(
        self, order: Int32, first: Int64, size: Int64, key: Int64, arity: int, *, n_threads: int | None, **settings: Any
    ) -> Int64:
        """The labels of each of up to `arity` children (n_nodes, arity) by k-means; `order` is rearranged in place."""
        if not len(first):
            return np.zeros((0, arity), np.int64)
        return np.concatenate(self._pieces(cluster_piece, order, first, size, key, lambda *_: (arity, settings)))

    def _pieces(self, function: Any, order: Int32, first: Int64, size: Int64, key: Int64, job: Any) -> list[Any]:
        """What the function gives for every piece; `order` is rearranged as it says."""
        n_parts = min(self._spread.n_parts, max(1, int(size.sum()) // SMALLEST_PIECE))
        ranges = even_ranges(size.tolist(), n_parts)
        labels = [
            np.concatenate([order[start : start + n] for start, n in zip(first[a:b], size[a:b], strict=True)])
            for a, b in ranges
        ]
        jobs = [
            (self._bounds, own, size[a:b], key[a:b], *job(slice(a, b), own))
            for (a, b), own in zip(ranges, labels, strict=True)
        ]
        results = self._spread.map(function, self._shards, jobs, costs=[len(own) for own in labels])
        for (a, b), (moved, _) in zip(ranges, results, strict=True):
            at = 0
            for start, n in zip(first[a:b].tolist(), size[a:b].tolist(), strict=True):
                order[start : start + n] = moved[at : at + n]
                at += n
        return [result for _, result in results]


def split_piece(*arguments: Any, n_threads: int | None = None) -> tuple[Int32, tuple[Int64, Float64]]:
    """(the labels of some nodes rearranged, what Splitter.split gives); arguments: shards, then a job of `split`."""
    *shards, bounds, labels, size, key, frequencies, cover, chosen, wanted = arguments
    options = _native.SplitOptions()
    for name, value in {**chosen, "n_threads": n_threads or 0}.items():
        setattr(options, name, value)
    own = np.sort(labels)  # the numbers of labels decide ties, and so must keep their order
    splitter = Splitter.of_shards(shards, bounds, own, frequencies, cover)
    order = np.searchsorted(own, labels).astype(np.int32)
    result = splitter.split(order, np.cumsum(size) - size, size, key, options, wanted)
    return own[order], result


def cluster_piece(*arguments: Any, n_threads: int | None = None) -> tuple[Int32, Int64]:
    """(the labels of some nodes rearranged, what Splitter.clusters gives); arguments: shards, then a job of it."""
    *shards, bounds, labels, size, key, arity, settings = arguments
    own = np.sort(labels)
    splitter = Splitter.of_shards(shards, bounds, own)
    order = np.searchsorted(own, labels).astype(np.int32)
    counts = splitter.clusters(order, np.cumsum(size) - size, size, key, arity, n_threads=n_threads, **settings)
    return own[order], counts
