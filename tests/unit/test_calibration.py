"""Calibration: rules, curves, held-out rows and thresholds, against slow and hand-made answers."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

import labelwood as lw
from labelwood.calibration.fit import calibrated, learnt
from labelwood.calibration.fitted import FittedCalibration, bands_of
from labelwood.calibration.held_out import HeldOut, as_unseen, held_out, parts_of, places
from labelwood.calibration.isotonic import learnt_curve, pooled
from labelwood.calibration.label_odds import VARIANCE, learnt_odds, with_odds
from labelwood.calibration.row_context import LOOKED, _logistic, _numbers, learnt_context
from labelwood.calibration.rule import Assignment
from labelwood.data.madeup.shop_texts import make_texts
from labelwood.errors import DataError, ModelFileError, ParamError
from labelwood.metrics.hits import hit_matrix
from labelwood.metrics.reliability import reliability
from labelwood.models.fit_input import checked_input
from labelwood.models.registry import model_class
from labelwood.topk import TopK


def answers(seed=0, n_rows=4000, n_labels=30, width=5, squash=1.0):
    """(held-out answers whose true probability is score ** squash, label counts)."""
    rng = np.random.default_rng(seed)
    labels = np.stack([rng.permutation(n_labels)[:width] for _ in range(n_rows)]).astype(np.int32)
    scores = -np.sort(-rng.random((n_rows, width)), axis=1).astype(np.float32)
    hit = rng.random(scores.shape) < scores**squash
    rows = np.repeat(np.arange(n_rows), width)[hit.ravel()]
    y = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, labels[hit])), shape=(n_rows, n_labels))
    counts = np.arange(1, n_labels + 1, dtype=np.int64) ** 2
    return HeldOut(TopK(labels, scores), y, 1), counts


@pytest.mark.parametrize(
    "text", ["f1", "f1-macro", "f1-sample", "precision=0.9", "recall=0.8", "count=4", "threshold=0.5"]
)
def test_rules_are_read_and_written_alike(text):
    assert str(Assignment.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    ["f2", "", "f1=1", "precision", "precision=1.5", "precision=x", "recall=0", "count=-1", "count=nan", 3, None],
)
def test_other_rules_are_refused(text):
    with pytest.raises(ParamError, match="assign"):
        Assignment.parse(text)


def test_pooled_values_are_those_of_isotonic_regression():
    rng = np.random.default_rng(0)
    for _ in range(20):
        values, weights = rng.random(30), rng.integers(1, 9, 30).astype(float)
        means, starts = pooled(values, weights)
        ours = np.repeat(means, np.diff(np.append(starts, 30)))
        theirs = IsotonicRegression().fit_transform(np.arange(30), values, sample_weight=weights)
        assert np.allclose(ours, theirs)


def test_a_curve_never_falls_and_finds_the_probabilities():
    held, _ = answers(squash=2.0)
    curve = learnt_curve(held.top.scores.ravel(), hit_matrix(held.top, held.y).hit.ravel())
    asked = np.linspace(0, 1, 101)
    said = curve(asked)
    assert np.all(np.diff(said) >= 0)
    assert np.abs(said - asked**2)[5:-5].max() < 0.06
    assert len(curve.scores) <= 80


def test_equal_scores_have_one_knot():
    curve = learnt_curve(np.full(100, 0.5, np.float32), np.arange(100) < 30)
    assert len(curve.scores) == 1
    assert curve(np.array([0.0, 0.5, 1.0])) == pytest.approx([30.5 / 101] * 3, abs=1e-6)


def test_few_answers_stay_near_the_curve_of_all():
    base = learnt_curve(np.linspace(0, 1, 2000), np.arange(2000) % 10 == 0)  # one in ten is right everywhere
    few = learnt_curve(np.array([0.4, 0.5]), np.array([1, 1]), base)
    many = learnt_curve(np.linspace(0, 1, 2000), np.ones(2000), base)
    assert few(np.array([0.5]))[0] < 0.3
    assert many(np.array([0.5]))[0] > 0.7


def test_new_answers_are_as_often_right_as_was_said():
    held, counts = answers(squash=3.0)
    calibration = learnt(held, counts, Assignment("f1"))
    new, _ = answers(seed=1, squash=3.0)
    hit = hit_matrix(new.top, new.y).hit
    assert reliability(new.top.scores, hit).error > 0.2
    assert reliability(calibration.probabilities(new.top), hit).error < 0.02


def shares(given, y):
    hit, n = hit_matrix(given, y).hit.sum(), (given.labels >= 0).sum()
    return hit / n, hit / y.nnz, 2 * hit / (n + y.nnz), n / len(given)


def test_f1_is_as_good_as_the_best_threshold():
    held, counts = answers()
    new, _ = answers(seed=1)
    calibration = learnt(held, counts, Assignment("f1"))
    ranked = calibration.ranked(new.top)
    best = max(
        shares(TopK(np.where(ranked.scores >= t, ranked.labels, -1), ranked.scores), new.y)[2]
        for t in np.linspace(0.05, 0.9, 100)
    )
    assert shares(calibration.assigned(new.top), new.y)[2] > 0.99 * best


@pytest.mark.parametrize(
    ("rule", "place", "number"), [("precision=0.8", 0, 0.8), ("recall=0.7", 1, 0.7), ("count=2", 3, 2)]
)
def test_what_is_asked_for_is_met_on_new_rows(rule, place, number):
    held, counts = answers()
    new, _ = answers(seed=1)
    calibration = learnt(held, counts, Assignment.parse(rule))
    assert calibration.note == ""
    assert shares(calibration.assigned(new.top), new.y)[place] == pytest.approx(number, rel=0.03)


@pytest.mark.parametrize(
    ("rule", "part"), [("precision=0.999", "precision"), ("recall=1", "recall"), ("count=9", "9 labels")]
)
def test_what_cannot_be_reached_is_told(rule, part):
    held, counts = answers(squash=3.0)
    fewer = HeldOut(held.top, held.y + sparse.eye(*held.y.shape, format="csr", dtype=np.float32), 1)
    fewer.y.data[:] = 1
    assert part in learnt(fewer, counts, Assignment.parse(rule)).note


def test_macro_gives_rare_labels_lower_thresholds_where_that_helps():
    held, counts = answers(n_rows=3000)
    macro = learnt(held, counts, Assignment("f1-macro"))
    assert len(macro.thresholds.labels) == 30  # every label has enough rows here
    new, _ = answers(seed=1)

    def macro_f1(calibration):
        given = calibration.assigned(new.top).to_csr(30)
        given.data[:] = 1
        hit = np.asarray(given.multiply(new.y).sum(axis=0)).ravel()
        return np.mean(2 * hit / np.asarray(given.sum(axis=0) + new.y.sum(axis=0)).ravel())

    assert macro_f1(macro) > 0.98 * macro_f1(learnt(held, counts, Assignment("f1")))


def test_rows_rule_is_the_best_for_rows_of_the_grid():
    held, counts = answers()
    new, _ = answers(seed=1)

    def rows_f1(rule):
        given = learnt(held, counts, Assignment.parse(rule)).assigned(new.top)
        hits = hit_matrix(given, new.y)
        return np.mean(2 * hits.hit.sum(axis=1) / np.maximum(1, (given.labels >= 0).sum(axis=1) + hits.n_true))

    assert rows_f1("f1-sample") > rows_f1("precision=0.9")
    assert rows_f1("f1-sample") > 0.99 * rows_f1("f1")


def test_a_label_that_is_right_more_often_than_others_gets_better_odds():
    rng = np.random.default_rng(0)
    said = np.full(9000, 0.5)
    labels = np.repeat(np.arange(3, dtype=np.int32), [4000, 4000, 1000])
    hits = rng.random(9000) < np.array([0.8, 0.5, 0.2])[labels]
    hits[8003:] = True  # the last label: few answers that say much
    odds = learnt_odds(said[:8003], hits[:8003], labels[:8003], 4)
    assert odds[0] == pytest.approx(4, rel=0.15)  # 0.8 / 0.2
    assert odds[1] == 1 or odds[1] == pytest.approx(1, abs=0.1)
    assert 0.7 < odds[2] <= 1  # three answers hardly move it
    assert odds[3] == 1  # none do not at all


def test_odds_are_those_of_logistic_regression():
    rng = np.random.default_rng(1)
    said, hits = rng.uniform(0.05, 0.95, 400), rng.random(400) < 0.7
    found = np.log(learnt_odds(said, hits, np.zeros(400, np.int32), 1)[0])
    margins, tried = np.log(said / (1 - said)), np.linspace(-2, 2, 4001)
    likely = 1 / (1 + np.exp(-(margins[:, None] + tried)))
    loss = -np.where(hits[:, None], np.log(likely), np.log(1 - likely)).sum(axis=0) + tried**2 / (2 * VARIANCE)
    assert found == pytest.approx(tried[loss.argmin()], abs=2e-3)


def test_with_odds_multiplies_odds():
    assert with_odds(np.array([0.5, 0.0, 1.0]), np.array([3.0, 3.0, 3.0])).tolist() == [0.75, 0.0, 1.0]


def test_labels_are_as_sure_as_their_own_answers():
    held, counts = answers(n_rows=6000)
    hit = np.random.default_rng(3).random(held.top.labels.shape) < np.where(held.top.labels % 2, 0.9, 0.3)
    rows = np.repeat(np.arange(6000), held.top.k)[hit.ravel()]
    y = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, held.top.labels[hit])), shape=held.y.shape)
    calibration = learnt(HeldOut(held.top, y, 1), counts, Assignment.parse("precision=0.85"))
    assert calibration.note == ""  # over all labels nothing is righter than 0.6
    given = calibration.assigned(held.top)
    assert np.mean(given.labels[given.labels >= 0] % 2 == 1) > 0.9
    assert 0.85 <= shares(given, y)[0] < 0.91  # there is nothing between 0.3 and 0.9


def test_labels_that_all_have_few_rows_are_assigned():
    """Every row held out takes a third of its label's rows with it."""
    words = [f"word{n}" for n in range(100)]
    texts, labels = [f"{word} text" for word in words * 3], [[word] for word in words * 3]
    tagger = lw.Tagger("one-vs-all", assign="f1", n_threads=1).fit(texts, labels)
    assert tagger.calibration_.held_out["f1"] > 0.9
    assert [[name for name, _ in row] for row in tagger.predict(texts[:100], assign=True)] == labels[:100]


def test_folders_without_odds_are_read():
    held, counts = answers(n_rows=1500)
    calibration = learnt(held, counts, Assignment("f1"))
    arrays = {name: array for name, array in calibration.arrays().items() if not name.startswith("odds")}
    again = FittedCalibration.restore(arrays, calibration.facts(), counts)
    assert np.all(again.odds == 1)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"odds": np.zeros(2, np.float32), "odds_labels": np.array([1, 2], np.int32)}, "odds"),
        ({"odds": np.ones(2, np.float32), "odds_labels": np.array([2, 1], np.int32)}, "do not fit together"),
        ({"odds": np.ones(1, np.float32), "odds_labels": np.array([1, 2], np.int32)}, "odds"),
        ({"odds": np.ones(1, np.float32), "odds_labels": np.array([30], np.int32)}, "odds_labels"),
        ({"odds": np.ones(1, np.float32), "odds_labels": None}, "do not fit together"),
    ],
)
def test_damaged_odds_are_refused(changes, part):
    held, counts = answers(n_rows=1500)
    calibration = learnt(held, counts, Assignment("f1"))
    arrays = {**calibration.arrays(), **changes}
    arrays = {name: array for name, array in arrays.items() if array is not None}
    with pytest.raises(ModelFileError, match=part):
        FittedCalibration.restore(arrays, calibration.facts(), counts)


def test_where_nothing_is_right_nothing_is_assigned():
    held, counts = answers()
    wrong = HeldOut(held.top, sparse.csr_matrix(held.y.shape, dtype=np.float32), 1)
    calibration = learnt(wrong, counts, Assignment("f1"))
    assert "nothing is assigned" in calibration.note
    assert np.all(calibration.assigned(held.top).labels == -1)


def test_answers_are_sorted_by_probability_and_padding_stays_behind():
    held, counts = answers()
    calibration = learnt(held, counts, Assignment("count=3"))
    top = TopK(np.array([[3, 29, -1]], np.int32), np.array([[0.9, 0.8, -np.inf]], np.float32))
    ranked = calibration.ranked(top)
    assert ranked.labels[0, 2] == -1
    assert ranked.scores[0, 0] >= ranked.scores[0, 1] > 0
    assert calibration.probabilities(top)[0, 2] == 0


def test_bands_go_by_training_rows():
    assert bands_of(np.array([10, 5, 4, 0]), np.array([6, 4])).tolist() == [0, 1, 1, 2]


# rows


def rivalled(seed=0, n_rows=4000, n_labels=30):
    """Held-out answers of rows with one strong answer, right in 95% of cases, or two, of which one is right."""
    rng = np.random.default_rng(seed)
    labels = np.stack([rng.permutation(n_labels)[:3] for _ in range(n_rows)]).astype(np.int32)
    two = rng.random(n_rows) < 0.5
    scores = np.column_stack([np.full(n_rows, 0.9), np.where(two, 0.9, 0.1), np.full(n_rows, 0.05)])
    scores = (scores + rng.random(scores.shape) * 0.01).astype(np.float32)
    scores[:, :2] = -np.sort(-scores[:, :2], axis=1)
    second = rng.random(n_rows) < 0.5
    hit = np.column_stack([np.where(two, ~second, rng.random(n_rows) < 0.95), two & second, np.zeros(n_rows, bool)])
    rows = np.repeat(np.arange(n_rows), 3)[hit.ravel()]
    y = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, labels[hit])), shape=(n_rows, n_labels))
    return HeldOut(TopK(labels, scores), y, 1), np.full(n_labels, 200, np.int64), two


def test_an_answer_with_a_rival_as_good_is_less_sure():
    held, counts, _ = rivalled()
    calibration = learnt(held, counts, Assignment.parse("precision=0.9"))
    new, _, two = rivalled(seed=1)
    probabilities = calibration.probabilities(new.top)
    assert probabilities[~two, 0].mean() == pytest.approx(0.95, abs=0.03)
    assert probabilities[two, 0].mean() == pytest.approx(0.5, abs=0.03)
    precision, _, _, a_row = shares(calibration.assigned(new.top), new.y)
    assert precision == pytest.approx(0.9, abs=0.03)  # no score alone reaches it
    assert a_row > 0.45
    assert not calibration.note


def test_rivals_count_though_they_may_not_be_answered():
    held, counts, _ = rivalled()
    calibration = learnt(held, counts, Assignment("f1"))
    new, _, two = rivalled(seed=1)
    only_first = new.top.cut(1)
    assert np.array_equal(calibration.probabilities(only_first, new.top), calibration.probabilities(new.top)[:, :1])
    assert calibration.probabilities(only_first)[two].mean() > 0.7  # without its rival it would look sure


def test_a_context_does_not_depend_on_the_order_of_answers():
    held, _, _ = rivalled(n_rows=500)
    context = learnt_context(held.top, hit_matrix(held.top, held.y).hit.astype(bool))
    back = TopK(held.top.labels[:, ::-1], held.top.scores[:, ::-1])
    assert context.refined(back)[:, ::-1] == pytest.approx(context.refined(held.top), abs=1e-5)


def near_and_far(seed=0, n_rows=4000, n_labels=30):
    """Held-out answers with one score, right in 95% of the rows that are near and 40% of those that are far."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_labels, (n_rows, 1)).astype(np.int32)
    nearness = rng.random(n_rows)
    hit = rng.random(n_rows) < np.where(nearness > 0.5, 0.95, 0.4)
    rows = np.flatnonzero(hit)
    y = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, labels[rows, 0])), shape=(n_rows, n_labels))
    scores = 0.7 + 0.01 * rng.random((n_rows, 1))
    return HeldOut(TopK(labels, scores, nearness), y, 1), np.full(n_labels, 200, np.int64)


def test_a_row_that_is_far_from_all_others_is_less_sure():
    held, counts = near_and_far()
    calibration = learnt(held, counts, Assignment("f1"))
    new = near_and_far(seed=1)[0].top
    probabilities = calibration.probabilities(new)[:, 0]
    assert probabilities[new.nearness < 0.2].mean() < 0.5
    assert probabilities[new.nearness > 0.8].mean() > 0.9
    unknown = calibration.probabilities(TopK(new.labels, new.scores))[:, 0]  # as a row that is as near as most
    middle = np.abs(new.nearness - held.top.nearness.mean()) < 0.01
    assert unknown[middle].mean() == pytest.approx(probabilities[middle].mean(), abs=0.03)
    again = FittedCalibration.restore(calibration.arrays(), calibration.facts(), counts)
    assert np.array_equal(again.probabilities(new)[:, 0], probabilities)
    for damaged in (calibration.context.near[:2], calibration.context.near * np.nan):
        with pytest.raises(ModelFileError, match="context_near"):
            FittedCalibration.restore({**calibration.arrays(), "context_near": damaged}, calibration.facts(), counts)


def test_models_that_do_not_tell_how_near_a_row_is_keep_no_weights_of_it():
    held, counts, _ = rivalled(n_rows=500)
    calibration = learnt(held, counts, Assignment("f1"))
    assert "context_near" not in calibration.arrays()
    near = replace(held.top, nearness=np.linspace(0, 1, len(held.top)))
    assert np.array_equal(calibration.probabilities(near), calibration.probabilities(held.top))


def test_an_ensemble_tells_how_near_rows_are():
    x, y = shop()
    model = lw.Ensemble(models="ranked", n_threads=1).fit(x, y)
    top = model.predict(x, 5)
    assert top.nearness.shape == (300,)
    assert top.nearness.min() > 0.9  # every row is among those it learnt from
    calibration = calibrated(model, x, y)
    assert calibration.context.near is not None


def test_places_are_counted_in_parts(monkeypatch):
    held, _ = answers(n_rows=500, width=20)
    context = learnt_context(held.top, hit_matrix(held.top, held.y).hit.astype(bool))
    at_once = context.refined(held.top)
    assert context.refined(TopK(held.top.labels[:0], held.top.scores[:0])).shape == (0, 20)
    monkeypatch.setattr("labelwood.calibration.row_context._MOST_COMPARED", 700)
    assert np.array_equal(context.refined(held.top), at_once)
    better = (held.top.scores[0, :LOOKED, None] > held.top.scores[0]).sum(axis=0)
    assert _numbers(context.curve, held.top, held.top)[2][0] == pytest.approx(np.log1p(better))


def test_weights_are_those_of_a_logistic_regression():
    rng = np.random.default_rng(0)
    columns = [rng.normal(size=500) for _ in range(3)]
    right = (rng.random(500) < 1 / (1 + np.exp(-(columns[0] - 0.5 * columns[1])))).astype(float)
    peer = LogisticRegression(C=1e6, tol=1e-8).fit(np.column_stack(columns), right)
    weights = _logistic([*columns, np.ones(500)], right)
    assert weights == pytest.approx([*peer.coef_[0], peer.intercept_[0]], abs=0.03)  # ours are drawn to (1, 0, 0, 0)
    less = _logistic([-columns[0], *columns[1:], np.ones(500)], right)
    assert less.tolist() == [1, 0, 0, 0]  # a score never counts less


# held-out rows


def shop(n_rows=300):
    data = make_texts(n_rows, n_labels=40)
    return lw.TfidfVectorizer(sublinear_tf=True).fit_transform(data.texts), data.y


def test_no_row_is_in_two_parts_and_none_judges_itself(monkeypatch):
    x, y = shop()
    data = checked_input(x, y)
    parts = parts_of(lw.OneVsAll, lw.OneVsAll()._settings(), data)
    assert len(parts) == 10
    assert len(np.unique(np.concatenate(parts))) == 300
    seen = []
    train = lw.OneVsAll._train
    monkeypatch.setattr(
        lw.OneVsAll, "_train", staticmethod(lambda settings, taught: seen.append(taught.x) or train(settings, taught))
    )
    answered = held_out(lw.OneVsAll, lw.OneVsAll()._settings(), data, 5)
    for held, taught in zip(parts, seen, strict=True):
        assert (taught != x[np.setdiff1d(np.arange(300), held)]).nnz == 0
    assert (answered.y != y[np.concatenate(parts)]).nnz == 0


def test_models_that_train_by_epochs_hold_out_one_part():
    x, y = shop()
    assert len(parts_of(lw.HSoftmax, lw.HSoftmax()._settings(), checked_input(x, y))) == 1


def test_models_that_train_others_hold_out_as_many_tenths_as_are_enough(monkeypatch):
    x, y = shop()
    data = checked_input(x, y)
    assert [len(part) for part in parts_of(lw.Ensemble, lw.Ensemble()._settings(), data)] == [30] * 10
    monkeypatch.setattr("labelwood.calibration.held_out.ENOUGH_OF_SLOW", 70)
    # Five models give no 5,000 rows: these five are trained.
    assert [len(part) for part in parts_of(lw.Ensemble, lw.Ensemble()._settings(), data)] == [30] * 5
    monkeypatch.setattr("labelwood.calibration.held_out.PLENTY", 100)
    assert [len(part) for part in parts_of(lw.Ensemble, lw.Ensemble()._settings(), data)] == [30] * 4
    monkeypatch.setattr("labelwood.calibration.held_out.ENOUGH_OF_SLOW", 200)
    assert [len(part) for part in parts_of(lw.Ensemble, lw.Ensemble()._settings(), data)] == [30] * 7


def test_models_that_train_others_hold_out_two_tenths_of_many_rows(monkeypatch):
    x, y = shop()
    monkeypatch.setattr("labelwood.calibration.held_out.MANY_ROWS", 300)
    monkeypatch.setattr("labelwood.calibration.held_out.CHEAP_WORK", 0)
    parts = parts_of(lw.Ensemble, lw.Ensemble()._settings(), checked_input(x, y))
    assert [len(part) for part in parts] == [30] * 2


def test_label_trees_hold_out_several_tenths_however_many_labels_there_are(monkeypatch):
    x, y = shop()
    data = checked_input(x, y)
    tree, all_labels = lw.LinearTree()._settings(), lw.OneVsAll()._settings()
    monkeypatch.setattr("labelwood.calibration.held_out.MANY_ROWS", 300)
    monkeypatch.setattr("labelwood.calibration.held_out.ENOUGH_HELD", 100)
    monkeypatch.setattr("labelwood.calibration.held_out.CHEAP_WORK", x.nnz)
    assert [len(part) for part in parts_of(lw.OneVsAll, all_labels, data)] == [30]
    assert [len(part) for part in parts_of(lw.LinearTree, tree, data)] == [30] * 4
    monkeypatch.setattr("labelwood.calibration.held_out.CHEAP_VALUES", 2.5 * x.nnz)
    forest = lw.LinearTree(n_trees=3)._settings()  # costs as much as three trees
    assert [len(part) for part in parts_of(lw.LinearTree, forest, data)] == [30]


def test_a_word_of_held_out_rows_alone_is_left_out():
    taught = sparse.csr_matrix(np.array([[1, 0, 0]], np.float32))
    rows = sparse.csr_matrix(np.array([[0.6, 0, 0.8], [0, 0, 1]], np.float32))
    assert as_unseen(rows, taught).toarray().tolist() == [[1, 0, 0], [0, 0, 0]]
    assert as_unseen(rows * 2, taught).toarray()[0].tolist() == pytest.approx([1.2, 0, 0])  # no unit rows: as they are


def test_places_go_by_the_labels_of_rows():
    y = sparse.csr_matrix(np.ones((10, 200), np.float32))
    assert places(y, Assignment("f1")) == 100
    assert places(sparse.eye(50, format="csr"), Assignment("f1")) == 20
    assert places(sparse.eye(50, format="csr"), Assignment.parse("count=10")) == 30
    assert places(sparse.eye(50, format="csr"), Assignment.parse("recall=0.5")) == 50


def test_a_model_is_calibrated_from_python():
    x, y = shop()
    model = lw.OneVsAll().fit(x, y)
    calibration = calibrated(model, x, y, "count=2")
    given = calibration.assigned(model.predict(x, calibration.width))
    assert 1 < (given.labels >= 0).sum() / 300 < 5
    with pytest.raises(DataError, match="at least 50 rows"):
        calibrated(model, x[:49], y[:49])


def test_what_a_model_chose_is_taken_over():
    x, y = shop()
    ensemble = lw.Ensemble(models="popular,one-vs-all", settings="popular.seed=3 one-vs-all.C=0.5", weights="0,1")
    again = ensemble.fit(x, y).fitted_.repeated_settings()
    assert (again.models, again.settings, again.weights) == ("one-vs-all", "one-vs-all.C=0.5", "1.0")
    tree = lw.LinearTree().fit(x, y).fitted_
    assert tree.repeated_settings().C == tree.C
    assert lw.OneVsAll(C=2.0).fit(x, y).fitted_.repeated_settings().C == 2.0


# storage


def test_a_calibration_is_its_arrays_and_facts():
    held, counts = answers(n_rows=1500)
    calibration = learnt(held, counts, Assignment("f1-macro"))
    again = FittedCalibration.restore(calibration.arrays(), calibration.facts(), counts)
    assert np.array_equal(again.assigned(held.top).labels, calibration.assigned(held.top).labels)
    assert np.array_equal(again.probabilities(held.top), calibration.probabilities(held.top))
    assert again.facts() == calibration.facts()
    assert sum(array.nbytes for array in calibration.arrays().values()) < 4000


def test_a_folder_of_an_earlier_version_reads_scores_alone():
    held, counts = answers(n_rows=1500)
    calibration = replace(learnt(held, counts, Assignment("f1")), context=None)
    arrays = calibration.arrays()
    assert not [name for name in arrays if name.startswith("context")]
    again = FittedCalibration.restore(arrays, calibration.facts(), counts)
    assert np.array_equal(again.probabilities(held.top), calibration.probabilities(held.top))
    for name, values in (("context_weights", [1.0, 0, 0, 0]), ("context_near", [1.0, 0, 0])):
        with pytest.raises(ModelFileError, match="needs a curve and weights"):
            FittedCalibration.restore({**arrays, name: np.array(values)}, calibration.facts(), counts)


@pytest.mark.parametrize(
    ("name", "damaged", "part"),
    [
        ("scores", lambda a: a[::-1].copy(), "falls"),
        ("probabilities", lambda a: a + 1, "must stay below"),
        ("probabilities", lambda a: a[::-1].copy(), "falls"),
        ("starts", lambda a: np.zeros_like(a), "every band needs a knot"),
        ("starts", lambda a: a + 1, "every band needs a knot"),
        ("thresholds", lambda a: a[:2], "thresholds"),
        ("thresholds", lambda a: a * np.nan, "thresholds"),
        ("labels", lambda a: a + 1, "must stay below"),
        ("labels", lambda a: a[::-1].copy(), "do not ascend"),
        ("cuts", lambda a: a.astype(np.int32), "cuts"),
        ("context_scores", lambda a: a[::-1].copy(), "falls"),
        ("context_scores", lambda a: a[:0], "context"),
        ("context_chances", lambda a: a[:-1], "context"),
        ("context_weights", lambda a: a * np.nan, "context_weights"),
    ],
)
def test_damaged_arrays_are_refused(name, damaged, part):
    held, counts = answers(n_rows=1500)
    calibration = learnt(held, counts, Assignment("f1-macro"))
    arrays = calibration.arrays()
    arrays[name] = damaged(arrays[name])
    with pytest.raises(ModelFileError, match=part):
        FittedCalibration.restore(arrays, calibration.facts(), counts)


@pytest.mark.parametrize(
    "change",
    [
        {"assign": "best"},
        {"assign": 1},
        {"width": 0},
        {"held_out": []},
        {"held_out": {"f1": "x"}},
        {"note": 1},
        {"more": 1},
    ],
)
def test_damaged_facts_are_refused(change):
    held, counts = answers(n_rows=500)
    calibration = learnt(held, counts, Assignment("f1"))
    with pytest.raises(ModelFileError, match="calibration"):
        FittedCalibration.restore(calibration.arrays(), {**calibration.facts(), **change}, counts)
    with pytest.raises(ModelFileError, match="its facts must be"):
        FittedCalibration.restore(calibration.arrays(), None, counts)


@pytest.mark.parametrize("rule", ["f1", "f1-macro", "f1-sample", "precision=0.9", "recall=0.8", "count=2"])
def test_where_nothing_is_answered_nothing_is_assigned(rule):
    """Rows with nothing in common, which a model of neighbours has no answer for."""
    x, y = sparse.identity(60, np.float32, "csr"), sparse.csr_matrix(np.ones((60, 1), np.float32))
    calibration = calibrated(model_class("knn")(n_threads=1), x, y, rule)
    assert calibration.held_out["labels_a_row"] == 0
    assert (calibration.assigned(lw.TopK([[0]], [[1.0]])).labels == -1).all()
