"""TopK: shapes, types, padding, and the ways in and out."""

import numpy as np
import pytest
from scipy import sparse

from labelwood.errors import DataError, ParamError
from labelwood.topk import PAD, TopK, checked_k, empty


@pytest.fixture
def top():
    return TopK([[2, 0, 1], [1, PAD, PAD]], [[0.9, 0.5, 0.25], [0.75, -np.inf, -np.inf]])


def test_types_and_shape(top):
    assert top.labels.dtype == np.int32
    assert top.scores.dtype == np.float32
    assert (len(top), top.k) == (2, 3)


def test_wide_types_are_narrowed():
    made = TopK(np.array([[1]], np.int64), np.array([[1.0]], np.float64))
    assert (made.labels.dtype, made.scores.dtype) == (np.int32, np.float32)


@pytest.mark.parametrize(
    ("labels", "scores", "message"),
    [
        ([[1, 2]], [[0.5]], "one shape"),
        ([1, 2], [0.5, 0.4], "one shape"),
        ([[1.5]], [[0.5]], "must be integers, but are float64"),
        ([[-2]], [[0.5]], "smallest is -2"),
    ],
)
def test_bad_input_is_refused(labels, scores, message):
    with pytest.raises(DataError, match=message):
        TopK(labels, scores)


def test_iteration_leaves_padding_out(top):
    assert list(top) == [[(2, pytest.approx(0.9)), (0, 0.5), (1, 0.25)], [(1, 0.75)]]


def test_rows_are_taken_by_number_slice_and_mask(top):
    assert top[0].labels.tolist() == [[2, 0, 1]]
    assert top[np.int64(1)].labels.tolist() == [[1, PAD, PAD]]
    assert top[1:].labels.tolist() == [[1, PAD, PAD]]
    assert top[np.array([False, True])].labels.tolist() == [[1, PAD, PAD]]
    assert len(top[[]]) == 0


def test_cut_shortens_and_pads(top):
    assert top.cut(1).labels.tolist() == [[2], [1]]
    wide = top.cut(5)
    assert wide.labels[:, 3:].tolist() == [[PAD, PAD], [PAD, PAD]]
    assert np.all(np.isneginf(wide.scores[:, 3:]))
    np.testing.assert_array_equal(wide.cut(3).labels, top.labels)


def test_names(top):
    assert top.names(["a", "b", "c"])[1] == [("b", 0.75)]


def test_csr_round_trip(top):
    matrix = top.to_csr(4)
    assert matrix.shape == (2, 4)
    assert matrix.has_sorted_indices
    assert matrix[0, 2] == np.float32(0.9)
    back = TopK.from_csr(matrix, 3)
    np.testing.assert_array_equal(back.labels, top.labels)
    np.testing.assert_array_equal(back.scores, top.scores)


def test_from_csr_breaks_ties_by_the_smaller_label():
    made = TopK.from_csr(sparse.csr_matrix([[0.5, 0.7, 0.5, 0.7]]), 3)
    assert made.labels.tolist() == [[1, 3, 0]]


def test_from_lists():
    made = TopK.from_lists([[(3, 0.5)], [], [(1, 0.9), (2, 0.8), (0, 0.1)]], k=2)
    assert made.labels.tolist() == [[3, PAD], [PAD, PAD], [1, 2]]
    assert TopK.from_lists([]).labels.shape == (0, 0)


def test_empty_is_padding_only():
    made = empty(2, 3)
    assert np.all(made.labels == PAD)
    assert np.all(np.isneginf(made.scores))


@pytest.mark.parametrize("k", [1, 5, np.int64(7), 10_000])
def test_k_may_be_more_than_the_labels_up_to_a_limit(k):
    assert checked_k(k, 3) == k
    assert type(checked_k(k, 3)) is int


def test_k_may_be_all_labels_however_many():
    assert checked_k(2_000_000, 2_000_000) == 2_000_000
    with pytest.raises(ParamError, match="k must be at most 2000000 where there are 2000000 labels, but is 2000001"):
        checked_k(2_000_001, 2_000_000)


@pytest.mark.parametrize("k", [0, -1, True, 2.0, "5", None, 10_001, 1_000_000_000, 2**70])
def test_what_k_cannot_be(k):
    with pytest.raises(ParamError, match="k must be"):
        checked_k(k, 3)


def test_several_can_be_joined_by_numpy():
    first = TopK(np.array([[1, 2]]), np.array([[0.9, 0.1]]))
    second = TopK(np.array([[3, -1]]), np.array([[0.5, -np.inf]]))
    joined = np.concatenate([first, second])
    assert isinstance(joined, TopK)
    assert joined.labels.tolist() == [[1, 2], [3, -1]]
    assert joined.scores[0].tolist() == pytest.approx([0.9, 0.1])
    with pytest.raises(TypeError):
        np.vstack([first, second])


def test_nearness_goes_with_the_rows():
    both = TopK(np.array([[1, 2], [3, -1]]), np.array([[0.9, 0.1], [0.5, -np.inf]]), np.array([0.25, 0.75]))
    assert both.nearness.dtype == np.float32
    assert both[1].nearness.tolist() == [0.75]
    assert both.cut(1).nearness.tolist() == both.cut(5).nearness.tolist() == [0.25, 0.75]
    assert np.concatenate([both[1], both]).nearness.tolist() == [0.75, 0.25, 0.75]
    unknown = TopK(both.labels, both.scores)
    assert unknown[:1].nearness is None
    assert np.concatenate([both, unknown]).nearness is None
    with pytest.raises(DataError, match="one number for each of 2 rows"):
        TopK(both.labels, both.scores, np.zeros(3))


def test_as_an_array_it_is_its_labels():
    top = TopK(np.array([[1, 2], [3, -1]]), np.array([[0.9, 0.1], [0.5, -np.inf]]))
    assert np.asarray(top).tolist() == [[1, 2], [3, -1]]
    assert np.asarray(top, dtype=np.int64).dtype == np.int64
