"""Intervals, paired tests and the small figures of a comparison, against hand-made cases."""

import numpy as np
import pytest
from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.metrics.evaluate import evaluate
from labelwood.metrics.hits import hit_matrix
from labelwood.metrics.propensity import inverse_propensity, label_counts
from labelwood.report.compare_data import Parts
from labelwood.report.compare_figures import Answered, confusions, judged, reliability, sample_rows, spare_places
from labelwood.report.compare_statistics import RowScores, compared, holm, row_scores
from labelwood.topk import TopK

KS = (1, 3, 5)


def random_case(n_rows=60, n_labels=20, k=8, seed=0):
    random = np.random.default_rng(seed)
    y = sparse.csr_matrix((random.random((n_rows, n_labels)) < 0.15).astype(np.float32))
    labels = np.argsort(random.random((n_rows, n_labels)), axis=1)[:, :k].astype(np.int32)
    labels[: n_rows // 10, 2:] = -1  # some rows are answered with two labels only
    return TopK(labels, np.zeros(labels.shape, np.float32)), y


def scores_of(columns):
    """RowScores of one metric, a mean, from a list of row values."""
    gained = np.array(columns, float)[:, None]
    return RowScores(("P@1",), gained, np.ones_like(gained))


def test_rows_add_up_to_evaluate():
    top, y = random_case()
    train_y = random_case(seed=1)[1]
    counts, n_train = label_counts(train_y)
    scores = row_scores(hit_matrix(top, y), inverse_propensity(counts, n_train=n_train), KS)
    figures = evaluate(top, y, train_y=train_y, ks=KS)
    values = 100 * scores.gained.sum(axis=0) / scores.possible.sum(axis=0)
    assert len(scores.names) == 15
    assert values.tolist() == pytest.approx([figures[name] for name in scores.names])


def test_an_interval_is_that_of_the_normal_distribution():
    right = np.random.default_rng(0).random(2000) < 0.3
    result = compared([scores_of(right)])
    error = 100 * right.std() / np.sqrt(len(right))
    assert result.value[0, 0] == pytest.approx(100 * right.mean())
    assert result.low[0, 0] == pytest.approx(result.value[0, 0] - 1.96 * error, abs=0.25)
    assert result.high[0, 0] == pytest.approx(result.value[0, 0] + 1.96 * error, abs=0.25)


def test_a_ratio_of_sums_is_resampled_as_one():
    """The same share in every row has no spread, however unequal the rows are."""
    possible = np.random.default_rng(0).random((50, 1)) + 0.1
    result = compared([RowScores(("PSP@1",), 0.25 * possible, possible)])
    assert (result.value[0, 0], result.low[0, 0], result.high[0, 0]) == pytest.approx((25, 25, 25))


def test_sign_flips_of_few_rows_give_the_exact_p():
    """Eight differences of the same size and sign: 2 of 256 signs are as extreme."""
    result = compared([scores_of(np.ones(8)), scores_of(np.zeros(8))], n_resamples=200_000)
    assert result.best.tolist() == [0]
    assert result.p[1, 0] == pytest.approx(2 / 256, rel=0.15)
    assert result.difference[:, 0].tolist() == [0, 100]


def test_equal_models_differ_by_chance_and_unlike_ones_do_not():
    random = np.random.default_rng(3)
    base = random.random(500) < 0.5
    same = compared([scores_of(base), scores_of(base)])
    assert same.p[1, 0] == 1
    assert (same.difference_low[1, 0], same.difference_high[1, 0]) == (0, 0)
    worse = base & (random.random(500) < 0.8)
    unlike = compared([scores_of(worse), scores_of(base), scores_of(base)])
    assert unlike.best.tolist() == [1]
    assert unlike.p[0, 0] < 0.01
    assert unlike.p[2, 0] == 1
    assert unlike.difference_low[0, 0] > 0


def test_the_seed_decides_the_resamples():
    case = [scores_of(np.random.default_rng(0).random(40))]
    assert compared(case, seed=1).low == compared(case, seed=1).low
    assert compared(case, seed=1).low != compared(case, seed=2).low


def test_holm_by_hand():
    assert holm(np.array([0.04, 0.01, 0.03])).tolist() == pytest.approx([0.06, 0.03, 0.06])
    assert holm(np.array([0.9, 0.8])).tolist() == [1, 1]


def test_confusions_by_hand():
    y = sparse.csr_matrix(np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]], np.float32))
    # Row 0 misses 1 and has 2 there; row 1 misses 0 and has 2; row 2 is right; row 3 has no labels to miss.
    top = TopK(np.array([[0, 2, 3], [2, 0, 1], [1, 2, 3], [0, 1, 2]], np.int32), np.zeros((4, 3), np.float32))
    assert confusions(hit_matrix(top, y)) == [(0, 2, 1), (1, 2, 1)]


def test_reliability_by_hand():
    y = sparse.csr_matrix(np.array([[1, 0, 0], [0, 1, 0]], np.float32))
    top = TopK(np.array([[0, 1], [2, -1]], np.int32), np.zeros((2, 2), np.float32))
    figures = reliability(hit_matrix(top, y), np.array([[0.92, 0.1], [0.95, -np.inf]], np.float32))
    assert [(b["answers"], b["right"]) for b in figures["bins"]] == [(1, 0), (2, 0.5)]
    assert figures["gap"] == pytest.approx(100 * (1 * 0.1 + 2 * (0.935 - 0.5)) / 3, abs=1e-4)


def test_filter_pairs_count_neither_way():
    x = sparse.csr_matrix(np.ones((2, 1), np.float32))
    y = sparse.csr_matrix(np.array([[1, 1, 0], [0, 0, 1]], np.float32))
    parts = Parts(Dataset(x, y), Dataset(x, y, filter_pairs=np.array([[0, 0]])))
    top = TopK(np.array([[0, 1, 2], [2, 0, 1]], np.int32), np.zeros((2, 3), np.float32))
    model = judged(Answered("m", top, np.array([[0.9, 0.8], [0.7, 0.6]], np.float32)), parts)
    assert spare_places(parts) == 1
    assert model.hits.top.labels[0, :3].tolist() == [1, 2, -1]
    assert model.hits.n_true.tolist() == [1, 1]
    assert model.chances[0, 0] == np.float32(0.8)


def test_samples_show_where_models_differ_agree_and_fail():
    y = sparse.csr_matrix(np.eye(3, 8, dtype=np.float32))
    x = sparse.csr_matrix(np.ones((3, 1), np.float32))
    parts = Parts(Dataset(x, y), Dataset(x, y))

    def model(title, labels):
        labels = np.array(labels, np.int32)[:, None]
        return judged(Answered(title, TopK(labels, np.zeros(labels.shape, np.float32)), labels * 0.0), parts)

    chosen = dict(sample_rows([model("a", [0, 1, 7]), model("b", [0, 7, 7])]))
    assert chosen[1] == "the models differ"
    assert chosen[0] == "every first answer is right"
    assert chosen[2].startswith("no right label")


def test_resamples_and_signs_are_those_of_groups():
    random = np.random.default_rng(0)
    base = random.random(300) < 0.5
    worse = base & (random.random(300) < 0.97)
    times = np.repeat(np.arange(300), 4)  # each row four times, as siblings that go wrong together
    by_row = compared([scores_of(base), scores_of(worse)])
    siblings = [scores_of(scores[times]).of_groups(times) for scores in (base, worse)]
    by_group = compared(siblings)
    for name in ("value", "low", "high", "p"):
        assert getattr(by_group, name) == pytest.approx(getattr(by_row, name))
    too_sure = compared([scores_of(scores[times]) for scores in (base, worse)])
    assert too_sure.high[0, 0] - too_sure.low[0, 0] < 0.6 * (by_row.high[0, 0] - by_row.low[0, 0])
    assert too_sure.p[1, 0] < by_row.p[1, 0]
    assert scores_of(base).of_groups(None).gained.tolist() == scores_of(base).gained.tolist()
