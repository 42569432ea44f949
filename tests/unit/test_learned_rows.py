"""The learned space of the ensemble: where it is used, what it finds, the same bytes for any number of threads."""

import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood.errors import ModelFileError
from labelwood.models.ensemble import learned_rows, network
from labelwood.models.ensemble.learned_rows import Inputs, LearnedRows, main_directions, orthonormal, regression
from labelwood.models.ensemble.network import Network


@pytest.fixture(autouse=True)
def small_networks(monkeypatch):
    """Networks that are trained in no time: what they add is tested elsewhere."""
    monkeypatch.setattr(network, "N_HIDDEN", 16)


def grouped(seed=0, n_rows=600, n_groups=12, n_words=60):
    """Rows of groups that share labels, but each row says its group with two of ten words; labels (n, 2 n_groups)."""
    random = np.random.default_rng(seed)
    group = random.integers(0, n_groups, n_rows)
    x = np.zeros((n_rows, n_words), np.float32)
    for row, g in enumerate(group):
        x[row, random.choice(np.arange(5 * g, 5 * g + 10) % n_words, 3, replace=False)] = 1
    y = np.zeros((n_rows, 2 * n_groups), np.float32)
    y[np.arange(n_rows), group] = 1
    y[np.arange(n_rows), n_groups + group] = random.random(n_rows) < 0.5
    return sparse.csr_matrix(x), sparse.csr_matrix(y), group


def test_rows_with_the_same_labels_lie_together():
    x, y, group = grouped()
    space = LearnedRows.of(x, y, 0)
    assert space.rows.shape == (600, min(learned_rows.N_DIMS, 24))
    placed = space.rows * space.row_scale[:, None]
    np.testing.assert_allclose(np.linalg.norm(placed, axis=1), 1, atol=1e-6)
    unit = x.toarray() / np.linalg.norm(x.toarray(), axis=1, keepdims=True)

    def same_group(vectors):
        similar = vectors @ vectors.T
        np.fill_diagonal(similar, -1)
        return np.mean(group[np.argsort(-similar, axis=1)[:, :20]] == group[:, None])

    assert same_group(placed) > same_group(unit) + 0.05


def test_directions_are_the_main_ones():
    _, y, _ = grouped()
    directions = main_directions(y, 5, 0)
    np.testing.assert_allclose(directions.T @ directions, np.eye(5), atol=1e-5)
    spread = np.linalg.svd(y.toarray(), compute_uv=False)
    assert np.linalg.norm(y @ directions) ** 2 >= 0.97 * np.sum(spread[:5] ** 2)
    np.testing.assert_allclose(orthonormal(np.zeros((4, 2), np.float32)), 0)


def test_regression_is_ridge():
    x, y, _ = grouped(n_rows=200)
    dense = x.toarray().astype(np.float64)
    wanted = np.linalg.solve(dense.T @ dense + learned_rows._RIDGE * np.eye(60), dense.T @ y.toarray())
    np.testing.assert_allclose(regression(Inputs(x, np.zeros((200, 0), np.float32)), y.toarray()), wanted, atol=0.01)
    apart = Inputs(x[:, :40], np.ascontiguousarray(dense[:, 40:], np.float32), 2)
    np.testing.assert_allclose(regression(apart, y.toarray()), wanted, atol=0.01)


def test_hidden_units_place_rows_that_words_cannot(monkeypatch):
    monkeypatch.setattr(network, "N_HIDDEN", 64)
    random = np.random.default_rng(0)
    first, second = random.integers(0, 2, 600), random.integers(0, 2, 600)
    x = np.zeros((600, 4), np.float32)  # one word of two, twice; the label is whether both are the same ones
    x[np.arange(600), first] = x[np.arange(600), 2 + second] = 1 + random.random(600)
    same = first == second
    y = sparse.csr_matrix(np.stack([same, ~same], axis=1).astype(np.float32))
    x = sparse.csr_matrix(x)

    def agreed(space):
        placed = space.rows * space.row_scale[:, None]
        similar = placed @ placed.T
        return np.mean(same[np.argsort(-similar, axis=1)[:, :280]] == same[:, None])

    networks = Network.of(x, y, 0, 1)
    by_words, by_units = LearnedRows.of(x, y, 0), LearnedRows.of(x, y, 0, networks, 1)
    assert by_units.projection.shape == (4 + network.N_NETWORKS * 64, 2)
    assert agreed(by_units) > 0.95 > agreed(by_words) + 0.1


def test_a_training_row_is_placed_where_it_lies():
    x, y, _ = grouped(n_rows=1200)
    sides = labelwood.Ensemble(seed=3, n_threads=1, ranker_rows=400).fit(x, y).fitted_.ranked.sides
    keys, table = sides.table(x[:50], 1)
    closest = table[:, sides.columns.index("learned: closest")]
    best = np.zeros(50)
    np.maximum.at(best, keys // y.shape[1], closest)
    assert best.min() > 0.9  # the rows are rounded


def test_too_many_rows_or_features_have_no_space(monkeypatch):
    x, y, _ = grouped(n_rows=100)
    assert LearnedRows.of(x, y, 0) is not None
    monkeypatch.setattr(learned_rows, "MOST_ROWS", 99)
    assert LearnedRows.of(x, y, 0) is None
    monkeypatch.setattr(learned_rows, "MOST_ROWS", 100)
    monkeypatch.setattr(learned_rows, "MOST_FEATURES", 59)
    assert LearnedRows.of(x, y, 0) is None


def test_ensemble_uses_saves_and_explains_it(tmp_path):
    x, y, _ = grouped(n_rows=1200)
    models = [labelwood.Ensemble(seed=3, n_threads=n, ranker_rows=400).fit(x, y) for n in (1, 2)]
    for name, array in models[0].fitted_.arrays().items():
        np.testing.assert_array_equal(array, models[1].fitted_.arrays()[name], err_msg=name)
    model = models[0]
    sides = model.fitted_.ranked.sides
    assert sides.learned is not None
    assert sides.by_label == ("words",)
    assert [member.name for member in model.fitted_.members] == ["linear-tree", "one-vs-all"]
    assert len(model.fitted_.members[0].trees) == 1
    assert "scale" in model.fitted_.members[1].blocks.arrays  # a weight is a byte
    model.save(tmp_path / "m")
    kept = labelwood.load(tmp_path / "m")
    top, again = model.predict(x[:20], 3), kept.predict(x[:20], 3)
    np.testing.assert_array_equal(top.labels, again.labels)
    np.testing.assert_array_equal(top.scores, again.scores)
    why = kept.explain(x[0], int(top.labels[0, 0]))
    said = {c.side for c in why.contributions}
    assert any("rows have it whose labels should be most alike" in side for side in said)
    margin = sum(c.contribution for c in why.contributions)
    assert 1 / (1 + np.exp(-margin)) == pytest.approx(why.score, rel=1e-4)
    assert why.score == pytest.approx(top.scores[0, 0], rel=1e-5)
    arrays = {name: array[:-1] for name, array in sides.learned.arrays().items()}
    with pytest.raises(ModelFileError, match="other rows or features"):
        LearnedRows.restore(arrays, kept.fitted_.trained_on)


def test_without_networks_three_trees_see_the_words(monkeypatch):
    x, y, _ = grouped(n_rows=1200)
    monkeypatch.setattr(network, "MOST_FEATURES", 59)
    model = labelwood.Ensemble(seed=3, n_threads=1, ranker_rows=400).fit(x, y)
    assert model.fitted_.ranked.sides.by_label == ("words",)
    assert [member.name for member in model.fitted_.members] == ["linear-tree", "one-vs-all"]
    assert len(model.fitted_.members[0].trees) == 3
    said = {c.side for c in model.explain(x[0], int(model.predict(x[0], 1).labels[0, 0])).contributions}
    assert any(side.startswith("the words say") and side.endswith("label by label") for side in said)


@pytest.mark.parametrize(
    ("where", "bound", "most"), [(network, "MOST_WORK", 28_799), (learned_rows, "MOST_ROWS", 1199)]
)
def test_parts_that_are_held_out_have_what_all_rows_have(monkeypatch, where, bound, most):
    x, y, _ = grouped(n_rows=1200)
    monkeypatch.setattr(where, bound, most)  # two thirds of the rows are fewer
    model = labelwood.Ensemble(seed=3, n_threads=1, ranker_rows=400).fit(x, y)
    sides = model.fitted_.ranked.sides
    assert (sides.network if where is network else sides.learned) is None
    assert model.score(x[:50], y[:50]) > 50
