"""Popular: the most frequent training labels for every row; the baseline that every other model must beat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from labelwood.errors import ModelFileError
from labelwood.models.base import Arrays, Model
from labelwood.models.explanation import Contribution, Explanation, NodeScore
from labelwood.params import Params
from labelwood.progress import Progress
from labelwood.topk import TopK


@dataclass(frozen=True)
class PopularParams(Params):
    """Popular has no parameters of its own."""


class Popular(Model):
    """Gives every row the labels that are most frequent in training; scores are their shares of the training rows."""

    name = "popular"
    Parameters = PopularParams

    def _fit(self, x: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any, progress: Progress) -> None:
        counts = np.bincount(y.indices, minlength=y.shape[1])
        self.shares_ = (counts / y.shape[0]).astype(np.float32)
        self._rank()

    def _estimate_memory(self, x: sparse.csr_matrix, y: sparse.csr_matrix, parameters: Any) -> int:
        return 32 * int(y.shape[1])

    def _rank(self) -> None:
        self.order_ = np.lexsort((np.arange(len(self.shares_)), -self.shares_)).astype(np.int32)

    def _predict(self, x: sparse.csr_matrix, k: int) -> TopK:
        best = self.order_[:k]
        shape = (x.shape[0], k)
        return TopK(np.broadcast_to(best, shape), np.broadcast_to(self.shares_[best], shape))

    def _explain(self, row: sparse.csr_matrix, label: int) -> Explanation:
        share = float(self.shares_[label])
        log_share = float(np.log(share)) if share > 0 else -np.inf
        bias = Contribution(node=0, feature=-1, value=1.0, weight=share, contribution=share)
        return Explanation(label, share, (NodeScore(0, share, log_share),), (bias,))

    def _arrays(self) -> Arrays:
        return {"shares": self.shares_}

    def _restore(self, arrays: Arrays, facts: Mapping[str, Any]) -> None:
        shares = arrays["shares"]
        if shares.shape != (self.n_labels_,):
            raise ModelFileError(f"popular: {shares.shape} shares for {self.n_labels_} labels")
        self.shares_ = shares
        self._rank()
