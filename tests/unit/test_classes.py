"""What a caller's labels mean: by type and value, never by lengths that happen to be equal."""

import numpy as np
import pandas
import pytest
from scipy import sparse

from labelwood.errors import DataError
from labelwood.labelspace.classes import Classes, understood

ONES = [[0, 1, 1], [1, 0, 0]]


def meaning(y):
    matrix, classes = understood(y)
    assert isinstance(matrix, sparse.csr_matrix)
    assert matrix.shape[1] == classes.n == len(classes.array())
    return matrix.toarray().astype(int).tolist(), classes.array().tolist()


@pytest.mark.parametrize(
    "y",
    [
        np.array(ONES),
        np.array(ONES, float),
        np.array(ONES, bool),
        np.array(ONES, object),
        sparse.csr_matrix(ONES),
        sparse.csc_array(np.array(ONES, float)),
        pandas.DataFrame(ONES),
        pandas.DataFrame(ONES).astype(pandas.SparseDtype("int64", 0)),
    ],
    ids=lambda y: type(y).__name__,
)
def test_indicator_matrices(y):
    assert meaning(y) == (ONES, [0, 1, 2])


@pytest.mark.parametrize(
    "y",
    [
        [[3, 7], [5, 9]],  # as many labels in every row: still ids
        [(3, 7), (5, 9)],
        [{7, 3}, {9, 5}],
        [np.array([3, 7]), np.array([5, 9])],
        [[3.0, 7.0], [5, 9]],
        [[np.int64(3), np.int32(7)], [5, 9]],
        pandas.Series([[3, 7], [5, 9]]),
        pandas.DataFrame({"labels": [[3, 7], [5, 9]]}),
        [[3, 7, 3], [9, 5]],  # twice is once
    ],
    ids=str,
)
def test_lists_of_ids(y):
    assert meaning(y) == ([[1, 0, 1, 0], [0, 1, 0, 1]], [3, 5, 7, 9])


def test_ids_of_zero_and_one_are_ids_in_lists():
    assert meaning([[0, 1], [1]]) == ([[1, 1], [0, 1]], [0, 1])
    assert meaning([[0], [1]]) == ([[1, 0], [0, 1]], [0, 1])


def test_lists_of_names():
    assert meaning([["b", "a"], [], ("c",)]) == ([[1, 1, 0], [0, 0, 0], [0, 0, 1]], ["a", "b", "c"])


@pytest.mark.parametrize("kind", [list, np.array, pandas.Series, lambda y: np.array(y, object)])
def test_single_labels(kind):
    assert meaning(kind([7, 3, 7])) == ([[0, 1], [1, 0], [0, 1]], [3, 7])
    assert meaning(kind(["x", "w", "x"])) == ([[0, 1], [1, 0], [0, 1]], ["w", "x"])


def test_a_frame_with_named_columns_names_the_labels():
    assert meaning(pandas.DataFrame(ONES, columns=["a", "b", "c"])) == (ONES, ["a", "b", "c"])


def test_negative_and_very_large_ids():
    assert meaning([[-5], [2**40]])[1] == [-5, 2**40]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array([[3, 7], [5, 9]]), "row 0, column 0: an indicator matrix holds 0 and 1, but here is 3"),
        (np.array([[0, 0.5]]), "row 0, column 1: .* here is 0.5"),
        (np.array([[0, np.nan]]), "not finite"),
        ([[0, 1, 0], [1, 0, 0]], "names label 0 twice; lists mean label ids"),
        ([[1, "a"]], "give the one or the other"),
        ([[1], "ab"], "row 1: expected a list of labels"),
        ([[1], 2], "row 1: expected a list of labels"),
        ([[0.5]], "row 0: a label is a whole number or a name"),
        ([[None]], "row 0: a label is a whole number or a name"),
        ([["  "]], "must have words"),
        ([[2**70]], "does not fit into 64 bits"),
        ([1, None], "row 1: the label is missing"),
        ([1.0, float("nan")], "row 1: the label is missing"),
        ("text", "must be a label matrix"),
        (7, "must be a label matrix"),
        (None, "must be a label matrix"),
        (np.zeros((2, 2, 2)), "two dimensions"),
        (np.array([["a", "b"], ["c", "d"]]), "indicator matrix of 0 and 1"),
        (np.array([["a", {}], ["c", "d"]], object), "2-d array of objects"),
    ],
    ids=str,
)
def test_what_means_nothing_is_refused(y, message):
    with pytest.raises(DataError, match=message):
        understood(y)


def test_the_name_of_the_argument_is_told():
    with pytest.raises(DataError, match="labels, row 1"):
        understood([[1], 2], "labels")


# labels given again, for a model that knows some


def test_columns_of_known_labels():
    known = Classes(3, ids=np.array([3, 5, 9]))
    assert known.matrix([[9, 3], [4], [5]]).toarray().astype(int).tolist() == [
        [1, 0, 1, 0],
        [0, 0, 0, 1],  # 4 is unknown: a column behind
        [0, 1, 0, 0],
    ]
    named = Classes(2, names=("a", "b"))
    assert named.matrix([["b"], ["z", "a"]]).toarray().astype(int).tolist() == [[0, 1, 0], [1, 0, 1]]
    assert Classes(4).matrix([[1], [3]]).toarray().astype(int).tolist() == [[0, 1, 0, 0], [0, 0, 0, 1]]


def test_a_matrix_must_have_the_known_columns():
    assert Classes(3).matrix(np.array(ONES)).shape == (2, 3)
    with pytest.raises(DataError, match="2 label columns, but the model knows 3"):
        Classes(3).matrix(sparse.csr_matrix((4, 2)))


def test_names_and_ids_do_not_mix():
    with pytest.raises(DataError, match="the model knows none"):
        Classes(3).matrix([["a"]])
    with pytest.raises(DataError, match="knows labels by name"):
        Classes(1, names=("a",)).matrix([[1]])
