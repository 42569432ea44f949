"""Answers of several models made one: weighted means of scores, and weights chosen by what they do for known rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.topk import PAD, TopK, empty

SELECTION_ROUNDS = 20
_JUDGED_LABELS = 5


def mixed(answers: Sequence[TopK], weights: npt.NDArray[np.float64], k: int) -> TopK:
    """The k labels of every row with the largest weighted sum of scores; a label that is not answered scores 0."""
    n_rows = len(answers[0])
    labels = np.concatenate([top.labels for top in answers], axis=1).astype(np.int64)
    scores = np.concatenate(
        [top.scores.astype(np.float64) * weight for top, weight in zip(answers, weights, strict=True)], axis=1
    )
    rows = np.broadcast_to(np.arange(n_rows)[:, None], labels.shape)
    real = labels != PAD
    span = int(labels.max(initial=0)) + 1
    keys, place = np.unique(rows[real] * span + labels[real], return_inverse=True)
    # Summed in the order of the members within each row, so a row's sums do not depend on the other rows.
    sums = np.bincount(place, weights=scores[real], minlength=len(keys)).astype(np.float32)
    row, label = keys // span, keys % span
    order = np.lexsort((label, -sums, row))
    rank = np.arange(len(order)) - np.searchsorted(row, row)  # keys are sorted by row, and so is the order
    best = rank < k
    top = empty(n_rows, k)
    top.labels[row[order][best], rank[best]] = label[order][best]
    top.scores[row[order][best], rank[best]] = sums[order][best]
    return top


def chosen_weights(answers: Sequence[TopK], y: sparse.csr_matrix) -> npt.NDArray[np.float64]:
    """Weights summing to 1 by greedy selection: the best member first, then, again and again, whoever helps most.

    Judged by nDCG@5 on the true labels y. The best round's counts are the weights, so the mixture is at least as good
    as the best member here.
    """
    counts = np.zeros(len(answers))
    best_counts, best_value = counts, -1.0
    for _ in range(SELECTION_ROUNDS):
        values = []
        for number in range(len(answers)):
            trial = counts.copy()
            trial[number] += 1
            values.append(mean_ndcg(mixed(answers, trial / trial.sum(), _JUDGED_LABELS), y))
        winner = int(np.argmax(values))
        counts = counts.copy()
        counts[winner] += 1
        if values[winner] > best_value:
            best_counts, best_value = counts, values[winner]
    weights: npt.NDArray[np.float64] = best_counts / best_counts.sum()
    return weights


def mean_ndcg(top: TopK, y: sparse.csr_matrix) -> float:
    """The mean nDCG@k of the answers over the rows of y that have labels, 0 to 1; 0 if none has."""
    gain = 1 / np.log2(np.arange(2, top.k + 2))
    rows = np.arange(len(top))[:, None]
    hits = np.asarray(y[rows, np.maximum(top.labels, 0)].todense()) * (top.labels != PAD)
    n_true = np.diff(y.indptr)
    ideal = np.concatenate([[0], np.cumsum(gain)])[np.minimum(n_true, top.k)]
    known = n_true > 0
    return float(np.mean((hits @ gain)[known] / ideal[known])) if known.any() else 0.0
