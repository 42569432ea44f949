"""Progress of label trees: the share of the work that is done, so that the time left is told nearly right."""

from __future__ import annotations

import time

import numpy as np
from scipy import sparse

import labelwood as lw
from labelwood.progress import Callback


def test_progress_grows_with_the_time_that_training_takes():
    """The few groups of a root of many children take most of the time; counted as groups, they would hardly show."""
    rng = np.random.default_rng(3)
    n_rows, n_labels, n_features = 20_000, 4_000, 2_000
    labels = rng.integers(0, n_labels, n_rows)
    columns = np.concatenate([labels % n_features, rng.integers(0, n_features, 20 * n_rows)])
    rows = np.concatenate([np.arange(n_rows), np.tile(np.arange(n_rows), 20)])
    x = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=(n_rows, n_features))
    y = sparse.csr_matrix((np.ones(n_rows, np.float32), (np.arange(n_rows), labels)), shape=(n_rows, n_labels))
    seen: list[tuple[float, float]] = []

    def step(what: str, done: int, total: int) -> None:
        if what == "classifiers":
            seen.append((time.process_time(), done / total))

    lw.LinearTree(n_threads=1, arity=16, root_arity=64).fit(x, y, progress=Callback(step))
    times, shares = (np.array(part) for part in zip(*seen, strict=True))
    assert shares[-1] == 1
    assert (np.diff(shares) >= 0).all()
    passed = (times - times[0]) / (times[-1] - times[0])
    assert np.abs(passed - shares).max() < 0.5, list(zip(passed.round(2), shares.round(2), strict=True))
