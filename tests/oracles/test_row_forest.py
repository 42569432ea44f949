"""FastXML's native nodes against plain twins: rankings and sides, the best separator, and a forest's answers."""

import math

import numpy as np
import pytest
from scipy import sparse

from labelwood import _native

MASK = 2**64 - 1


def mixed(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def first_sides(seed, n):
    """The random sides that native/rng.hpp draws for (seed, 0)."""
    state = mixed(seed ^ mixed(0x9E3779B97F4A7C15)) ^ mixed(1)
    sides = []
    for _ in range(n):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        sides.append(mixed(state) >> 63)
    return np.array(sides)


def ranked_sides(y, weights, sides):
    """Equations 4 to 6 of the paper: a ranking a side, rows to the side with more gain, until no row moves."""
    norm = np.array([1 / sum(1 / math.log(2 + j) for j in range(int(row.sum()))) if row.any() else 0 for row in y])
    present = np.flatnonzero(y.any(axis=0))
    for _ in range(50):
        gain = np.zeros(y.shape[1])
        for side in (0, 1):
            sums = (norm[:, None] * y * weights)[sides == side].sum(axis=0)
            order = sorted(present, key=lambda label: (-sums[label], label))
            for place, label in enumerate(order):
                gain[label] += (1 if side else -1) / math.log(2 + place)
        right = norm * (y * weights * gain).sum(axis=1)
        moved = np.where(np.abs(right) < 1e-9, sides, right > 0).astype(int)
        if np.array_equal(moved, sides):
            return moved
        sides = moved
    return sides


def csr(matrix):
    matrix = sparse.csr_matrix(matrix)
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float32)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("cost", [0.3, 2.0])
def test_a_node_is_cut_by_the_best_sparse_separator_of_the_ranked_sides(seed, cost):
    random = np.random.default_rng(seed)
    n, d, n_labels = 40, 12, 9
    x = (random.random((n, d)) * (random.random((n, d)) < 0.5)).astype(np.float32)
    y = (random.random((n, n_labels)) < 0.25).astype(np.float64)
    weights = random.uniform(0.5, 2, n_labels).astype(np.float32)
    rows = np.sort(random.choice(n, 30, replace=False)).astype(np.int32)
    splitter = _native.RowSplitter(*csr(x), d, *csr(y)[:2], weights, cost, 5000, 1e-9)
    sides, columns, found = np.empty(30, np.uint8), np.empty(d + 1, np.int32), np.empty(d + 1, np.float32)
    n_weights = splitter.split(rows, 77 + seed, sides, columns, found)

    wanted = ranked_sides(y[rows], weights.astype(np.float64), first_sides(77 + seed, 30))
    w = np.zeros(d + 1)
    w[columns[:n_weights]] = found[:n_weights]
    inputs = np.hstack([x[rows].astype(np.float64), np.ones((30, 1))])
    np.testing.assert_array_equal(sides, inputs @ w > 0)
    sign = np.where(wanted == 1, 1.0, -1.0)
    smaller = min((sign > 0).sum(), (sign < 0).sum())
    costs = cost * smaller / np.where(sign > 0, (sign > 0).sum(), (sign < 0).sum())
    slope = -(costs * sign / (1 + np.exp(sign * (inputs @ w)))) @ inputs
    # The optimum of |w|_1 plus the loss: the slope is -sign(w) where there is a weight, within 1 where there is none.
    used = w != 0
    np.testing.assert_allclose(slope[used], -np.sign(w[used]), atol=1e-3)
    assert np.all(np.abs(slope[~used]) <= 1 + 1e-3)
    assert cost < 1 or used.any()


def test_a_forest_answers_with_the_mean_shares_of_its_leaves():
    random = np.random.default_rng(3)
    left = np.array([1, -1, 3, -1, -1, 6, -1, -1], np.int32)  # two trees: 0..4 and 5..7
    roots = np.array([0, 5], np.int32)
    inner, leaf = left >= 0, left < 0
    weights = np.where(inner[:, None], random.standard_normal((8, 7)), 0).astype(np.float32)  # column 6: the constant
    shares = np.where(leaf[:, None] & (random.random((8, 5)) < 0.6), random.random((8, 5)), 0).astype(np.float32)
    forest = _native.RowForest(roots, left, *csr(weights), *csr(shares), 6, 5)
    x = (random.standard_normal((20, 6)) * (random.random((20, 6)) < 0.6)).astype(np.float32)
    labels, scores = np.empty((20, 5), np.int32), np.empty((20, 5), np.float32)
    forest.top_k(*csr(x), labels, scores, 2)
    leaves = np.empty((20, 2), np.int32)
    forest.leaves(*csr(x), leaves, 1)
    for row in range(20):
        ends = []
        for node in roots:
            while left[node] >= 0:
                node = left[node] + int(np.append(x[row], 1).astype(np.float64) @ weights[node] > 0)
            ends.append(node)
        assert leaves[row].tolist() == ends
        mean = shares[ends].astype(np.float64).mean(axis=0)
        order = [label for label in sorted(range(5), key=lambda label: (-mean[label], label)) if mean[label] > 0]
        assert labels[row].tolist() == order + [-1] * (5 - len(order))
        np.testing.assert_allclose(scores[row, : len(order)], mean[order], rtol=1e-6)
        assert np.all(np.isneginf(scores[row, len(order) :]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"left": [0, -1, -1]}, "do not come behind it"),
        ({"left": [2, -1, -1]}, "do not come behind it"),
        ({"roots": [3]}, "a root does not exist"),
        ({"labels": [9]}, "unknown label"),
        ({"weight_columns": [5]}, "outside the features"),
        ({"label_starts": [0, 1, 0, 1]}, "damaged"),
    ],
)
def test_damaged_forests_are_refused(change, message):
    arrays = {
        "roots": [0], "left": [1, -1, -1], "weight_starts": [0, 1, 1, 1], "weight_columns": [2], "weights": [1.0],
        "label_starts": [0, 0, 1, 1], "labels": [0], "shares": [0.5],
    }  # fmt: skip
    kinds = {"weights": np.float32, "shares": np.float32, "weight_starts": np.int64, "label_starts": np.int64}
    given = {name: np.array(values, kinds.get(name, np.int32)) for name, values in {**arrays, **change}.items()}
    with pytest.raises(ValueError, match=message):
        _native.RowForest(**given, n_features=3, n_labels=4)
