"""evaluate: the published vectors, the conventions, the refusals, and the time it takes."""

import math
import re
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.metrics.bands import band_report, mass_bands
from labelwood.metrics.per_label import per_label
from labelwood.metrics.propensity import inverse_propensity

DOC = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"


def page_blocks():
    return re.findall(r"```python\n(.*?)```", DOC.read_text(), re.DOTALL)


def page_vectors():
    """(metric, expression, printed figure) of every line of the worked example's table."""
    return re.findall(r"^\| `(\S+@\S+)` \| `(.+)` \| ([0-9.]+) \|$", DOC.read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def page():
    example, weights = page_blocks()
    names = {"math": math}
    exec(example, names)
    exec(weights, names)
    return names


def test_the_page_has_a_line_for_every_metric(page):
    assert {name for name, _, _ in page_vectors()} == set(page["found"])


@pytest.mark.parametrize(("name", "expression", "printed"), page_vectors())
def test_published_vector(page, name, expression, printed):
    by_hand = 100 * eval(expression, {}, page)
    assert page["found"][name] == pytest.approx(by_hand, rel=1e-12, abs=1e-12)
    assert f"{page['found'][name]:.4f}" == printed


def test_published_filter_example(page):
    top, y = page["top"], page["y"]
    found = lw.evaluate(top, y, filter_pairs=[(0, 2)], ks=(1, 2))
    assert found["P@1"] == 0
    assert found["P@2"] == pytest.approx(100 * ((1 / 2 + 1 / 2 + 0 / 2) / 3))
    assert f"{found['P@2']:.4f}" == "33.3333"
    with pytest.raises(lw.ParamError, match="predict with a larger k"):
        lw.evaluate(top, y, filter_pairs=[(0, 2)], ks=(1, 3))
    assert "P@3" not in lw.evaluate(top, y, filter_pairs=[(0, 2)])


@pytest.fixture
def example():
    rng = np.random.default_rng(0)
    y = sparse.csr_matrix(rng.random((400, 60)) < 0.05, dtype=np.float32)
    labels = np.argsort(rng.random((400, 60)), axis=1)[:, :12].astype(np.int32)
    return lw.TopK(labels, -np.sort(-rng.random((400, 12)))), y


def ranked_by(weights, y, k):
    rows = [sorted(((int(j), weights[j]) for j in row.indices), key=lambda a: (-a[1], a[0])) for row in y]
    return lw.TopK.from_lists(rows, k)


def test_at_one_precision_is_ndcg(example):
    found = lw.evaluate(*example)
    assert found["P@1"] == pytest.approx(found["nDCG@1"])


def test_an_oracle_ranked_by_weight_gets_all_there_is(example):
    _, y = example
    weights = inverse_propensity(y)
    found = lw.evaluate(ranked_by(weights, y, 5), y, train_y=y)
    for k in (1, 3, 5):
        for name in ("PSP", "PSnDCG", "PSR"):
            assert found[f"{name}@{k}"] == pytest.approx(100)


def test_equal_weights_give_precision_over_the_best_precision(example):
    top, y = example
    found = lw.evaluate(top, y, train_y=np.full(60, 7), n_train=50)
    best = lw.evaluate(ranked_by(np.ones(60), y, 5), y)
    for k in (1, 3, 5):
        assert found[f"PSP@{k}"] == pytest.approx(100 * found[f"P@{k}"] / best[f"P@{k}"])


def test_propensities_fall_with_frequency_and_differ_for_amazon():
    counts = np.arange(1000)
    usual, amazon = (
        inverse_propensity(counts, n_train=5000),
        inverse_propensity(counts, 0.6, 2.6, n_train=5000),
    )
    assert np.all(np.diff(usual) < 0)
    assert np.all(np.diff(amazon) < 0)
    assert usual.min() > 1
    # n = 1: (1 + B) cancels, so that w = ln N for all constants
    assert usual[1] == pytest.approx(math.log(5000))
    assert amazon[1] == pytest.approx(math.log(5000))
    assert usual[500] != pytest.approx(amazon[500])


def test_rows_without_labels_and_all_padding_contribute_nothing():
    top = lw.TopK(np.array([[0, 1], [-1, -1], [2, -1]]), np.zeros((3, 2)))
    found = lw.evaluate(top, np.array([[0, 0, 0], [1, 1, 0], [0, 0, 1]]), train_y=np.eye(3), ks=(1, 2))
    assert found["P@1"] == pytest.approx(100 / 3)
    assert found["R@2"] == pytest.approx(100 / 3)
    assert found["nDCG@2"] == pytest.approx(100 / 3)
    assert found["abandonment@2"] == pytest.approx(200 / 3)
    assert all(math.isfinite(value) for value in found.values())


def test_no_labels_at_all_gives_zeros():
    top = lw.TopK(np.array([[0, 1]]), np.zeros((1, 2)))
    found = lw.evaluate(top, sparse.csr_matrix((1, 3)), train_y=np.eye(3), ks=(1, 2))
    assert found.pop("abandonment@1") == found.pop("abandonment@2") == 100
    assert set(found.values()) == {0.0}


def test_padding_in_front_of_a_hit_keeps_its_place():
    """A hit at place 2 earns what place 2 earns, whatever stands before it."""
    top = lw.TopK(np.array([[-1, 2]]), np.zeros((1, 2)))
    found = lw.evaluate(top, np.array([[0, 0, 1]]), ks=(1, 2))
    assert found["P@1"] == 0
    assert found["nDCG@2"] == pytest.approx(100 * math.log(2) / math.log(3))


def test_default_ks_go_as_far_as_the_prediction(example):
    top, y = example
    assert {"P@5", "R@10", "nDCG@3"} <= set(lw.evaluate(top, y))
    assert not {"R@50", "P@10"} & set(lw.evaluate(top, y))
    short = lw.evaluate(top.cut(4), y)
    assert "P@3" in short
    assert "P@5" not in short
    assert not [name for name in short if name.startswith("PS")]


def test_the_result_does_not_depend_on_threads_or_matrix_type(example):
    top, y = example
    expected = lw.evaluate(top, y, train_y=y, n_threads=1)
    for other in (y.tocsc(), y.toarray(), y.astype(np.float64) * 3, sparse.csr_array(y)):
        assert lw.evaluate(top, other, train_y=other, n_threads=2) == expected


def test_inputs_are_left_alone(example):
    top, y = example
    labels, scores, data = top.labels.copy(), top.scores.copy(), y.copy()
    lw.evaluate(top, y, train_y=y, filter_pairs=[(0, int(labels[0, 0])), (3, 1)], threshold=0.5, per_band=True)
    np.testing.assert_array_equal(top.labels, labels)
    np.testing.assert_array_equal(top.scores, scores)
    assert (y != data).nnz == 0


def test_filter_pairs_move_later_answers_up(example):
    top, y = example
    pairs = [(0, int(top.labels[0, 0])), (0, int(top.labels[0, 2])), (5, int(top.labels[5, 11]))]
    labels = top.labels.copy()
    labels[0] = [label for label in labels[0] if (0, label) not in pairs] + [-1, -1]
    labels[5, 11] = -1
    truth = y.toarray()
    for pair in pairs:
        truth[pair] = 0
    by_hand = lw.evaluate(lw.TopK(labels, top.scores), truth, ks=(1, 3, 5, 10), train_y=y)
    assert lw.evaluate(top, y, filter_pairs=pairs, ks=(1, 3, 5, 10), train_y=y) == by_hand
    assert lw.evaluate(top, y, filter_pairs=np.zeros((0, 2), int)) == lw.evaluate(top, y)


def test_threshold_takes_equal_scores():
    top = lw.TopK(np.array([[0, 1]]), np.array([[0.7, 0.1]]))
    assert lw.evaluate(top, np.array([[1, 0]]), threshold=0.7)["micro-F1@t=0.7"] == 100


REFUSED = {
    "rows": (lambda t, y: lw.evaluate(t, y[:5]), lw.DataError, "400 rows but y has 5"),
    "no rows": (lambda t, y: lw.evaluate(t[:0], y[:0]), lw.DataError, "no rows"),
    "label outside": (
        lambda t, y: lw.evaluate(t, y[:, :20]),
        lw.DataError,
        r"row 0: label \d+ is outside 0..19",
    ),
    "twice": (
        lambda t, y: lw.evaluate(lw.TopK([[3, 3]], [[1, 0]]), y[:1]),
        lw.DataError,
        "row 0: label 3 is given twice",
    ),
    "train labels": (lambda t, y: lw.evaluate(t, y, train_y=y[:, :9]), lw.DataError, "9 labels but y has 60"),
    "k too large": (lambda t, y: lw.evaluate(t, y, ks=(1, 13)), lw.ParamError, "predict with a larger k"),
    "k zero": (lambda t, y: lw.evaluate(t, y, ks=(0,)), lw.ParamError, "whole numbers from 1 up"),
    "k a bool": (lambda t, y: lw.evaluate(t, y, ks=(True,)), lw.ParamError, "whole numbers from 1 up"),
    "k a fraction": (lambda t, y: lw.evaluate(t, y, ks=(1.5,)), lw.ParamError, "whole numbers from 1 up"),
    "no k": (lambda t, y: lw.evaluate(t, y, ks=()), lw.ParamError, "at least one k"),
    "no places": (lambda t, y: lw.evaluate(t.cut(0), y), lw.ParamError, "no places"),
    "counts alone": (lambda t, y: lw.evaluate(t, y, train_y=np.ones(60, int)), lw.ParamError, "give n_train"),
    "n_train alone": (lambda t, y: lw.evaluate(t, y, n_train=9), lw.ParamError, "without train_y"),
    "n_train with a matrix": (
        lambda t, y: lw.evaluate(t, y, train_y=y, n_train=9),
        lw.ParamError,
        "1-d array",
    ),
    "n_train zero": (
        lambda t, y: lw.evaluate(t, y, train_y=np.ones(60, int), n_train=0),
        lw.ParamError,
        "n_train",
    ),
    "counts above N": (
        lambda t, y: lw.evaluate(t, y, train_y=np.full(60, 9), n_train=5),
        lw.DataError,
        r"outside 0\.\.5",
    ),
    "one training row": (lambda t, y: lw.evaluate(t, y, train_y=y[:1]), lw.DataError, "1 training rows"),
    "no training row": (lambda t, y: lw.evaluate(t, y, train_y=y[:0]), lw.DataError, "no rows"),
    "A": (lambda t, y: lw.evaluate(t, y, train_y=y, A=-1), lw.ParamError, "A must be"),
    "B": (lambda t, y: lw.evaluate(t, y, train_y=y, B=0), lw.ParamError, "B must be"),
    "threshold": (lambda t, y: lw.evaluate(t, y, threshold=math.nan), lw.ParamError, "threshold"),
    "threshold text": (lambda t, y: lw.evaluate(t, y, threshold="0.5"), lw.ParamError, "threshold"),
    "bands": (lambda t, y: lw.evaluate(t, y, per_band=True), lw.ParamError, "per_band needs train_y"),
    "pair row": (lambda t, y: lw.evaluate(t, y, filter_pairs=[(400, 1)]), lw.DataError, "row 400 is outside"),
    "pair label": (
        lambda t, y: lw.evaluate(t, y, filter_pairs=[(0, -1)]),
        lw.DataError,
        "label -1 is outside",
    ),
    "pair shape": (lambda t, y: lw.evaluate(t, y, filter_pairs=[1, 2, 3]), lw.DataError, r"\(m, 2\)"),
    "all filtered": (
        lambda t, y: lw.evaluate(t.cut(1), y, filter_pairs=[(0, int(t.labels[0, 0]))]),
        lw.ParamError,
        "larger k",
    ),
    "per_label k": (lambda t, y: per_label(t, y, 13), lw.ParamError, "larger k"),
    "band_report k": (lambda t, y: band_report(t, y, y, k=0), lw.ParamError, "larger k"),
    "n_bands": (lambda t, y: band_report(t, y, y, k=1, n_bands=0), lw.ParamError, "n_bands"),
    "no mass": (lambda t, y: mass_bands(np.zeros(4)), lw.DataError, "training counts"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(example, what):
    call, error, message = REFUSED[what]
    with pytest.raises(error, match=message):
        call(*example)


def test_bands_have_equal_mass_within_one_label():
    rng = np.random.default_rng(1)
    for n_bands in (3, 10):
        counts = np.minimum(rng.zipf(1.6, 3000), 500)
        bands = mass_bands(counts, n_bands)
        mass = np.bincount(bands, weights=counts, minlength=n_bands)
        assert np.abs(mass - counts.sum() / n_bands).max() <= counts.max()
        order = np.lexsort((np.arange(len(counts)), -counts))
        assert np.all(np.diff(bands[order]) >= 0)
    assert mass_bands([0, 5, 5, 0], 2).tolist() == [1, 0, 1, 1]


def test_decile_contributions_sum_to_the_whole(example):
    top, y = example
    found = lw.evaluate(top, y, ks=(1, 5, 12), train_y=y, per_band=True)
    for k in (1, 5, 12):
        report = band_report(top, y, y, k=k)
        assert len(report["labels"]) == 10
        assert report["labels"].sum() == 60
        assert report["mass"].sum() == report["truth"].sum() == y.nnz
        for letter in "PR":
            assert report[f"{letter}@{k}"].sum() == pytest.approx(found[f"{letter}@{k}"])
            parts = [found[f"{letter}@{k}[{band}]"] for band in ("head", "torso", "tail")]
            assert sum(parts) == pytest.approx(found[f"{letter}@{k}"])
        assert report["hits"].sum() == pytest.approx(found[f"P@{k}"] / 100 * 400 * k)
        np.testing.assert_allclose(report["found"], 100 * report["hits"] / report["truth"])


def test_per_label_table(example):
    top, y = example
    table = per_label(top, y, 5, train_y=y)
    given = top.cut(5).to_csr(60)
    given.data[:] = 1
    both = np.asarray(given.multiply(y).sum(axis=0)).ravel()
    np.testing.assert_array_equal(table["tp"], both)
    np.testing.assert_array_equal(table["fp"], np.asarray(given.sum(axis=0)).ravel() - both)
    np.testing.assert_array_equal(table["fn"], np.asarray(y.sum(axis=0)).ravel() - both)
    np.testing.assert_array_equal(table["train_count"], np.asarray(y.sum(axis=0)).ravel())
    np.testing.assert_array_equal(table["label"], np.arange(60))
    assert np.mean(table["f1"]) == pytest.approx(lw.evaluate(top, y)["macro-F1@5"])
    assert "train_count" not in per_label(top, y, 5)
    assert {len(column) for column in table.values()} == {60}


def test_a_hundred_thousand_rows_take_a_tenth_of_the_budget():
    """1,000,000 rows at k=5 must take under 2 s: a tenth of the rows, a tenth of the time, in CPU time."""
    rng = np.random.default_rng(2)
    n_rows, n_labels = 100_000, 20_000
    indices = np.sort(rng.integers(0, n_labels // 5, (n_rows, 5)) + np.arange(5) * (n_labels // 5), axis=1)
    y = sparse.csr_matrix((np.ones(5 * n_rows, np.float32), indices.ravel(), np.arange(0, 5 * n_rows + 1, 5)))
    labels = np.where(rng.random((n_rows, 5)) < 0.5, indices, (indices + 1) % n_labels)
    labels[:, 1:][labels[:, 1:] == labels[:, :-1]] = -1
    top = lw.TopK(labels, np.zeros((n_rows, 5)))
    lw.evaluate(top[:10], y[:10], train_y=y)
    best = math.inf
    for _ in range(3):
        start = time.process_time()
        lw.evaluate(top, y, train_y=y)
        best = min(best, time.process_time() - start)
    assert best < 0.2
