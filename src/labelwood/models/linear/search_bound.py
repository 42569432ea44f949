"""How early a search of a label tree may stop: the slack at which its answers are still those of the exact search."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from labelwood.topk import TopK

# Below it an exact search opens few blocks, and there is nothing to save.
SMALLEST_LABELS = 10_000
# (rows, slack) -> their best ASKED labels
Search = Callable[[sparse.csr_matrix, float], TopK]

ASKED = 5
SLACKS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)
# The share of the exact answers that must stay. What goes is the last of five and gives way to a label that scores
# about as much: at 0.98 P@1/3/5 of validation rows lost 0.02/0.01/0.04 (Rust-Commits), 0.02/0.02/0.02
# (Debian-Depends, three trees) and 0/0.01/0.04 (a generated set of 82,000 labels).
LEAST_KEPT = 0.98
ROWS = 1000
# Rows that were trained on are too easy. Without half of their features the share that stays is that of new rows or a
# little smaller (slack 0.5: Rust-Commits 98.5% of 98.7%, Debian-Depends 97.9% of 97.9%, CVE-Products 99.2% of 99.4%).
FEATURES_KEPT = 0.5


def learned_slack(search: Search, x: sparse.csr_matrix, seed: int) -> float:
    """The largest slack that keeps nearly all exact answers of some training rows that lost half of their features."""
    rng = np.random.default_rng(seed)
    rows = x[np.sort(rng.permutation(x.shape[0])[:ROWS])]
    values = np.where(rng.random(rows.nnz) < FEATURES_KEPT, rows.data, 0).astype(np.float32)
    rows = sparse.csr_matrix((values, rows.indices, rows.indptr), shape=rows.shape)
    rows.eliminate_zeros()
    exact = search(rows, 0.0)
    best = 0.0
    for slack in SLACKS:
        if share_kept(exact, search(rows, slack)) < LEAST_KEPT:
            break
        best = slack
    return best


def share_kept(exact: TopK, bounded: TopK) -> float:
    """The share of the labels in `exact` that are among those of the same row in `bounded`; 1 if there are none."""
    there = exact.labels >= 0
    kept = (exact.labels[:, :, None] == bounded.labels[:, None, :]).any(axis=2) & there
    return float(kept.sum() / there.sum()) if there.any() else 1.0
