"""NeighborIndex: the nearest of many vectors, exactly or through faiss, behind one interface."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from labelwood import _native
from labelwood.data.keyed_random import keyed_order
from labelwood.errors import ModelFileError, ParamError, unknown_name
from labelwood.neighbors.approximate import KINDS, Candidates
from labelwood.neighbors.store import Array, Float32, Int32, VectorStore, check_k

AUTO = "auto"
EXACT = "exact"
# Numbers (n * dim) above which "auto" leaves exact search: 16 MB of floats are read in about a millisecond.
SCAN_FROM = 4_000_000
# ... and above which lists beat looking at every code: 32 MB of codes, one and a half milliseconds.
LISTS_FROM = 128_000_000
FEWEST = 1_000  # codes are trained on the vectors themselves and need some
_SAMPLE = 200  # queries that recall is measured with
_MOST_CANDIDATES = 1 << 14


class NeighborIndex:
    """Vectors that can be asked for the k nearest to a query by inner product, cosine or distance.

    Approximate kinds ("scan", "ivf", "hnsw") only propose candidates; all answers are ranked by the exact score. How
    many are proposed is found at building time: until `recall` against exact search holds on a sample.
    """

    def __init__(self, store: VectorStore, candidates: Candidates | None, facts: Mapping[str, Any]) -> None:
        self.store = store
        self._candidates = candidates
        self._n_candidates = int(facts.get("candidates", 0))
        self._effort = int(facts.get("effort", 0))
        self.recall: float = float(facts.get("recall", 1.0))
        self.recall_k: int = int(facts.get("recall_k", 0))

    @classmethod
    def build(
        cls,
        vectors: Any,
        *,
        metric: str = "ip",
        kind: str = AUTO,
        storage: str = "float32",
        recall: float = 0.995,
        recall_k: int = 5,
        queries: Any = None,
        seed: int = 0,
        n_threads: int | None = None,
    ) -> NeighborIndex:
        """The index of vectors (n, dim).

        metric: "ip" (inner product), "cosine" or "l2" (negative squared distance). kind: "exact", "scan" (compressed
        codes of all vectors), "ivf" (codes in lists), "hnsw" (graph), or "auto" by size. storage: float32, bfloat16 or
        int8. recall: the share of the true recall_k nearest that must be found on a sample of `queries` (of the vectors
        themselves if none are given); the measured share is kept.
        """
        if kind not in (AUTO, EXACT, *KINDS):
            raise ParamError(unknown_name("kind of neighbour index", kind, (AUTO, EXACT, *KINDS)))
        if not 0 < recall <= 1:
            raise ParamError(f"recall must be above 0 and at most 1, but is {recall!r}")
        store = VectorStore.of(vectors, metric, storage)
        if kind == AUTO:
            kind = _kind_by_size(len(store), store.dim)
        if kind == EXACT:
            return cls(store, None, {})
        if len(store) < FEWEST:
            raise ParamError(f"kind {kind!r} needs at least {FEWEST} vectors, but there are {len(store)}; use 'exact'")
        candidates = Candidates.build(kind, store.floats(), metric == "l2", seed)
        index = cls(store, candidates, {})
        sample, from_index = index._sample(queries, recall_k, seed)
        index._tune(sample, from_index, recall, recall_k, n_threads)
        return index

    @property
    def kind(self) -> str:
        """How answers are found: exact, scan, ivf or hnsw."""
        return EXACT if self._candidates is None else self._candidates.kind

    @property
    def metric(self) -> str:
        """What is compared: ip, cosine or l2."""
        return self.store.metric

    def __len__(self) -> int:
        return len(self.store)

    def search(self, queries: Any, k: int, *, n_threads: int | None = None) -> tuple[Int32, Float32]:
        """(ids, scores): the k nearest vectors of each query, int32 and float32 (n, k), best first.

        Equal scores go to the smaller id. Fewer than k vectors: padded with -1 and -inf.
        """
        check_k(k)
        ready = self.store.queries(queries)
        if self._candidates is None:
            return self.store.nearest(ready, k, n_threads=n_threads)
        return self._search(ready, k, self._n_candidates, self._effort, n_threads)

    def exact(self) -> NeighborIndex:
        """The same vectors with exact search; needs no faiss."""
        return NeighborIndex(self.store, None, {})

    def arrays(self) -> dict[str, Array]:
        """The index as named arrays, ready to be saved beside `facts()`."""
        arrays = self.store.arrays()
        if self._candidates is not None:
            arrays["faiss"] = self._candidates.raw
        return arrays

    def facts(self) -> dict[str, Any]:
        """What the index is and how well it does, as JSON values: kind, metric, dim, measured recall."""
        facts: dict[str, Any] = {"kind": self.kind, "metric": self.metric, "dim": self.store.dim}
        if self._candidates is not None:
            facts |= {"candidates": self._n_candidates, "effort": self._effort}
            facts |= {"recall": self.recall, "recall_k": self.recall_k}
        return facts

    @classmethod
    def restore(cls, arrays: Mapping[str, Array], facts: Mapping[str, Any]) -> NeighborIndex:
        """The index that `arrays` and `facts` gave; ModelFileError if they do not fit together."""
        store = VectorStore.restore(arrays, facts["dim"], facts["metric"])
        kind = facts["kind"]
        if kind == EXACT:
            return cls(store, None, {})
        if kind not in KINDS or arrays["faiss"].dtype != np.uint8 or arrays["faiss"].ndim != 1:
            raise ModelFileError(f"no neighbour index of kind {kind!r:.40} in {arrays['faiss'].dtype} bytes")
        if not 0 < facts["candidates"] <= 1 << 30 or not 0 <= facts["effort"] <= 1 << 30 or facts["recall_k"] < 1:
            raise ModelFileError("the search effort of the neighbour index is damaged")
        return cls(store, Candidates(kind, len(store), store.dim, arrays["faiss"]), facts)

    def _search(
        self, ready: Float32, k: int, n_candidates: int, effort: int, n_threads: int | None
    ) -> tuple[Int32, Float32]:
        wanted = math.ceil(n_candidates * max(k, self.recall_k) / max(self.recall_k, 1))
        wanted = min(max(wanted, k), len(self))
        threads = n_threads or _native.max_threads()
        if self._candidates is None or wanted == len(self):
            return self.store.nearest(ready, k, n_threads=n_threads)
        places = self._candidates.propose(ready[:, : self.store.dim], wanted, effort, threads)
        return self.store.best_of(ready, places, k, n_threads)

    def _sample(self, queries: Any, k: int, seed: int) -> tuple[Float32, bool]:
        """(ready queries, True if they are vectors of the index, whose nearest is themselves)."""
        source = None if queries is None else self.store.queries(queries)
        if source is not None and len(source):
            return source[keyed_order(len(source), seed)[:_SAMPLE]], False
        return self.store.queries(self.store.floats(np.sort(keyed_order(len(self), seed)[:_SAMPLE]))), True

    def _tune(self, sample: Float32, from_index: bool, recall: float, recall_k: int, n_threads: int | None) -> None:
        """Find the least effort with the wanted recall, and remember the recall that was measured."""
        self.recall_k = min(recall_k, len(self) - 1)
        k = self.recall_k + from_index
        _, scores = self.store.nearest(sample, k, n_threads=n_threads)
        least = scores[:, -1:]  # whatever scores as much as the k-th nearest is a right answer: equal vectors are equal
        self._n_candidates = 8 * self.recall_k
        self._effort = 8 if self.kind == "ivf" else 0
        while True:
            self.recall = self._measured(sample, k, least, from_index, n_threads)
            if self.recall >= recall or self._n_candidates >= _MOST_CANDIDATES:
                return
            self._raise_effort(sample, k, least, from_index, n_threads)

    def _raise_effort(self, sample: Float32, k: int, least: Float32, from_index: bool, n_threads: int | None) -> None:
        """Double the candidates or the lists, whichever brings more."""
        if self.kind != "ivf":
            self._n_candidates *= 2
            return
        self._effort *= 2
        with_lists = self._measured(sample, k, least, from_index, n_threads)
        self._effort //= 2
        self._n_candidates *= 2
        with_candidates = self._measured(sample, k, least, from_index, n_threads)
        if with_lists >= with_candidates:
            self._n_candidates //= 2
            self._effort *= 2
        if self._effort >= len(self):
            self._n_candidates = _MOST_CANDIDATES

    def _measured(self, sample: Float32, k: int, least: Float32, from_index: bool, n_threads: int | None) -> float:
        _, scores = self._search(sample, k, self._n_candidates, self._effort, n_threads)
        # The place of a vector of the index is always among its answers and says nothing.
        hits = int((scores >= least).sum()) - from_index * len(sample)
        return hits / (len(sample) * (k - from_index))


def _kind_by_size(n: int, dim: int) -> str:
    if n * dim <= SCAN_FROM or n < FEWEST:
        return EXACT
    return "scan" if n * dim <= LISTS_FROM else "ivf"
