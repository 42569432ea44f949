"""What the functions of labelspace refuse, and their corner cases."""

import numpy as np
import pytest
from scipy import sparse

from labelwood import _native
from labelwood.errors import DataError, ParamError
from labelwood.labelspace.cooccurrence import cooccurrence
from labelwood.labelspace.frequencies import COVER_KINDS, cover_frequencies, label_frequencies
from labelwood.labelspace.pifa import label_vectors

Y = sparse.csr_matrix(np.array([[1, 1, 0], [1, 0, 1], [0, 0, 1]], np.float32))


def test_marginal_and_greedy_by_hand():
    # f = 2, 1, 2 rows: label 0 wins the tie with label 2.
    np.testing.assert_allclose(label_frequencies(Y), [0.4, 0.2, 0.4])
    np.testing.assert_allclose(cover_frequencies(Y, "marginal"), [2 / 3, 0, 1 / 3])
    np.testing.assert_allclose(cover_frequencies(Y, "greedy"), [2 / 3, 0, 1 / 3])
    np.testing.assert_allclose(cover_frequencies(Y, "greedy-k", k=2, normalize=False), [2 / 3, 1 / 3, 2 / 3])


@pytest.mark.parametrize("kind", COVER_KINDS)
def test_no_labels_at_all_give_zeros(kind):
    empty = sparse.csr_matrix((4, 3), dtype=np.float32)
    np.testing.assert_array_equal(cover_frequencies(empty, kind), np.zeros(3))
    np.testing.assert_array_equal(label_frequencies(empty), np.zeros(3))
    assert label_vectors(sparse.csr_matrix((4, 5), dtype=np.float32), empty).shape == (3, 5)
    assert cooccurrence(empty).nnz == 0


def test_bad_arguments_are_refused():
    with pytest.raises(ParamError, match="unknown kind of cover frequencies 'greddy'; did you mean 'greedy'"):
        cover_frequencies(Y, "greddy")
    with pytest.raises(ParamError, match="tau must be a number from 0 up, but is -1"):
        cover_frequencies(Y, "softened", tau=-1)
    with pytest.raises(ParamError, match="k must be a whole number from 1 up, but is 0"):
        cover_frequencies(Y, "greedy-k", k=0)
    with pytest.raises(DataError, match="one number a row"):
        label_frequencies(Y, weights=[1.0])
    with pytest.raises(DataError, match="finite and not negative"):
        label_frequencies(Y, weights=[1.0, -1.0, 0.0])
    with pytest.raises(ParamError, match="max_features"):
        label_vectors(Y, Y, max_features=0)
    with pytest.raises(ParamError, match="max_per_label"):
        cooccurrence(Y, max_per_label=0)
    with pytest.raises(DataError, match="x has 2 rows but y has 3"):
        label_vectors(np.eye(2, dtype=np.float32), Y)


def test_label_vectors_count_rows_by_their_weights():
    x = np.array([[3, 0], [0, 4], [0, 2]], np.float32)
    weighted = label_vectors(x, Y, row_weights=[1 / 3, 1 / 4, 0]).toarray()
    np.testing.assert_allclose(weighted, [[0.5**0.5, 0.5**0.5], [1, 0], [0, 1]], rtol=1e-6)
    both = label_vectors(x, Y, row_weights=[1, 1, 0.5], normalize_y=True).toarray()
    np.testing.assert_allclose(both[2], [0, 1])
    with pytest.raises(DataError, match="one number for each of 3 rows"):
        label_vectors(x, Y, row_weights=[1.0])


def test_native_arguments_that_do_not_fit_are_refused():
    pointers, columns = np.array([0, 1], np.int64), np.array([5], np.int32)
    with pytest.raises(ValueError, match="outside the matrix"):
        _native.greedy_cover(pointers, columns, pointers, columns, np.ones(1), 1, np.zeros(1))
    with pytest.raises(ValueError, match="do not fit the columns"):
        _native.pifa_counts(
            np.array([0, 2]),
            np.zeros(1, np.int32),
            np.ones(1, np.float32),
            3,
            pointers,
            columns,
            0,
            1,
            np.zeros(1, np.int64),
        )
