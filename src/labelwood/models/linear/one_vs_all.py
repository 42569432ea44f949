"""One-vs-all: an independent linear classifier for every label; exact, and the yardstick for every faster model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from labelwood.errors import ModelFileError
from labelwood.models.base import Arrays, Model
from labelwood.models.explanation import Explanation, NodeScore
from labelwood.models.linear.linear_reasons import classifier_reasons, columns_of_ranks
from labelwood.models.linear.weight_blocks import (
    LOSSES,
    Nodes,
    WeightBlocks,
    rank_features,
    ranked_rows,
    solver_options,
    train_blocks,
    training_memory,
)
from labelwood.params import Params, param
from labelwood.progress import Progress
from labelwood.topk import TopK, empty


@dataclass(frozen=True)
class OneVsAllParams(Params):
    """Parameters of one-vs-all."""

    C: float = param(1.0, "cost of an error: larger fits the training rows closer", low=0, low_open=True)
    rare_power: float = param(
        0.25, "a label with n rows gets the cost C (20 / n)^rare_power; 0: all labels the same", low=0, high=2
    )
    loss: str = param("squared-hinge", "what an error costs", choices=LOSSES)
    eps: float = param(0.1, "stop when no dual gradient is larger", low=0, low_open=True)
    max_passes: int = param(100, "stop after this many passes over the rows", low=1)
    bias: float = param(1.0, "value of the constant feature; 0: no bias", low=0)
    prune: float = param(0.01, "weights smaller than this are dropped", low=0)
    normalize: bool = param(True, "scale rows to length 1 first")


class OneVsAll(Model):
    """A linear classifier for every label, solved 16 at a time by dual coordinate descent (Hsieh et al., ICML 2008).

    Scores lie in (0, 1): sigmoid(2 margin) for the squared hinge, the estimated probability sigmoid(margin) for the
    logistic loss. A label without a training row always comes last.
    """

    name = "one-vs-all"
    Parameters = OneVsAllParams

    def _fit(self, x: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any, progress: Progress) -> None:
        n_labels = y.shape[1]
        self.feature_rank_ = rank_features(x)
        rows = ranked_rows(x, self.feature_rank_, parameters.normalize)
        bounds = np.arange(n_labels + 1, dtype=np.int64)
        nodes = Nodes(np.array([0, n_labels + 1]), bounds, np.zeros(2, np.int64), np.zeros(0, np.int32), all_rows=True)
        n_features = int(self.feature_rank_.max(initial=-1)) + 1
        self.blocks_ = train_blocks(rows, n_features, y.tocsc(), nodes, solver_options(parameters), progress, "labels")

    def _estimate_memory(self, x: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any) -> int:
        return training_memory(x, y, parameters.n_threads, per_weight=60)

    def _predict(self, x: sparse.csr_matrix, k: int) -> TopK:
        rows = ranked_rows(x, self.feature_rank_, self.parameters_.normalize)
        top = empty(x.shape[0], k)
        threads = self.parameters_.n_threads or 0
        self.blocks_.native.top_k(rows.indptr, rows.indices, rows.data, top.labels, top.scores, threads)
        self._to_scores(top.scores)
        return top

    def _explain(self, row: sparse.csr_matrix, label: int) -> Explanation:
        rows = ranked_rows(row, self.feature_rank_, self.parameters_.normalize)
        columns = columns_of_ranks(self.feature_rank_, self.blocks_.n_features)
        parts = classifier_reasons(self.blocks_, label, 0, rows, columns)
        margin = sum(part.contribution for part in parts)
        log_score = -float(np.logaddexp(0.0, -self._slope() * margin))  # finite even where the score is 0
        return Explanation(label, math.exp(log_score), (NodeScore(0, margin, log_score),), tuple(parts))

    def _slope(self) -> float:
        return 2.0 if self.parameters_.loss == "squared-hinge" else 1.0

    def _to_scores(self, margins: np.ndarray[Any, np.dtype[np.float32]]) -> None:
        """Turn margins into scores in (0, 1), in place and keeping their order."""
        np.multiply(margins, -self._slope(), out=margins)
        with np.errstate(over="ignore"):  # margins below -44: exp is inf and the score 0, as it should be
            np.exp(margins, out=margins)
        np.add(margins, 1, out=margins)
        np.reciprocal(margins, out=margins)

    def _arrays(self) -> Arrays:
        return {"feature_rank": self.feature_rank_, **self.blocks_.to_arrays()}

    def _restore(self, arrays: Arrays, facts: Mapping[str, Any]) -> None:
        rank = arrays["feature_rank"]
        if rank.dtype != np.int32 or rank.shape != (self.n_features_,):
            raise ModelFileError(
                f"one-vs-all: feature_rank must be int32 ({self.n_features_},), but is {rank.dtype} {rank.shape}"
            )
        self.feature_rank_ = rank
        self.blocks_ = WeightBlocks.from_arrays(int(rank.max(initial=-1)) + 1, arrays)
        if self.blocks_.child_start[-1] != self.n_labels_:
            raise ModelFileError(f"one-vs-all: {self.blocks_.child_start[-1]} classifiers for {self.n_labels_} labels")
