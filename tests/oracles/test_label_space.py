"""Frequencies, cover frequencies, co-occurrence and label vectors against their slow twins."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from labelwood.labelspace.cooccurrence import cooccurrence
from labelwood.labelspace.frequencies import cover_frequencies, label_frequencies
from labelwood.labelspace.pifa import label_vectors

_spec = importlib.util.spec_from_file_location("cover_twin", Path(__file__).with_name("cover_twin.py"))
twin = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(twin)


def random_labels(seed, n_rows=60, n_labels=25):
    rng = np.random.default_rng(seed)
    chance = 0.6 / (1 + np.arange(n_labels)) ** 0.8
    y = (rng.random((n_rows, n_labels)) < chance[rng.permutation(n_labels)]).astype(np.float64)
    y[rng.random(n_rows) < 0.1] = 0  # rows without labels
    return y, rng


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("weighted", [False, True])
def test_cover_frequencies_equal_their_twins(seed, weighted):
    y, rng = random_labels(seed)
    # Multiples of 1/64 add up exactly, so ties are the same ties in both.
    weights = rng.integers(1, 65, len(y)) / 64 if weighted else None
    plain = weights if weighted else np.full(len(y), 1 / len(y))
    exact = weights if weighted else np.ones(len(y))
    scale = 1 if weighted else len(y)
    settings = {"weights": weights, "normalize": False}
    np.testing.assert_allclose(label_frequencies(y, **settings), plain @ y, atol=1e-12)
    np.testing.assert_allclose(
        cover_frequencies(y, "marginal", **settings), twin.marginal(y, exact) / scale, atol=1e-12
    )
    np.testing.assert_allclose(cover_frequencies(y, "greedy", **settings), twin.greedy(y, exact) / scale, atol=1e-12)
    for k in (1, 2, 5):
        found = cover_frequencies(y, "greedy-k", k=k, **settings)
        np.testing.assert_allclose(found, twin.greedy(y, exact, k) / scale, atol=1e-12)
    for tau in (0.0, 0.5, 3.0):
        found = cover_frequencies(y, "softened", tau=tau, **settings)
        np.testing.assert_allclose(found, twin.softened(y, plain, tau), atol=1e-12)


@pytest.mark.parametrize("normalize_y", [False, True])
@pytest.mark.parametrize("max_features", [None, 1, 3, 1000])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_label_vectors_equal_their_twin(normalize_y, max_features, n_threads):
    y, rng = random_labels(3, n_rows=200, n_labels=150)
    y[:, 7] = 0
    x = (rng.normal(size=(200, 40)) * (rng.random((200, 40)) < 0.2)).astype(np.float32)
    found = label_vectors(
        sparse.csr_matrix(x), y, normalize_y=normalize_y, max_features=max_features, n_threads=n_threads
    )
    expected = twin.vectors(x.astype(np.float64), y, normalize_y, max_features)
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-6)
    assert found.dtype == np.float32
    assert found.has_canonical_format
    assert found[7].nnz == 0
    if max_features:
        assert np.diff(found.indptr).max() <= max_features


def test_wide_feature_spaces_keep_features_in_order():
    # More than 64 * 64 features, so both levels of the bitmap are in use.
    x = sparse.random(50, 20000, density=0.01, format="csr", random_state=0, dtype=np.float32)
    y = np.eye(50)[:, :10]
    y[:, 3] = 1
    found = label_vectors(x, y)
    assert np.all(np.diff(found.indices[found.indptr[3] : found.indptr[4]]) > 0)
    np.testing.assert_allclose(found.toarray(), twin.vectors(x.toarray().astype(float), y), atol=1e-6)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("max_per_label", [None, 1, 4])
def test_cooccurrence_counts_rows_with_both_labels(diagonal, max_per_label, monkeypatch):
    monkeypatch.setattr("labelwood.labelspace.cooccurrence._PAIRS_AT_ONCE", 100)  # several blocks of labels
    y, _ = random_labels(5)
    full = y.T @ y
    found = cooccurrence(y, max_per_label=max_per_label, diagonal=diagonal).toarray()
    expected = np.zeros_like(full)
    for label, counts in enumerate(full):
        others = np.array([j for j in np.lexsort((np.arange(len(counts)), -counts)) if j != label and counts[j]], int)
        keep = others[:max_per_label]
        expected[label, keep] = counts[keep]
        if diagonal:
            expected[label, label] = counts[label]
    np.testing.assert_array_equal(found, expected)
