"""Huffman, Fano, random and user-given trees, and the door to all kinds."""

import heapq

import numpy as np
import pytest

from labelwood.errors import DataError, ParamError
from labelwood.labelindex.build import TREE_KINDS, build_tree
from labelwood.labelindex.hierarchy import tree_from_clusters, tree_from_parents
from labelwood.labelindex.huffman import fano_tree, huffman_tree
from labelwood.labelindex.interpolated import interpolated_tree
from labelwood.labelindex.random_tree import random_tree


def least_cost(f):
    """The cost of an optimal code: the sum of all merged weights, by a heap."""
    heap, cost = list(f), 0.0
    heapq.heapify(heap)
    while len(heap) > 1:
        merged = heapq.heappop(heap) + heapq.heappop(heap)
        cost += merged
        heapq.heappush(heap, merged)
    return cost


@pytest.mark.parametrize("seed", range(6))
def test_huffman_trees_are_optimal(seed):
    rng = np.random.default_rng(seed)
    f = rng.integers(0, 50, 80).astype(float)
    tree = huffman_tree(f)
    assert tree.expected_depth(f) * f.sum() == pytest.approx(least_cost(f))
    assert tree.kraft_sum() == pytest.approx(1)
    assert fano_tree(f).expected_depth(f) >= tree.expected_depth(f) - 1e-9


def test_huffman_by_hand():
    tree = huffman_tree([0.1, 0.5, 0.15, 0.25])
    np.testing.assert_array_equal(tree.depth_of_labels(), [3, 1, 3, 2])
    assert huffman_tree([3.0]).n_nodes == 1


@pytest.mark.parametrize("coder", [huffman_tree, fano_tree])
@pytest.mark.parametrize("max_leaf", [2, 10, 500])
def test_coders_respect_the_leaf_size(coder, max_leaf):
    f = 1 / (1 + np.arange(200.0))
    tree = coder(f, max_leaf=max_leaf)
    assert tree.n_labels_in.max() <= max_leaf
    inner = np.flatnonzero(tree.n_children)
    assert np.all(tree.n_labels_below[inner] > max_leaf)


def test_fano_cuts_labels_without_frequency_in_the_middle():
    tree = fano_tree([8.0, 0, 0, 0, 0])
    np.testing.assert_array_equal(tree.depth_of_labels(), [1, 3, 3, 3, 3])


def test_frequent_labels_are_higher():
    f = np.array([1000.0, 500, 250, 1, 1, 1, 1, 1])
    for tree in (huffman_tree(f), fano_tree(f)):
        assert list(tree.depth_of_labels()[:3]) == [1, 2, 3]
        assert tree.depth_of_labels()[3:].min() > 3


@pytest.mark.parametrize("f", [[], [[1.0]], [0.0, 0.0], [-1.0, 2.0], [np.nan, 1.0]])
def test_bad_frequencies_are_refused(f):
    with pytest.raises(DataError, match="frequencies"):
        huffman_tree(f)


def test_random_trees_are_balanced_and_seeded():
    tree = random_tree(1000, max_leaf=7, arity=5, seed=1)
    assert tree.n_labels_in.max() <= 7
    assert tree.same_as(random_tree(1000, max_leaf=7, arity=5, seed=1))
    assert not tree.same_as(random_tree(1000, max_leaf=7, arity=5, seed=2))
    sizes = random_tree(1000, max_leaf=7, equal_depth=True).n_labels_in
    assert set(sizes[sizes > 0]) == {3, 4}


def test_a_hierarchy_of_parents():
    #      5         nodes 5 (root), 0 and 2 below it, 1 and 3 below 2; node 4 has no labels
    tree = tree_from_parents([5, 2, 5, 2, 0, -1], [0, 3, 1, 0, 2])
    np.testing.assert_array_equal(tree.n_children, [2, 0, 3, 0, 0, 0])
    np.testing.assert_array_equal(tree.label_order, [0, 3, 2, 1, 4])  # node 2's own label comes last below it
    np.testing.assert_array_equal(tree.depth_of_labels(), [1, 2, 2, 1, 2])


def test_several_roots_get_one_above_them():
    tree = tree_from_parents([-1, -1], [1, 0, 1])
    np.testing.assert_array_equal(tree.n_children, [2, 0, 0])
    np.testing.assert_array_equal(tree.label_order, [1, 0, 2])


def test_long_chains_are_trees_too():
    n = 300
    tree = tree_from_parents(np.arange(-1, n - 1), np.arange(n))
    assert tree.max_depth == n - 1  # each node but the last holds a label beside its child
    assert tree.n_labels == n


def test_a_hierarchy_of_cluster_names():
    tree = tree_from_clusters([("law", "tax"), ("law", "trade"), ("sea",), ("law", "tax"), (), ("sea", "tax")])
    np.testing.assert_array_equal(tree.leaf_of_labels == tree.leaf_of(0), [True, False, False, True, False, False])
    np.testing.assert_array_equal(tree.depth_of_labels(), [2, 2, 2, 2, 1, 2])
    assert list(tree.n_children) == [3, 2, 2, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("parents", "nodes", "message"),
    [
        ([1, 0, -1], [0], "node 0 has no way up to a root"),
        ([1, 0], [0], "no way up to a root"),
        ([-1, 7], [0], r"parents\[1\] is 7, which is outside -1\.\.1"),
        ([-1], [3], r"node_of_label\[0\] is 3, which is outside 0\.\.0"),
        ([-1], [], "at least one label"),
        ([-1.5], [0], "whole numbers"),
    ],
)
def test_damaged_hierarchies_are_refused(parents, nodes, message):
    with pytest.raises(DataError, match=message):
        tree_from_parents(parents, nodes)


def test_a_text_is_no_path():
    with pytest.raises(DataError, match="sequence of cluster names"):
        tree_from_clusters(["law"])


def test_every_kind_can_be_built_and_collapsed():
    rng = np.random.default_rng(0)
    v = rng.normal(size=(120, 10)).astype(np.float32)
    f = 1 / (1 + np.arange(120.0))
    for kind in TREE_KINDS:
        tree = build_tree(kind, vectors=v, frequencies=f, max_leaf=5, seed=1)
        assert tree.n_labels == 120
        assert tree.n_labels_in.max() <= 5
        assert build_tree(kind, vectors=v, frequencies=f, max_leaf=5, seed=1, collapse=2).same_as(tree.collapse(2))
    assert build_tree("random", n_labels=9, max_leaf=2).n_labels == 9
    assert build_tree("balanced", vectors=v, arity=7, max_leaf=5).arity == 7


def test_bad_calls_are_refused():
    v, f = np.eye(3, dtype=np.float32), np.ones(3)
    for call, message in (
        (lambda: build_tree("balancd"), "unknown kind of label tree 'balancd'; did you mean 'balanced'"),
        (lambda: build_tree("balanced"), "needs vectors"),
        (lambda: build_tree("fano"), "needs frequencies"),
        (lambda: build_tree("random"), "needs n_labels"),
        (
            lambda: build_tree("balanced", vectors=v, balance=1.0),
            "'balanced': .*unexpected keyword argument 'balance'",
        ),
        (lambda: interpolated_tree(v, f, balance=2.5), "balance must be a number from 0 to 2, but is 2.5"),
        (lambda: interpolated_tree(v, f, balance=1, balance_ratio=1), "not both"),
        (lambda: interpolated_tree(v, f, balance_ratio=-1), "balance_ratio must be a number from 0 up"),
        (lambda: interpolated_tree(v, f, rounding="up"), "unknown rounding 'up'"),
        (lambda: interpolated_tree(v, f, smoothing=-0.1), "smoothing"),
    ):
        with pytest.raises(ParamError, match=message):
            call()
    with pytest.raises(DataError, match="one number for each of 3 labels"):
        interpolated_tree(v, np.ones(4))
    with pytest.raises(DataError, match="cover_frequencies must have one number for each of 3 labels"):
        interpolated_tree(v, f, np.ones(2))


@pytest.mark.parametrize("kind", ["interpolated", "direct", "wide"])
def test_same_tree_for_any_number_of_threads(kind):
    rng = np.random.default_rng(5)
    v = rng.normal(size=(9000, 8)).astype(np.float32)
    f = 1 / (1 + np.arange(9000.0))
    settings = {"arity": 20} if kind == "wide" else {"balance": 1.2}
    one, two = (
        build_tree(kind, vectors=v, frequencies=f, max_leaf=50, n_threads=n, seed=3, **settings) for n in (1, 3)
    )
    assert one.same_as(two)


def test_the_depth_cap_ends_chains():
    f = 2.0 ** -np.arange(200)  # Fano's code of these is one long chain
    v = np.eye(200, dtype=np.float32)
    assert interpolated_tree(v, f, balance=2.0, smoothing=0.0, max_leaf=1, max_depth=10).max_depth <= 10 + 8
    assert interpolated_tree(v, f, balance=2.0, smoothing=0.0, max_leaf=1, max_depth=1000).max_depth > 100


def test_labels_without_cover_frequency_lose_that_term():
    # Below the root's first split all labels of one node have cover 0; the split must still be made by the
    # rest.
    v = np.eye(8, dtype=np.float32)
    f = np.array([100.0, 1, 1, 1, 1, 1, 1, 1])
    tree = interpolated_tree(v, f, np.eye(8)[0], balance=1.5, smoothing=0.0, max_leaf=1)
    assert tree.kraft_sum() == 1.0
