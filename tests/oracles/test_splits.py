"""The native splits against their slow twins (split_twin.py)."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from labelwood import _native
from labelwood.labelindex.splitting import Splitter

_spec = importlib.util.spec_from_file_location("split_twin", Path(__file__).with_name("split_twin.py"))
twin = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(twin)


def random_vectors(rng, m, d=30, density=0.3):
    dense = rng.normal(size=(m, d)) * (rng.random((m, d)) < density)
    dense = dense.astype(np.float32)
    lengths = np.linalg.norm(dense, axis=1, keepdims=True)
    return dense / np.where(lengths == 0, 1, lengths).astype(np.float32)


def native_split(vectors, options, key=5, order=None, f=None, cover=None, want_left=None):
    order = np.arange(len(vectors), dtype=np.int32) if order is None else order.copy()
    splitter = Splitter(sparse.csr_matrix(vectors), f, cover)
    one = np.array([len(order)], np.int64)
    want = None if want_left is None else np.array([want_left], np.int64)
    n_left, _ = splitter.split(order, np.zeros(1, np.int64), one, np.array([key], np.int64), options, want)
    first = np.zeros(len(vectors), bool)
    first[order[: n_left[0]]] = True
    return first


@pytest.mark.parametrize("m", [2, 3, 4, 5, 8, 17, 40, 101, 300])
@pytest.mark.parametrize("seed", range(5))
def test_balanced_split_equals_its_twin(m, seed):
    rng = np.random.default_rng([m, seed])
    vectors = random_vectors(rng, m)
    options = _native.SplitOptions()
    options.seed, options.n_threads = seed, 1
    a, b = twin.two_members(seed, 5, m)
    expected = twin.balanced_split(vectors.astype(np.float64), a, b)
    np.testing.assert_array_equal(native_split(vectors, options), expected)


@pytest.mark.parametrize("m", [2, 3, 7, 20, 75])
@pytest.mark.parametrize("balance", [0.0, 0.3, 1.0, 1.4, 1.9, 1.9999, 2.0])
@pytest.mark.parametrize("mode", ["nearest", "left", "fractional", "direct"])
def test_interpolated_split_equals_its_twin(m, balance, mode):
    for seed in range(4):
        rng = np.random.default_rng([m, seed])
        vectors = random_vectors(rng, m)
        f = np.round(100 / (1 + np.arange(m)) ** 1.1)[rng.permutation(m)]
        cover = f * (rng.random(m) < 0.4)
        settings = {"round_each": mode != "fractional", "rounding": "left" if mode == "left" else "nearest"}
        options = _native.SplitOptions()
        options.weighted, options.seed, options.n_threads = True, seed, 1
        options.similarity, options.smoothing = 2 - balance, 0.1
        options.exponent, options.frequency = min(balance, 1), 2 - balance
        options.cover = options.fano = max(balance - 1, 0)
        if mode == "direct":
            options.exponent, options.cover, options.fano = 0, balance, balance / 2
        options.round_each, options.round_left = settings["round_each"], mode == "left"
        a, b = twin.two_members(seed, 5, m)
        expected = twin.interpolated_split(
            vectors.astype(np.float64), f, cover, a, b, balance, direct=mode == "direct", **settings
        )
        np.testing.assert_array_equal(native_split(vectors, options, f=f, cover=cover), expected)


def test_halves_equal_their_twin():
    rng = np.random.default_rng(3)
    for m in (1, 2, 3, 10, 999):
        for _ in range(20):
            ratio, weights = np.round(rng.normal(size=m), 1), rng.random(m) ** 4
            weights[rng.random(m) < 0.2] = 0
            weights = (weights + 1e-9) / (weights + 1e-9).sum()
            alpha = np.empty(m)
            _native.halve_by_weight(ratio, weights, alpha)
            np.testing.assert_allclose(alpha, twin.halves(ratio, weights)[0], atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_large_nodes_split_alike_for_any_number_of_threads(weighted):
    rng = np.random.default_rng(0)
    m = 9000  # above the size at which all threads work on one node, and many more non-zeros than features
    vectors = sparse.csr_matrix(random_vectors(rng, m, d=40))
    f = 1.0 / (1 + np.arange(m))
    results = []
    for n_threads in (1, 2, 3, 7):
        options = _native.SplitOptions()
        options.n_threads, options.weighted = n_threads, weighted
        options.similarity, options.exponent, options.frequency, options.smoothing = 1.0, 1.0, 1.0, 0.1
        order = np.arange(m, dtype=np.int32)
        n_left, objective = Splitter(vectors, f, f).split(
            order, np.zeros(1, np.int64), np.array([m]), np.zeros(1, np.int64), options
        )
        results.append((order, n_left[0], objective[0]))
    for order, n_left, objective in results[1:]:
        np.testing.assert_array_equal(order, results[0][0])
        assert n_left == results[0][1]
        assert objective == results[0][2]
    dense = vectors.toarray().astype(np.float64)

    def split(rows, a, b, trace, centres=None):
        if weighted:
            return twin.interpolated_split(dense[rows], f[rows], f[rows], a, b, 1.0, centres=centres, trace=trace)
        return twin.balanced_split(dense[rows], a, b, centres=centres, trace=trace)

    expected = split(np.arange(m), 0, 1, None, centres=twin.sampled_centres(split, 0, 0, m))
    first = np.zeros(m, bool)
    first[results[0][0][: results[0][1]]] = True
    assert (first != expected).mean() < 0.002  # float32 scores may swap neighbours in the middle


def test_wanted_sizes_are_kept():
    vectors = random_vectors(np.random.default_rng(1), 50)
    for want in (1, 10, 49):
        assert native_split(vectors, _native.SplitOptions(), want_left=want).sum() == want


def test_zero_vectors_are_split_by_number():
    vectors = np.zeros((7, 4), np.float32)
    first = native_split(vectors, _native.SplitOptions())
    np.testing.assert_array_equal(np.flatnonzero(first), [0, 1, 2])


def test_damaged_arguments_are_refused():
    options = _native.SplitOptions()
    splitter = Splitter(sparse.csr_matrix(np.eye(4, dtype=np.float32)))
    order = np.array([0, 1, 2, 9], np.int32)
    zero = np.zeros(1, np.int64)
    with pytest.raises(ValueError, match="no label number"):
        splitter.split(order, zero, np.array([4]), zero, options)
    with pytest.raises(ValueError, match="too small to split"):
        splitter.split(np.arange(4, dtype=np.int32), zero, np.array([1]), zero, options)
