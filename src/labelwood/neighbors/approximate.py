"""Candidates from faiss: places that are probably near a query; the exact search then ranks them.

faiss is imported only here, when a search begins or an index is built.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood.errors import MissingExtraError, ModelFileError
from labelwood.neighbors.store import Float32, Int64

KINDS = ("scan", "ivf", "hnsw")
_HNSW_LINKS = 32
_HNSW_BUILD_EFFORT = 100
_TRAINING_POINTS_PER_LIST = 64
_LIST_ITERATIONS = 10


def faiss_module(why: str) -> Any:
    """The faiss module; MissingExtraError says what it is needed for and how to get it."""
    try:
        import faiss
    except ImportError as error:
        raise MissingExtraError(
            f"{why} needs faiss: pip install 'labelwood[neural]' (kind='exact' works without it)"
        ) from error
    return faiss


class Candidates:
    """A faiss index over vectors (n, dim) that proposes the places of near ones.

    "scan": every vector as 4-bit codes of pairs of numbers, compared by table look-ups in registers: all of 100,000
    vectors of 256 numbers in a third of a millisecond. "ivf": the same codes in about 2 sqrt(n) lists, some of which
    are looked into. "hnsw": a graph of neighbours over vectors of 8-bit numbers. All are built by one thread, so that
    the same vectors give the same bytes.
    """

    def __init__(self, kind: str, n: int, dim: int, raw: npt.NDArray[np.uint8], index: Any = None) -> None:
        self.kind, self.n, self.dim, self.raw = kind, n, dim, raw
        self._index = index

    @classmethod
    def build(cls, kind: str, vectors: Float32, l2: bool, seed: int) -> Candidates:
        """The index of some vectors (n, dim)."""
        faiss = faiss_module(f"a neighbour index of kind {kind!r}")
        wide = _even(vectors)
        dim = wide.shape[1]
        metric = faiss.METRIC_L2 if l2 else faiss.METRIC_INNER_PRODUCT
        with _one_thread(faiss):
            if kind == "hnsw":
                eight_bits = faiss.ScalarQuantizer.QT_8bit
                index = faiss.IndexHNSWSQ(dim, eight_bits, _HNSW_LINKS, metric)
                index.hnsw.efConstruction = _HNSW_BUILD_EFFORT
            elif kind == "ivf":
                index = _list_index(faiss, wide, metric, seed)
            else:
                index = faiss.IndexPQFastScan(dim, dim // 2, 4, metric)
                index.pq.cp.seed = seed % 2**31
            index.train(wide)
            index.add(wide)
            raw = faiss.serialize_index(index)
        return cls(kind, len(wide), vectors.shape[1], raw, index)

    def propose(self, queries: Float32, n_candidates: int, effort: int, n_threads: int) -> Int64:
        """Places (n queries, n_candidates) of probably near vectors, -1 padded; effort: lists, or graph nodes kept."""
        faiss = faiss_module(f"a neighbour index of kind {self.kind!r}")
        index = self._loaded(faiss)
        parameters = None
        if self.kind == "ivf":
            parameters = faiss.SearchParametersIVF(nprobe=min(effort, index.nlist))
        elif self.kind == "hnsw":
            parameters = faiss.SearchParametersHNSW(efSearch=max(effort, n_candidates))
        with _threads(faiss, n_threads):
            places: Int64 = index.search(_even(queries), n_candidates, params=parameters)[1]
        return places

    def _loaded(self, faiss: Any) -> Any:
        if self._index is None:
            try:
                index = faiss.deserialize_index(np.array(self.raw))
            except RuntimeError as error:
                raise ModelFileError(f"the {self.kind} index is damaged: {str(error)[:200]}") from error
            if index.ntotal != self.n or index.d != self.dim + self.dim % 2:
                raise ModelFileError(
                    f"the {self.kind} index holds {index.ntotal} vectors of {index.d} numbers, "
                    f"not {self.n} of {self.dim}"
                )
            self._index = index
        return self._index


def _list_index(faiss: Any, vectors: Float32, metric: int, seed: int) -> Any:
    n_lists = max(1, min(int(2 * math.sqrt(len(vectors))), len(vectors) // 39))
    quantizer = faiss.IndexFlat(vectors.shape[1], metric)
    index = faiss.IndexIVFPQFastScan(quantizer, vectors.shape[1], n_lists, vectors.shape[1] // 2, 4, metric)
    index.by_residual = False
    index.cp.seed = index.pq.cp.seed = seed % 2**31
    index.cp.niter = _LIST_ITERATIONS
    index.cp.max_points_per_centroid = _TRAINING_POINTS_PER_LIST
    # Python would free the quantizer at the end of this function; the index takes it over.
    quantizer.this.disown()
    index.own_fields = True
    return index


def _even(vectors: Float32) -> Float32:
    """The vectors with an even number of columns: codes are made of pairs."""
    if vectors.shape[1] % 2 == 0:
        return np.ascontiguousarray(vectors)
    return np.pad(vectors, ((0, 0), (0, 1)))


@contextmanager
def _threads(faiss: Any, n: int) -> Iterator[None]:
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(n)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _one_thread(faiss: Any) -> Any:
    return _threads(faiss, 1)
