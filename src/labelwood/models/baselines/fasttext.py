"""FastText: the mean of the features' vectors and one vector a label, without a tree; fastText's flat losses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import ModelFileError, ParamError
from labelwood.matrices import column_ids, row_pointers
from labelwood.models.base import Model
from labelwood.models.explanation import Contribution, Explanation, NodeScore
from labelwood.models.fit_input import FitInput, TrainedOn
from labelwood.models.fitted import Fitted
from labelwood.models.hsoftmax import LANES, WEIGHTINGS, first_vectors, frequency_ranks, mean_weights, without_zeros
from labelwood.models.linear.linear_reasons import columns_of_ranks
from labelwood.models.linear.weight_blocks import FEATURE_RANK, ranked_rows
from labelwood.models.neural.forward import dense_product, sparse_product
from labelwood.params import Params, param
from labelwood.storage.schema import ArrayRule, Arrays, Schema
from labelwood.topk import TopK

SOFTMAX, OVA, NEGATIVES = "softmax", "ova", "negatives"
LOSSES = (SOFTMAX, OVA, NEGATIVES)
_SCORES_AT_ONCE = 1 << 22
Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FastTextParams(Params):
    """Parameters of fasttext."""

    loss: str = param(
        OVA,
        "ova: a yes or no for every label; softmax: a drawn label of the row against all; negatives: against a few",
        choices=LOSSES,
    )
    negatives: int = param(5, "labels that a drawn one is compared with (negatives)", low=1, high=100_000)
    dim: int = param(128, "length of the vectors", low=1, high=4096)
    epochs: int = param(25, "visits of every row", low=1, high=100_000)
    rate: float = param(0.2, "learning rate of the first step; falls to 0 in a straight line", low=0, low_open=True)
    start: float = param(
        1.0,
        "the features' vectors start uniform in +-start / sqrt(dim); fastText's is 1 / sqrt(dim)",
        low=0,
        low_open=True,
    )
    shuffle: bool = param(True, "rows come in another order every time; False: as they are given, as in fastText")
    min_count: int = param(1, "features in fewer training rows are left out", low=1)
    weighting: str = param(
        "values", "what a feature counts in the mean: its value, or all the same", choices=WEIGHTINGS
    )


# fastText 0.9.2's supervised defaults (its args.cc): vectors start in +-1 / dim, rows in the order of the file.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "fasttext": {
        "loss": SOFTMAX,
        "negatives": 5,
        "dim": 100,
        "epochs": 5,
        "rate": 0.1,
        "start": 100**-0.5,
        "shuffle": False,
        "min_count": 1,
        "weighting": "values",
    },
}


@dataclass(frozen=True, eq=False)
class FittedFastText(Fitted[FastTextParams]):
    """A vector for every feature in use, the last one the constant's, and a vector for every label.

    feature_rank: the vector of every column of x, -1 for columns that are left out.
    """

    name = "fasttext"
    feature_rank: npt.NDArray[np.int32]
    vectors: Float32  # (n_used + 1, dim)
    label_vectors: Float32  # (n_labels, dim)

    def predict(self, x: sparse.csr_matrix, k: int, n_threads: int | None = None) -> TopK:
        """The k labels with the largest margins of every row, with their chances."""
        step = max(1, _SCORES_AT_ONCE // self.n_labels)
        table = np.ascontiguousarray(self.label_vectors.T)
        labels = np.empty((x.shape[0], k), np.int32)
        scores = np.empty((x.shape[0], k), np.float32)
        for begin in range(0, x.shape[0], step):
            part = slice(begin, begin + step)
            margins = dense_product(self._means(x[part], n_threads), table, n_threads).astype(np.float64)
            best = _largest(margins, k)
            labels[part] = best
            scores[part] = np.take_along_axis(margins - self._offsets(margins), best, axis=1)
        return TopK(labels, _chance(scores.astype(np.float64), self.settings.loss).astype(np.float32))

    def _means(self, x: sparse.csr_matrix, n_threads: int | None) -> Float32:
        """The mean vectors (n, dim) of rows."""
        rows, bias = mean_weights(ranked_rows(without_zeros(x), self.feature_rank, normalize=False), self._weighting)
        shape = (x.shape[0], len(self.vectors) - 1)
        weights = sparse.csr_matrix((rows.data, rows.indices, rows.indptr), shape=shape)
        constant = bias[:, None] * self.vectors[-1]
        return np.asarray(sparse_product(weights, self.vectors[:-1], n_threads) + constant, np.float32)

    @property
    def _weighting(self) -> str:
        return self.settings.weighting

    def _offsets(self, margins: Float64) -> Float64:
        """What a softmax takes from every margin of a row: the logarithm of the sum of their powers; else 0."""
        if self.settings.loss != SOFTMAX:
            return np.zeros((len(margins), 1))
        largest = margins.max(axis=1, keepdims=True)
        return np.asarray(largest + np.log(np.exp(margins - largest).sum(axis=1, keepdims=True)), np.float64)

    def explain(self, row: sparse.csr_matrix, label: int, n_threads: int | None = None) -> Explanation:
        """What each feature, and the constant, adds to the margin; with softmax also what all labels take from it."""
        rows, bias = mean_weights(ranked_rows(without_zeros(row), self.feature_rank, normalize=False), self._weighting)
        columns = columns_of_ranks(self.feature_rank, len(self.vectors) - 1)[rows.indices]
        values = np.asarray(row[0, columns].todense(), np.float64).ravel()
        vector = self.label_vectors[label].astype(np.float64)
        pushes = rows.data * (self.vectors[rows.indices].astype(np.float64) @ vector)
        parts = [
            Contribution(0, feature, value, push / value, push)
            for feature, value, push in zip(columns.tolist(), values.tolist(), pushes.tolist(), strict=True)
        ]
        constant = float(bias[0] * (self.vectors[-1].astype(np.float64) @ vector))
        if self.settings.loss == SOFTMAX:
            margins = dense_product(self._means(row, n_threads), np.ascontiguousarray(self.label_vectors.T), n_threads)
            constant -= float(self._offsets(margins.astype(np.float64))[0, 0])
        parts.append(Contribution(0, -1, 1.0, constant, constant))
        margin = math.fsum(part.contribution for part in parts)
        score = float(_chance(np.array([margin]), self.settings.loss)[0])
        return Explanation(label, score, (NodeScore(0, margin, math.log(score)),), tuple(parts))

    def structure(self) -> dict[str, float]:
        """How many vectors there are, and their length."""
        return {"vectors": float(len(self.vectors)), "dimension": float(self.settings.dim)}

    @classmethod
    def schema(cls, settings: FastTextParams, facts: Mapping[str, Any]) -> Schema:
        """The place of every feature, and both kinds of vectors."""
        return {
            "feature_rank": FEATURE_RANK,
            "vectors": ArrayRule("float32", ("n_vectors", "n_dim"), finite=True),
            "label_vectors": ArrayRule("float32", ("n_labels", "n_dim"), finite=True),
        }

    def arrays(self) -> Arrays:
        """The places of the features and both kinds of vectors."""
        return {"feature_rank": self.feature_rank, "vectors": self.vectors, "label_vectors": self.label_vectors}

    @classmethod
    def restore(
        cls, settings: FastTextParams, trained_on: TrainedOn, arrays: Arrays, facts: Mapping[str, Any]
    ) -> FittedFastText:
        """The state of saved vectors; ModelFileError if there is not one for each feature in use."""
        rank, vectors = arrays["feature_rank"], arrays["vectors"]
        if int(rank.max(initial=-1)) + 2 != len(vectors):
            raise ModelFileError(f"fasttext: {len(vectors)} vectors do not fit the features in use")
        return cls(settings, trained_on, rank, vectors, arrays["label_vectors"])


class FastText(Model[FastTextParams, FittedFastText]):
    """The mean of the features' vectors against a vector for every label: fastText without a tree.

    Joulin et al., Bag of Tricks for Efficient Text Classification, EACL 2017. Scores are chances: with "softmax" those
    of all labels sum to 1, else each label has its own. `hsoftmax` is the same with a label tree, for many labels.
    With n_threads=1 the same seed gives the same bytes; several threads write to the same vectors without locks.
    """

    name = "fasttext"
    Parameters = FastTextParams
    FittedState = FittedFastText
    PRESETS = PRESETS
    text_features = "bag"
    repeatable_with_threads = False

    @staticmethod
    def _train(settings: FastTextParams, data: FitInput) -> FittedFastText:
        x, y = without_zeros(data.x), data.y
        rank = frequency_ranks(np.bincount(x.indices, minlength=x.shape[1]), settings.min_count)
        rows, bias = mean_weights(ranked_rows(x, rank, normalize=False), settings.weighting)
        stride = -(-settings.dim // LANES) * LANES
        vectors = first_vectors(int(rank.max(initial=-1)) + 2, settings.dim, stride, settings.start, settings.seed)
        label_vectors = np.zeros((data.n_labels, stride), np.float32)
        order = np.flatnonzero(np.diff(y.indptr)).astype(np.int32)
        counts = np.bincount(y.indices, minlength=data.n_labels)
        if len(order):
            _native.flat_fit(
                rows.indptr, rows.indices, rows.data, bias, row_pointers(y), column_ids(y), vectors, label_vectors,
                order, loss=settings.loss, cumulative=np.cumsum(np.sqrt(counts)), n_negatives=settings.negatives,
                rate=settings.rate, epochs=settings.epochs, seed=settings.seed, n_threads=settings.n_threads or 0,
                shuffle=settings.shuffle, progress=lambda done, total: data.progress.step("rows", done, total),
            )  # fmt: skip
        if not (np.isfinite(vectors).all() and np.isfinite(label_vectors).all()):
            raise ParamError(f"fasttext: training ran out of bounds at rate={settings.rate!r}; try a smaller rate")
        kept, of_labels = (np.ascontiguousarray(each[:, : settings.dim]) for each in (vectors, label_vectors))
        return FittedFastText(settings, data.trained_on(), rank, kept, of_labels)

    @staticmethod
    def _training_memory(settings: FastTextParams, data: FitInput) -> int:
        stride = -(-settings.dim // LANES) * LANES
        vectors = 8 * stride * (data.x.shape[1] + 1 + data.n_labels)
        return int(32_000_000 + vectors + 32 * data.x.nnz + 8 * _SCORES_AT_ONCE)


def _largest(margins: Float64, k: int) -> npt.NDArray[np.int64]:
    """The places (n, k) of the k largest of each row, largest first; equal ones to the smaller place."""
    if k < margins.shape[1]:
        least = np.partition(margins, -k, axis=1)[:, -k]
        margins = np.where(margins >= least[:, None], margins, -np.inf)
    return np.argsort(-margins, axis=1, kind="stable")[:, :k]


def _chance(margins: Float64, loss: str) -> Float64:
    """What margins, for softmax logarithms already, are as chances above 0."""
    logs = margins if loss == SOFTMAX else -np.logaddexp(0, -margins)
    return np.asarray(np.exp(np.clip(logs, -87.0, 0.0)), np.float64)
