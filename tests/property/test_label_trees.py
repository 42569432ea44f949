"""Properties of label trees: what holds between balanced, weighted and Fano splits for any labels."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from labelwood import _native
from labelwood.labelindex.balanced import balanced_tree
from labelwood.labelindex.huffman import fano_tree, huffman_tree
from labelwood.labelindex.interpolated import balance_of_ratio, interpolated_tree, split_options
from labelwood.labelindex.splitting import Splitter, grow, in_two
from labelwood.labelspace.frequencies import cover_frequencies, label_frequencies

_path = Path(__file__).parents[1] / "oracles" / "split_twin.py"
_spec = importlib.util.spec_from_file_location("split_twin", _path)
twin = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(twin)

quick = settings(max_examples=40, deadline=None, derandomize=True)
BALANCES = (0.0, 0.4, 1.0, 1.3, 1.8, 1.99998, 2.0)


def unit_rows(rng, n, d=12):
    v = rng.normal(size=(n, d)).astype(np.float32)
    return v / np.linalg.norm(v, axis=1, keepdims=True)


def zipf(rng, n):
    return np.ceil(1000 / (1 + np.arange(n)))[rng.permutation(n)]


def entropy(f):
    p = f[f > 0] / f.sum()
    return float(-(p * np.log2(p)).sum())


@quick
@given(
    n=st.integers(2, 70),
    seed=st.integers(0, 1000),
    gamma=st.sampled_from([0.0, 0.1, 3.0]),
    leaf=st.integers(1, 9),
)
def test_balance_0_is_balanced_2_means(n, seed, gamma, leaf):  # T1
    rng = np.random.default_rng(seed)
    v, f, cover = unit_rows(rng, n), zipf(rng, n), zipf(rng, n)
    found = interpolated_tree(v, f, cover, balance=0.0, smoothing=gamma, max_leaf=leaf, seed=seed)
    assert found.same_as(balanced_tree(v, max_leaf=leaf, seed=seed))


@quick
@given(half=st.integers(1, 40), seed=st.integers(0, 1000))
def test_balance_0_rounded_at_the_end_is_balanced_for_even_numbers(half, seed):  # T2
    rng = np.random.default_rng(seed)
    n = 2 * half
    v, f = unit_rows(rng, n), zipf(rng, n)
    found = interpolated_tree(v, f, balance=0.0, round_each=False, max_leaf=max(n - 1, 1), seed=seed)
    assert found.same_as(balanced_tree(v, max_leaf=max(n - 1, 1), seed=seed))


def plain_fano(f):
    """Depth of every label of Fano's code, by plain recursion over the labels in falling frequency."""
    depth = np.zeros(len(f), int)

    def go(labels, d):
        if len(labels) == 1:
            depth[labels[0]] = d
            return
        gaps = [abs(f[labels[:i]].sum() - f[labels[i:]].sum()) for i in range(1, len(labels))]
        best = min(gaps)
        cut = max(i for i, gap in enumerate(gaps, 1) if gap <= best + 1e-9)  # ties: the larger first child
        go(labels[:cut], d + 1)
        go(labels[cut:], d + 1)

    go(list(np.lexsort((np.arange(len(f)), -f))), 0)
    return depth


@quick
@given(n=st.integers(2, 60), seed=st.integers(0, 1000))
def test_balance_2_is_fanos_code(n, seed):  # T3
    rng = np.random.default_rng(seed)
    f = rng.integers(1, 200, n).astype(float) if seed % 2 else zipf(rng, n)
    tree = interpolated_tree(unit_rows(rng, n), f, f, balance=2.0, smoothing=0.0, max_leaf=1, seed=seed)
    expected = plain_fano(f)
    np.testing.assert_array_equal(tree.depth_of_labels(), expected)
    np.testing.assert_array_equal(fano_tree(f).depth_of_labels(), expected)
    excess = tree.expected_depth(f) - huffman_tree(f).expected_depth(f)
    assert -1e-9 <= excess < 1
    assert tree.expected_depth(f) <= entropy(f) + 1 + 1e-9  # T9, the upper bound
    assert tree.expected_depth(f) >= entropy(f) - 1e-9


@quick
@given(n=st.integers(2, 30), seed=st.integers(0, 1000))
def test_halves_are_the_optimum_of_the_linear_programme(n, seed):  # T4
    rng = np.random.default_rng(seed)
    w = rng.random(n) ** 3 + 1e-3
    w /= w.sum()
    ratio = rng.normal(size=n)
    alpha = np.empty(n)
    _native.halve_by_weight(ratio, w, alpha)
    best = linprog(-(ratio * w), A_eq=w[None, :], b_eq=[0.0], bounds=[(-1, 1)] * n, method="highs")
    assert abs(-best.fun - (ratio * w) @ alpha) < 1e-9
    assert np.sum(np.abs(np.abs(alpha) - 1) > 1e-9) <= 1
    assert abs(alpha @ w) < 1e-12


@quick
@given(n=st.integers(3, 50), seed=st.integers(0, 1000), balance=st.sampled_from(BALANCES))
def test_fractional_splits_never_lose(n, seed, balance):  # T5
    rng = np.random.default_rng(seed)
    v, f = unit_rows(rng, n), zipf(rng, n)
    trace = []
    a, b = twin.two_members(seed, 0, n)
    twin.interpolated_split(
        v.astype(float),
        f,
        f,
        a,
        b,
        balance,
        round_each=False,
        max_iterations=500,
        tolerance=1e-12,
        trace=trace,
    )
    values = [value for value, *_ in trace]
    assert np.all(np.diff(values) >= -1e-12)
    assert len(trace) < 500
    seen = {alpha.tobytes() for _, alpha, *_ in trace[:-1]}
    assert len(seen) == len(trace) - 1 or len(trace) == 1
    options = split_options(balance, 0.1, direct=False)
    options.round_each, options.max_iterations, options.tolerance, options.seed = False, 500, 1e-9, seed
    one = np.zeros(1, np.int64)
    _, objective = Splitter(v, f, f).split(np.arange(n, dtype=np.int32), one, np.array([n]), one, options)
    assert objective[0] == pytest.approx(values[-1], abs=2e-5)


@quick
@given(n=st.integers(2, 15), seed=st.integers(0, 1000))
def test_balance_1_is_balanced_2_means_of_copied_labels(n, seed):  # T6
    rng = np.random.default_rng(seed)
    f = rng.integers(1, 9, n)
    f[0] += f.sum() % 2
    v = unit_rows(rng, n).astype(float)
    trace = []
    twin.interpolated_split(
        v, f.astype(float), f.astype(float), 0, 1, 1.0, 0.0, round_each=False, max_iterations=1, trace=trace
    )
    _, _, plus, minus = trace[0]
    copies = np.repeat(v, f, axis=0)
    copied = []
    twin.balanced_split(copies, None, None, np.arange(len(copies)), 1, centres=(v[0], v[1]), trace=copied)
    np.testing.assert_allclose(plus, copied[0][2], atol=1e-10)
    np.testing.assert_allclose(minus, copied[0][3], atol=1e-10)


@quick
@given(n=st.integers(1, 40), seed=st.integers(0, 1000), gamma=st.sampled_from([0.0, 0.1, 2.0]))
def test_label_weights_are_a_distribution_and_continuous(n, seed, gamma):  # T7
    rng = np.random.default_rng(seed)
    f = zipf(rng, n)
    cover = f * (rng.random(n) < 0.5)
    for balance in BALANCES:
        w = twin.label_weights(balance, gamma, f, cover)
        assert w.min() >= 0
        assert w.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(twin.label_weights(0.0, gamma, f, cover), 1 / n, atol=1e-12)
    at_1 = twin.label_weights(1.0, gamma, f, cover)
    for near in (1 - 1e-9, 1 + 1e-9):
        np.testing.assert_allclose(twin.label_weights(near, gamma, f, cover), at_1, atol=1e-7)


@quick
@given(seed=st.integers(0, 1000), kind=st.sampled_from(["marginal", "greedy"]))
def test_cover_frequencies_share_out_the_labelled_rows(seed, kind):  # T8
    rng = np.random.default_rng(seed)
    y = (rng.random((50, 20)) < 0.7 / (1 + np.arange(20))).astype(np.float32)
    weights = rng.random(50)
    f = label_frequencies(y, weights=weights, normalize=False)
    cover = cover_frequencies(y, kind, weights=weights, normalize=False)
    assert cover.sum() == pytest.approx(weights[y.any(1)].sum())
    assert np.all(cover <= f + 1e-12)
    assert np.all(f[cover > 0] > 0)
    single = np.eye(20, dtype=np.float32)[rng.integers(0, 20, 50)]
    np.testing.assert_allclose(
        cover_frequencies(single, kind, weights=weights),
        label_frequencies(single, weights=weights),
        atol=1e-12,
    )


def zipf_problem(seed, n_labels=250, n_rows=1500):
    """Rows with 1 to 5 Zipf labels; label vectors with some structure."""
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.arange(n_labels))
    y = np.zeros((n_rows, n_labels), np.float32)
    for row in y:
        row[rng.choice(n_labels, rng.integers(1, 6), p=p / p.sum())] = 1
    y[rng.integers(0, n_rows, n_labels), np.arange(n_labels)] = 1
    centres = rng.normal(size=(12, 16))
    v = centres[rng.integers(0, 12, n_labels)] + 0.7 * rng.normal(size=(n_labels, 16))
    return y, (v / np.linalg.norm(v, axis=1, keepdims=True)).astype(np.float32)


def test_depth_falls_with_balance():  # T9
    ratios = (0, 0.25, 0.5, 1, 2, 6, 30, 1e5)
    by_f, by_cover, oracle = (np.zeros(len(ratios)) for _ in range(3))
    for seed in range(5):
        y, v = zipf_problem(seed)
        f, cover = label_frequencies(y), cover_frequencies(y)
        for i, ratio in enumerate(ratios):
            tree = interpolated_tree(v, f, cover, balance_ratio=ratio, max_leaf=1, seed=seed)
            depth = tree.depth_of_labels()
            by_f[i] += tree.expected_depth(f)
            by_cover[i] += tree.expected_depth(cover)
            oracle[i] += np.where(y > 0, depth, 10**6).min(1).mean()
    assert np.all(by_cover[1:] <= by_cover[:-1] * 1.02)
    assert np.all(oracle[1:] <= oracle[:-1] * 1.02)
    assert np.all(by_f[1:4] <= by_f[:3] * 1.02)  # up to balance 1 only
    assert by_cover[-1] < 0.7 * by_cover[0]


@quick
@given(
    n=st.integers(1, 60),
    seed=st.integers(0, 1000),
    balance=st.sampled_from(BALANCES),
    leaf=st.sampled_from([1, 1, 4]),
)
def test_every_label_has_one_leaf(n, seed, balance, leaf):  # T10; LabelTree refuses empty children and double labels
    rng = np.random.default_rng(seed)
    v, f = unit_rows(rng, n), zipf(rng, n)
    cover = f * (rng.random(n) < 0.3) + (np.arange(n) == 0)
    gamma = 0.1 if seed % 2 else 0.0
    for direct in (False, True):
        tree = interpolated_tree(v, f, cover, balance=balance, smoothing=gamma, direct=direct, max_leaf=leaf, seed=seed)
        assert np.array_equal(np.sort(tree.label_order), np.arange(n))
        assert tree.n_labels_in.max() <= leaf
        assert tree.kraft_sum(2) == pytest.approx(1, abs=1e-12)
    if leaf == 1 and balance <= 1:
        tree = interpolated_tree(v, f, f, balance=balance, max_leaf=1, seed=seed)
        assert tree.expected_depth(f) >= entropy(f) - 1e-9  # Shannon


@quick
@given(n=st.integers(2, 70), seed=st.integers(0, 1000), balance=st.sampled_from(BALANCES))
def test_equal_frequencies_give_equal_depths(n, seed, balance):  # T11
    rng = np.random.default_rng(seed)
    tree = interpolated_tree(unit_rows(rng, n), np.ones(n), np.ones(n), balance=balance, max_leaf=1, seed=seed)
    depth = tree.depth_of_labels()
    assert depth.max() - depth.min() <= 1


@quick
@given(n=st.integers(2, 50), seed=st.integers(0, 1000), balance=st.sampled_from(BALANCES))
def test_scale_and_names_do_not_matter(n, seed, balance):  # T12
    rng = np.random.default_rng(seed)
    v, f = unit_rows(rng, n), rng.random(n) + 0.01
    tree = interpolated_tree(v, f, balance=balance, max_leaf=1, seed=seed)
    assert tree.same_as(interpolated_tree(v, f * 37.5, f * 0.01, balance=balance, max_leaf=1, seed=seed))

    name = rng.permutation(n).astype(np.int32)  # label l is now called name[l]
    old_of = np.argsort(name)
    splitter = Splitter(v[old_of], f[old_of], f[old_of])
    options = split_options(balance, 0.1, direct=False)
    options.seed = seed

    def split_level(order, first, size, number, _):
        return in_two(splitter.split(order, first, size, number, options)[0], size)

    renamed = grow(name.copy(), split_level, lambda size, depth: size > 1)
    assert renamed.same_as(tree.relabelled(name))


@pytest.mark.parametrize("balance", BALANCES)
def test_rotation_does_not_matter(balance):  # T13
    for seed in range(5):
        rng = np.random.default_rng(seed)
        v, f = unit_rows(rng, 64), rng.random(64)
        turn = np.linalg.qr(rng.normal(size=(12, 12)))[0]
        turned = (v.astype(float) @ turn).astype(np.float32)
        tree = interpolated_tree(v, f, balance=balance, max_leaf=1, seed=seed)
        assert tree.same_as(interpolated_tree(turned, f, balance=balance, max_leaf=1, seed=seed))


def test_balance_of_ratio():
    assert [balance_of_ratio(r) for r in (0, 1, float("inf"))] == [0, 1, 2]
    assert balance_of_ratio(1e5) == pytest.approx(1.99998)
