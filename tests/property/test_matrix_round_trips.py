"""Whatever a Dataset of features holds, every matrix format gives it back."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import labelwood as lw

values = st.floats(width=32, allow_nan=False, allow_infinity=False).filter(bool)


@st.composite
def datasets(draw):
    n_rows, n_features, n_labels = draw(st.integers(0, 6)), draw(st.integers(1, 8)), draw(st.integers(1, 5))
    cells = st.tuples(st.integers(0, max(n_rows - 1, 0)), st.integers(0, n_features - 1))
    marks = st.tuples(st.integers(0, max(n_rows - 1, 0)), st.integers(0, n_labels - 1))
    x = np.zeros((n_rows, n_features), np.float32)
    y = np.zeros((n_rows, n_labels), np.float32)
    if n_rows:
        for cell, value in draw(st.dictionaries(cells, values, max_size=15)).items():
            x[cell] = value
        for mark in draw(st.sets(marks, max_size=10)):
            y[mark] = 1
    return lw.Dataset(sparse.csr_matrix(x), sparse.csr_matrix(y))


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "trn_X_Y.txt", "X.npz"])
@settings(max_examples=30, deadline=None)
@given(data=datasets())
def test_formats_with_a_header_give_everything_back(name, data):
    with tempfile.TemporaryDirectory() as folder:
        back = lw.read(lw.write(data, Path(folder) / name).paths[0])
    assert back.x.shape == data.x.shape
    assert back.y.shape == data.y.shape
    np.testing.assert_array_equal(back.x.toarray(), data.x.toarray())
    np.testing.assert_array_equal(back.y.toarray(), data.y.toarray())


@pytest.mark.parametrize("base", [0, 1])
@settings(max_examples=30, deadline=None)
@given(data=datasets().filter(lambda data: data.n_rows > 0))
def test_svmlight_gives_everything_back(base, data):
    with tempfile.TemporaryDirectory() as folder:
        (path,) = lw.write(data, Path(folder) / "a.svm", index_base=base).paths
        sizes = {"n_features": data.n_features, "n_labels": data.n_labels}
        back = lw.read(path, index_base=base, **sizes)
        found = lw.read(path, **sizes) if base == 1 else back
    for other in (back, found):
        np.testing.assert_array_equal(other.x.toarray(), data.x.toarray())
        np.testing.assert_array_equal(other.y.toarray(), data.y.toarray())
