"""Print how deep labels lie in interpolated trees of a synthetic Zipf problem, for a grid of balance ratios.

usage: python benchmarks/quality/tree_depth.py [--labels 1000] [--rows 20000] [--leaf 1] [--seeds 3]
The table of docs/measurements/label-trees.md is its output with the defaults (a few seconds).
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy import sparse

from labelwood.labelindex.build import build_tree
from labelwood.labelspace.frequencies import cover_frequencies, label_frequencies
from labelwood.labelspace.pifa import label_vectors

RATIOS = (0, 0.25, 0.5, 0.75, 1, 2, 6, 10, 30, 100, 1e5)


def zipf_problem(n_labels: int, n_rows: int, seed: int) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Rows of 1 to 5 Zipf distributed labels of one of 30 topics; features are words of both, and noise."""
    rng = np.random.default_rng(seed)
    chance = 1 / (1 + np.arange(n_labels))
    topic = rng.integers(0, 30, n_labels)
    by_topic = [np.flatnonzero(topic == t) for t in range(30)]
    rows, columns = [], []
    for row, label in enumerate(rng.choice(n_labels, n_rows, p=chance / chance.sum())):
        members = by_topic[topic[label]]
        more = rng.choice(members, rng.integers(0, 5), p=chance[members] / chance[members].sum())
        labels = np.unique(np.append(more, label))
        rows.append(np.full(len(labels), row))
        columns.append(labels)
    y_rows, y_columns = np.concatenate(rows), np.concatenate(columns)
    y = sparse.csr_matrix((np.ones(len(y_rows), np.float32), (y_rows, y_columns)), shape=(n_rows, n_labels))
    words = sparse.hstack([y, y @ sparse.csr_matrix(np.eye(30, dtype=np.float32)[topic])])
    noise = sparse.random(n_rows, words.shape[1], density=0.02, random_state=rng, dtype=np.float32)
    return (words + noise).tocsr(), y


def oracle_depth(depth: np.ndarray, y: sparse.csr_matrix) -> float:
    """The mean over rows of the depth of their shallowest label: what a perfect first answer costs."""
    filled = np.diff(y.indptr) > 0
    return float(np.minimum.reduceat(depth[y.indices], y.indptr[:-1][filled]).mean())


def entropy(f: np.ndarray) -> float:
    p = f[f > 0]
    return float(-(p * np.log2(p)).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--leaf", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    print("| tree | measure | " + " | ".join(f"{ratio:g}" for ratio in RATIOS) + " |")
    print("|---" * (len(RATIOS) + 2) + "|")
    entropies = []
    for kind, cover_kind in (
        ("interpolated", "marginal"),
        ("interpolated", "greedy"),
        ("direct", "marginal"),
    ):
        figures = np.zeros((4, len(RATIOS)))
        for seed in range(options.seeds):
            x, y = zipf_problem(options.labels, options.rows, seed)
            vectors, f, cover = label_vectors(x, y), label_frequencies(y), cover_frequencies(y, cover_kind)
            entropies.append((entropy(f), entropy(cover)))
            for column, ratio in enumerate(RATIOS):
                tree = build_tree(
                    kind,
                    vectors=vectors,
                    frequencies=f,
                    cover_frequencies=cover,
                    balance_ratio=ratio,
                    max_leaf=options.leaf,
                    seed=seed,
                )
                depths = (tree.expected_depth(f), tree.expected_depth(cover))
                figures[:, column] += (*depths, oracle_depth(tree.depth_of_labels(), y), tree.max_depth)
        for name, row in zip(("E_f", "E_f~", "oracle @1", "deepest"), figures / options.seeds, strict=True):
            print(f"| {kind}, {cover_kind} | {name} | " + " | ".join(f"{value:.2f}" for value in row) + " |")
    by_f, by_cover = np.mean(entropies, axis=0)
    print(f"\nentropy of f {by_f:.2f} bits, of f~ {by_cover:.2f} bits (mean of both kinds)")


if __name__ == "__main__":
    main()
