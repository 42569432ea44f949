"""CPU and wall time of lw.evaluate: 1,000,000 rows at k=5 with propensities (budget: 2 s of wall time)."""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy import sparse

import labelwood as lw


def example(n_rows: int, n_labels: int, k: int, seed: int) -> tuple[lw.TopK, sparse.csr_matrix, sparse.csr_matrix]:
    """Prediction, truth and training labels: Zipf labels, about five a row, half of the answers right."""
    rng = np.random.default_rng(seed)
    popularity = 1.0 / np.arange(1, n_labels + 1)
    cumulative = np.cumsum(popularity / popularity.sum())

    def labels(count: int) -> np.ndarray:
        return np.minimum(np.searchsorted(cumulative, rng.random(count)), n_labels - 1)

    rows = np.repeat(np.arange(n_rows), 5)
    spare = n_labels // k  # labels beyond n_labels are never true: the wrong answers, of another block at each place
    shape = (n_rows, n_labels + k * spare)
    y = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, labels(len(rows)))), shape=shape)
    y.data[:] = 1
    answers = (n_labels + spare * np.arange(k) + rng.integers(0, spare, (n_rows, k))).astype(np.int32)
    first, last = y.indptr[:-1], y.indptr[1:]
    for j in range(k):
        right = (first + j < last) & (rng.random(n_rows) < 0.5)
        answers[right, j] = y.indices[(first + j)[right]]
    scores = np.broadcast_to(np.linspace(1, 0, k, dtype=np.float32), (n_rows, k))
    return lw.TopK(answers, scores), y, y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--labels", type=int, default=100_000)
    parser.add_argument("-k", type=int, default=5)
    given = parser.parse_args()
    top, y, train_y = example(given.rows, given.labels, given.k, seed=0)
    lw.evaluate(top[:1000], y[:1000], train_y=train_y[:1000])  # imports and page faults are not what is measured
    wall, cpu = time.perf_counter(), time.process_time()
    found = lw.evaluate(top, y, train_y=train_y)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(
        f"{given.rows} rows, k={given.k}, {given.labels} labels, {len(found)} metrics: "
        f"{wall:.2f} s wall, {cpu:.2f} s CPU"
    )


if __name__ == "__main__":
    main()
