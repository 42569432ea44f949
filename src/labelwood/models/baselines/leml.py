"""LEML: one low-rank linear map from features to labels, by least squares in both factors in turn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.keyed_random import keyed_uniform
from labelwood.matrices import normalized_rows
from labelwood.models.base import Model
from labelwood.models.explanation import Contribution, Explanation, NodeScore
from labelwood.models.fit_input import FitInput, TrainedOn
from labelwood.models.fitted import Fitted
from labelwood.models.neural.forward import sparse_product
from labelwood.neighbors.store import VectorStore
from labelwood.params import Params, param
from labelwood.progress import Progress
from labelwood.storage.schema import ArrayRule, Arrays, Schema
from labelwood.topk import TopK

_POWER_STEPS = 5  # of the first label vectors
_ROWS_AT_ONCE = 4096
# The score of labels without a training row, below all others: their vectors are 0, and 0 would beat a negative score.
_UNSEEN = np.float32(-1.0)
_LEAST = np.nextafter(_UNSEEN, np.float32(0))
Float64 = npt.NDArray[np.float64]
Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class LEMLParams(Params):
    """Parameters of leml."""

    dim: int = param(100, "rank of the map; never more than there are labels", low=1, high=1 << 14)
    reg: float = param(2.0, "pull of both factors to zero", low=0, low_open=True)
    rounds: int = param(3, "times that both factors are solved in turn", low=1, high=1000)
    steps: int = param(15, "steps of conjugate gradients for the features' factor in each round", low=1, high=10_000)


@dataclass(frozen=True, eq=False)
class FittedLEML(Fitted[LEMLParams]):
    """Both factors: a vector for every feature and the constant, and a vector for every label."""

    name = "leml"
    feature_vectors: Float32  # (n_features, dim)
    bias: Float32  # (dim,)
    label_vectors: Float32  # (n_labels, dim)
    _seen: npt.NDArray[np.int32] = field(init=False, repr=False)
    _labels: VectorStore = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        seen = np.flatnonzero(self.trained_on.label_counts).astype(np.int32)
        object.__setattr__(self, "_seen", seen)
        object.__setattr__(self, "_labels", VectorStore.of(self.label_vectors[seen]))

    def predict(self, x: sparse.csr_matrix, k: int, n_threads: int | None = None) -> TopK:
        """The k labels whose vectors have the largest products with each row's."""
        near = min(k, len(self._seen))
        labels = np.empty((x.shape[0], k), np.int32)
        scores = np.full((x.shape[0], k), _UNSEEN)
        unseen = np.setdiff1d(np.arange(self.n_labels, dtype=np.int32), self._seen)
        labels[:, near:] = unseen[: k - near]
        for begin in range(0, x.shape[0] if near else 0, _ROWS_AT_ONCE):
            part = slice(begin, begin + _ROWS_AT_ONCE)
            queries = self._labels.queries(self._vectors(x[part], n_threads))
            places, products = self._labels.nearest(queries, near, n_threads=n_threads)
            labels[part, :near] = self._seen[places]
            scores[part, :near] = np.maximum(products, _LEAST)
        return TopK(labels, scores)

    def _vectors(self, x: sparse.csr_matrix, n_threads: int | None) -> Float32:
        """The vectors (n, dim) of rows."""
        return sparse_product(normalized_rows(x), self.feature_vectors, n_threads) + self.bias

    def explain(self, row: sparse.csr_matrix, label: int, n_threads: int | None = None) -> Explanation:
        """What each feature, and the constant, adds to the product."""
        if not self.trained_on.label_counts[label]:
            unseen = Contribution(0, -1, 1.0, float(_UNSEEN), float(_UNSEEN))
            return Explanation(label, float(_UNSEEN), (NodeScore(0, float(_UNSEEN), -math.inf),), (unseen,))
        vector = self.label_vectors[label].astype(np.float64)
        pushes = normalized_rows(row).data * (self.feature_vectors[row.indices].astype(np.float64) @ vector)
        parts = [
            Contribution(0, feature, value, push / value, push)
            for feature, value, push in zip(row.indices.tolist(), row.data.tolist(), pushes.tolist(), strict=True)
            if value != 0
        ]
        constant = float(self.bias.astype(np.float64) @ vector)
        parts.append(Contribution(0, -1, 1.0, constant, constant))
        product = math.fsum(part.contribution for part in parts)
        score = max(product, float(_LEAST))
        log_score = math.log(score) if score > 0 else -math.inf
        return Explanation(label, score, (NodeScore(0, product, log_score),), tuple(parts))

    def structure(self) -> dict[str, float]:
        """The rank."""
        return {"rank": float(len(self.bias))}

    @classmethod
    def schema(cls, settings: LEMLParams, facts: Mapping[str, Any]) -> Schema:
        """The vectors of features, constant and labels."""
        return {
            "feature_vectors": ArrayRule("float32", ("n_features", "n_rank"), finite=True),
            "bias": ArrayRule("float32", ("n_rank",), finite=True),
            "label_vectors": ArrayRule("float32", ("n_labels", "n_rank"), finite=True),
        }

    def arrays(self) -> Arrays:
        """The vectors."""
        return {
            "feature_vectors": self.feature_vectors,
            "bias": self.bias,
            "label_vectors": self.label_vectors,
        }

    @classmethod
    def restore(
        cls, settings: LEMLParams, trained_on: TrainedOn, arrays: Arrays, facts: Mapping[str, Any]
    ) -> FittedLEML:
        """The state of saved vectors."""
        return cls(settings, trained_on, arrays["feature_vectors"], arrays["bias"], arrays["label_vectors"])


class LEML(Model[LEMLParams, FittedLEML]):
    """Scores are x W H': a linear map of low rank, fitted to the labels as 0 and 1 by least squares.

    Yu, Jain, Kar and Dhillon, Large-scale multi-label learning with missing labels, ICML 2014: squared loss and
    reg / 2 (|W|^2 + |H|^2), both factors in turn. W starts from the directions in which labels vary most.
    """

    name = "leml"
    Parameters = LEMLParams
    FittedState = FittedLEML

    @staticmethod
    def _train(settings: LEMLParams, data: FitInput) -> FittedLEML:
        x = normalized_rows(data.x).astype(np.float64)
        x = sparse.hstack([x, np.ones((x.shape[0], 1))], format="csr")  # the last column is the constant
        features, labels = factors(x, data.y.astype(np.float64), settings, data.progress)
        features32 = np.ascontiguousarray(features[:-1], np.float32)
        return FittedLEML(
            settings, data.trained_on(), features32, features[-1].astype(np.float32), labels.astype(np.float32)
        )

    @staticmethod
    def _training_memory(settings: LEMLParams, data: FitInput) -> int:
        # float64: five matrices of conjugate gradients over the features, the rows' and the labels' vectors
        rank = min(settings.dim, data.n_labels)
        sizes = 6 * (data.x.shape[1] + 1) + 3 * data.x.shape[0] + 4 * data.n_labels
        return int(8 * rank * sizes + 40 * data.x.nnz + 32 * data.y.nnz + 24 * rank**2)


def factors(
    x: sparse.csr_matrix, y: sparse.csr_matrix, settings: LEMLParams, progress: Progress
) -> tuple[Float64, Float64]:
    """(W (n_columns, rank), H (n_labels, rank)) that make x W H' near y."""
    rank = min(settings.dim, y.shape[1])
    x_t, y_t = x.T.tocsr(), y.T.tocsr()
    labels = _main_directions(y, y_t, rank, settings.seed)
    features = np.zeros((x.shape[1], rank))
    for number in range(settings.rounds):
        progress.step("rounds", number, settings.rounds)
        features = _solved_features(x, x_t, y @ labels, labels.T @ labels, features, settings)
        rows = x @ features
        square = rows.T @ rows + settings.reg * np.eye(rank)
        labels = np.ascontiguousarray(np.linalg.solve(square, (y_t @ rows).T).T)
    progress.step("rounds", settings.rounds, settings.rounds)
    return features, labels


def _main_directions(y: sparse.csr_matrix, y_t: sparse.csr_matrix, rank: int, seed: int) -> Float64:
    """Orthonormal label vectors (n_labels, rank) that keep about as much of y as any of that rank."""
    start = keyed_uniform(seed, 0x6C656D6C, np.arange(y.shape[1])[:, None], np.arange(rank)) - 0.5
    basis, _ = np.linalg.qr(start)
    for _ in range(_POWER_STEPS):
        basis, _ = np.linalg.qr(y_t @ (y @ basis))
    return np.asarray(basis)


def _solved_features(
    x: sparse.csr_matrix, x_t: sparse.csr_matrix, aims: Float64, square: Float64, start: Float64, settings: LEMLParams
) -> Float64:
    """W after some steps of conjugate gradients towards x' x W square + reg W = x' aims, from a start."""

    def applied(w: Float64) -> Float64:
        return np.asarray(x_t @ ((x @ w) @ square) + settings.reg * w)

    solution = start.copy()
    residual = x_t @ aims - applied(solution)
    direction = residual.copy()
    size = float(np.vdot(residual, residual))
    least = 1e-12 * size
    for _ in range(settings.steps):
        if size <= least or size == 0:
            break
        image = applied(direction)
        step = size / float(np.vdot(direction, image))
        solution += step * direction
        residual -= step * image
        before, size = size, float(np.vdot(residual, residual))
        direction = residual + (size / before) * direction
    return solution
