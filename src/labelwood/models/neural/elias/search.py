"""A trained ELIAS index at work, without torch: rows -> shortlists with scores. Rows do not depend on their batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import ModelFileError
from labelwood.matrices import column_ids, row_pointers, unit_values
from labelwood.models.neural.elias.index import Floats, Int32, kept_edges
from labelwood.models.neural.forward import ENCODER, bag_forward, check_encoder, dense_product
from labelwood.storage.schema import ArrayRule, Arrays, Schema, part, prefixed

CHUNK = 1024  # rows that are answered together
_ENCODER = "encoder."
_SAVED = ("cluster_weight", "cluster_bias", "edges", "edge_scores", "edge_shares", "label_weight", "label_bias")


def index_schema(inputs: str | int) -> Schema:
    """The arrays of an index whose encoder sees so many columns (a size)."""
    return {
        "cluster_weight": ArrayRule("float32", ("dim", "n_clusters")),
        "cluster_bias": ArrayRule("float32", ("n_clusters",)),
        "edges": ArrayRule("int32", ("n_clusters", "width"), low=-1, below="n_labels"),
        "edge_scores": ArrayRule("float32", ("n_clusters", "width")),
        "edge_shares": ArrayRule("float32", ("n_clusters", "width")),
        "label_weight": ArrayRule("float32", ("n_labels", "dim")),
        "label_bias": ArrayRule("float32", ("n_labels",)),
        "scale": ArrayRule("float64", (4,), finite=True),  # alpha, beta, beam, room
        **prefixed(_ENCODER, {**ENCODER, "table": replace(ENCODER["table"], shape=(inputs, "n_first"))}),
    }


class UnitRows:
    """The rows of a CSR matrix scaled to length 1, as bare arrays: a scipy matrix costs a single query too much."""

    def __init__(self, x: sparse.csr_matrix) -> None:
        self.shape: tuple[int, int] = x.shape
        self.nnz = len(x.data)
        self.indptr, self.indices, self.data = x.indptr, x.indices, unit_values(x)


@dataclass(frozen=True)
class Shortlist:
    """Labels int32 (n, room) in ascending order, -1 padded, with log path score and logit of the label classifier.

    log_p: log of p = sigmoid(logit) * path score; -inf at padding.
    """

    labels: Int32
    log_path: Floats
    logits: Floats
    log_p: Floats


@dataclass(frozen=True)
class LearnedIndex:
    """The arrays of a trained index.

    encoder: BagEncoder.arrays(); cluster_weight (dim, n_clusters), cluster_bias; edges (n_clusters, width) with their
    shares (softmax) and scores min(1, beta share); label_weight (n_labels, dim), label_bias.
    """

    encoder: Arrays
    cluster_weight: Floats
    cluster_bias: Floats
    edges: Int32
    edge_scores: Floats
    edge_shares: Floats
    label_weight: Floats
    label_bias: Floats
    alpha: float
    beta: float
    beam: int
    room: int

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return len(self.label_bias)

    def vectors(self, x: sparse.csr_matrix, n_threads: int | None = None) -> Floats:
        """The encoder's vectors (n, dim) of sparse rows."""
        return bag_forward(self.encoder, x, n_threads)

    def cluster_scores(self, vectors: Floats, n_threads: int | None = None) -> Floats:
        """min(1, alpha softmax) of the clusters, (n, n_clusters)."""
        logits = dense_product(vectors, self.cluster_weight, n_threads)
        logits += self.cluster_bias
        logits -= logits.max(axis=1, keepdims=True)
        powers = np.exp(logits)
        shares = powers / powers.sum(axis=1, keepdims=True, dtype=np.float64)
        scores: Floats = np.minimum(1, self.alpha * shares).astype(np.float32)
        return scores

    def best_clusters(self, vectors: Floats, beam: int, n_threads: int | None = None) -> tuple[Int32, Floats]:
        """(clusters, scores), both (n, beam): the best clusters of every row, best first."""
        scores = self.cluster_scores(vectors, n_threads)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :beam].astype(np.int32)
        return order, np.take_along_axis(scores, order, axis=1)

    def shortlist(
        self, x: sparse.csr_matrix | UnitRows, room: int | None = None, n_threads: int | None = None
    ) -> Shortlist:
        """The shortlists of sparse rows; room: labels a row, if not the trained number."""
        room = min(room or self.room, self.n_labels)
        shape = (x.shape[0], room)
        labels = np.empty(shape, np.int32)
        log_path, logits, log_p = (np.empty(shape, np.float32) for _ in range(3))
        values = np.ascontiguousarray(x.data, dtype=np.float32)
        self._native_index.search(
            row_pointers(x), column_ids(x), values, labels, log_path, logits, log_p, n_threads or 0
        )
        return Shortlist(labels, log_path, logits, log_p)

    def shortlists(self, x: sparse.csr_matrix, n_threads: int | None = None) -> Iterator[tuple[slice, Shortlist]]:
        """The shortlists of many rows, chunk by chunk: (rows, shortlist)."""
        for first in range(0, x.shape[0], CHUNK):
            rows = slice(first, min(first + CHUNK, x.shape[0]))
            yield rows, self.shortlist(x[rows], n_threads=n_threads)

    @cached_property
    def _native_index(self) -> Any:
        """The arrays as the native search wants them: checked once."""
        encoder = self.encoder
        return _native.LabelIndex(
            encoder["table"], encoder["bias"], encoder.get("inner"), encoder.get("inner_bias"), encoder.get("outer"),
            encoder.get("outer_bias"), int(encoder["kind"][0]), int(encoder["kind"][1]), self.cluster_weight,
            self.cluster_bias, self.edges, self.edge_scores, self.label_weight, self.label_bias, self.alpha, self.beam,
        )  # fmt: skip

    def pruned(self, keep: npt.NDArray[np.bool_], renormalize: bool) -> LearnedIndex:
        """The index with the marked edges (n_clusters, width) alone.

        renormalize: the softmax is taken over the survivors, which become stronger; otherwise their scores stay.
        """
        edges, shares = kept_edges(self.edges, self.edge_shares, keep)
        _, scores = kept_edges(self.edges, self.edge_scores, keep)
        if renormalize:
            total = shares.sum(axis=1, keepdims=True)
            shares = (shares / np.where(total > 0, total, 1)).astype(np.float32)
            scores = np.minimum(1, self.beta * shares).astype(np.float32)
        return replace(self, edges=edges, edge_shares=shares, edge_scores=scores)

    # storage

    def to_arrays(self) -> Arrays:
        """The arrays, as `index_schema` tells them."""
        scale = np.array([self.alpha, self.beta, self.beam, self.room], np.float64)
        return {name: getattr(self, name) for name in _SAVED} | prefixed(_ENCODER, self.encoder) | {"scale": scale}

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_labels: int) -> LearnedIndex:
        """The index of saved arrays, which keep their schema; ModelFileError if they do not fit together."""
        encoder = part(_ENCODER, arrays)
        dim = check_encoder(encoder, len(encoder["table"]), "elias")
        if arrays["label_weight"].shape[1] != dim:
            raise ModelFileError(f"elias: {arrays['label_weight'].shape[1]} weights a label for vectors of {dim}")
        n_clusters, width = arrays["edges"].shape
        alpha, beta, beam, room = arrays["scale"].tolist()
        if not (width and alpha > 0 and beta > 0 and 1 <= beam <= n_clusters and 1 <= room <= n_labels):
            raise ModelFileError("elias: the scale of the index is damaged")
        return cls(
            encoder, **{name: arrays[name] for name in _SAVED}, alpha=alpha, beta=beta, beam=int(beam), room=int(room)
        )


def top_of(labels: Int32, scores: npt.NDArray[Any], k: int) -> tuple[Int32, Floats]:
    """(labels, scores), both (n, k): the best of every row, best first; equal scores: the smaller label; -1 padded.

    labels (n, room) in ascending order with -1 as padding.
    """
    scores = np.where(labels < 0, -np.inf, scores)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(labels, order, axis=1), np.take_along_axis(scores, order, axis=1).astype(np.float32)
