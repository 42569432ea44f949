"""Balanced trees: sizes, depths, kinds, and the same tree for any number of threads."""

import numpy as np
import pytest
from scipy import sparse

from labelwood.errors import DataError, ParamError
from labelwood.labelindex.balanced import balanced_tree


def topics(rng, n_topics=8, per_topic=12, d=64):
    """Labels in well separated groups: label l belongs to topic l % n_topics."""
    centres = rng.normal(size=(n_topics, d))
    vectors = centres[np.arange(n_topics * per_topic) % n_topics] + 0.2 * rng.normal(size=(n_topics * per_topic, d))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("n_labels", [1, 2, 3, 10, 97, 128])
@pytest.mark.parametrize("max_leaf", [1, 2, 10, 200])
def test_leaves_are_full_and_siblings_differ_by_one(n_labels, max_leaf):
    vectors = sparse.random(n_labels, 20, density=0.4, format="csr", random_state=n_labels)
    tree = balanced_tree(vectors, max_leaf=max_leaf)
    assert tree.n_labels_in.max() <= max_leaf
    inner = np.flatnonzero(tree.n_children)
    assert np.all(tree.n_labels_below[inner] > max_leaf)
    below = tree.n_labels_below
    assert np.all(np.abs(below[tree.first_child[inner]] - below[tree.first_child[inner] + 1]) <= 1)
    assert tree.kraft_sum() == 1.0
    assert tree.depth[tree.leaves].max() - tree.depth[tree.leaves].min() <= 1


@pytest.mark.parametrize(("arity", "max_leaf"), [(2, 5), (3, 5), (8, 1), (100, 7)])
def test_equal_depth_leaves_differ_by_one_label(arity, max_leaf):
    vectors = sparse.random(500, 30, density=0.3, format="csr", random_state=1)
    tree = balanced_tree(vectors, max_leaf=max_leaf, arity=arity, equal_depth=True)
    leaf_depths = tree.depth[tree.leaves]
    sizes = tree.n_labels_in[tree.leaves]
    assert leaf_depths.min() == leaf_depths.max()
    assert sizes.max() - sizes.min() <= 1
    assert tree.arity == arity


@pytest.mark.parametrize("arity", [3, 7, 64])
def test_wide_nodes_have_equal_parts(arity):
    vectors = sparse.random(600, 30, density=0.3, format="csr", random_state=2)
    tree = balanced_tree(vectors, max_leaf=4, arity=arity)
    for node in np.flatnonzero(tree.n_children):
        below = tree.n_labels_below[tree.children(node)]
        assert len(below) == min(arity, tree.n_labels_below[node])
        assert below.max() - below.min() <= 1
    assert tree.n_labels_in.max() <= 4


def test_clear_topics_become_subtrees():
    vectors = topics(np.random.default_rng(0))
    tree = balanced_tree(vectors, max_leaf=12, seed=3)
    for leaf in tree.leaves:
        assert len(set(tree.labels_below(leaf) % 8)) == 1


def test_labels_of_a_leaf_keep_their_order():
    vectors = topics(np.random.default_rng(1))
    tree = balanced_tree(vectors, max_leaf=12)
    for leaf in tree.leaves:
        assert np.all(np.diff(tree.labels_below(leaf)) > 0)


@pytest.mark.parametrize("arity", [2, 5])
def test_same_tree_for_any_number_of_threads_and_a_new_one_for_a_new_seed(arity):
    vectors = sparse.random(9500, 60, density=0.2, format="csr", random_state=4)
    trees = [balanced_tree(vectors, max_leaf=50, arity=arity, n_threads=n, seed=9) for n in (1, 2, 5)]
    assert trees[0].same_as(trees[1])
    assert trees[0].same_as(trees[2])
    assert not trees[0].same_as(balanced_tree(vectors, max_leaf=50, arity=arity, seed=10))


def test_labels_without_features_find_a_place():
    vectors = sparse.csr_matrix((10, 5), dtype=np.float32)
    assert balanced_tree(vectors, max_leaf=1).n_labels == 10


def test_bad_arguments_are_refused():
    vectors = np.eye(4, dtype=np.float32)
    with pytest.raises(ParamError, match="max_leaf must be a whole number from 1 up, but is 0"):
        balanced_tree(vectors, max_leaf=0)
    with pytest.raises(ParamError, match="arity must be a whole number from 2 up, but is 1"):
        balanced_tree(vectors, arity=1)
    with pytest.raises(DataError, match="at least one label"):
        balanced_tree(np.zeros((0, 4), np.float32))
