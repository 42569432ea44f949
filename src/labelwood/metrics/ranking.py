"""Ranking metrics at k: precision, recall, nDCG and R-precision."""

from __future__ import annotations

import numpy as np

from labelwood.metrics.hits import Floats, Hits, Ints


def precision(hits: Hits, k: int) -> float:
    """P@k in per cent: mean of hits / k; k stays the divisor when a row has fewer labels or answers."""
    return 100.0 * float(hits.upto(k).mean()) / k


def recall(hits: Hits, k: int) -> float:
    """R@k in per cent: mean of hits / number of true labels; a row without labels contributes 0."""
    return 100.0 * float((hits.upto(k) / np.maximum(1, hits.n_true)).mean())


def r_precision(hits: Hits, k: int) -> float:
    """RP@k in per cent: mean of hits / min(k, number of true labels); a row without labels contributes 0."""
    return 100.0 * float((hits.upto(k) / np.clip(hits.n_true, 1, k)).mean())


def ndcg(hits: Hits, ks: list[int]) -> dict[int, float]:
    """nDCG@k in per cent for each k: mean of DCG / the DCG of min(k, number of true labels) hits in front."""
    by_k: dict[int, float] = {}
    gains = np.zeros(hits.n_rows)
    done = 0
    weights = discounts(max(ks))
    for k in sorted(ks):
        for j in range(done, k):
            gains += hits.hit[:, j] * weights[j]
        done = k
        by_k[k] = 100.0 * float((gains / ideal_dcg(hits.n_true, k)).mean())
    return by_k


def discounts(k: int) -> Floats:
    """1 / ln(rank + 1) for ranks 1..k; the base of the logarithm cancels in every metric."""
    return 1.0 / np.log(np.arange(2, k + 2))


def ideal_dcg(n_true: Ints, k: int) -> Floats:
    """The DCG of a perfect ranking of rows with n_true labels (n,): min(k, n_true) hits in front.

    A row without labels gets the value for one label: its DCG is 0, so any divisor but 0 gives 0.
    """
    return np.asarray(np.cumsum(discounts(k))[np.clip(n_true, 1, k) - 1])
