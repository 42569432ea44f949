"""Linear trees that vote beside the index and ranker of ELIAS."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood.errors import ModelFileError
from labelwood.models.linear.linear_tree_params import LinearTreeParams
from labelwood.models.neural.elias import tree_votes
from labelwood.models.neural.elias.calibration import RegressionTree, Scoring
from labelwood.models.neural.elias.search import UnitRows
from labelwood.models.neural.elias.tree_votes import TreeVotes, chosen_weight, fewest_nodes, trained_forests
from labelwood.models.persistence import restored, state_of
from labelwood.progress import SILENT
from labelwood.report.elias_parts import part_answers

pytestmark = pytest.mark.torch
QUICK = {"dim": 8, "warm_epochs": 0, "stage1_epochs": 1, "stage2_epochs": 1, "n_threads": 1, "candidates": 5}


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(5)
    x = sparse.csr_matrix(
        (random.uniform(size=(1200, 60)) < 0.1) * random.uniform(0.5, 1, size=(1200, 60)), dtype=np.float32
    )
    noisy = (x[:, :40].toarray() > 0.7) ^ (random.uniform(size=(1200, 40)) < 0.01)
    return x, sparse.csr_matrix(noisy, dtype=np.float32)


@pytest.fixture(scope="module")
def trees(rows):
    return trained_forests(*rows, [60], LinearTreeParams(n_trees=2, n_threads=1), SILENT)


@pytest.fixture(scope="module")
def voting(rows):
    """A model whose trees vote: an index and a ranker that know nothing leave it to them."""
    x, y = rows
    return labelwood.ELIAS(n_models=2, C=1e-6, **QUICK).fit(x, y)


def test_scores_are_weighted_sums(rows, trees):
    x = rows[0][:20]
    top = trees[0].predict(x, 40)
    labels = np.tile(np.array([3, 17, -1], np.int32), (20, 1))
    scores = np.tile([0.5, 0.25, 0.0], (20, 1))
    voted, mixed = TreeVotes(trees, 0.3).added(x, labels, scores)
    for row in range(20):
        wanted = dict.fromkeys(range(40), 0.0)
        for label, score in zip(top.labels[row], top.scores[row], strict=True):
            wanted[int(label)] = 0.3 * float(score)
        wanted[3] += 0.7 * 0.5
        wanted[17] += 0.7 * 0.25
        got = dict(zip(voted[row].tolist(), mixed[row].tolist(), strict=True))
        got.pop(-1)
        assert list(got) == sorted(got)
        assert got == pytest.approx(wanted)


def test_good_scores_leave_the_trees_no_weight_and_bad_ones_much(rows, trees):
    x, y = rows
    labels = np.tile(np.arange(40, dtype=np.int32), (1200, 1))
    truth = y.toarray().astype(np.float64)
    assert chosen_weight(trees, x, y, (labels, truth)) <= 0.5  # up to there the truth decides
    assert chosen_weight(trees, x, y, (labels, 1 - truth)) == max(tree_votes.WEIGHTS)


def test_trees_of_a_model_on_the_scale_of_another_vote_as_its_trees_do(voting):
    state = voting.fitted_
    other = replace(state, votes=replace(state.votes, weight=0.25, nodes=30))
    votes = state.on_the_scale_of(other).votes
    assert (votes.weight, votes.nodes) == (0.25, 30)
    assert votes.forests is state.votes.forests


def test_trees_vote_where_they_are_better(rows, voting):
    x, y = rows
    votes = voting.fitted_.votes
    assert votes is not None
    assert voting.structure()["linear trees"] == 2
    assert voting.structure()["weight of the linear trees"] == votes.weight > 0
    without = labelwood.ELIAS(n_models=2, C=1e-6, trees=0, **QUICK).fit(x, y)
    assert without.fitted_.votes is None
    figures = [labelwood.evaluate(model.predict(x, 5), y)["P@1"] for model in (voting, without)]
    assert figures[0] > figures[1] + 10


def test_all_trees_beside_one_index_are_told_as_a_part(rows):
    x, y = rows
    model = labelwood.ELIAS(trees=2, C=1e-6, **QUICK).fit(x, y)
    assert model.structure()["linear trees"] == 2
    parts = dict(part_answers(model.fitted_, x[:50], 1))
    np.testing.assert_array_equal(parts["+ vote of linear trees"].labels[:, :5], model.predict(x[:50], 5).labels)


def test_a_row_alone_and_in_a_batch(rows, voting):
    x, _ = rows
    top = voting.predict(x[:50], 7)
    for row in range(50):
        alone = voting.predict(x[row], 7)
        np.testing.assert_array_equal(alone.labels[0], top.labels[row])
        np.testing.assert_array_equal(alone.scores[0], top.scores[row])
    assert top.scores.max() <= 1
    label = int(top.labels[3, 0])
    assert voting.explain(x[3], label).score == pytest.approx(float(top.scores[3, 0]))


def test_without_held_out_rows_or_a_ranker_nobody_votes(rows):
    x, y = rows
    assert labelwood.ELIAS(**QUICK).fit(x[:300], y[:300]).fitted_.votes is None
    assert labelwood.ELIAS(ranker=False, **QUICK).fit(x, y).fitted_.votes is None


def test_votes_survive_saving(rows, voting, tmp_path):
    x, _ = rows
    voting.save(tmp_path / "model")
    again = labelwood.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(x, 5).scores, voting.predict(x, 5).scores)
    fields, arrays = state_of(again.fitted_)
    trees = fields["facts"]["trees"]
    (model,) = trees["models"]
    smaller = {**model, "shape": {**model["shape"], "n_labels": 39}}
    wrong = [
        {"nodes": -1},
        {"nodes": 1.5},
        {"weight": 0.0},
        {"weight": 2.0},
        {"models": []},
        {"models": [{}]},
        {"models": [smaller]},
        {"models": {}},
    ]
    for damaged in (None, {"weight": 0.5}, *({**trees, **part} for part in wrong)):
        with pytest.raises(ModelFileError, match="trees"):
            restored({**fields, "facts": {**fields["facts"], "trees": damaged}}, arrays, "here")


def test_votes_of_earlier_versions_had_no_limit(rows, voting):
    fields, arrays = state_of(voting.fitted_)
    facts = {**fields["facts"], "trees": {k: v for k, v in fields["facts"]["trees"].items() if k != "nodes"}}
    assert restored({**fields, "facts": facts}, arrays, "here").votes.nodes == 0


def test_a_limit_of_the_nodes_holds_for_a_row_alone_and_in_a_batch(rows):
    x, y = rows
    forests = trained_forests(x, y, [60], LinearTreeParams(n_trees=2, max_leaf=2, arity=8, n_threads=1), SILENT)
    few, all_of_them = TreeVotes(forests, 0.5, 4), TreeVotes(forests, 0.5)
    top = few.given(x[:30])
    n_named = (top.labels >= 0).sum(axis=1)
    assert n_named.max() < (all_of_them.given(x[:30]).labels >= 0).sum(axis=1).min()
    for row in range(30):
        alone = few.given(x[row])
        np.testing.assert_array_equal(alone.labels[0], top.labels[row])
        np.testing.assert_array_equal(alone.scores[0], top.scores[row])
    named, unnamed = int(top.labels[0, 0]), int(np.setdiff1d(np.arange(40), top.labels[0])[0])
    assert few.explain(x[0], named).score == pytest.approx(float(top.scores[0, 0]))
    assert few.explain(x[0], unnamed).score == 0


def test_the_fewest_nodes_that_lose_nothing_are_chosen(rows, monkeypatch):
    x, y = rows
    forests = trained_forests(x, y, [60], LinearTreeParams(n_trees=2, max_leaf=2, arity=2, n_threads=1), SILENT)
    monkeypatch.setattr(tree_votes, "VOTED_NODES", (1, 1000))
    assert fewest_nodes(forests, x, y) == 1000
    monkeypatch.setattr(tree_votes, "VOTED_NODES", (1,))
    assert fewest_nodes(forests, x, y) == 0
    monkeypatch.setattr(tree_votes, "MOST_LOST", 100.0)
    assert fewest_nodes(forests, x, y) == 1


def test_two_views_are_averaged(rows):
    """Forests that see different columns count the same; a label that one of them does not name scores 0 there."""
    x, y = rows
    forests = trained_forests(x, y, [30, 60], LinearTreeParams(n_threads=1), SILENT)
    assert [forest.n_features for forest in forests] == [30, 60]
    top = TreeVotes(forests, 0.5).given(x[:30])
    parts = [forests[0].predict(x[:30, :30], 40), forests[1].predict(x[:30], 40)]
    for row in range(30):
        wanted = np.zeros(40)
        for part in parts:
            wanted[part.labels[row]] += part.scores[row].astype(np.float64) / 2
        np.testing.assert_allclose(top.scores[row], wanted[top.labels[row]], rtol=1e-6)
        assert sorted(top.labels[row]) == list(range(40))


@pytest.mark.parametrize("n_models", [1, 2])
def test_explanations_are_the_scores_of_indexes_and_trees(rows, n_models):
    """Of every label, answered or not: the shares add up to what predict gives."""
    x, y = rows
    model = labelwood.ELIAS(n_models=n_models, C=1e-6, shortlist=10, **QUICK).fit(x, y)
    votes = model.fitted_.votes
    top = model.predict(x[:4], 40)
    for row in range(4):
        scores = dict(zip(top.labels[row].tolist(), top.scores[row].tolist(), strict=True))
        for label in range(40):
            why = model.explain(x[row], label)
            assert why.score == scores.get(label, 0.0)
            assert [share.weight for share in why.shares] == [(1 - votes.weight) / n_models] * n_models + [votes.weight]
            total = sum(share.weight * share.explanation.score for share in why.shares)
            assert total == pytest.approx(why.score, rel=1e-5, abs=1e-9)


def test_one_and_two_threads_give_the_same_folder(rows, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    x, y = rows
    settings = {**QUICK, "dim": 128, "batch_size": 256, "n_models": 2, "C": 1e-6}
    files = []
    for n_threads in (1, 2):
        folder = tmp_path / str(n_threads)
        labelwood.ELIAS(**{**settings, "n_threads": n_threads}).fit(x, y).save(folder)
        files.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert files[0] == files[1]


@pytest.mark.parametrize("n_models", [1, 2])
def test_the_ranker_of_a_part_judges_what_trees_name(rows, tmp_path, n_models):
    x, y = rows
    model = labelwood.ELIAS(n_models=n_models, ranker_top=2, **{**QUICK, "candidates": 0}).fit(x, y)
    state = model.fitted_
    assert state.judges_votes
    assert state.votes is not None
    assert model.structure()["nodes opened of a linear tree"] == state.votes.nodes
    assert state.votes.weight > 0  # they stay, whatever they weigh
    told = state.votes.given(x[:20])
    units = UnitRows(x[:20])
    for member in state.members:
        labels, _, margins = state._judged(member, units, units, 1, told)
        for row in range(20):
            assert set(told.labels[row].tolist()) <= set(labels[row].tolist())
        np.testing.assert_array_equal(margins, state.ranker.margins(units, labels, 1))
    top = model.predict(x[:20], 40)
    alone = [model.predict(x[row], 40) for row in range(20)]
    np.testing.assert_array_equal(np.concatenate([one.scores for one in alone]), top.scores)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(labelwood.load(tmp_path / "model").predict(x[:20], 40).scores, top.scores)
    label = int(top.labels[0, 0])
    assert model.explain(x[0], label).score == pytest.approx(float(top.scores[0, 0]))
    # The tree of calibration sees what the trees say.
    asks = RegressionTree(
        np.array([4, -1, -1], np.int32), np.full(3, 0.1), np.array([1, 0, 0], np.int32), np.arange(3.0) / 3
    )
    members = tuple(replace(member, scoring=Scoring(0.0, 1.0, asks, 1.0)) for member in state.members)
    seen = labelwood.ELIAS.from_fitted(replace(state, members=members))
    of_calibration = dict(part_answers(seen.fitted_, x[:20]))["+ calibration"]
    for row, (labels, scores) in enumerate(zip(told.labels, told.scores, strict=True)):
        likely = set(labels[(labels >= 0) & (scores > 0.1)].tolist())
        best = of_calibration.labels[row][of_calibration.scores[row] > 0.5]
        assert set(best.tolist()) == likely
    top = seen.predict(x[:20], 40)
    alone = [seen.predict(x[row], 40) for row in range(20)]
    np.testing.assert_array_equal(np.concatenate([one.scores for one in alone]), top.scores)
    assert seen.explain(x[0], label).score == pytest.approx(float(top.scores[0][top.labels[0] == label][0]))
    assert "+ labels of the trees" in dict(part_answers(state, x[:20]))
    fields, arrays = state_of(state)
    del fields["facts"]["ranker_top"], fields["facts"]["judges_votes"]  # as earlier versions saved it
    earlier = restored(fields, arrays, "elias")
    assert (earlier.ranker_top, earlier.judges_votes) == (2, False)
