"""Rows as training takes them: the caller's own arrays where they will do, with the same classifiers as of a copy."""

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.models.linear.weight_blocks import rank_features, ranked_rows, training_rows


def rows_and_labels():
    rng = np.random.default_rng(3)
    x = sparse.random(300, 60, 0.1, format="csr", dtype=np.float32, random_state=3)
    x.data += np.float32(0.5)
    y = sparse.csr_matrix((np.ones(300, np.float32), (np.arange(300), rng.integers(0, 12, 300))), shape=(300, 12))
    return x, y


def test_nothing_is_copied_and_the_numbers_say_what_a_copy_would_hold():
    x, _ = rows_and_labels()
    rank = rank_features(x)
    lent, copied = training_rows(x, rank, True), ranked_rows(x, rank, True)
    assert np.shares_memory(lent.indices, x.indices)
    assert np.shares_memory(lent.data, x.data)
    np.testing.assert_array_equal(lent.numbers[lent.indices], copied.indices)
    np.testing.assert_allclose(lent.data * np.repeat(lent.scale, np.diff(lent.indptr)), copied.data, rtol=1e-6)


@pytest.mark.parametrize("factor", [3.0, 1e9, 1e-9])
def test_rows_of_any_length_train_the_same_classifiers(factor):
    x, y = rows_and_labels()
    settings = {"C": 1.0, "max_leaf": 4, "arity": 4, "eps": 0.01, "weights": "half", "n_threads": 1}
    plain = lw.LinearTree(**settings).fit(x, y).predict(x, k=3)
    scaled = x * np.float32(factor)
    found = lw.LinearTree(**settings).fit(scaled, y).predict(scaled, k=3)
    np.testing.assert_allclose(found.scores, plain.scores, atol=2e-2)
    assert np.mean(found.labels == plain.labels) > 0.98


def test_rows_that_are_not_scaled_keep_their_lengths():
    x, _ = rows_and_labels()
    assert training_rows(x, rank_features(x), False).scale is None
    assert training_rows(x * np.float32(1e9), rank_features(x), True).numbers is None  # a copy
