"""Ensembles that have not learnt from some rows: what answers rows that are held out for probabilities."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood.calibration.fit import calibrated
from labelwood.calibration.held_out import parts_of
from labelwood.errors import DataError
from labelwood.models.ensemble import cross_fitting, left_out, network
from labelwood.models.ensemble.cross_fitting import Lessons, held_parts, trained_sides
from labelwood.models.ensemble.left_out import lesson_rows
from labelwood.models.ensemble.model import Ensemble, members_inside
from labelwood.models.ensemble.ranked import Ranked
from labelwood.models.fit_input import checked_input
from labelwood.models.linear import cost_choice, state_training

N_ROWS, N_LABELS = 600, 12
SETTINGS = {"models": "ranked", "ranker_rows": 200, "n_threads": 1}


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Networks that are trained in no time, and few parts: what they add is tested elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network, "N_HIDDEN", 16)
        patch.setattr("labelwood.calibration.held_out.ENOUGH_OF_SLOW", 180)
        patch.setattr("labelwood.calibration.held_out.PLENTY", 0)
        yield


def made_rows(n_rows=N_ROWS, seed=0):
    """Rows of words, two of which tell each of their two labels, with texts, names of labels and names of words."""
    random = np.random.default_rng(seed)
    y, x = np.zeros((n_rows, N_LABELS), np.float32), np.zeros((n_rows, 80), np.float32)
    for row in range(n_rows):
        labels = random.choice(N_LABELS, 2, replace=False)
        y[row, labels] = 1
        x[row, [2 * label + n for label in labels for n in range(2) if random.random() < 0.8]] = 1
        x[row, random.integers(2 * N_LABELS, 80, 5)] = 0.4
    words = [f"word{n}" for n in range(80)]
    names = [f"Word{2 * n}s word{2 * n + 1}" for n in range(N_LABELS)]
    texts = [" ".join(words[n] for n in np.flatnonzero(row)) for row in x]
    return labelwood.Dataset(
        sparse.csr_matrix(x), sparse.csr_matrix(y), texts=texts, label_names=names, feature_names=words
    )


@pytest.fixture(scope="module")
def data():
    """Rows without texts."""
    return replace(made_rows(), texts=None)


@pytest.fixture(scope="module")
def trained(data):
    return Ensemble(**SETTINGS).fit(data)


def without(model, data, parts, like=None):
    """The states that have not learnt from the parts."""
    settings = replace(model.fitted_.repeated_settings(), n_threads=1)
    return list(Ensemble._train_without(settings, checked_input(data), parts, like))


def assert_same_state(one, other):
    ours, theirs = one.arrays(), other.arrays()
    assert set(ours) == set(theirs)
    for name in ours:
        assert ours[name].tobytes() == theirs[name].tobytes(), name


def lessons_of_rankers(monkeypatch):
    """The labels of the lessons of every ranker that is trained from now on."""
    seen, plain = [], Lessons.rankers

    def rankers(self, settings):
        seen.append(self.y)
        return plain(self, settings)

    monkeypatch.setattr(Lessons, "rankers", rankers)
    return seen


def test_lessons_are_taken_by_row():
    keys = np.array([0, 2, 3, 7, 9, 11, 13])  # of rows 0, 0, 1, 2, 3, 3, 4 with 3 labels
    y = sparse.csr_matrix(np.eye(5, 3, dtype=np.float32))
    lessons = Lessons(keys, np.arange(7, dtype=np.float32)[:, None], y, (("a", 2), ("b", 1), ("c", 2)), np.arange(5))
    taken = lessons.take(np.array([False, True, False, True, True]))
    assert taken.keys.tolist() == [0, 3, 5, 7]
    assert taken.table[:, 0].tolist() == [2, 4, 5, 6]
    assert (taken.y != y[[1, 3, 4]]).nnz == 0
    assert taken.asked == (("a", 1), ("b", 0), ("c", 2))
    assert taken.groups.tolist() == [1, 3, 4]


@pytest.mark.parametrize(("most", "n_rankers"), [(1.0, 1), (0.5, 1), (0.2, 3)])
def test_no_ranker_learns_from_the_rows_of_its_parts(trained, data, monkeypatch, most, n_rankers):
    monkeypatch.setattr(left_out, "MOST_LEFT_OUT", most)
    rows = lesson_rows(trained.fitted_.settings, N_ROWS)
    assert len(np.unique(rows)) == 201  # three parts of 67
    parts = [rows[:30], rows[30:60], rows[60:90]]
    seen = lessons_of_rankers(monkeypatch)
    states = without(trained, data, parts, trained.fitted_)
    assert len(states) == 3
    left = [np.concatenate(parts)] if n_rankers == 1 else parts  # 90 of 201 lessons are left out
    assert len(seen) == n_rankers
    for held, y in zip(left, seen, strict=True):
        assert (y != data.y[rows[~np.isin(rows, held)]]).nnz == 0
    for held, state in zip(parts, states, strict=True):
        assert state.trained_on.n_rows == N_ROWS - 30
        assert (state.ranked.sides.near.y != data.y[np.setdiff1d(np.arange(N_ROWS), held)]).nnz == 0


@pytest.mark.parametrize("ranker_rows", [100, 300])  # one part of lessons, and three
def test_answers_are_those_of_the_plain_way(data, ranker_rows):
    """One part is held out: an ensemble of the other rows, whose lessons are about the same rows by the same sides."""
    given, settings = checked_input(data), Ensemble(**{**SETTINGS, "ranker_rows": ranker_rows})._settings()
    held = np.sort(np.random.default_rng(5).permutation(N_ROWS)[:60])
    [state] = Ensemble._train_without(settings, given, [held])
    kept = np.setdiff1d(np.arange(N_ROWS), held)
    inside, taught = members_inside(settings, given), given.take(kept)
    texts = cross_fitting.TextRows.of(settings, taught)
    answered = []
    for asked, others in held_parts(N_ROWS, ranker_rows, 0):
        asked, others = np.setdiff1d(asked, held), np.setdiff1d(others, held)
        part = texts.take(np.searchsorted(kept, others))
        sides = trained_sides(settings, inside, given.take(others), part, ("words",), "", N_ROWS)
        answered.append((sides, given.x[asked], given.y[asked]))
    first, ranker = Lessons.of(answered, 1).rankers(settings)
    slow = Ranked(trained_sides(settings, inside, taught, texts, ("words",), "", N_ROWS), ranker, first)
    plain, quick = slow.predict(data.x[held], 5, 1), state.predict(data.x[held], 5, 1)
    assert quick.labels.tolist() == plain.labels.tolist()
    assert quick.scores.tobytes() == plain.scores.tobytes()


def test_sides_of_lessons_do_without_one_part_each(data, monkeypatch):
    seen = []
    plain = cross_fitting.trained_sides
    monkeypatch.setattr(cross_fitting, "trained_sides", lambda *given: seen.append(given[2].y) or plain(*given))
    settings = Ensemble(**SETTINGS)._settings()
    parts = [np.arange(60), np.arange(60, 120)]
    list(Ensemble._train_without(settings, checked_input(data), parts))
    for number, ((_, kept), y) in enumerate(zip(held_parts(N_ROWS, 200, 0), seen, strict=True)):
        assert (y != data.y[np.setdiff1d(kept, parts[number % 2])]).nnz == 0


@pytest.mark.parametrize("n_parts", [1, 2, 5, 10])
def test_rows_without_a_lesson_are_held_out_first_and_in_even_shares(data, monkeypatch, n_parts):
    monkeypatch.setattr("labelwood.calibration.held_out.ENOUGH_OF_SLOW", 60 * n_parts)
    settings = Ensemble(**SETTINGS)._settings()
    is_lesson = np.isin(np.arange(N_ROWS), lesson_rows(settings, N_ROWS))
    parts = parts_of(Ensemble, settings, checked_input(data))
    assert [len(part) for part in parts] == [60] * n_parts
    assert len(np.unique(np.concatenate(parts))) == 60 * n_parts
    lessons = [int(is_lesson[part].sum()) for part in parts]
    assert sum(lessons) == max(0, 60 * n_parts - int((~is_lesson).sum()))
    if n_parts == 10:
        assert min(lessons) > 5  # of 20 on average


def test_averaged_members_leave_out_all_rows_alike(data):
    averaged = Ensemble(models="linear-tree,popular", n_threads=1)
    assert Ensemble._cheap_to_leave_out(averaged._settings(), checked_input(data)) is None


def test_answers_of_averaged_members_are_those_of_members_without_the_part(data):
    averaged = Ensemble(models="linear-tree,popular", weights="2,1", n_threads=1).fit(data)
    held = np.arange(100)
    [state] = without(averaged, data, [held], averaged.fitted_)
    assert_same_state(state, Ensemble(**averaged.get_params()).fit(data.take(np.arange(100, N_ROWS))).fitted_)


def test_the_choice_of_views_is_taken_over(monkeypatch):
    said = made_rows()
    asked = []
    monkeypatch.setattr(cross_fitting, "losing_parts", lambda doubted, *rest: asked.append(tuple(doubted)) or ["pairs"])
    model = Ensemble(**SETTINGS, encoder="none").fit(said)
    assert asked == [("pairs", "characters")]
    rows = lesson_rows(model.fitted_.settings, N_ROWS)
    spare = np.setdiff1d(np.arange(N_ROWS), rows)
    for held in (rows[:30], spare[:30]):
        [state] = without(model, said, [held], model.fitted_)
        assert state.ranked.sides.kinds == ("characters",)
    assert len(asked) == 1
    [state] = without(model, said, [rows[:30]])  # nobody has chosen yet
    assert len(asked) == 2
    assert state.ranked.sides.kinds == ("characters",)


def test_groups_are_not_split_between_lessons_and_held_out_rows(data, monkeypatch):
    groups = np.random.default_rng(0).integers(0, 150, N_ROWS)
    given = checked_input(replace(data, groups=None), groups=groups)
    settings = Ensemble(**SETTINGS)._settings()
    parts = parts_of(Ensemble, settings, given)[-2:]
    rows, seen = lesson_rows(settings, N_ROWS, given.groups), []
    plain = Lessons.take
    monkeypatch.setattr(Lessons, "take", lambda self, kept: seen.append(rows[kept]) or plain(self, kept))
    list(Ensemble._train_without(settings, given, parts, None))
    assert seen
    for kept, held in zip(seen, np.array_split(np.arange(2), len(seen)), strict=True):
        assert len(kept)
        for number in held:
            assert not set(given.groups[kept]) & set(given.groups[parts[number]])


def test_few_large_groups_can_be_held_out(data, monkeypatch):
    monkeypatch.setattr("labelwood.calibration.held_out.ENOUGH_OF_SLOW", N_ROWS)
    groups = np.arange(N_ROWS) % 3  # a part and a third are a group each: sides of lessons would have one group left
    given = checked_input(data, groups=groups)
    settings = Ensemble(**SETTINGS)._settings()
    parts = parts_of(Ensemble, settings, given)
    states = list(Ensemble._train_without(settings, given, parts))
    assert len(states) == 3
    for held, state in zip(parts, states, strict=True):
        assert len(held) == N_ROWS // 3
        assert state.trained_on.n_rows == 2 * N_ROWS // 3
        kept = groups != groups[held[0]]
        assert state.trained_on.label_counts.tolist() == np.bincount(data.y[kept].indices, minlength=N_LABELS).tolist()
        assert (state.predict(data.x[held], 2).labels >= 0).any()


@pytest.mark.parametrize("ranker_rows", [100, 200])  # one part of lessons, and three
@pytest.mark.parametrize("n_groups", [2, 4, 10])
def test_every_ranker_of_large_groups_has_lessons(data, monkeypatch, ranker_rows, n_groups):
    """One part of lessons would be of one group, and the ranker without this group would have learnt from nothing."""
    monkeypatch.setattr("labelwood.calibration.held_out.ENOUGH_OF_SLOW", N_ROWS)
    given = checked_input(data, groups=np.arange(N_ROWS) % n_groups)
    for seed in range(3):
        settings = Ensemble(**{**SETTINGS, "ranker_rows": ranker_rows, "seed": seed})._settings()
        seen = lessons_of_rankers(monkeypatch)
        parts = parts_of(Ensemble, settings, given)
        for held, state in zip(parts, Ensemble._train_without(settings, given, parts), strict=True):
            assert np.isfinite(state.predict(data.x[held], 2).scores).all()
        assert min(y.shape[0] for y in seen) >= 0.2 * ranker_rows


def test_lessons_of_the_rows_that_are_held_out_alone_are_refused():
    with pytest.raises(DataError, match="leave the ranker nothing to learn from"):
        left_out.shares_of_parts(np.arange(50), [np.arange(60), np.arange(60, 90)])


def test_the_same_probabilities_for_any_threads(data):
    made = []
    for n_threads in (1, 2):
        model = Ensemble(**{**SETTINGS, "n_threads": n_threads}).fit(data)
        made.append(calibrated(model, data).arrays())
    assert set(made[0]) == set(made[1])
    for name in made[0]:
        assert made[0][name].tobytes() == made[1][name].tobytes(), name


def test_the_cost_is_chosen_once_by_all_rows_and_taken_over(data, monkeypatch):
    asked, costs = [], []

    def chosen(y, *given, **named):
        asked.append(y.shape[0])
        return 0.7

    plain = cross_fitting.trained_sides

    def trained(*given):
        sides = plain(*given)
        costs.append(sides.models[0].C)
        return sides

    monkeypatch.setattr(cost_choice, "SMALLEST_ROWS", 100)
    monkeypatch.setattr(state_training, "chosen_cost", chosen)
    monkeypatch.setattr(cross_fitting, "trained_sides", trained)
    monkeypatch.setattr(left_out, "trained_sides", trained)
    model = Ensemble(**SETTINGS).fit(data)
    assert asked == [N_ROWS]
    without(model, data, [np.arange(60), np.arange(60, 120)], model.fitted_)
    assert asked == [N_ROWS]
    assert costs == [0.7] * 9  # three parts and all rows; three parts and two that are held out
    given = Ensemble(**SETTINGS, settings="linear-tree.C=2").fit(data)
    assert asked == [N_ROWS]
    assert given.fitted_.members[0].C == 2
