"""The native k-means splits against a slow twin."""

import numpy as np
import pytest
from scipy import sparse

from labelwood import _native
from labelwood.labelindex.wide import wide_tree


def kmeans_twin(v, centres, max_iterations=20, tolerance=1e-4):
    """The cluster of each row of v: spherical k-means from given centres, ties to the first."""
    clusters, previous = None, -1.0
    centres = centres.copy()
    for _ in range(max_iterations):
        found = np.argmax(v @ centres.T, axis=1)
        if clusters is not None and np.array_equal(found, clusters):
            break
        clusters = found
        similarity = 0.0
        for c in range(len(centres)):
            total = v[clusters == c].sum(0)
            length = np.linalg.norm(total)
            similarity += length
            if length > 0:
                centres[c] = total / length
        if similarity / len(v) - previous <= tolerance:
            break
        previous = similarity / len(v)
    return clusters


def native_kmeans(v, k, seed, n_threads=1, **options):
    matrix = sparse.csr_matrix(v)
    order = np.arange(len(v), dtype=np.int32)
    counts = np.zeros((1, k), np.int64)
    zero = np.zeros(1, np.int64)
    vectors = _native.LabelVectors(v.shape[1])
    vectors.add(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data)
    _native.kmeans_nodes(
        vectors,
        zero,
        np.array([len(v)]),
        zero,
        k,
        options.get("max_iterations", 20),
        options.get("tolerance", 1e-4),
        seed,
        n_threads,
        order,
        counts,
    )
    clusters = np.empty(len(v), int)
    clusters[order] = np.repeat(np.arange(k), counts[0])
    return clusters, order, counts[0]


@pytest.mark.parametrize("k", [2, 7, 16, 40])
@pytest.mark.parametrize("seed", range(3))
def test_clusters_equal_their_twin(k, seed):
    rng = np.random.default_rng(seed)
    v = (rng.normal(size=(300, 20)) * (rng.random((300, 20)) < 0.5)).astype(np.float32)
    v /= np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-9)
    # One iteration from k members tells which members began: each is nearest to itself, so find them by
    # enumeration.
    begin, order, counts = native_kmeans(v, k, seed, max_iterations=1)
    found, _, _ = native_kmeans(v, k, seed)
    draws = members(seed, 0, len(v), k)
    np.testing.assert_array_equal(begin, kmeans_twin(v.astype(float), v[draws].astype(float), max_iterations=1))
    np.testing.assert_array_equal(found, kmeans_twin(v.astype(float), v[draws].astype(float)))
    assert counts.sum() == len(v)
    assert np.array_equal(np.sort(order), np.arange(len(v)))


def members(seed, key, m, k):
    """The k distinct members that native/rng.hpp draws: a partial shuffle."""
    import importlib.util
    from pathlib import Path

    spec = importlib.util.spec_from_file_location("split_twin", Path(__file__).with_name("split_twin.py"))
    twin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(twin)
    order = list(range(m))
    for c, draw in enumerate(twin.draws(seed, key, [m - c for c in range(k)])):
        order[c], order[c + draw] = order[c + draw], order[c]
    return order[:k]


def test_same_clusters_for_any_number_of_threads():
    rng = np.random.default_rng(0)
    v = rng.normal(size=(9000, 8)).astype(np.float32)  # above the size at which all threads share a node
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    one, two = (native_kmeans(v, 20, 1, n_threads)[1] for n_threads in (1, 3))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("max_leaf", [1, 10])
def test_wide_trees_are_shallow_and_complete(max_leaf):
    rng = np.random.default_rng(2)
    v = rng.normal(size=(500, 10)).astype(np.float32)
    tree = wide_tree(v / np.linalg.norm(v, axis=1, keepdims=True), max_leaf=max_leaf, arity=16)
    assert tree.arity <= 16
    assert tree.n_labels_in.max() <= max_leaf
    assert tree.max_depth <= 8


def test_max_depth_leaves_large_leaves():
    v = np.random.default_rng(3).normal(size=(300, 10)).astype(np.float32)
    tree = wide_tree(v, max_leaf=2, arity=4, max_depth=2)
    assert tree.max_depth == 2
    assert tree.n_labels_in.max() > 2


def test_equal_vectors_still_end():
    tree = wide_tree(np.ones((50, 3), np.float32), max_leaf=2, arity=4)
    assert tree.n_labels_in.max() <= 2
    assert wide_tree(np.zeros((50, 3), np.float32), max_leaf=2, arity=4).n_labels == 50


def test_damaged_arguments_are_refused():
    with pytest.raises(ValueError, match="do not fit together"):
        native_kmeans(np.eye(3, dtype=np.float32), 4, 0)
