"""Labels that come after training: known ones keep their columns, new ones go behind them."""

import numpy as np
import pytest

from labelwood.errors import DataError
from labelwood.labelspace.classes import Classes, understood
from labelwood.labelspace.growth import grown_labels


def grown(known, y, by_column=False):
    matrix, given = understood(y)
    moved, classes = grown_labels(known, matrix, given, by_column=by_column)
    return moved.toarray().tolist(), classes


def test_more_columns_are_new_labels():
    rows, classes = grown(Classes(2), np.array([[1, 0, 1]]))
    assert rows == [[1, 0, 1]]
    assert (classes.n, classes.ids, classes.names) == (3, None, None)


def test_ids_find_their_columns_and_new_ones_go_behind():
    rows, classes = grown(Classes(2, ids=np.array([5, 9])), [[9, 7], [5]])
    assert rows == [[0, 1, 1], [1, 0, 0]]
    assert classes.ids.tolist() == [5, 9, 7]


def test_ids_of_a_model_without_ids_are_column_numbers():
    rows, classes = grown(Classes(3), [[1, 3], [0]])
    assert rows == [[0, 1, 0, 1], [1, 0, 0, 0]]
    assert classes.ids is None
    assert grown(Classes(3), [[1, 8]])[1].ids.tolist() == [0, 1, 2, 8]


def test_names_find_their_columns():
    rows, classes = grown(Classes(2, names=("red", "blue")), [["green", "red"], ["blue"]])
    assert rows == [[1, 0, 1], [0, 1, 0]]
    assert classes.names == ("red", "blue", "green")


@pytest.mark.parametrize(
    ("known", "y", "message"),
    [
        (Classes(3), np.array([[1, 0]]), "y has 2 label columns, but the model knows 3"),
        (Classes(2), [["red"]], "label names such as 'red', but the model knows none"),
        (Classes(1, names=("red",)), [[4]], "knows labels by name, such as 'red'"),
        (Classes(1, names=("red",)), np.array([[1, 0]]), "1 labels are new"),
        (Classes(1, ids=np.array([4])), np.array([[1, 0]]), "by id, such as 4"),
    ],
)
def test_labels_that_cannot_be_brought_together_are_refused(known, y, message):
    with pytest.raises(DataError, match=message):
        grown(known, y)
