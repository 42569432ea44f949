"""Time per query and recall of every kind of neighbour index, one thread, one query at a time.

Random Gaussian vectors are the worst case: nothing is near anything. `--real` takes label vectors of a data set of
LABELWOOD_DATA (truncated SVD of the labels' mean features, 256 numbers) and its test rows as queries.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np

import labelwood as lw
from labelwood.labelspace.pifa import label_vectors
from labelwood.matrices import normalized_rows
from labelwood.neighbors.index import NeighborIndex
from labelwood.neighbors.store import unit_rows

DATA = Path(os.environ.get("LABELWOOD_DATA") or Path(__file__).parents[2] / ".." / "shared" / "data")


def gaussian(n: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return random.standard_normal((n, dim), np.float32), random.standard_normal((500, dim), np.float32)


def real(name: str, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """(label vectors, rows) of a data set in the space of the largest singular vectors of its label vectors."""
    from scipy.sparse.linalg import svds

    train, test = lw.read(DATA / name / "train.txt.gz"), lw.read(DATA / name / "test.txt.gz")
    x = normalized_rows(train.features())
    vectors = label_vectors(x, train.y)
    _, _, axes = svds(vectors, dim, random_state=0)
    rows = normalized_rows(test.features())[:500]
    return np.asarray(vectors @ axes.T, np.float32), np.asarray(rows @ axes.T, np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--real", metavar="NAME")
    parser.add_argument("--kinds", default="exact,scan,ivf,hnsw")
    parser.add_argument("-k", type=int, default=5)
    options = parser.parse_args()
    vectors, queries = real(options.real, options.dim) if options.real else gaussian(options.n, options.dim)
    vectors, queries = unit_rows(vectors), unit_rows(queries)
    what = options.real or "Gaussian"
    print(f"{what}: {len(vectors):,} vectors of {vectors.shape[1]} numbers, k={options.k}, one thread")
    print("| kind | build, CPU s | index beside the vectors, MB | median ms a query | 99% | recall |")
    print("|---|---|---|---|---|---|")
    # Recall is set on one half of the queries and measured on the other.
    half = len(queries) // 2
    sample, asked = queries[:half], queries[half:]
    truth = NeighborIndex.build(vectors, kind="exact").search(asked, options.k)[0]
    for kind in options.kinds.split(","):
        start = time.process_time()
        index = NeighborIndex.build(vectors, kind=kind, recall_k=options.k, queries=sample, n_threads=1)
        built = time.process_time() - start
        times, hits = [], 0
        for row, right in zip(asked, truth, strict=True):
            start = time.perf_counter()
            ids, _ = index.search(row, options.k, n_threads=1)
            times.append(time.perf_counter() - start)
            hits += len(np.intersect1d(ids, right))
        arrays = index.arrays()
        beside = sum(a.nbytes for name, a in arrays.items() if name != "vectors") / 1e6
        median, high = np.percentile(times, [50, 99]) * 1e3
        print(f"| {kind} | {built:.1f} | {beside:.1f} | {median:.2f} | {high:.2f} | {hits / truth.size:.4f} |")


if __name__ == "__main__":
    main()
