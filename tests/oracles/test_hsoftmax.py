"""The native hierarchical softmax against its twins (S6: best-first equals fastText's search; chances sum to 1)."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from labelwood import _native
from labelwood.labelindex.build import build_tree
from labelwood.labelindex.codes import label_codes
from labelwood.models.hsoftmax import HSoftmax, first_vectors
from labelwood.models.vector_storage import STORAGES, StoredVectors

_spec = importlib.util.spec_from_file_location("hsoftmax_twin", Path(__file__).parent / "hsoftmax_twin.py")
twin = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(twin)

N_ROWS, N_FEATURES, N_LABELS, STRIDE = 30, 25, 19, 32


@pytest.fixture
def problem():
    random = np.random.default_rng(5)
    x = sparse.random(N_ROWS, N_FEATURES, 0.2, "csr", np.float32, random)
    y = sparse.csr_matrix((random.random((N_ROWS, N_LABELS)) < 0.15).astype(np.float32))
    bias = random.random(N_ROWS).astype(np.float32)
    codes = label_codes(build_tree("fano", frequencies=random.random(N_LABELS) + 0.01, max_leaf=1))
    return random, x, y, bias, codes


def vectors_for(random, codes, plt):
    n = codes.n_inner * (2 if plt else 1)
    return (random.standard_normal((m, STRIDE)).astype(np.float32) * 0.3 for m in (N_FEATURES + 1, n))


def rows_of(x):
    return x.indptr.astype(np.int64), x.indices.astype(np.int32), x.data


@pytest.mark.parametrize("plt", [False, True], ids=["hs", "plt"])
def test_training_is_the_plain_gradient_step(problem, plt):
    random, x, y, bias, codes = problem
    if not plt:  # one label a row, so that nothing is drawn
        y = sparse.csr_matrix(np.eye(N_LABELS, dtype=np.float32)[random.integers(0, N_LABELS, N_ROWS)])
    vectors, decisions = vectors_for(random, codes, plt)
    ours = vectors.copy(), decisions.copy()
    order = np.flatnonzero(np.diff(y.indptr)).astype(np.int32)
    _native.hsoftmax_fit(
        *rows_of(x), bias, y.indptr.astype(np.int64), y.indices.astype(np.int32), codes.child, codes.place_of_label,
        codes.place_of_inner, *ours, order, plt=plt, rate=0.7, epochs=1, seed=3, n_threads=1, progress=lambda *_: None,
    )  # fmt: skip
    assert sorted(order) == np.flatnonzero(np.diff(y.indptr)).tolist()  # shuffled in place: the visits as they were
    visits = [(row, y.indices[y.indptr[row]]) for row in order]
    expected = twin.train(rows_of(x), bias, y, codes, vectors, decisions, visits, 0.7, plt)
    for got, wanted in zip(ours, expected, strict=True):
        np.testing.assert_allclose(got, wanted, atol=2e-5)
    assert np.abs(ours[1] - decisions).max() > 0.01  # it did move


def test_rows_that_are_not_shuffled_come_in_their_order_in_every_epoch(problem):
    random, x, _, bias, codes = problem
    y = sparse.csr_matrix(np.eye(N_LABELS, dtype=np.float32)[random.integers(0, N_LABELS, N_ROWS)])
    vectors, decisions = vectors_for(random, codes, plt=False)
    ours = vectors.copy(), decisions.copy()
    given = random.permutation(N_ROWS).astype(np.int32)
    order = given.copy()
    _native.hsoftmax_fit(
        *rows_of(x), bias, y.indptr.astype(np.int64), y.indices.astype(np.int32), codes.child, codes.place_of_label,
        codes.place_of_inner, *ours, order, plt=False, rate=0.7, epochs=2, seed=3, n_threads=1,
        progress=lambda *_: None, shuffle=False,
    )  # fmt: skip
    np.testing.assert_array_equal(order, given)
    visits = [(row, y.indices[y.indptr[row]]) for row in np.tile(given, 2)]
    expected = twin.train(rows_of(x), bias, y, codes, vectors, decisions, visits, 0.7, False)
    for got, wanted in zip(ours, expected, strict=True):
        np.testing.assert_allclose(got, wanted, atol=2e-5)


@pytest.mark.parametrize("dim", [5, 16, 40])
def test_fit_is_plain_gradient_descent_from_the_starting_vectors(dim):
    """One row with one label, so that order and draw are known; fastText's start is the first of the three."""
    y = np.zeros((3, 6), np.float32)
    y[1, 4] = 1  # rows without labels are not visited
    x = np.array([[1, 0, 0, 1], [0, 2, 1, 0], [1, 1, 0, 0]], np.float32)
    chances = []
    for start in (1 / np.sqrt(dim), 1.0, 3.0):
        model = HSoftmax(
            loss="hs", tree="balanced", storage="float", dim=dim, epochs=7, rate=0.4, start=start, seed=11, n_threads=1
        ).fit(x, y)
        state = model.fitted_
        rows, bias = state.mean_rows(sparse.csr_matrix(x))
        stride = state.vectors.data.shape[1]
        expected = twin.train(
            (rows.indptr, rows.indices, rows.data), bias, y, state.codes, first_vectors(5, dim, stride, start, 11),
            np.zeros((5, stride)), [(1, 4)] * 7, 0.4, False,
        )  # fmt: skip
        for got, wanted in zip((state.vectors, state.decisions), expected, strict=True):
            np.testing.assert_allclose(got.data, wanted, atol=1e-6)
        top = model.predict(x[1:2], k=6)
        chances.append(float(top.scores[0, top.labels[0].tolist().index(4)]))
    assert chances[0] < chances[1] < chances[2]  # the longer the vectors, the sooner it learns


def test_labels_are_drawn_evenly():
    """Loss hs on one row with four labels: each is visited about as often, so each ends near a chance of 1/4."""
    x, y = np.ones((1, 2)), np.ones((1, 4))
    model = HSoftmax(loss="hs", tree="balanced", epochs=3000, rate=0.3, dim=8, n_threads=1).fit(x, y)
    np.testing.assert_allclose(model.predict(x, k=4).scores, 0.25, atol=0.06)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("plt", [False, True], ids=["hs", "plt"])
def test_best_first_equals_every_label_scored(problem, plt, storage):
    random, x, _, bias, codes = problem
    stored = [StoredVectors.of(v, storage) for v in vectors_for(random, codes, plt)]
    vectors, decisions = (s.floats(np.arange(s.n_rows)) for s in stored)
    search = _native.HierarchicalSoftmax(
        codes.child, codes.place_of_label, codes.place_of_inner, stored[0].data, stored[0].scale, stored[1].data,
        stored[1].scale, plt,
    )  # fmt: skip
    for k in (1, 4, N_LABELS):
        labels, scores = np.empty((N_ROWS, k), np.int32), np.empty((N_ROWS, k), np.float32)
        visited = np.empty(N_ROWS, np.int32)
        search.top_k(*rows_of(x), bias, labels, scores, visited, 2)
        for row in range(N_ROWS):
            h = twin.hidden(*rows_of(x), bias, vectors, row)
            every = twin.label_scores(h, codes, decisions, plt)
            np.testing.assert_allclose(scores[row], np.sort(every)[::-1][:k], rtol=1e-4)
            np.testing.assert_allclose(every[labels[row]], scores[row], rtol=1e-4)
            assert len(set(labels[row])) == k
            if not plt:
                found, chances = twin.depth_first(h, codes, decisions, k)
                assert labels[row].tolist() == found
                np.testing.assert_allclose(scores[row], chances, rtol=1e-4)
        assert visited.max() <= codes.n_inner
        if k == 1:
            assert visited.mean() < codes.n_inner


def test_chances_of_all_labels_sum_to_one(problem):
    _, x, y, _, _ = problem
    for tree in ("huffman", "interpolated", "random"):
        model = HSoftmax(loss="hs", tree=tree, dim=8, epochs=3, n_threads=1).fit(x, y)
        np.testing.assert_allclose(model.predict(x, k=N_LABELS).scores.sum(axis=1), 1, atol=1e-5)


def test_every_instruction_level_gives_the_same_bytes(problem):
    _, x, y, _, _ = problem
    before, made = _native.simd_level(), []
    try:
        for level in _native.simd_levels():
            assert _native.use_simd_level(level)
            made.append(HSoftmax(dim=40, epochs=2, n_threads=1).fit(x, y).fitted_.arrays()["vectors"].tobytes())
    finally:
        _native.use_simd_level(before)
    assert len(set(made)) == 1


def test_damaged_arrays_are_refused(problem):
    random, _, _, _, codes = problem
    vectors, decisions = vectors_for(random, codes, False)
    none = np.zeros(0, np.float32)
    wrong = codes.child.copy()
    wrong[0], wrong[-1] = wrong[-1], wrong[0]
    for child, output in ((wrong, decisions), (codes.child, decisions[:-1]), (codes.child[:-2], decisions)):
        with pytest.raises(ValueError, match=r"code tree|do not fit"):
            _native.HierarchicalSoftmax(
                child, codes.place_of_label, codes.place_of_inner, vectors, none, output, none, False
            )
