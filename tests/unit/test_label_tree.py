"""LabelTree: what its arrays promise, and what it refuses."""

import numpy as np
import pytest

from labelwood.errors import DataError, ModelFileError
from labelwood.labelindex.tree import LabelTree


@pytest.fixture
def tree():
    """Root 0 -> 1 (leaf: 4, 2), 2 -> 3 (leaf: 0), 4 (leaf: 3, 1, 5)."""
    return LabelTree.from_shape([2, 0, 2, 0, 0], [0, 2, 0, 1, 3], [4, 2, 0, 3, 1, 5])


def test_arrays_follow_from_the_shape(tree):
    np.testing.assert_array_equal(tree.first_child, [1, -1, 3, -1, -1])
    np.testing.assert_array_equal(tree.parent, [-1, 0, 0, 2, 2])
    np.testing.assert_array_equal(tree.depth, [0, 1, 1, 2, 2])
    np.testing.assert_array_equal(tree.first_label, [0, 0, 2, 2, 3])
    np.testing.assert_array_equal(tree.n_labels_below, [6, 2, 4, 1, 3])
    np.testing.assert_array_equal(tree.level_starts, [0, 1, 3, 5])
    np.testing.assert_array_equal(tree.leaves, [1, 3, 4])
    assert (tree.n_nodes, tree.n_labels, tree.max_depth, tree.arity) == (5, 6, 2, 2)
    assert all(getattr(tree, name).dtype == np.int32 for name in tree.__dataclass_fields__)


def test_labels_know_their_leaf_path_and_depth(tree):
    np.testing.assert_array_equal(tree.leaf_of_labels, [3, 4, 1, 4, 1, 4])
    assert tree.leaf_of(5) == 4
    np.testing.assert_array_equal(tree.path(0), [0, 2, 3])
    np.testing.assert_array_equal(tree.depth_of_labels(), [2, 2, 1, 2, 1, 2])
    np.testing.assert_array_equal(tree.labels_below(2), [0, 3, 1, 5])
    assert list(tree.children(2)) == [3, 4]
    with pytest.raises(DataError, match=r"label 6 is outside 0\.\.5"):
        tree.leaf_of(6)


def test_expected_depth_weighs_by_frequency(tree):
    assert tree.expected_depth(np.ones(6)) == pytest.approx(10 / 6)
    assert tree.expected_depth([0, 0, 3, 0, 0, 1]) == pytest.approx(1.25)
    with pytest.raises(DataError, match="one number for each of 6 labels"):
        tree.expected_depth([1.0])
    with pytest.raises(DataError, match="positive sum"):
        tree.expected_depth(np.zeros(6))


def test_kraft_sum(tree):
    assert tree.kraft_sum() == 1.0
    assert tree.kraft_sum(arity=3) == pytest.approx(1 / 3 + 2 / 9)
    assert LabelTree.from_shape([0], [3], [0, 2, 1]).kraft_sum() == 1.0


def test_a_single_node_is_a_tree():
    tree = LabelTree.from_shape([0], [2], [1, 0])
    assert tree.max_depth == 0
    np.testing.assert_array_equal(tree.path(1), [0])
    assert tree.collapse(4).same_as(tree)


def test_collapse_merges_levels():
    #        0            depth 0
    #     1     2         depth 1, node 2 is a leaf
    #    3 4              depth 2, node 4 is a leaf
    #   5 6               depth 3
    tree = LabelTree.from_shape([2, 2, 0, 2, 0, 0, 0], [0, 0, 1, 0, 1, 1, 1], [0, 1, 2, 3])
    wide = tree.collapse(2)
    np.testing.assert_array_equal(wide.n_children, [3, 2, 0, 0, 0, 0])
    np.testing.assert_array_equal(wide.n_labels_in, [0, 0, 1, 1, 1, 1])
    np.testing.assert_array_equal(wide.label_order, tree.label_order)
    np.testing.assert_array_equal(wide.depth_of_labels(), [2, 2, 1, 1])
    flat = tree.collapse(3)
    np.testing.assert_array_equal(flat.n_children, [4, 0, 0, 0, 0])
    assert tree.collapse(1).same_as(tree)
    with pytest.raises(DataError, match="from 1 up"):
        tree.collapse(0)


def test_collapse_merges_uneven_runs_of_levels():
    n_inner, n_leaves = 2**5 - 1, 2**5  # a full binary tree of depth 5
    tree = LabelTree.from_shape([2] * n_inner + [0] * n_leaves, [0] * n_inner + [1] * n_leaves, np.arange(n_leaves))
    np.testing.assert_array_equal(np.diff(tree.collapse([3, 1]).level_starts), [1, 8, 16, 32])
    np.testing.assert_array_equal(np.diff(tree.collapse([1, 2]).level_starts), [1, 2, 8, 32])
    np.testing.assert_array_equal(np.diff(tree.collapse([4, 3]).level_starts), [1, 16, 32])
    assert tree.collapse([2, 2]).same_as(tree.collapse(2))
    assert tree.collapse([9]).same_as(tree.collapse(5))
    for bad in ([], [2, 0]):
        with pytest.raises(DataError, match="from 1 up"):
            tree.collapse(bad)


def test_relabelled_renames_labels(tree):
    names = np.array([5, 4, 3, 2, 1, 0])
    other = tree.relabelled(names)
    np.testing.assert_array_equal(other.leaf_of_labels[names], tree.leaf_of_labels)
    with pytest.raises(DataError, match="label 0 is in more than one place"):
        tree.relabelled(np.zeros(6, np.int32))
    with pytest.raises(DataError, match="must have 6 entries"):
        tree.relabelled([0])


def test_arrays_are_read_only_and_not_the_callers(tree):
    order = np.array([1, 0], np.int32)
    other = LabelTree.from_shape([0], [2], order)
    order[0] = 7  # the caller's array stays writeable
    with pytest.raises(ValueError, match="read-only"):
        other.label_order[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        tree.leaf_of_labels[0] = 0


def test_saved_arrays_give_the_tree_back(tree):
    arrays = tree.to_arrays()
    assert set(arrays) == {"n_children", "n_labels_in", "label_order"}
    assert LabelTree.from_arrays(arrays).same_as(tree)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_children": [2, 0, 2, 0]}, "asks for"),
        ({"n_children": []}, "asks for"),
        ({"n_children": [2, 0, 3, 0, 0]}, "children"),
        ({"n_children": [0, 0, 2, 2, 0], "n_labels_in": [2, 1, 0, 0, 3]}, "child of an earlier node"),
        ({"n_children": [2, -1, 2, 0, 0]}, "exactly one of them must be positive"),
        ({"n_labels_in": [0, 2, 0, 0, 4]}, "exactly one of them must be positive"),
        ({"n_labels_in": [1, 2, 0, 1, 2]}, "exactly one of them must be positive"),
        ({"n_labels_in": [0, 2, 0, 1, 2]}, "hold 5 labels, label_order has 6"),
        ({"label_order": [4, 2, 0, 3, 1, 6]}, r"label 6 is outside 0\.\.5"),
        ({"label_order": [4, 2, 0, 3, 1, -1]}, r"label -1 is outside 0\.\.5"),
        ({"label_order": [4, 2, 0, 3, 1, 1]}, "label 1 is in more than one place"),
    ],
)
def test_damaged_arrays_are_refused(tree, change, message):
    arrays = {name: np.asarray(array) for name, array in tree.to_arrays().items()}
    arrays.update({name: np.array(values, np.int32) for name, values in change.items()})
    with pytest.raises(ModelFileError, match=message):
        LabelTree.from_arrays(arrays)


def test_missing_and_mistyped_arrays_are_refused(tree):
    arrays = tree.to_arrays()
    with pytest.raises(ModelFileError, match="'label_order' is missing"):
        LabelTree.from_arrays({name: arrays[name] for name in ("n_children", "n_labels_in")})
    with pytest.raises(ModelFileError, match=r"must be int32 of shape .n_labels., but is float32"):
        LabelTree.from_arrays({**arrays, "label_order": arrays["label_order"].astype(np.float32)})
    with pytest.raises(ModelFileError, match="but is int32 of shape"):
        LabelTree.from_arrays({**arrays, "label_order": arrays["label_order"].reshape(2, 3)})


def test_inconsistent_arrays_are_refused(tree):
    arrays = {name: getattr(tree, name) for name in tree.__dataclass_fields__}
    assert LabelTree(**arrays).same_as(tree)
    with pytest.raises(DataError, match="parent does not fit"):
        LabelTree(**{**arrays, "parent": np.zeros(5, np.int32)})
