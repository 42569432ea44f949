"""Random: labels by chance, whatever the row says; what a measure gives to somebody who knows nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.keyed_random import keyed_bits, keyed_uniform
from labelwood.models.base import Model
from labelwood.models.explanation import Contribution, Explanation, NodeScore
from labelwood.models.fit_input import FitInput, TrainedOn
from labelwood.models.fitted import Fitted
from labelwood.params import Params
from labelwood.storage.schema import Arrays, Schema
from labelwood.topk import TopK

_CELLS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class RandomParams(Params):
    """Random has no parameters of its own; `seed` says which chance."""


@dataclass(frozen=True, eq=False)
class FittedRandom(Fitted[RandomParams]):
    """Nothing was learnt but which labels there are."""

    name = "random"

    def predict(self, x: sparse.csr_matrix, k: int, n_threads: int | None = None) -> TopK:
        """The labels, k for every row, those of training drawn alike; the same row always gets the same ones."""
        labels = np.empty((x.shape[0], k), np.int32)
        scores = np.empty((x.shape[0], k), np.float32)
        rows_at_once = max(1, _CELLS_AT_ONCE // self.n_labels)
        for begin in range(0, x.shape[0], rows_at_once):
            part = slice(begin, begin + rows_at_once)
            drawn = self._drawn(x[part])
            best = np.argsort(-drawn, axis=1, kind="stable")[:, :k]
            labels[part], scores[part] = best, np.take_along_axis(drawn, best, axis=1)
        return TopK(labels, scores)

    def _drawn(self, x: sparse.csr_matrix) -> npt.NDArray[np.float32]:
        """A number from 0 to 1 for every row and label, keyed by what is in the row; 0 for labels never seen."""
        words = keyed_bits(self.settings.seed, x.indices, x.data.view(np.uint32))
        words = np.where(x.data == 0, np.uint64(0), words)  # a stored zero is no feature
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(words, dtype=np.uint64)])
        keys = sums[x.indptr[1:]] - sums[x.indptr[:-1]]  # wraps around, as it may
        drawn = keyed_uniform(self.settings.seed, keys[:, None], np.arange(self.n_labels))
        return np.where(self.trained_on.label_counts > 0, drawn, 0.0).astype(np.float32)

    def explain(self, row: sparse.csr_matrix, label: int, n_threads: int | None = None) -> Explanation:
        """The number that was drawn, which no feature stands behind."""
        score = float(self._drawn(row)[0, label])
        log_score = float(np.log(score)) if score > 0 else -np.inf
        bias = Contribution(node=0, feature=-1, value=1.0, weight=score, contribution=score)
        return Explanation(label, score, (NodeScore(0, score, log_score),), (bias,))

    @classmethod
    def schema(cls, settings: RandomParams, facts: Mapping[str, Any]) -> Schema:
        """No arrays."""
        return {}

    def arrays(self) -> Arrays:
        """None: the seed is all there is."""
        return {}

    @classmethod
    def restore(
        cls, settings: RandomParams, trained_on: TrainedOn, arrays: Arrays, facts: Mapping[str, Any]
    ) -> FittedRandom:
        """The state of a saved seed."""
        return cls(settings, trained_on)


class Random(Model[RandomParams, FittedRandom]):
    """Gives every row labels by chance, all alike; scores are the numbers drawn. The floor of every measure."""

    name = "random"
    counts_labels_only = True
    Parameters = RandomParams
    FittedState = FittedRandom

    @staticmethod
    def _train(settings: RandomParams, data: FitInput) -> FittedRandom:
        return FittedRandom(settings, data.trained_on())

    @staticmethod
    def _training_memory(settings: RandomParams, data: FitInput) -> int:
        return 16 * data.n_labels
