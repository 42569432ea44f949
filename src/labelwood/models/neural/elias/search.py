"""A trained ELIAS index at work, without torch: rows -> shortlists with scores. Rows do not depend on their batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import ModelFileError
from labelwood.models.base import Arrays
from labelwood.models.neural.elias.index import Floats, Int32
from labelwood.models.neural.forward import bag_forward, check_encoder, dense_product

CHUNK = 1024  # rows that are answered together
LOWEST = 1e-30  # of a path score before its logarithm
_ENCODER = "encoder."


@dataclass(frozen=True)
class Shortlist:
    """Labels int32 (n, room) in ascending order, -1 padded, with log path score and logit of the label classifier."""

    labels: Int32
    log_path: Floats
    logits: Floats

    @property
    def log_p(self) -> Floats:
        """log of p = sigmoid(logit) * path score; -inf at padding."""
        log_sigmoid = -np.logaddexp(np.float32(0), -self.logits)
        return np.where(self.labels < 0, np.float32(-np.inf), log_sigmoid + self.log_path).astype(np.float32)


@dataclass(frozen=True)
class LearnedIndex:
    """The arrays of a trained index.

    encoder: BagEncoder.arrays(); cluster_weight (dim, n_clusters), cluster_bias; edges (n_clusters, width) with their
    scores; label_weight (n_labels, dim), label_bias.
    """

    encoder: Arrays
    cluster_weight: Floats
    cluster_bias: Floats
    edges: Int32
    edge_scores: Floats
    label_weight: Floats
    label_bias: Floats
    alpha: float
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
        return np.minimum(1, self.alpha * shares).astype(np.float32)

    def best_clusters(self, vectors: Floats, beam: int, n_threads: int | None = None) -> tuple[Int32, Floats]:
        """(clusters, scores), both (n, beam): the best clusters of every row, best first."""
        scores = self.cluster_scores(vectors, n_threads)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :beam].astype(np.int32)
        return order, np.take_along_axis(scores, order, axis=1)

    def shortlist(self, vectors: Floats, room: int | None = None, n_threads: int | None = None) -> Shortlist:
        """The shortlists of rows given by their vectors; room: labels a row, if not the trained number."""
        room = min(room or self.room, self.n_labels)
        n_rows, threads = len(vectors), n_threads or 0
        labels = np.empty((n_rows, room), np.int32)
        paths, scores = np.empty((n_rows, room), np.int64), np.empty((n_rows, room), np.float32)
        clusters = self.cluster_scores(vectors, n_threads)
        _native.shortlist(
            self.edges, self.edge_scores, self.n_labels, clusters, self.beam, None, None, labels, paths, scores, threads
        )
        logits = np.empty((n_rows, room), np.float32)
        _native.shortlist_products(labels, vectors, self.label_weight, self.label_bias, logits, threads)
        return Shortlist(labels, np.log(np.maximum(scores, np.float32(LOWEST))), logits)

    def shortlists(self, x: sparse.csr_matrix, n_threads: int | None = None) -> Iterator[tuple[slice, Shortlist]]:
        """The shortlists of many rows, chunk by chunk: (rows, shortlist)."""
        for first in range(0, x.shape[0], CHUNK):
            rows = slice(first, min(first + CHUNK, x.shape[0]))
            yield rows, self.shortlist(self.vectors(x[rows], n_threads), n_threads=n_threads)

    # storage

    def to_arrays(self, prefix: str) -> Arrays:
        """The arrays under the names they are saved by."""
        own = {name: getattr(self, name) for name in _SAVED}
        own |= {_ENCODER + name: array for name, array in self.encoder.items()}
        own["scale"] = np.array([self.alpha, self.beam, self.room], np.float64)
        return {prefix + name: array for name, array in own.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], prefix: str, n_features: int, n_labels: int) -> LearnedIndex:
        """The index of a saved model; ModelFileError if the arrays do not fit together."""
        own = {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
        encoder = {name[len(_ENCODER) :]: array for name, array in own.items() if name.startswith(_ENCODER)}
        dim = check_encoder(encoder, n_features, "elias")
        n_clusters, width = own["edges"].shape
        shapes = {
            "cluster_weight": (dim, n_clusters),
            "cluster_bias": (n_clusters,),
            "edges": (n_clusters, width),
            "edge_scores": (n_clusters, width),
            "label_weight": (n_labels, dim),
            "label_bias": (n_labels,),
            "scale": (3,),
        }
        for name, shape in shapes.items():
            wanted = {"edges": np.int32, "scale": np.float64}.get(name, np.float32)
            if own[name].shape != shape or own[name].dtype != wanted:
                raise ModelFileError(
                    f"elias: {name} must be {np.dtype(wanted)} {shape}, but is {own[name].dtype} {own[name].shape}"
                )
        edges = own["edges"]
        if edges.size == 0 or int(edges.min()) < -1 or int(edges.max()) >= n_labels:
            raise ModelFileError(f"elias: an edge leads outside 0..{n_labels - 1}")
        alpha, beam, room = own["scale"].tolist()
        if not (alpha > 0 and beam >= 1 and room >= 1):
            raise ModelFileError("elias: the scale of the index is damaged")
        return cls(encoder, **{name: own[name] for name in _SAVED}, alpha=alpha, beam=int(beam), room=int(room))


_SAVED = ("cluster_weight", "cluster_bias", "edges", "edge_scores", "label_weight", "label_bias")


def top_of(labels: Int32, scores: npt.NDArray[Any], k: int) -> tuple[Int32, Floats]:
    """(labels, scores), both (n, k): the best of every row, best first; equal scores: the smaller label; -1 padded.

    labels (n, room) in ascending order with -1 as padding.
    """
    scores = np.where(labels < 0, -np.inf, scores)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(labels, order, axis=1), np.take_along_axis(scores, order, axis=1).astype(np.float32)
