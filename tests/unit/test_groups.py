"""Groups: rows that belong together are on one side of everything that holds rows out, and nothing is ignored."""

from collections import Counter

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.calibration.fit import calibrated, learnt
from labelwood.calibration.held_out import HeldOut, held_out, parts_of
from labelwood.calibration.rule import Assignment
from labelwood.data.copies import copies_of, copies_together
from labelwood.data.dataset import Dataset
from labelwood.data.groups import group_numbers, mean_error, stretches, summed, together, turns
from labelwood.data.madeup.shop_texts import make_texts
from labelwood.data.split import split
from labelwood.errors import DataError, ParamError
from labelwood.models.baselines import knn
from labelwood.models.ensemble.cross_fitting import held_parts
from labelwood.models.fit_input import checked_input
from labelwood.models.linear.cost_choice import chosen_cost
from labelwood.progress import SILENT
from labelwood.tagger.trial_rows import trial_rows
from labelwood.topk import TopK
from labelwood.tuning.recipe import Recipe
from labelwood.tuning.rungs import SearchRows
from labelwood.tuning.tune import _purpose


def drawn_groups(n_rows, seed=0):
    """Groups of 1 to 40 rows, which lie anywhere."""
    random = np.random.default_rng(seed)
    sizes = random.choice([1, 1, 1, 2, 3, 8, 40], n_rows)
    return random.permutation(np.repeat(np.arange(n_rows), sizes)[:n_rows])


def share_no_group(groups, *sides):
    """Whether no group has rows on two of the sides."""
    seen = [set(groups[side].tolist()) for side in sides]
    return sum(map(len, seen)) == len(set().union(*seen))


# numbers


def test_groups_are_numbered_as_they_come_and_rows_without_one_are_alone():
    values = ["b", "a", None, "b ", "", 7, float("nan"), 7, "a"]
    assert group_numbers(values, 9).tolist() == [0, 1, 2, 0, 3, 4, 5, 4, 1]
    assert group_numbers(np.array([5, 3, 5, 9]), 4).tolist() == [0, 1, 0, 2]


def test_cells_that_are_empty_in_a_data_frame_are_in_no_group():
    pandas = pytest.importorskip("pandas")
    numbers = [1, None, 1, None]
    for values, dtype in ((["a", None, "a", None], "string"), (numbers, "Int64"), (numbers, "float")):
        assert group_numbers(pandas.Series(values, dtype=dtype), 4).tolist() == [0, 1, 0, 2]
    days = pandas.to_datetime(pandas.Series(["2020-01-01", None, "2020-01-01", None]))
    assert group_numbers(days, 4).tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a"] * 3, "3 groups for 4 rows"),
        ("abcd", "must be a list"),
        (5, "must be a list"),
        (np.int64(5), "must be a list"),
        ([[1], [2], [1], [3]], "row 0: must be a text or a number"),
        ([7, (1, [2]), 7, 8], "row 1: must be a text or a number"),
        ([7, 8, 7, np.arange(2)], "row 3: must be a text or a number"),
        (["a", "a", "a", "b"], "'a' has 3 of 4 rows.*at most 50%"),
    ],
)
def test_what_cannot_be_groups_is_refused(groups, message):
    with pytest.raises(DataError, match=message):
        group_numbers(groups, 4)


# cutting an order


def test_without_groups_stretches_are_slices_and_turns_are_places():
    order = np.random.default_rng(0).permutation(103)
    parts = stretches(order, 10, 10, None)
    assert [part.tolist() for part in parts] == [order[at : at + 10].tolist() for at in range(0, 100, 10)]
    assert together(order, None) is order
    assert turns(4, None).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("seed", range(5))
def test_stretches_keep_groups_whole_and_are_about_as_long_as_asked(seed):
    groups = drawn_groups(1003, seed)
    order = np.random.default_rng(seed).permutation(1003)
    parts = stretches(order, 100, 10, groups)
    assert share_no_group(groups, *parts)
    asked = np.concatenate(parts)
    assert len(set(asked.tolist())) == len(asked)
    ends = np.cumsum([len(part) for part in parts])
    assert np.all(np.abs(ends - 100 * np.arange(1, len(parts) + 1)) <= 20)  # half of the largest group


def test_a_part_of_the_rows_may_be_cut_too():
    groups = drawn_groups(500)
    some = np.random.default_rng(1).permutation(500)[:200]
    (part,) = stretches(some, 50, 1, groups)
    assert set(part.tolist()) <= set(some.tolist())
    assert share_no_group(groups, part, np.setdiff1d(some, part))


def test_large_groups_are_held_out_no_more_often_than_small_ones():
    groups = np.repeat(np.arange(220), np.where(np.arange(220) < 20, 50, 5))  # half of the rows in 20 large groups
    shares = []
    for seed in range(200):
        (part,) = stretches(np.random.default_rng(seed).permutation(len(groups)), 400, 1, groups)
        shares.append(np.mean(groups[part] < 20))
    assert np.mean(shares) == pytest.approx(0.5, abs=0.06)


def test_a_group_larger_than_a_stretch_is_one_and_nothing_is_empty():
    groups = np.array([0] * 40 + [1] * 30 + list(range(2, 32)))
    for seed in range(10):
        parts = stretches(np.random.default_rng(seed).permutation(100), 10, 10, groups)
        assert all(len(part) for part in parts)
        assert share_no_group(groups, *parts)


def test_rows_of_a_group_take_the_same_turn():
    assert turns(6, np.array([9, 4, 9, 4, 2, 9])).tolist() == [0, 1, 0, 1, 2, 0]


def test_rows_of_one_group_alone_are_held_out_row_by_row():
    # A part of the rows may be of one group, though all of them are of several: nothing else could be held out.
    order, groups = np.random.default_rng(0).permutation(50), np.zeros(50, np.int64)
    assert [part.tolist() for part in stretches(order, 10, 2, groups)] == [order[:10].tolist(), order[10:20].tolist()]
    assert turns(4, groups[:4]).tolist() == [0, 1, 2, 3]
    assert [len(part) for part in stretches(order[:0], 3, 1, groups)] == [0]


def test_the_error_of_a_mean_counts_groups_as_one():
    values = np.random.default_rng(0).random((60, 2))
    by_row = values.std(axis=0, ddof=1) / np.sqrt(60)
    for groups in (None, np.arange(60)[::-1].copy(), np.zeros(60, np.int64)):
        np.testing.assert_allclose(mean_error(values, groups), by_row)
    twice = np.repeat(np.arange(60), 2)
    np.testing.assert_allclose(mean_error(values[twice], twice), by_row)
    assert mean_error(values[:1, 0], None) == 0


# everything that holds rows out


def made_rows(n_rows=1200, n_labels=6, seed=0):
    """(x, y) of rows whose features say little about their one label."""
    random = np.random.default_rng(seed)
    x = sparse.random(n_rows, 600, 0.03, "csr", np.float32, random_state=seed)
    y = sparse.csr_matrix(np.eye(n_labels, dtype=np.float32)[random.integers(0, n_labels, n_rows)])
    return x, y


@pytest.mark.parametrize("name", ["linear-tree", "ensemble"])
def test_calibration_holds_groups_out_whole(name):
    x, y = made_rows()
    groups = drawn_groups(1200)
    model = lw.LinearTree if name == "linear-tree" else lw.Ensemble
    parts = parts_of(model, model(n_threads=1)._settings(), checked_input(x, y, groups=groups))
    assert len(parts) > 1
    assert share_no_group(groups, *parts)


@pytest.mark.parametrize(("n_rows", "n_parts"), [(1000, 3), (4000, 1)])
def test_the_ranker_of_an_ensemble_learns_from_groups_that_its_sides_have_not_seen(n_rows, n_parts):
    groups = drawn_groups(n_rows)
    parts = held_parts(n_rows, 1000, 0, groups)
    assert len(parts) == n_parts
    for held, kept in parts:
        assert len(held)
        assert share_no_group(groups, held, kept)


def neural_split(n_rows, groups):
    sampling = pytest.importorskip("labelwood.models.neural.sampling", reason="needs torch", exc_type=ImportError)
    return sampling.validation_split(n_rows, 0.1, 0, 500, groups=groups)[::-1]


@pytest.mark.parametrize(
    ("most", "split_rows"),
    [
        (500, neural_split),
        (167, lambda n_rows, groups: held_parts(n_rows, 500, 0, groups)[0]),  # a third of 500: not all of one group
        (5000, lambda n_rows, groups: trial_rows(n_rows, 0, groups=groups)[::-1]),
        (1000, lambda n_rows, groups: knn._split(np.random.default_rng(0).permutation(n_rows), groups)),
    ],
)
def test_of_a_large_group_no_more_rows_are_asked_than_without_groups(most, split_rows):
    n_rows = 24_000
    groups = np.arange(n_rows) // (n_rows // 2)
    asked, taught = split_rows(n_rows, groups)
    assert len(asked) == most
    assert share_no_group(groups, asked, taught)


def test_the_cost_is_chosen_on_groups_that_were_not_seen():
    groups, seen = drawn_groups(1200), []

    def answers(cost, kept, held):
        seen.append(share_no_group(groups, kept, held) and len(kept) + len(held) == 1200)
        return TopK.from_lists([[(0, 1.0)]] * len(held), 6)

    chosen_cost(made_rows()[1], answers, 0, SILENT, groups=groups)
    assert seen
    assert all(seen)


def neural_validation(groups):
    """(training rows, validation rows) of a neural model's training."""
    sampling = pytest.importorskip("labelwood.models.neural.sampling", reason="needs torch", exc_type=ImportError)
    return sampling.validation_split(1200, 0.2, 0, groups=groups)


@pytest.mark.parametrize("rows_held_out", [neural_validation, lambda groups: trial_rows(1200, 0, 0.2, groups)])
def test_validation_and_trials_keep_groups_on_one_side(rows_held_out):
    groups = drawn_groups(1200)
    training, judging = rows_held_out(groups)
    assert 180 <= len(judging) <= 300
    assert share_no_group(groups, training, judging)


def test_a_search_judges_by_groups_that_it_has_not_learnt_from():
    x, y = made_rows()
    groups = drawn_groups(1200)
    rows = SearchRows(Dataset(x, y, groups=groups, row_ids=[str(row) for row in range(1200)]), 0)
    for fold in rows.rungs()[-1].folds:
        judging, learning = rows.validation(fold), rows.part(fold, 10_000)
        assert judging.n_rows + learning.n_rows == 1200
        assert not set(judging.groups) & set(learning.groups)
        assert set(rows.part(fold, 300).row_ids) < set(rows.part(fold, 600).row_ids)


def test_a_search_without_groups_takes_the_rows_that_it_always_took():
    x, y = made_rows()
    rows = SearchRows(Dataset(x, y, row_ids=[str(row) for row in range(1200)]), 3)
    order, n = rows._order, rows.n_validation
    for fold in range(3):
        assert rows.validation(fold).row_ids == tuple(map(str, np.sort(order[fold * n : (fold + 1) * n])))
        others = np.concatenate([order[(fold + 1) * n :], order[: fold * n]])
        assert rows.part(fold, 500).row_ids == tuple(map(str, np.sort(others[:500])))


def test_trials_of_other_groups_are_not_taken_up_again():
    x, y = made_rows(60)
    recipe = Recipe("linear-tree", {"seed": 0})
    purposes = [_purpose(recipe, Dataset(x, y, groups=groups)) for groups in (None, np.arange(60), np.arange(60) // 2)]
    assert len({str(purpose) for purpose in purposes}) == 3
    assert "groups" not in purposes[0]


def test_a_split_keeps_groups_on_one_side():
    x, y = made_rows()
    groups = drawn_groups(1200)
    train, test = split(Dataset(x, y, groups=groups), test=0.25, seed=1)
    assert train.n_rows + test.n_rows == 1200
    assert not set(train.groups) & set(test.groups)
    assert abs(test.n_rows - 300) <= 20
    with pytest.raises(ParamError, match="groups are drawn whole"):
        split(Dataset(x, y, groups=groups), stratify=True)
    with pytest.raises(DataError, match="too few, or too large"):
        split(Dataset(x, y, groups=np.arange(1200) // 600), test=0.9)


# what it is for


def twins(n_pairs=600, n_labels=6, seed=0):
    """(x, y, groups): pairs of equal rows with the same label, which nothing but the twin can tell."""
    x, y = made_rows(n_pairs, n_labels, seed)
    twice = np.repeat(np.arange(n_pairs), 2)
    return x[twice], y[twice], twice


def test_probabilities_are_those_of_unseen_groups():
    x, y, groups = twins()
    model = lw.LinearTree(n_threads=1, C=10.0).fit(x, y)
    asked, truth = made_rows(seed=5)
    top = model.predict(asked, 6)
    said = {
        given is not None: calibrated(model, x, y, groups=given).probabilities(top)[:, 0].mean()
        for given in (None, groups)
    }
    right = np.mean(np.asarray(truth[np.arange(1200), top.labels[:, 0]]))
    assert abs(said[True] - right) < 0.05
    assert said[False] > right + 0.2


def test_an_ensemble_that_knows_the_groups_is_less_sure_of_new_ones():
    x, y, groups = twins()
    asked = made_rows(300, seed=5)[0]
    sure = [
        lw.Ensemble(n_threads=1).fit(x, y, groups=given).predict(asked, 1).scores.mean() for given in (None, groups)
    ]
    assert sure[1] < sure[0] - 0.1


@pytest.mark.parametrize("model", [lw.LinearTree(C=None), lw.KNN(), lw.Ensemble()])
def test_two_groups_are_enough(model):
    # What is held out is then one of them, and what is left is the other one.
    x, y = made_rows()
    groups = np.arange(1200) // 600
    model.set_params(n_threads=1).fit(x, y, groups=groups)
    calibration = calibrated(model, x, y, groups=groups)
    assert calibration.held_out["rows"] == 1200
    assert calibration.probabilities(model.predict(x[:9], 3)).max() > 0


def test_held_out_rows_of_one_group_are_no_reason_to_assign_everything():
    random = np.random.default_rng(0)
    scores = -np.sort(-random.random((400, 3)).astype(np.float32), axis=1)
    labels = np.stack([random.permutation(6)[:3] for _ in range(400)]).astype(np.int32)
    rows, places = np.nonzero(random.random((400, 3)) < scores)
    y = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, labels[rows, places])), shape=(400, 6))
    reached = [
        learnt(HeldOut(TopK(labels, scores), y, 1, groups), np.full(6, 100), Assignment("precision", 0.9)).held_out
        for groups in (None, np.zeros(400, np.int64))
    ]
    assert reached[1] == reached[0]


def test_groups_of_no_labelled_row_choose_nothing():
    x, _ = made_rows(4)
    lw.KNN(n_threads=1).fit(x, sparse.csr_matrix((4, 3), dtype=np.float32), groups=[1, 1, 2, 3])


def test_groups_are_given_once():
    x, y = made_rows(60)
    data = Dataset(x, y, groups=np.arange(60) // 2)
    with pytest.raises(DataError, match="groups already"):
        lw.OneVsAll(n_threads=1).fit(data, groups=np.arange(60))
    with pytest.raises(DataError, match="59 groups"):
        Dataset(x, y, groups=np.arange(59))


# taggers


def shop(n_pairs=150):
    """(texts, labels, groups): each text twice, in other words."""
    data = make_texts(n_pairs, seed=0)
    names = data.label_names
    lists = [[names[label] for label in row] for row in np.split(data.y.indices, data.y.indptr[1:-1])]
    texts = [text for text in data.texts for text in (text, f"Again: {text}")]
    return texts, [row for row in lists for row in (row, row)], [f"item {row}" for row in range(n_pairs) for _ in "ab"]


def test_a_tagger_keeps_the_groups_for_a_later_training(tmp_path):
    texts, labels, groups = shop()
    alone = lw.Tagger("linear-tree", assign="f1", n_threads=1).fit(texts, labels)
    tagger = lw.Tagger("linear-tree", assign="f1", n_threads=1).fit(texts, labels, groups=groups)
    assert tagger.calibration_.held_out["f1"] < alone.calibration_.held_out["f1"]
    assert "groups" not in alone.fitted_.rows.arrays
    tagger.save(tmp_path / "model")
    loaded = lw.load(tmp_path / "model")
    loaded.learn(["Something new", texts[0]], [labels[4], labels[6]], refit=True)
    hashes = loaded.fitted_.rows.groups.tolist()
    assert len(hashes) == len(texts) + 1
    assert sorted(Counter(hashes).values()) == [1, *[2] * (len(texts) // 2)]  # the corrected text is in its old group
    assert hashes.count(0) == 1
    assert loaded.calibration_.held_out["f1"] < alone.calibration_.held_out["f1"]


def test_groups_may_come_one_by_one():
    texts, labels, groups = shop(60)
    tagger = lw.Tagger("linear-tree", n_threads=1).fit(texts, labels, groups=iter(groups))
    assert Counter(Counter(tagger.fitted_.rows.groups.tolist()).values()) == {2: 60}


def test_a_known_row_that_comes_with_another_group_is_a_correction():
    texts, labels, groups = shop(60)
    tagger = lw.Tagger("linear-tree", n_threads=1).fit(texts, labels, groups=groups)
    assert tagger.learn(texts[:4], labels[:4], groups=groups[:4]).n_known == 4
    assert tagger.learn(texts[:4], labels[:4]).n_known == 4
    learnt = tagger.learn(texts[:4], labels[:4], groups=[*groups[:3], "other"])
    assert (learnt.n_known, learnt.n_corrected) == (3, 1)


def test_a_group_that_outgrows_half_of_the_rows_is_told_without_its_hash():
    texts, labels, groups = shop(60)
    tagger = lw.Tagger("one-vs-all", n_threads=1).fit(texts, labels, groups=groups)
    before = tagger.fitted_
    more = [f"Something new, number {number}" for number in range(130)]
    with pytest.raises(DataError, match=r"one group would then have 130 of 250 rows.*at most 50%.*without a group"):
        tagger.learn(more, labels[:1] * 130, groups=["large"] * 130)
    assert tagger.fitted_ is before


def test_corrections_may_bring_groups_of_their_own():
    texts, labels, groups = shop(60)
    tagger = lw.Tagger("linear-tree", n_threads=1).fit(texts, labels, groups=groups)
    tagger.learn(["Something new", "And more"], [labels[0], labels[2]], groups=["item 0", None])
    hashes = tagger.fitted_.rows.groups.tolist()
    assert hashes[-2:] == [hashes[0], 0]
    with pytest.raises(DataError, match="1 groups for 2 texts"):
        tagger.learn(["a b", "c d"], [labels[0], labels[2]], groups=["x"])


def test_every_model_takes_groups_that_are_too_large_as_an_error():
    x, y = made_rows(60)
    for model in (lw.OneVsAll(), lw.LinearTree(), lw.HSoftmax(), lw.DXML(), lw.GLaS(), lw.Ensemble()):
        with pytest.raises(DataError, match="at most 50%"):
            model.fit(x, y, groups=["a"] * 60)


def test_bands_are_of_what_the_answering_model_has_seen():
    # Label 0 has 40 rows, of which no model that is asked has seen more than 3: so a label of 3 rows may be right, too.
    counts = np.array([40, 3] + [20] * 6)
    random = np.random.default_rng(0)
    labels = np.stack([random.permutation(8)[:3] for _ in range(600)]).astype(np.int32)
    top = TopK(labels, np.full((600, 3), 0.5, np.float32))
    right = labels == 0
    y = sparse.csr_matrix((np.ones(right.sum(), np.float32), (np.nonzero(right)[0], labels[right])), shape=(600, 8))
    seen = np.where(labels == 0, 3.0, counts[labels])
    rule = Assignment("f1")
    of_all = learnt(HeldOut(top, y, 1), counts, rule)
    of_seen = learnt(HeldOut(top, y, 1, np.arange(600) // 3, seen), counts, rule)
    rare = TopK(np.array([[1]], np.int32), np.array([[0.5]], np.float32))
    assert of_seen.probabilities(rare)[0, 0] > 10 * of_all.probabilities(rare)[0, 0]


def test_held_out_rows_tell_what_their_models_have_seen():
    x, y = made_rows(300)
    groups = np.arange(300) // 30
    model = lw.LinearTree(n_threads=1)
    data = checked_input(x, y, groups=groups)
    told = held_out(lw.LinearTree, model._settings(), data, 6)
    assert held_out(lw.LinearTree, model._settings(), checked_input(x, y), 6).seen is None
    first = parts_of(lw.LinearTree, model._settings(), data)[0]
    others = np.setdiff1d(np.arange(300), first)
    counts = np.asarray(y[others].sum(axis=0)).ravel() * 300 / len(others)
    assert np.allclose(told.seen[: len(first)], counts[told.top.labels[: len(first)]])
    assert told.groups.tolist() == [
        number for part in parts_of(lw.LinearTree, model._settings(), data) for number in groups[part]
    ]


# copies


def alike(n_rows):
    """The same label for every row."""
    return sparse.csr_matrix(np.ones((n_rows, 1), np.float32))


def test_copies_are_groups_where_a_tenth_of_the_texts_have_one():
    numbers, share = copies_of(["a", "b", " a\n", "c", "", " "], alike(6))
    assert numbers.tolist() == [0, 1, 0, 3, 4, 5]  # texts without a word are no copies of each other
    assert share == pytest.approx(2 / 6)
    unlike = [str(row) for row in range(19)]
    assert copies_of([*unlike, "0"], alike(20))[0].tolist() == [*range(19), 0]
    assert copies_of([*unlike, "19", "20", "0"], alike(22)) == (None, pytest.approx(2 / 22))
    assert copies_of([], alike(0)) == (None, 0.0)


def test_a_text_of_most_rows_is_no_group():
    texts = ["n/a"] * 6 + ["a", "a", "b", "c"]
    numbers, share = copies_of(texts, alike(10))
    assert numbers.tolist() == [*range(7), 6, 8, 9]
    assert share == 0.8
    (note,) = copies_together(texts, alike(10))[1]
    assert "held out together (but for one that more than half of the rows are)" in note


def test_copies_are_no_groups_where_most_labels_have_one_text():
    words = [f"word{n}" for n in range(50)]
    texts, labels = words * 4, [[word] for word in words * 4]
    tagger = lw.Tagger("one-vs-all", assign="f1", n_threads=1, name_rows=False).fit(texts, labels)
    assert tagger.calibration_.held_out["f1"] > 0.9  # held out together no label would be known
    (note,) = tagger.notes_
    assert note.endswith("what is measured holds for such copies, and is too good for new texts")


def four_times(n_rows=150):
    """Texts of which each stands four times."""
    return make_texts(n_rows, n_labels=8, seed=3).take(np.tile(np.arange(n_rows), 4))


def test_copies_are_held_out_together_and_a_note_says_so():
    data = four_times()
    labels = [[data.label_names[label] for label in data.y[row].indices] for row in range(data.n_rows)]
    tagger = lw.Tagger("linear-tree", assign="f1", n_threads=1, name_rows=False)
    plain = tagger.fit(data).calibration_
    (note,) = tagger.notes_
    assert note.startswith("100% of the texts have an exact copy among the others; copies are held out together")
    assert "--group" in note
    once = lw.Tagger("linear-tree", assign="f1", n_threads=1, name_rows=False).fit(data.take(slice(150)))
    assert once.notes_ == ()
    assert plain.held_out["f1"] == pytest.approx(once.calibration_.held_out["f1"], abs=0.08)
    same = tagger.fit(data.texts, labels, groups=[number % 150 for number in range(600)])
    assert tagger.notes_ == ()
    assert same.calibration_.held_out == plain.held_out
    alone = tagger.fit(data.texts, labels, groups=list(range(600))).calibration_
    assert alone.held_out["f1"] > plain.held_out["f1"] + 0.05  # as every row has copies among the others


def test_a_tagger_that_is_trained_again_holds_copies_out_together():
    data = four_times()
    tagger = lw.Tagger("linear-tree", assign="f1", n_threads=1, name_rows=False).fit(data)
    before = tagger.calibration_.held_out["f1"]
    tagger.learn(["a new text about a pan"], [[data.label_names[0]]], refit=True)
    assert tagger.calibration_.held_out["f1"] < before + 0.03  # held out row by row they would be easy


def test_a_search_holds_copies_out_together():
    data = make_texts(600, seed=0).take(np.repeat(np.arange(600), 2))
    rows = SearchRows(data, 0)
    for fold in range(rows.n_folds):
        assert not set(rows.validation(fold).texts) & set(rows.part(fold, rows.n_fit).texts)


# resampling


def test_sums_of_groups():
    values = np.arange(8).reshape(4, 2)
    assert summed(values, np.array([5, 3, 5, 9])).tolist() == [[2, 3], [4, 6], [6, 7]]
    assert summed(values, None) is values
    assert summed(values, np.zeros(4, np.int64)) is values  # of one group, nothing is known but its rows
