"""NeighborIndex: the nearest of many vectors, exactly or through faiss, behind one interface."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labelwood import _native
from labelwood.data.keyed_random import keyed_order
from labelwood.errors import ModelFileError, ParamError, unknown_name
from labelwood.neighbors.approximate import KINDS, Candidates
from labelwood.neighbors.store import STORE, Float32, Int32, VectorStore, check_k
from labelwood.storage.schema import Array, ArrayRule, Arrays, Schema, number, whole_number

AUTO = "auto"
EXACT = "exact"
# Numbers (n * dim) above which "auto" leaves exact search: 16 MB of floats are read in about a millisecond.
SCAN_FROM = 4_000_000
# ... and above which lists beat looking at every code: 32 MB of codes, one and a half milliseconds.
LISTS_FROM = 128_000_000
FEWEST = 1_000  # codes are trained on the vectors themselves and need some
_SAMPLE = 200  # queries that recall is measured with
_MOST_CANDIDATES = 1 << 14


# What faiss knows is bytes of its own; Candidates checks them when a search begins.
INDEX: Schema = {**STORE, "faiss": ArrayRule("uint8", ("n_faiss",), optional=True)}


@dataclass(frozen=True)
class Tuning:
    """How hard an approximate index searches, and how well: found when it is built.

    n_candidates: proposed for recall_k answers. effort: lists that are looked into. recall: the measured share of the
    true recall_k nearest that are found.
    """

    n_candidates: int = 0
    effort: int = 0
    recall: float = 1.0
    recall_k: int = 0


@dataclass(frozen=True)
class _Sample:
    """Queries that recall is measured with; of_index: vectors of the index, whose nearest is themselves."""

    ready: Float32
    of_index: bool


@dataclass(frozen=True, eq=False)
class NeighborIndex:
    """Vectors that can be asked for the k nearest to a query by inner product, cosine or distance.

    Approximate kinds ("scan", "ivf", "hnsw") only propose candidates; all answers are ranked by the exact score. How
    many are proposed is found at building time: until `recall` against exact search holds on a sample.
    """

    store: VectorStore
    candidates: Candidates | None = None
    tuning: Tuning = Tuning()

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
            return cls(store)
        if len(store) < FEWEST:
            raise ParamError(f"kind {kind!r} needs at least {FEWEST} vectors, but there are {len(store)}; use 'exact'")
        index = cls(store, Candidates.build(kind, store.floats(), metric == "l2", seed))
        tuning = index._tuned(index._sample(queries, seed), recall, recall_k, n_threads)
        return replace(index, tuning=tuning)

    @property
    def kind(self) -> str:
        """How answers are found: exact, scan, ivf or hnsw."""
        return EXACT if self.candidates is None else self.candidates.kind

    @property
    def metric(self) -> str:
        """What is compared: ip, cosine or l2."""
        return self.store.metric

    @property
    def recall(self) -> float:
        """The share of the nearest vectors that are found, measured when the index was built; 1 if exact."""
        return self.tuning.recall

    def __len__(self) -> int:
        return len(self.store)

    def search(self, queries: Any, k: int, *, n_threads: int | None = None) -> tuple[Int32, Float32]:
        """(ids, scores): the k nearest vectors of each query, int32 and float32 (n, k), best first.

        Equal scores go to the smaller id. Fewer than k vectors: padded with -1 and -inf.
        """
        check_k(k)
        ready = self.store.queries(queries)
        return self._search(ready, k, self.tuning, n_threads)

    def exact(self) -> NeighborIndex:
        """The same vectors with exact search; needs no faiss."""
        return NeighborIndex(self.store)

    def arrays(self) -> Arrays:
        """The index as named arrays, ready to be saved beside `facts()`."""
        return self.store.arrays() | ({} if self.candidates is None else {"faiss": self.candidates.raw})

    def facts(self) -> dict[str, Any]:
        """What the index is and how well it does, as JSON values: kind, metric, dim, measured recall."""
        facts: dict[str, Any] = {"kind": self.kind, "metric": self.metric, "dim": self.store.dim}
        if self.candidates is not None:
            facts |= {"candidates": self.tuning.n_candidates, "effort": self.tuning.effort}
            facts |= {"recall": self.tuning.recall, "recall_k": self.tuning.recall_k}
        return facts

    @classmethod
    def restore(cls, arrays: Mapping[str, Array], facts: Mapping[str, Any]) -> NeighborIndex:
        """The index that `arrays`, which keep INDEX, and `facts` gave; ModelFileError if they do not fit together."""
        where = "neighbour index"
        store = VectorStore.restore(arrays, whole_number(facts, "dim", 1, 2**31 - 1, where), facts["metric"])
        kind = facts["kind"]
        if kind not in (EXACT, *KINDS) or (kind == EXACT) != ("faiss" not in arrays):
            raise ModelFileError(f"{where}: the arrays are not those of kind {kind!r:.40}")
        if kind == EXACT:
            return cls(store)
        tuning = Tuning(
            whole_number(facts, "candidates", 1, 1 << 30, where),
            whole_number(facts, "effort", 0, 1 << 30, where),
            number(facts, "recall", 0, where),
            whole_number(facts, "recall_k", 1, 1 << 30, where),
        )
        return cls(store, Candidates(kind, len(store), store.dim, arrays["faiss"]), tuning)

    def _search(self, ready: Float32, k: int, tuning: Tuning, n_threads: int | None) -> tuple[Int32, Float32]:
        wanted = math.ceil(tuning.n_candidates * max(k, tuning.recall_k) / max(tuning.recall_k, 1))
        wanted = min(max(wanted, k), len(self))
        threads = n_threads or _native.max_threads()
        if self.candidates is None or wanted == len(self):
            return self.store.nearest(ready, k, n_threads=n_threads)
        places = self.candidates.propose(ready[:, : self.store.dim], wanted, tuning.effort, threads)
        return self.store.best_of(ready, places, k, n_threads)

    def _sample(self, queries: Any, seed: int) -> _Sample:
        source = None if queries is None else self.store.queries(queries)
        if source is not None and len(source):
            return _Sample(source[keyed_order(len(source), seed)[:_SAMPLE]], False)
        vectors = self.store.floats(np.sort(keyed_order(len(self), seed)[:_SAMPLE]))
        return _Sample(self.store.queries(vectors), True)

    def _tuned(self, sample: _Sample, recall: float, recall_k: int, n_threads: int | None) -> Tuning:
        """The least effort with the wanted recall, and the recall that was measured."""
        recall_k = min(recall_k, len(self) - 1)
        k = recall_k + sample.of_index
        _, scores = self.store.nearest(sample.ready, k, n_threads=n_threads)
        least = scores[:, -1:]  # whatever scores as much as the k-th nearest is a right answer: equal vectors are equal

        def measured(tuning: Tuning) -> Tuning:
            _, scores = self._search(sample.ready, k, tuning, n_threads)
            # A vector of the index finds itself, which says nothing.
            hits = int((scores >= least).sum()) - sample.of_index * len(sample.ready)
            return replace(tuning, recall=hits / (len(sample.ready) * (k - sample.of_index)))

        tuning = measured(Tuning(8 * recall_k, 8 if self.kind == "ivf" else 0, recall_k=recall_k))
        while tuning.recall < recall and tuning.n_candidates < _MOST_CANDIDATES:
            more_candidates = replace(tuning, n_candidates=2 * tuning.n_candidates)
            if self.kind != "ivf":
                tuning = measured(more_candidates)
                continue
            # Twice the candidates or twice the lists, whichever brings more.
            more_lists = measured(replace(tuning, effort=2 * tuning.effort))
            more_candidates = measured(more_candidates)
            tuning = more_lists if more_lists.recall >= more_candidates.recall else more_candidates
            if tuning.effort >= len(self):
                tuning = measured(replace(tuning, n_candidates=_MOST_CANDIDATES))
        return tuning


def _kind_by_size(n: int, dim: int) -> str:
    if n * dim <= SCAN_FROM or n < FEWEST:
        return EXACT
    return "scan" if n * dim <= LISTS_FROM else "ivf"
