"""Every metric against a slow twin that follows the definition row by row, and against scikit-learn."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import ndcg_score, precision_recall_fscore_support

import labelwood as lw
from labelwood import _native
from labelwood.metrics.evaluate import evaluate
from labelwood.metrics.propensity import inverse_propensity


def slow_evaluate(answers, truths, counts, n_train, ks, A, B, threshold):
    """answers: for each row a list of (label, score); truths: for each row a set of labels."""
    n, n_labels = len(answers), len(counts)
    found = {}
    C = (math.log(n_train) - 1) * (B + 1) ** A
    w = [1 + C * (count + B) ** -A for count in counts]
    for k in ks:
        p = r = rp = ndcg = abandoned = 0.0
        psp = psndcg = psr = 0.0
        best_psp = best_psndcg = best_psr = 0.0
        covered = set()
        for row, true in zip(answers, truths, strict=True):
            hits = [(j, label) for j, (label, _) in enumerate(row[:k], start=1) if label in true]
            covered |= {label for _, label in hits}
            p += len(hits) / k
            r += len(hits) / max(1, len(true))
            rp += len(hits) / max(1, min(k, len(true)))
            ideal = sum(1 / math.log2(j + 1) for j in range(1, min(k, len(true)) + 1)) or 1.0
            ndcg += sum(1 / math.log2(j + 1) for j, _ in hits) / ideal
            abandoned += not hits
            best = sorted((w[label] for label in true), reverse=True)[:k]
            psp += sum(w[label] for _, label in hits)
            best_psp += sum(best)
            psndcg += sum(w[label] / math.log2(j + 1) for j, label in hits) / ideal
            best_psndcg += sum(weight / math.log2(j + 1) for j, weight in enumerate(best, start=1)) / ideal
            psr += sum(w[label] for _, label in hits) / max(1, len(true))
            best_psr += sum(best) / max(1, len(true))
        found[f"P@{k}"], found[f"R@{k}"], found[f"RP@{k}"] = p / n, r / n, rp / n
        found[f"nDCG@{k}"], found[f"abandonment@{k}"] = ndcg / n, abandoned / n
        found[f"PSP@{k}"] = psp / best_psp if best_psp else 0.0
        found[f"PSnDCG@{k}"] = psndcg / best_psndcg if best_psndcg else 0.0
        found[f"PSR@{k}"] = psr / best_psr if best_psr else 0.0
        present = set().union(*truths)
        found[f"coverage@{k}"] = len(covered) / len(present) if present else 0.0
        found.update(slow_sets(f"@{k}", [{label for label, _ in row[:k]} for row in answers], truths, n_labels))
    kept = [{label for label, score in row if np.float32(score) >= np.float32(threshold)} for row in answers]
    found.update(slow_sets(f"@t={threshold:g}", kept, truths, n_labels))
    return {name: 100 * value for name, value in found.items()}


def slow_sets(suffix, predicted, truths, n_labels):
    def scores(hit, answered, true):
        return (
            hit / answered if answered else 0.0,
            hit / true if true else 0.0,
            2 * hit / (answered + true) if answered + true else 0.0,
        )

    rows = [scores(len(p & t), len(p), len(t)) for p, t in zip(predicted, truths, strict=True)]
    labels = []
    for label in range(n_labels):
        p = {i for i, row in enumerate(predicted) if label in row}
        t = {i for i, row in enumerate(truths) if label in row}
        if p or t:
            labels.append(scores(len(p & t), len(p), len(t)))
    whole = scores(
        sum(len(p & t) for p, t in zip(predicted, truths, strict=True)),
        sum(map(len, predicted)),
        sum(map(len, truths)),
    )
    found = {}
    for place, letter in enumerate(("P", "R", "F1")):
        found[f"micro-{letter}{suffix}"] = whole[place]
        found[f"macro-{letter}{suffix}"] = sum(s[place] for s in labels) / len(labels) if labels else 0.0
        found[f"sample-{letter}{suffix}"] = sum(s[place] for s in rows) / len(rows)
    return found


@st.composite
def cases(draw):
    n_labels = draw(st.integers(1, 12))
    k = draw(st.integers(1, 8))
    n_rows = draw(st.integers(1, 8))
    label = st.integers(0, n_labels - 1)
    truths = [draw(st.sets(label)) for _ in range(n_rows)]
    answers = []
    for _ in range(n_rows):
        labels = draw(st.lists(label, unique=True, max_size=k))
        scores = draw(st.lists(st.floats(0, 1, width=32), min_size=len(labels), max_size=len(labels)))
        answers.append(list(zip(labels, sorted(scores, reverse=True), strict=True)))
    n_train = draw(st.integers(3, 10**6))
    counts = [draw(st.integers(0, n_train)) for _ in range(n_labels)]
    ks = draw(st.sets(st.integers(1, k), min_size=1))
    return answers, truths, counts, n_train, k, sorted(ks)


def matrix(truths, n_labels):
    y = np.zeros((len(truths), n_labels), np.float32)
    for i, true in enumerate(truths):
        y[i, list(true)] = 1
    return sparse.csr_matrix(y)


@settings(max_examples=150, deadline=None)
@given(cases(), st.sampled_from([(0.55, 1.5), (0.5, 0.4), (0.6, 2.6)]), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
def test_every_metric_equals_its_definition(case, constants, threshold):
    answers, truths, counts, n_train, k, ks = case
    A, B = constants
    top = lw.TopK.from_lists(answers, k)
    y = matrix(truths, len(counts))
    found = evaluate(top, y, train_y=np.array(counts), n_train=n_train, ks=ks, A=A, B=B, threshold=threshold)
    expected = slow_evaluate(answers, truths, counts, n_train, ks, A, B, threshold)
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-9), name


@settings(max_examples=60, deadline=None)
@given(cases())
def test_filter_pairs_equal_removing_them_by_hand(case):
    answers, truths, counts, n_train, k, _ = case
    rng = np.random.default_rng(n_train)
    pairs = sorted({(int(rng.integers(len(truths))), int(rng.integers(len(counts)))) for _ in range(4)})
    left = [[a for a in row if (i, a[0]) not in pairs] for i, row in enumerate(answers)]
    true = [{label for label in row if (i, label) not in pairs} for i, row in enumerate(truths)]
    # A row that was full and lost answers is too short; k up to the shortest such row can be told.
    honest = min((len(now) for was, now in zip(answers, left, strict=True) if len(was) == k > len(now)), default=k)
    top, y = lw.TopK.from_lists(answers, k), matrix(truths, len(counts))
    if honest < k:
        with pytest.raises(lw.ParamError, match="predict with a larger k"):
            evaluate(top, y, filter_pairs=pairs, ks=[honest + 1])
    if honest:
        ks = list(range(1, honest + 1))
        found = evaluate(top, y, filter_pairs=pairs, ks=ks, train_y=np.array(counts), n_train=n_train, threshold=0.5)
        expected = slow_evaluate(left, true, counts, n_train, ks, 0.55, 1.5, 0.5)
        assert found == pytest.approx(expected, abs=1e-9)


def random_case(rng, n_rows, n_labels, k):
    y = sparse.random(n_rows, n_labels, 0.1, "csr", random_state=rng)
    y.data[:] = 1
    scores = rng.random((n_rows, n_labels), np.float32)
    labels = np.argsort(-scores, axis=1, kind="stable")[:, :k].astype(np.int32)
    return lw.TopK(labels, np.take_along_axis(scores, labels, 1)), y.astype(np.float32), scores


@pytest.mark.parametrize("k", [1, 5, 16, 17, 40])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_kernels_equal_numpy(k, n_threads):
    rng = np.random.default_rng(k)
    top, y, _ = random_case(rng, 5000, 60, k)
    labels = top.labels.copy()
    labels[rng.random(labels.shape) < 0.1] = -1
    hits = np.empty(labels.shape, np.uint8)
    indptr = y.indptr.astype(np.int64)
    assert _native.hit_matrix(labels, indptr, y.indices, 60, hits, n_threads) == -1
    dense = np.pad(y.toarray(), ((0, 0), (0, 1)))  # padding (-1) looks up the empty last column
    np.testing.assert_array_equal(hits, np.take_along_axis(dense, labels, 1))

    weights = rng.random(60)
    best = np.full((5000, k), np.nan)
    _native.best_weights(indptr, y.indices, weights, best, n_threads)
    expected = -np.sort(-y.toarray() * weights, axis=1)[:, :k]
    np.testing.assert_array_equal(best, np.pad(expected, ((0, 0), (0, k - expected.shape[1]))))


@pytest.mark.parametrize("k", [4, 30])
@pytest.mark.parametrize("fault", ["twice", "outside"])
def test_hit_kernel_names_the_first_bad_row(k, fault):
    rng = np.random.default_rng(0)
    top, y, _ = random_case(rng, 6000, 60, k)
    labels = top.labels.copy()
    for row in (5990, 2500, 4100):
        labels[row, k - 1] = labels[row, 0] if fault == "twice" else 60
    hits = np.empty(labels.shape, np.uint8)
    for n_threads in (1, 2, 4):
        assert _native.hit_matrix(labels, y.indptr.astype(np.int64), y.indices, 60, hits, n_threads) == 2500


def test_kernels_refuse_row_pointers_that_do_not_fit():
    labels, hits = np.zeros((2, 1), np.int32), np.zeros((2, 1), np.uint8)
    indices = np.zeros(2, np.int32)
    for indptr in ([0, 1], [0, 1, 3], [1, 1, 2], [0, 3, 2]):
        with pytest.raises(ValueError, match="indptr"):
            _native.hit_matrix(labels, np.array(indptr, np.int64), indices, 5, hits, 1)
    with pytest.raises(ValueError, match="weight"):
        _native.best_weights(np.array([0, 1, 2]), np.array([0, 7], np.int32), np.ones(5), np.zeros((2, 1)), 1)


def test_ndcg_equals_scikit_learn():
    top, y, scores = random_case(np.random.default_rng(3), 300, 30, 5)
    found = evaluate(top, y, ks=(1, 3, 5))
    for k in (1, 3, 5):
        assert found[f"nDCG@{k}"] == pytest.approx(100 * ndcg_score(y.toarray(), scores, k=k))


@pytest.mark.parametrize("how", ["k", "threshold"])
def test_label_sets_equal_scikit_learn(how):
    top, y, _ = random_case(np.random.default_rng(4), 300, 30, 5)
    found = evaluate(top, y, ks=(5,), threshold=0.9)
    kept = np.ones(top.labels.shape, bool) if how == "k" else top.scores >= np.float32(0.9)
    predicted = np.zeros(y.shape, int)
    rows, places = np.nonzero(kept)
    predicted[rows, top.labels[rows, places]] = 1
    suffix = "@5" if how == "k" else "@t=0.9"
    present = np.flatnonzero(predicted.any(axis=0) | np.asarray(y.sum(axis=0) > 0).ravel())
    for ours, theirs in (("micro", "micro"), ("macro", "macro"), ("sample", "samples")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = precision_recall_fscore_support(
                y.toarray().astype(int), predicted, labels=present, average=theirs, zero_division=0
            )[:3]
        for letter, value in zip(("P", "R", "F1"), expected, strict=True):
            assert found[f"{ours}-{letter}{suffix}"] == pytest.approx(100 * value), (ours, letter)


def test_inverse_propensity_equals_the_formula():
    train = sparse.csr_matrix(np.array([[1, 0, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]]))
    C = (math.log(4) - 1) * 2.5**0.55
    expected = [1 + C * (n + 1.5) ** -0.55 for n in (3, 1, 1)]
    np.testing.assert_allclose(inverse_propensity(train), expected, rtol=1e-14)
    np.testing.assert_array_equal(inverse_propensity([3, 1, 1], n_train=4), inverse_propensity(train))
