"""The search for settings within a time: time as people write it, the journal, what is tried, and what is chosen."""

import zlib
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood.errors import DataError, ParamError
from labelwood.progress import SILENT
from labelwood.tuning import space
from labelwood.tuning.duration import duration_text, parse_duration
from labelwood.tuning.journal import Journal, Trial, journal_path
from labelwood.tuning.recipe import Recipe, setting_key, setting_text
from labelwood.tuning.rungs import Rung, SearchRows
from labelwood.tuning.search import Gain, Search, expected_score, margin
from labelwood.tuning.space import Change, changes, combined
from labelwood.tuning.trials import Clock, Trials
from labelwood.tuning.tune import _purpose
from labelwood.vocabulary.read import read_vocabulary


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10m", 600),
        ("90s", 90),
        ("1.5h", 5400),
        ("1h30m", 5400),
        ("45", 45),
        (45, 45),
        ("0.5ms", 0.0005),
        ("2 min", 120),
    ],
)
def test_a_time_is_read_as_people_write_it(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "ten minutes", "0", "-5m", "10 parsecs", "5 5", "1m30", "nan", "inf"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ParamError, match="budget must be a time such as 10m"):
        parse_duration(text)


def test_a_time_is_told_in_the_unit_that_reads_best():
    told = [duration_text(seconds) for seconds in (0.0004, 8.14, 119.6, 725, 5400, 3600)]
    assert told == ["0.4 ms", "8.14 s", "2 min", "12 min 5 s", "1 h 30 min", "1 h"]


# the journal


def trial(setting, score, rows=10, fold=0, seconds=1.0, n=4):
    return Trial(setting, rows, fold, seconds, np.full(n, score, np.float32))


def test_a_journal_is_read_back_without_the_line_that_was_cut_off(tmp_path):
    path = journal_path(tmp_path / "m")
    assert path.name == "m.search.jsonl"
    first = Journal(path, {"data": "a", "params": {"x": (1, 2)}})
    first.add(trial({}, 0.5))
    first.add(Trial({"features.ngram_range": (2, 5)}, 10, 1, 2.0, None))
    with path.open("ab") as stream:
        stream.write(b'{"setting": {}, "ro')
    second = Journal(path, {"data": "a", "params": {"x": (1, 2)}})
    assert (second.resumed, second.spent) == (2, 3.0)
    np.testing.assert_array_equal(second.known({}, 10, 0).scores, np.full(4, 0.5, np.float32))
    assert second.known({"features.ngram_range": (2, 5)}, 10, 1).scores is None
    assert second.known({}, 10, 1) is None
    second.add(trial({"C": 2.0}, 0.6))
    second.finish()
    third = Journal(path, {"data": "a", "params": {"x": (1, 2)}})
    assert (third.resumed, third.spent) == (3, 0.0)  # the time of a search that ended is not counted again


def test_the_journal_of_another_search_is_refused_or_replaced(tmp_path):
    path = tmp_path / "m.search.jsonl"
    Journal(path, {"data": "a"}).add(trial({}, 0.5))
    with pytest.raises(DataError, match="journal of a search with other data"):
        Journal(path, {"data": "b"})
    assert Journal(path, {"data": "b"}, restart=True).trials == []
    assert Journal(path, {"data": "b"}).trials == []


@pytest.mark.parametrize(
    "line", ['{"setting": {}}', "[]", '{"setting": 3, "rows": 1, "fold": 0, "seconds": 1, "scores": "?"}', "{"]
)
def test_a_damaged_journal_says_where(tmp_path, line):
    path = tmp_path / "m.search.jsonl"
    Journal(path, {"data": "a"})
    with path.open("a") as stream:
        stream.write(line + "\n")
    with pytest.raises(DataError, match=r"m\.search\.jsonl, line 2"):
        Journal(path, {"data": "a"})


# what is tried


def rows(n, n_labels=3, texts=True):
    y = sparse.csr_matrix(np.eye(n_labels, dtype=np.float32)[np.arange(n) % n_labels])
    words = [f"word{row % n_labels} other{row % 7}" for row in range(n)]
    if texts:
        return labelwood.Dataset(None, y, words, label_names=[f"label{k}" for k in range(n_labels)])
    return labelwood.Dataset(sparse.csr_matrix(np.eye(n, 4, dtype=np.float32)), y)


def tried(recipe, data):
    return [setting_text(change.setting) for change in changes(recipe, data)]


def test_what_was_set_by_hand_is_not_tried():
    data = rows(600)
    of_tree = tried(Recipe("linear-tree"), data)
    assert {"n_trees=3", "C=2.0", "C=0.5", "lang=auto", "features.min_df=2"} <= set(of_tree)
    fixed = tried(Recipe("linear-tree", {"C": 3.0, "seed": 4}, {"min_df": 3}), data)
    assert {"n_trees=3"} <= set(fixed)
    assert not {"C=2.0", "C=0.5", "lang=auto", "features.min_df=2"} & set(fixed)
    ensemble = tried(Recipe("ensemble", {"settings": "linear-tree.C=2", "views": "none"}), data)
    assert not [name for name in ensemble if "views" in name or name.startswith("linear-tree.C=")]
    assert "linear-tree.rare_power=0.3" in ensemble
    assert not [name for name in tried(Recipe("linear-tree"), rows(600, texts=False)) if "features" in name]


def test_an_ensemble_tries_static_vectors_where_the_default_does_not(monkeypatch):
    monkeypatch.setattr(space, "installed_table", lambda: (Path("vectors"), Path("words")))
    assert "encoder=static" in tried(Recipe("ensemble"), rows(21_000))
    assert "encoder=static" not in tried(Recipe("ensemble"), rows(600))  # the default tries them
    assert "encoder=static" not in tried(Recipe("ensemble", {"encoder": "none"}), rows(21_000))
    monkeypatch.setattr(space, "installed_table", lambda: None)
    assert "encoder=static" not in tried(Recipe("ensemble"), rows(21_000))


def test_other_models_are_tried_for_auto_alone():
    assert "model=linear-tree n_trees=3" in tried(Recipe(), rows(600))
    assert "model=ensemble" in tried(Recipe(), rows(2400))
    assert not [name for name in tried(Recipe("one-vs-all"), rows(2400)) if "model" in name]
    with pytest.raises(ParamError, match="the model is popular"):
        tried(Recipe("popular"), rows(600))


def test_changes_are_combined_unless_they_exclude_each_other():
    assert combined({"C": 2.0}, {"rare_power": 0.3}) == {"C": 2.0, "rare_power": 0.3}
    assert combined({"C": 2.0}, {"C": 0.5}) is None
    assert combined({"model": "linear-tree", "n_trees": 3}, {"C": 2.0}) is None  # that C is another model's
    assert combined({"model": "ensemble"}, {"features.min_df": 2}) == {"model": "ensemble", "features.min_df": 2}
    assert combined({"C": 2.0}, {"model": "ensemble"}) is None
    assert combined({"lang": "auto"}, {"features.analyzer": "char_wb"}) is None


def test_a_setting_changes_a_recipe():
    recipe = Recipe("ensemble", {"seed": 3, "settings": "linear-tree.eps=0.5"}, {"min_df": 2})
    changed = recipe.changed({"linear-tree.C": 2.0, "views": "none", "features.max_df": 0.5, "lang": "de"})
    assert changed.params == {"seed": 3, "settings": "linear-tree.eps=0.5 linear-tree.C=2.0", "views": "none"}
    assert (changed.features, changed.lang) == ({"min_df": 2, "max_df": 0.5}, "de")
    other = recipe.changed({"model": "linear-tree", "n_trees": 3})
    assert (other.model, other.params) == ("linear-tree", {"seed": 3, "n_trees": 3})


def test_trials_with_another_vocabulary_or_names_as_rows_are_not_taken_up_again(tmp_path):
    (tmp_path / "one.tsv").write_text("1\tlamp\n2\tbook\n")
    (tmp_path / "other.tsv").write_text("1\tlight\n2\tbook\n")
    one, other = (read_vocabulary(tmp_path / f"{name}.tsv") for name in ("one", "other"))
    recipes = [
        Recipe(),
        Recipe(name_rows=True),
        Recipe(name_rows=False),
        Recipe(vocabulary=one),
        Recipe(vocabulary=other),
    ]
    data = rows(60)
    assert len({str(_purpose(recipe, data)) for recipe in recipes}) == 5
    again = read_vocabulary(tmp_path / "one.tsv")
    assert _purpose(Recipe(vocabulary=one), data) == _purpose(Recipe(vocabulary=again), data)


# rows


def test_validation_rows_are_never_learnt_from_and_parts_are_nested():
    data = rows(12_000)
    data = labelwood.Dataset(None, data.y, [str(row) for row in range(12_000)], label_names=data.label_names)
    search = SearchRows(data, seed=0)
    assert [(rung.rows, rung.folds) for rung in search.rungs()] == [(3200, (0,)), (9600, (0,)), (9600, (0, 1, 2))]
    held = [set(search.validation(fold).texts) for fold in range(3)]
    assert len(set.union(*held)) == 7200
    for fold in range(3):
        small, whole = set(search.part(fold, 3200).texts), set(search.part(fold, 9600).texts)
        assert small < whole
        assert not whole & held[fold]
        assert len(whole | held[fold]) == 12_000
    with pytest.raises(DataError, match="needs 500 rows"):
        SearchRows(rows(499), 0)


# the search, on trials whose scores and times are made up


DATA = rows(12_000, texts=False)


class MadeUp(Trials):
    """Trials that take the time and give the scores that a table says."""

    def __init__(self, effects, budget, noise=0.05, run=0):
        self.now = 0.0
        data = DATA
        super().__init__(
            Recipe("linear-tree"),
            SearchRows(data, 0),
            Journal(None, {}),
            Clock(budget, 0.0, lambda: self.now),
            None,
            None,
        )
        self.effects, self.noise, self.run = effects, noise, run

    def _run(self, setting, rows, fold, until):
        random = np.random.default_rng(zlib.crc32(f"{setting_key(setting)} {rows} {fold} {self.run}".encode()))
        usual = np.random.default_rng(fold).random(self.rows.n_validation)  # hard rows are hard for every setting
        effect = sum(self.effects.get(f"{name}={value}", 0.0) for name, value in setting.items())
        scores = (usual + effect + self.noise * random.standard_normal(len(usual))).astype(np.float32)
        cost = rows / self.rows.n_fit
        self.now += cost
        return Trial(setting, rows, fold, cost, scores)


def search(trials, *settings):
    return Search(trials, [Change(setting) for setting in settings], seed=0).run()


def test_what_is_better_is_found_and_combined():
    trials = MadeUp({"a=1": 0.02, "b=1": 0.01, "c=1": -0.05}, budget=200)
    choice = search(trials, {"c": 1}, {"a": 1}, {"b": 1}, {"d": 1})
    assert choice.setting == {"a": 1, "b": 1}
    assert choice.gain.mean == pytest.approx(3.0, abs=0.3)
    assert trials.now + trials.final(choice.setting) <= 200
    full = [t.setting for t in trials.journal.trials if t.rows == trials.rows.n_fit]
    assert {"c": 1} not in full  # stopped early, on a part of the rows


def test_chance_alone_does_not_replace_the_default():
    kept = 0
    for number in range(20):
        settings = [{f"x{number}": value} for value in range(8)]
        kept += search(MadeUp({}, budget=300, noise=0.3, run=number), *settings).setting == {}
    assert kept >= 18


@pytest.mark.parametrize("budget", [1.5, 3, 6, 12, 25, 50])
def test_the_time_is_kept_with_the_last_training_planned_in(budget):
    trials = MadeUp({"a=1": 0.02}, budget=budget)
    choice = search(trials, *({"a": value} for value in range(12)))
    assert trials.now + trials.final(choice.setting) / 1.15 <= budget or choice.rung is None


def test_what_a_trial_was_spared_counts_for_the_last_training_and_not_for_the_next_trial():
    trials = MadeUp({}, budget=100)
    whole = Rung(trials.rows.n_fit, (0,))
    trials.journal.add(Trial({}, whole.rows, 0, 10.0, np.zeros(4, np.float32)))
    trials.guess({"a": 1}, 1.0)
    assert trials.needed({"a": 1}, whole) == pytest.approx(1.15 * 10)  # nothing is known of what is shared
    trials.journal.add(Trial({"b": 1}, whole.rows, 0, 4.0, np.zeros(4, np.float32), spared=8.0))
    assert trials.needed({"a": 1}, whole) == pytest.approx(1.15 * 10 * 4 / 12)
    n_rows = trials.rows.data.n_rows
    assert trials.final({"b": 1}) == pytest.approx(1.15 * 12 * n_rows / whole.rows)


def test_trials_of_other_settings_take_what_the_default_made():
    data = rows(1200)
    recipe = Recipe("ensemble", {"n_threads": 1})
    trials = Trials(recipe, SearchRows(data, 0), Journal(None, {}), Clock(1e6), None, SILENT)
    rung = Rung(trials.rows.n_fit, (0,))
    trials.scores({}, rung, 1e6)
    with_trees_of_its_own = trials.scores({"linear-tree.C": 0.7}, rung, 1e6)
    default, other = trials.journal.trials
    assert default.spared == 0
    assert other.spared > 0
    in_little_memory = Trials(recipe, SearchRows(data, 0), Journal(None, {}), Clock(1e6), 8 << 30, SILENT)
    np.testing.assert_array_equal(with_trees_of_its_own, in_little_memory.scores({"linear-tree.C": 0.7}, rung, 1e6))
    assert in_little_memory.journal.trials[0].spared == 0


def test_too_small_a_budget_tries_nothing_else():
    trials = MadeUp({"a=1": 0.2}, budget=1.0)
    choice = search(trials, {"a": 1})
    assert choice.setting == {}
    assert all(not trial.setting for trial in trials.journal.trials)


def test_the_expected_score_is_not_flattered_by_the_choice():
    random = np.random.default_rng(0)
    flattery, error = [], []
    for number in range(30):
        table = (0.5 + 0.2 * random.standard_normal((20, 400))).astype(np.float32)  # all settings are equally good
        flattery.append(table.mean(axis=1).max() - 0.5)
        error.append(expected_score(table, 19, number) - 0.5)
    assert np.mean(flattery) > 0.015
    assert abs(np.mean(error)) < 0.004


def test_the_margin_grows_with_what_was_tried():
    assert [round(margin(n), 2) for n in (0, 1, 10, 100)] == [1.28, 1.28, 2.33, 3.09]


def test_a_gain_is_more_than_chance_at_so_many_errors():
    one = Gain.of(np.array([0.6, 0.7, 0.8], np.float32), np.array([0.5, 0.5, 0.5], np.float32))
    assert one.mean == pytest.approx(20)
    assert one.error == pytest.approx(10 / np.sqrt(3), rel=1e-4)
    assert one.exceeds(2)
    assert not one.exceeds(4)
    assert not Gain(0.0, 0.0).exceeds(2)


def test_a_gain_of_rows_in_groups_is_as_sure_as_its_groups():
    random = np.random.default_rng(0)
    ours, theirs = random.random((2, 50)).astype(np.float32)
    by_row = Gain.of(ours, theirs)
    assert Gain.of(ours, theirs, random.permutation(50)).error == pytest.approx(by_row.error)
    twice = np.repeat(np.arange(50), 2)
    of_twins = Gain.of(ours[twice], theirs[twice], twice)
    assert (of_twins.mean, of_twins.error) == (pytest.approx(by_row.mean), pytest.approx(by_row.error))
    assert Gain.of(ours[twice], theirs[twice]).error < 0.75 * by_row.error  # as if the twins said something new
    assert Gain.of(ours, theirs, np.zeros(50, np.int64)).error == pytest.approx(by_row.error)


def test_the_expected_score_keeps_groups_in_one_half():
    random = np.random.default_rng(0)
    flattery, error = [], []
    for number in range(60):
        groups = np.arange(400) // 20
        means = 0.5 + 0.1 * random.standard_normal((20, 20))  # of each setting on each group
        table = (means[:, groups] + 0.02 * random.standard_normal((20, 400))).astype(np.float32)
        error.append(expected_score(table, 0, number, groups) - 0.5)
        flattery.append(expected_score(table, 0, number) - 0.5)
    assert np.mean(flattery) > 0.02
    assert abs(np.mean(error)) < 0.008
