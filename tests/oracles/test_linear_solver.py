"""The 16-at-once solver against its optimality conditions, a textbook twin and scikit-learn's liblinear."""

import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from labelwood import _native
from labelwood.labelindex.tree import LabelTree

_spec = importlib.util.spec_from_file_location("linear_twin", Path(__file__).with_name("linear_twin.py"))
twin = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(twin)

LOSSES = ("squared-hinge", "logistic")


def problem(seed, n_rows, n_features, n_labels, normalize=True):
    """Random rows (some empty) and labels of every kind: rare, common, on all rows, on none."""
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.3)).astype(np.float32)
    x[rng.random(n_rows) < 0.1] = 0
    if normalize:
        lengths = np.linalg.norm(x, axis=1, keepdims=True)
        x /= np.where(lengths == 0, 1, lengths)
    y = rng.random((n_rows, n_labels)) < rng.choice([0.03, 0.2, 0.5, 0.9], n_labels)
    y[:, rng.random(n_labels) < 0.1] = False
    y[:, rng.random(n_labels) < 0.1] = True
    return x, y


def weights_of(blocks, bias):
    """(weights (n_features, n_labels), bias weights) in double precision."""
    weights, biases = twin.decode(blocks)
    return weights.astype(np.float64), (biases / bias if bias else biases * 0).astype(np.float64)


@settings(max_examples=60, deadline=None)
@example(2368867, 23, 1, 23, 100.0, 1.0, "squared-hinge", False)  # rows of one class: the bias alone nearly fits them
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 60),
    st.integers(1, 12),
    st.integers(1, 40),
    st.sampled_from([0.01, 0.1, 1.0, 10.0, 100.0]),
    st.sampled_from([0.0, 1.0]),
    st.sampled_from(LOSSES),
    st.booleans(),
)
def test_the_objective_is_optimal(seed, n_rows, n_features, n_labels, C, bias, loss, normalize):
    x, y = problem(seed, n_rows, n_features, n_labels, normalize)
    blocks = twin.train_flat(x, y, C=C, loss=loss, bias=bias, eps=1e-3, max_passes=10000)
    weights, biases = weights_of(blocks, bias)
    x = x.astype(np.float64)
    for label in range(min(n_labels, 4)):
        if not y[:, label].any():
            assert not weights[:, label].any()
            assert blocks.arrays["bias"][label] == -10.0  # never trained: comes last
            continue
        found = twin.objective(loss, weights[:, label], biases[label], x, y[:, label], C, bias)
        best = twin.optimum(loss, x, y[:, label], C, bias)
        assert found >= best * (1 - 1e-5)
        assert found <= best * 1.01


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_objective_is_scikit_learns(loss, C):
    x, y = problem(1, 80, 25, 20)
    weights, biases = weights_of(twin.train_flat(x, y, C=C, loss=loss, eps=1e-3, max_passes=10000), 1.0)
    x = x.astype(np.float64)
    compared = 0
    for label in range(20):
        if y[:, label].all() or not y[:, label].any():
            continue  # scikit-learn wants two classes
        if loss == "squared-hinge":
            peer = LinearSVC(loss="squared_hinge", dual=True, C=C * twin.SLACK_SCALE, tol=1e-5, max_iter=1_000_000)
        else:
            peer = LogisticRegression(solver="liblinear", dual=True, C=C, tol=1e-5, max_iter=1_000_000)
        with warnings.catch_warnings():  # its own deprecations are not our business
            warnings.simplefilter("ignore", FutureWarning)
            peer.fit(x, y[:, label])
        theirs = twin.objective(loss, peer.coef_[0], peer.intercept_[0], x, y[:, label], C, 1.0)
        ours = twin.objective(loss, weights[:, label], biases[label], x, y[:, label], C, 1.0)
        assert ours <= theirs * 1.01
        assert theirs <= ours * 1.01
        compared += 1
    assert compared >= 10


@pytest.mark.parametrize("eps", [0.1, 0.01])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimality_conditions_hold_within_eps(loss, C, eps):
    """The weights are the sum of the rows times the pulls that their own margins ask for.

    A dual gradient of at most eps lets a pull be off by at most its slope times eps; the last pass may move each by
    about as much again.
    """
    x, y = problem(2, 120, 30, 16)
    weights, biases = weights_of(twin.train_flat(x, y, C=C, loss=loss, eps=eps, max_passes=10000), 1.0)
    slope = 2 * twin.SLACK_SCALE * C if loss == "squared-hinge" else C / 4
    reach = np.vstack([np.abs(x).T, np.ones(len(x))]).sum(axis=1)
    for label in np.flatnonzero(y.any(axis=0)):
        sign = np.where(y[:, label], 1.0, -1.0)
        margin = sign * (x @ weights[:, label] + biases[label])
        asked = sign * twin.pulls(loss, margin, C)
        lack = np.append(weights[:, label] - x.T @ asked, biases[label] - asked.sum())
        assert np.all(np.abs(lack) <= 2 * eps * slope * reach + 1e-2)


@pytest.mark.parametrize(("C", "bias"), [(0.1, 3.0), (1.0, 0.0), (1.0, 1.0), (10.0, 1.0)])
def test_textbook_descent_finds_the_same_weights(C, bias):
    x, y = problem(3, 40, 10, 18)
    weights, biases = weights_of(twin.train_flat(x, y, C=C, bias=bias, eps=1e-4, max_passes=10000), bias)
    for label in (0, 5, 16, 17):
        if y[:, label].any():
            w, b = twin.descend(x.astype(np.float64), y[:, label], C, bias, eps=1e-4)
            np.testing.assert_allclose(weights[:, label], w, atol=3e-3 * max(1, np.abs(w).max()))
            assert biases[label] == pytest.approx(b, abs=3e-3 * max(1, abs(b)))


def test_costs_of_positive_and_negative_rows_count_separately():
    x, y = problem(4, 60, 12, 5)
    made = twin.train_flat(x, y, C=8.0, C_negative=0.5, eps=1e-3, max_passes=5000)
    weights, biases = weights_of(made, 1.0)
    x = x.astype(np.float64)
    for label in np.flatnonzero(y.any(axis=0) & ~y.all(axis=0)):
        own = weights[:, label], biases[label], x, y[:, label]
        for C, right in ((np.where(y[:, label], 8.0, 0.5), True), (np.where(y[:, label], 0.5, 8.0), False)):
            best = twin.optimum("squared-hinge", x, y[:, label], C, 1.0)
            assert (twin.objective("squared-hinge", *own, C, 1.0) <= 1.01 * best) == right


def test_rare_labels_get_a_larger_cost():
    """A label with n rows is solved with C (20 / n)^rare_power."""
    x, y = problem(9, 60, 12, 8)
    weights, biases = weights_of(twin.train_flat(x, y, C=2.0, rare_power=0.5, eps=1e-3, max_passes=5000), 1.0)
    x = x.astype(np.float64)
    for label in np.flatnonzero(y.any(axis=0)):
        C = 2.0 * (20 / y[:, label].sum()) ** 0.5
        found = twin.objective("squared-hinge", weights[:, label], biases[label], x, y[:, label], C, 1.0)
        assert found <= 1.002 * twin.optimum("squared-hinge", x, y[:, label], C, 1.0)


def test_rows_of_any_length_are_solved():
    """The dual variable of a row of length 10000 is 1e-8: small, but not nothing."""
    lengths = np.array([0.01, 0.1, 1, 10, 100, 1000, 10000], np.float32)
    x, y = np.diag(lengths), np.eye(len(lengths))
    weights, _ = weights_of(twin.train_flat(x, y, bias=0.0, eps=1e-3, max_passes=1000), 0.0)
    expected = lengths / (lengths.astype(np.float64) ** 2 + 1 / (2 * twin.SLACK_SCALE))
    np.testing.assert_allclose(weights, expected[:, None] * (2 * y - 1), rtol=3e-3)


@pytest.fixture
def every_level():
    """The instruction levels of this CPU; the one in use comes back afterwards."""
    kept = _native.simd_level()
    yield _native.simd_levels()
    assert _native.use_simd_level(kept)


def all_bytes(blocks):
    return {name: array.tobytes() for name, array in blocks.arrays.items()}


@pytest.mark.parametrize("loss", LOSSES)
def test_every_level_and_thread_count_gives_the_same_bytes(every_level, loss):
    x, y = problem(5, 150, 300, 70)
    first = None
    for level in every_level:
        assert _native.use_simd_level(level)
        assert _native.simd_level() == level
        for n_threads in (1, 2, 3):
            made = all_bytes(twin.train_flat(x, y, loss=loss, n_threads=n_threads))
            first = first or made
            assert made == first


def test_another_seed_gives_other_bytes():
    x, y = problem(5, 150, 300, 70)
    assert all_bytes(twin.train_flat(x, y, seed=1)) != all_bytes(twin.train_flat(x, y, seed=2))


def test_an_unknown_level_is_refused(every_level):
    before = _native.simd_level()
    assert not _native.use_simd_level("v9")
    assert _native.simd_level() == before


def test_pruning_drops_exactly_the_small_weights():
    x, y = problem(6, 80, 40, 20)
    everything, bias = twin.decode(twin.train_flat(x, y, prune=0.0))
    pruned, pruned_bias = twin.decode(twin.train_flat(x, y, prune=0.1))
    clear = np.abs(np.abs(everything) - 0.1) > 1e-4  # rounding to half floats comes after the comparison
    np.testing.assert_array_equal(pruned[clear], np.where(np.abs(everything) >= 0.1, everything, 0)[clear])
    np.testing.assert_array_equal(pruned_bias, bias)


def test_progress_is_reported_and_an_error_in_it_stops_the_training():
    x, y = problem(7, 60, 20, 100)
    seen = []

    class Watch:
        def step(self, what, done, total):
            seen.append((what, done, total))
            if len(seen) == 3:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        twin.train_flat(x, y, Watch())
    assert seen == [("labels", 1, 7), ("labels", 2, 7), ("labels", 3, 7)]


def test_a_wide_node_that_begins_with_few_rows_ends_where_all_rows_end():
    """Groups with few positive rows in a large node begin with a part of the rows; the others are looked at later."""
    rng = np.random.default_rng(5)
    n_rows, n_clusters = 17_000, 160
    cluster = rng.integers(0, n_clusters, n_rows)
    centres = rng.normal(size=(n_clusters, 12))
    x = (centres[cluster] + 0.7 * rng.normal(size=(n_rows, 12))).astype(np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = sparse.csr_matrix((np.ones(n_rows), (np.arange(n_rows), 2 * cluster + (np.arange(n_rows) % 2))))
    tree = LabelTree.from_shape([n_clusters, *[0] * n_clusters], [0, *[2] * n_clusters], np.arange(2 * n_clusters))
    changed = {"C": 1.0, "eps": 1e-2, "max_passes": 200, "prune": 0.0}
    blocks, _ = twin.train_tree(x, y.toarray() > 0, tree, **changed)
    flat = twin.train_flat(x, np.eye(n_clusters)[cluster] > 0, **changed)
    weights, bias = twin.decode(blocks)
    expected, expected_bias = twin.decode(flat)
    scores = x @ weights[:, :n_clusters] + bias[:n_clusters]
    np.testing.assert_allclose(scores, x @ expected + expected_bias, atol=0.05)
    # A coarse solution looks at all rows twice at most, and is no worse for it: it names the same clusters as often.
    coarse = {**changed, "eps": 0.25, "max_passes": 20}
    of_tree, of_flat = (
        twin.decode(twin.train_tree(x, y.toarray() > 0, tree, **coarse)[0]),
        twin.decode(twin.train_flat(x, np.eye(n_clusters)[cluster] > 0, **coarse)),
    )
    right = [np.mean((x @ w[:, :n_clusters] + b[:n_clusters]).argmax(axis=1) == cluster) for w, b in (of_tree, of_flat)]
    assert abs(right[0] - right[1]) < 0.01, right
