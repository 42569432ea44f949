"""The labels of a row's nearest training rows, weighted by nearness: k-NN votes as a TopK."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.topk import TopK, empty

Float32 = npt.NDArray[np.float32]
Int32 = npt.NDArray[np.int32]

NEIGHBORS = (5, 10, 20, 30, 50, 100, 200)
# exp(cosine / temperature); infinity: every neighbour counts the same, as in the paper.
TEMPERATURES = (0.02, 0.05, 0.1, 0.2, float("inf"))
BLENDS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)


@dataclass(frozen=True)
class VoteRule:
    """k neighbours vote with weight exp(cosine / temperature), made to sum to 1.

    A label that somebody votes for also gets `blend` times its own cosine to the row (from 0 up).
    """

    k: int
    temperature: float
    blend: float


def vote_weights(cosines: Float32, temperature: float) -> Float32:
    """The weights (n, k) of neighbours with these cosines, best first; each row sums to 1; -inf counts nothing."""
    present = np.isfinite(cosines)
    with np.errstate(invalid="ignore"):
        nearness = np.where(present, cosines - cosines[:, :1], -np.inf)  # the nearest weighs exp(0): no overflow
    # Summed in double precision along the last axis: a row alone gives the same bits as in a batch.
    weights = (
        np.where(present, 1.0, 0.0) if np.isinf(temperature) else np.exp(nearness.astype(np.float64) / temperature)
    )
    total = weights.sum(axis=1, keepdims=True)
    total[total == 0] = 1
    return np.asarray(weights / total, np.float32)


def voted(
    ids: Int32, cosines: Float32, y: sparse.csr_matrix, rule: VoteRule, rows: Float32, label_vectors: Float32
) -> sparse.csr_matrix:
    """The scores (n, n_labels), CSR, of all labels that a row's neighbours have.

    ids, cosines (n, at least k): the nearest points, best first, -1 padded; y: the labels of the points; rows (n, dim)
    and label_vectors (n_labels, dim): unit vectors for the blend.
    """
    ids, cosines = ids[:, : rule.k], cosines[:, : rule.k]
    weights = vote_weights(cosines, rule.temperature)
    there = ids >= 0
    pointers = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    shape = (len(ids), y.shape[0])
    scores = sparse.csr_matrix((weights[there].astype(np.float64), ids[there], pointers), shape=shape) @ y
    scores = sparse.csr_matrix(scores)
    scores.sort_indices()
    if rule.blend:
        row = np.repeat(np.arange(len(ids)), np.diff(scores.indptr))
        scores.data += rule.blend * _cosines(rows, label_vectors, row, scores.indices)
    return scores


def _cosines(rows: Float32, vectors: Float32, row: Any, label: Any) -> npt.NDArray[np.float64]:
    """rows[row] . vectors[label] for pairs, from 0 up; in pieces, since the gathered vectors are large."""
    products = np.empty(len(row), np.float64)
    piece = 1 << 16
    for begin in range(0, len(row), piece):
        part = slice(begin, begin + piece)
        # A product of rows, summed along the last axis: the same order for every pair.
        products[part] = (rows[row[part]] * vectors[label[part]]).sum(axis=1, dtype=np.float64)
    return np.maximum(products, 0.0)


def best_labels(scores: sparse.csr_matrix, k: int) -> TopK:
    """The k best stored entries of each row of CSR scores, equal ones to the smaller label; padded."""
    values = scores.data.astype(np.float32)
    rows = np.repeat(np.arange(scores.shape[0]), np.diff(scores.indptr))
    order = np.lexsort((scores.indices, -values, rows))
    place = np.arange(scores.nnz) - np.repeat(scores.indptr[:-1], np.diff(scores.indptr))
    kept = place < k
    top = empty(scores.shape[0], k)
    top.labels[rows[kept], place[kept]] = scores.indices[order[kept]]
    top.scores[rows[kept], place[kept]] = values[order[kept]]
    return top


def chosen_rule(
    ids: Int32,
    cosines: Float32,
    y: sparse.csr_matrix,
    rows: Float32,
    label_vectors: Float32,
    truth: sparse.csr_matrix,
    fixed: tuple[int | None, float | None, float | None],
) -> tuple[VoteRule, float]:
    """(rule, its P@1 in per cent): the rule whose answers for held-out rows have the best mean of P@1 and nDCG@5.

    ids and cosines (n, width) are the held-out rows' neighbours, y the points' labels, truth the rows' own.
    fixed: (k, temperature, blend) that the user has set; None is chosen here. Of equal rules the first one wins.
    """

    def measured(rule: VoteRule) -> tuple[float, float, VoteRule]:
        top = best_labels(voted(ids, cosines, y, rule, rows, label_vectors), 5)
        p1, ndcg = _p1_and_ndcg5(top, truth)
        return (p1 + ndcg) / 2, p1, rule

    width = ids.shape[1]
    ks = [fixed[0]] if fixed[0] is not None else [k for k in NEIGHBORS if k <= width] or [max(1, width)]
    temperatures = TEMPERATURES if fixed[1] is None else (fixed[1],)
    rules = [VoteRule(k, t, 0.0 if fixed[2] is None else fixed[2]) for k in ks for t in temperatures]
    best = measured(rules[0])
    for rule in rules[1:]:
        tried = measured(rule)
        best = tried if tried[0] > best[0] else best
    if fixed[2] is None:  # on top of the best votes: trying all three together would cost five times as much
        for blend in BLENDS[1:]:
            tried = measured(VoteRule(best[2].k, best[2].temperature, blend))
            best = tried if tried[0] > best[0] else best
    return best[2], best[1]


def _p1_and_ndcg5(top: TopK, truth: sparse.csr_matrix) -> tuple[float, float]:
    """(P@1, nDCG@5) in per cent; rows without labels count as missed."""
    n_rows, n_labels = truth.shape
    keys = np.repeat(np.arange(n_rows, dtype=np.int64), np.diff(truth.indptr)) * n_labels + truth.indices
    asked = np.arange(n_rows, dtype=np.int64)[:, None] * n_labels + top.labels
    hits = np.isin(asked, keys) & (top.labels >= 0)
    gains = 1 / np.log2(np.arange(2, 7))
    ideal = np.concatenate([[1.0], np.cumsum(gains)])[np.minimum(np.diff(truth.indptr), 5)]
    ideal[np.diff(truth.indptr) == 0] = 1
    return 100 * float(hits[:, 0].mean()), 100 * float((hits @ gains / ideal).mean())
