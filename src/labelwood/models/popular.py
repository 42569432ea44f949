"""Popular: the most frequent training labels for every row; the baseline that every other model must beat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.models.base import WeighedModel
from labelwood.models.explanation import Contribution, Explanation, NodeScore
from labelwood.models.fit_input import FitInput, TrainedOn
from labelwood.models.fitted import Fitted
from labelwood.params import Params
from labelwood.storage.schema import ArrayRule, Arrays, Schema
from labelwood.topk import TopK


@dataclass(frozen=True)
class PopularParams(Params):
    """Popular has no parameters of its own."""


@dataclass(frozen=True, eq=False)
class FittedPopular(Fitted[PopularParams]):
    """The share of the training rows that have each label."""

    name = "popular"
    shares: npt.NDArray[np.float32]

    @cached_property
    def order(self) -> npt.NDArray[np.int32]:
        """The labels from the most to the least frequent."""
        return np.lexsort((np.arange(len(self.shares)), -self.shares)).astype(np.int32)

    def predict(self, x: sparse.csr_matrix, k: int, n_threads: int | None = None) -> TopK:
        """The k most frequent labels for every row."""
        best = self.order[:k]
        shape = (x.shape[0], k)
        return TopK(np.broadcast_to(best, shape), np.broadcast_to(self.shares[best], shape))

    def explain(self, row: sparse.csr_matrix, label: int, n_threads: int | None = None) -> Explanation:
        """The label's share, which no feature changes."""
        share = float(self.shares[label])
        log_share = float(np.log(share)) if share > 0 else -np.inf
        bias = Contribution(node=0, feature=-1, value=1.0, weight=share, contribution=share)
        return Explanation(label, share, (NodeScore(0, share, log_share),), (bias,))

    @classmethod
    def schema(cls, settings: PopularParams, facts: Mapping[str, Any]) -> Schema:
        """One share a label."""
        return {"shares": ArrayRule("float32", ("n_labels",), low=0, finite=True)}

    def arrays(self) -> Arrays:
        """The shares."""
        return {"shares": self.shares}

    @classmethod
    def restore(
        cls, settings: PopularParams, trained_on: TrainedOn, arrays: Arrays, facts: Mapping[str, Any]
    ) -> FittedPopular:
        """The state of saved shares."""
        return cls(settings, trained_on, arrays["shares"])


class Popular(WeighedModel[PopularParams, FittedPopular]):
    """Gives every row the labels that are most frequent in training; scores are their shares of the training rows."""

    name = "popular"
    counts_labels_only = True
    Parameters = PopularParams
    FittedState = FittedPopular

    @staticmethod
    def _train(settings: PopularParams, data: FitInput) -> FittedPopular:
        n_rows = data.y.shape[0]
        weights = np.ones(n_rows, np.float64) if data.row_weights is None else data.row_weights.astype(np.float64)
        sums = np.bincount(data.y.indices, np.repeat(weights, np.diff(data.y.indptr)), minlength=data.n_labels)
        return FittedPopular(settings, data.trained_on(), (sums / weights.sum()).astype(np.float32))

    @staticmethod
    def _training_memory(settings: PopularParams, data: FitInput) -> int:
        return 32 * data.n_labels
