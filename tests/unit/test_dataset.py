"""Dataset: aligned, immutable, and cut as a whole."""

import dataclasses

import numpy as np
import pytest

from labelwood.data.dataset import Dataset
from labelwood.errors import DataError

X = np.arange(12, dtype=float).reshape(4, 3)
Y = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])


@pytest.fixture
def data():
    return Dataset(
        X,
        Y,
        texts=["a", "b", "c", "d"],
        label_names=["red", "blue"],
        feature_names=["f", "g", "h"],
        row_ids=["r0", "r1", "r2", "r3"],
        filter_pairs=np.array([[0, 1], [2, 0], [3, 1]]),
        source="here",
    )


def test_sizes(data):
    assert (len(data), data.n_rows, data.n_features, data.n_labels) == (4, 4, 3, 2)


def test_text_only_rows_have_no_features():
    data = Dataset(None, Y, texts=list("abcd"), source="notes.jsonl")
    assert data.n_features == 0
    with pytest.raises(DataError, match=r"notes.jsonl: the rows are texts without features; use labelwood.Tagger"):
        data.features()


def test_immutable(data):
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.y = None
    assert isinstance(data.texts, tuple)


def test_the_list_given_may_change_later():
    names = ["red", "blue"]
    data = Dataset(X, Y, label_names=names)
    names[0] = "green"
    assert data.label_names == ("red", "blue")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"texts": ["a"]}, "1 texts for 4 rows"),
        ({"row_ids": ["a"]}, "1 row_ids for 4 rows"),
        ({"label_names": ["a"]}, "1 label_names for 2 label columns"),
        ({"feature_names": ["a"]}, "1 feature_names for 3 feature columns"),
        ({"x": None, "texts": None}, r"needs features \(x\) or texts"),
        ({"x": X[:3]}, "x has 3 rows but y has 4"),
        ({"filter_pairs": np.array([[0, 0], [4, 0]])}, r"filter pair 2: row 4 is outside 0\.\.3"),
        ({"filter_pairs": np.array([[0, 2]])}, r"filter pair 1: label 2 is outside 0\.\.1"),
    ],
)
def test_what_does_not_fit_is_refused(data, change, message):
    with pytest.raises(DataError, match=message):
        dataclasses.replace(data, **change)


@pytest.mark.parametrize("rows", [[2, 0], np.array([2, 0]), slice(None, None, 2), np.array([1, 0, 1, 0], bool)])
def test_take_keeps_everything_aligned(data, rows):
    part = data.take(rows)
    index = np.arange(4)[rows]
    np.testing.assert_array_equal(part.x.toarray(), X[index])
    np.testing.assert_array_equal(part.y.toarray(), Y[index])
    assert part.texts == tuple("abcd"[i] for i in index)
    assert part.row_ids == tuple(f"r{i}" for i in index)
    assert part.label_names == data.label_names
    place = {int(row): i for i, row in enumerate(index)}
    wanted = sorted((place[r], label) for r, label in [(0, 1), (2, 0), (3, 1)] if r in place)
    assert sorted(map(tuple, part.filter_pairs.tolist())) == wanted


def test_take_nothing(data):
    assert len(data.take([])) == 0
