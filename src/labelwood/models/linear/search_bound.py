"""How early a search of a label tree may stop: the bounds at which its answers are still nearly those without them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from labelwood.topk import TopK


@dataclass(frozen=True)
class SearchBound:
    """How much better than the last answer a node must seem (slack), and how many nodes beside one an answer open.

    lead: how much less than its log score a node above others counts in their order.
    """

    slack: float
    nodes: int
    lead: float = 0.0


# Below it an exact search opens few blocks, and there is nothing to save.
SMALLEST_LABELS = 10_000
# (rows, bound) -> their best ASKED labels
Search = Callable[[sparse.csr_matrix, SearchBound], TopK]

ASKED = 5
SLACKS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)
# The share of the answers without slack that must stay. What goes is the last of five and gives way to a label that
# scores about as much: at 0.98 P@1/3/5 of validation rows lost 0.02/0.01/0.04 (Rust-Commits), 0.02/0.02/0.02
# (Debian-Depends, three trees) and 0/0.01/0.04 (a generated set of 82,000 labels).
LEAST_KEPT = 0.98
# Where a model is unsure, an exact search goes through a large part of the tree for labels that are wrong anyway. What
# counts is the sum of the answers' scores, each about the probability that it is right. 6 nodes beside five lose
# 0/0.02/0.04 of P@1/3/5 on the validation rows of YSO-Finna-en, 0/0.01/0.05 of Rust-Commits, less of four others. (For
# trees with one level of nodes below the root; for d levels d^2 times as many.)
NODES = (6, 10, 16, 24, 36, 54)
MOST_NODES = 128
LEAST_SCORE = 0.999
# A node above others scores more than any of them will, so it is opened before leaves that are better than its own: of
# 50 nodes of a tree over 3,000,000 labels 45 were such nodes. With a lead 12 nodes find as much there as 50 without
# (P@1/3/5 59.8/28.9/17.7 and 59.9/29.6/18.1 of test rows, by a lead of 1).
LEADS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
ROWS = 1000
# Rows that were trained on are too easy. Without half of their features the share that stays is that of new rows or a
# little smaller (slack 0.5: Rust-Commits 98.5% of 98.7%, Debian-Depends 97.9% of 97.9%, CVE-Products 99.2% of 99.4%).
FEATURES_KEPT = 0.5


def learned_bound(search: Search, x: sparse.csr_matrix, seed: int, depth: int = 1) -> SearchBound:
    """The tightest bound that keeps nearly all answers of some training rows that lost half of their features.

    depth: levels of nodes below the root. Every leaf wants a path of so many nodes, and several are tried on every
    level; the easy rows that are asked here would not show it. With a lead fewer are tried.
    """
    rng = np.random.default_rng(seed)
    rows = x[np.sort(rng.permutation(x.shape[0])[:ROWS])]
    values = np.where(rng.random(rows.nnz) < FEATURES_KEPT, rows.data, 0).astype(np.float32)
    rows = sparse.csr_matrix((values, rows.indices, rows.indptr), shape=rows.shape)
    rows.eliminate_zeros()
    depth = max(1, depth)
    factor = depth**2
    without = search(rows, SearchBound(0.0, factor * MOST_NODES))
    best = 0.0
    for slack in SLACKS:
        if share_kept(without, search(rows, SearchBound(slack, factor * MOST_NODES))) < LEAST_KEPT:
            break
        best = slack
    lead = 0.0
    if depth > 1:
        few = [search(rows, SearchBound(0.0, depth * NODES[0], one)) for one in LEADS]
        lead = LEADS[int(np.argmax([score_kept(without, found) for found in few]))]
    if lead:
        factor = depth
    for nodes in (factor * fewest for fewest in NODES):
        if score_kept(without, search(rows, SearchBound(0.0, nodes, lead))) >= LEAST_SCORE:
            return SearchBound(best, nodes, lead)
    return SearchBound(best, factor * MOST_NODES, lead)


def share_kept(without: TopK, bounded: TopK) -> float:
    """The share of the labels in `without` that are among those of the same row in `bounded`; 1 if there are none."""
    there = without.labels >= 0
    kept = (without.labels[:, :, None] == bounded.labels[:, None, :]).any(axis=2) & there
    return float(kept.sum() / there.sum()) if there.any() else 1.0


def score_kept(without: TopK, bounded: TopK) -> float:
    """The sum of the scores in `bounded` as a share of that in `without`; 1 if there are none."""
    total = without.scores[without.labels >= 0].sum(dtype=np.float64)
    return float(bounded.scores[bounded.labels >= 0].sum(dtype=np.float64) / total) if total > 0 else 1.0
