"""The learned bounds of a linear tree's search: how they are chosen, kept and put aside; what forests are sure of."""

import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood.errors import ModelFileError, ParamError
from labelwood.models.linear import search_bound, state_training
from labelwood.models.linear.fitted_tree import FittedLinearTree
from labelwood.models.linear.search_bound import NODES, SearchBound, learned_bound, score_kept, share_kept
from labelwood.topk import TopK

SMALL = {"arity": 4, "max_leaf": 3, "C": 1.0, "n_threads": 1}


def answers(labels):
    labels = np.array(labels, np.int32)
    return TopK(labels, np.where(labels >= 0, 0.5, 0).astype(np.float32))


def problem(n_rows=400, n_features=60, n_labels=80):
    random = np.random.default_rng(3)
    x = sparse.random(n_rows, n_features, 0.15, format="csr", dtype=np.float32, random_state=5)
    y = np.zeros((n_rows, n_labels), np.float32)
    for row in range(n_rows):
        y[row, random.choice(n_labels, 3)] = 1
    return x, sparse.csr_matrix(y)


@pytest.fixture
def bounded(monkeypatch):
    """Fits a model that learns a slack, however few labels it has and however much it costs."""
    monkeypatch.setattr(state_training, "SMALLEST_LABELS", 1)
    monkeypatch.setattr(search_bound, "LEAST_KEPT", 0.5)
    return lambda **parameters: labelwood.LinearTree(**{**SMALL, **parameters}).fit(*problem())


def test_share_kept_counts_labels_wherever_they_stand():
    exact = answers([[1, 2, 3], [4, 5, -1]])
    assert share_kept(exact, exact) == 1
    assert share_kept(exact, answers([[3, 2, 9], [-1, 5, -1]])) == pytest.approx(3 / 5)
    assert share_kept(answers([[-1, -1]]), answers([[-1, -1]])) == 1


@pytest.mark.parametrize("limit", [0.0, 0.1, 0.7, 3.0])
def test_the_largest_slack_that_keeps_the_answers_is_taken(limit):
    rows = sparse.csr_matrix(np.ones((30, 4), np.float32))

    def search(x, bound):
        assert 0 < x.nnz < rows.nnz  # some features are gone
        return answers([[1, 2] if bound.slack <= limit else [1, 3]] * x.shape[0])

    assert learned_bound(search, rows, seed=1) == SearchBound(limit, NODES[0])


@pytest.mark.parametrize("least", [1, *NODES, 100])
def test_the_fewest_nodes_that_keep_the_scores_are_taken(least):
    rows = sparse.csr_matrix(np.ones((30, 4), np.float32))

    def search(x, bound):
        scores = np.full((x.shape[0], 2), 0.5 if bound.nodes >= least else 0.49, np.float32)
        return TopK(np.array([[1, 2]] * x.shape[0], np.int32), scores)

    for depth in (1, 3):  # a tree of three levels is given nine times as many
        enough = [nodes for nodes in (*NODES, search_bound.MOST_NODES) if depth**2 * nodes >= least]
        assert learned_bound(search, rows, seed=1, depth=depth) == SearchBound(3.0, depth**2 * enough[0])


@pytest.mark.parametrize("best", search_bound.LEADS)
def test_the_lead_that_finds_most_with_few_nodes_is_taken(best):
    rows = sparse.csr_matrix(np.ones((30, 4), np.float32))

    def search(x, bound):
        scores = np.full((x.shape[0], 1), 0.5 if bound.nodes >= 20 else 0.49 - abs(bound.lead - best), np.float32)
        return TopK(np.ones((x.shape[0], 1), np.int32), np.maximum(scores, 0))

    # Twelve beside five are compared; then fewer nodes are wanted where there is a lead.
    assert learned_bound(search, rows, seed=1, depth=2) == SearchBound(3.0, 20 if best else 24, best)
    assert learned_bound(search, rows, seed=1, depth=1).lead == 0


def test_score_kept_is_a_share_of_the_sum():
    assert score_kept(answers([[1, 2], [3, -1]]), answers([[1, -1], [3, -1]])) == pytest.approx(2 / 3)
    assert score_kept(answers([[-1, -1]]), answers([[-1, -1]])) == 1


def test_answers_are_those_of_the_learned_slack_and_exact_on_request(bounded):
    x, _ = problem()
    model = bounded()
    slack = model.fitted_.slack
    assert slack > 0
    assert model.structure()["slack"] == slack
    most = model.fitted_.nodes + 5
    learned, exact = model.search(x), model.search(x, slack=0.0)
    given = model.search(x, slack=slack, max_nodes=most)
    assert learned.n_blocks.max() <= 1 + most
    np.testing.assert_array_equal(learned.top.labels, given.top.labels)
    np.testing.assert_array_equal(model.predict(x).labels, given.top.labels)
    assert learned.n_blocks.sum() < exact.n_blocks.sum()
    for other in (model.search(x, beam=0), model.search(x, max_blocks=10**9), model.search(x, allow=range(80))):
        np.testing.assert_array_equal(other.top.labels, exact.top.labels)
        np.testing.assert_array_equal(other.top.scores, exact.top.scores)
    unbounded = bounded(exact=True)
    assert unbounded.fitted_.slack == unbounded.fitted_.nodes == 0
    np.testing.assert_array_equal(unbounded.predict(x).labels, exact.top.labels)


@pytest.mark.parametrize("n_trees", [1, 3])
def test_threads_and_single_queries_change_nothing(bounded, n_trees):
    x, _ = problem()
    model, threaded = bounded(n_trees=n_trees), bounded(n_trees=n_trees, n_threads=3)
    assert model.fitted_.slack == threaded.fitted_.slack > 0
    batch = model.predict(x, 4)
    np.testing.assert_array_equal(batch.labels, threaded.predict(x, 4).labels)
    np.testing.assert_array_equal(batch.scores, threaded.predict(x, 4).scores)
    for row in range(40):
        single = x[row]
        labels, scores = model.query(single.indices, single.data, 4)
        np.testing.assert_array_equal(labels, batch.labels[row])
        np.testing.assert_array_equal(scores, batch.scores[row])


def test_a_saved_model_keeps_its_slack_and_an_older_one_is_exact(bounded, tmp_path):
    x, _ = problem()
    model = bounded()
    model.save(tmp_path / "m")
    loaded = labelwood.load(tmp_path / "m")
    assert loaded.fitted_.slack == model.fitted_.slack
    assert loaded.fitted_.nodes == model.fitted_.nodes > 0
    assert loaded.fitted_.lead == model.fitted_.lead > 0
    assert model.structure()["lead of leaves"] == model.fitted_.lead
    np.testing.assert_array_equal(loaded.predict(x).labels, model.predict(x).labels)
    state = model.fitted_
    restored = FittedLinearTree.restore(state.settings, state.trained_on, state.arrays(), {"C": 1.0})
    assert restored.slack == restored.nodes == restored.lead == 0
    for damaged in (-1, float("nan"), "much", True):
        with pytest.raises(ModelFileError, match="slack"):
            FittedLinearTree.restore(state.settings, state.trained_on, state.arrays(), {"C": 1.0, "slack": damaged})
    for damaged in (-1, float("nan"), "much", True):
        with pytest.raises(ModelFileError, match="lead"):
            FittedLinearTree.restore(state.settings, state.trained_on, state.arrays(), {"C": 1.0, "lead": damaged})
    for damaged in (-1, 1.5, "many", True, 2**40):
        with pytest.raises(ModelFileError, match="nodes"):
            FittedLinearTree.restore(state.settings, state.trained_on, state.arrays(), {"C": 1.0, "nodes": damaged})
    with pytest.raises(ParamError, match="max_nodes"):
        model.search(x, max_nodes=-1)


def test_small_label_sets_are_searched_exactly():
    assert labelwood.LinearTree(**SMALL).fit(*problem()).fitted_.slack == 0


@pytest.mark.parametrize("k", [1, 4, 7])
def test_every_tree_of_a_forest_is_sure_of_its_best_labels(k):
    x, y = problem()
    model = labelwood.LinearTree(**SMALL, n_trees=3).fit(x, y)
    every_label = model.predict(x[:50], 80)
    alone = [labelwood.LinearTree(**SMALL, n_trees=n).fit(x, y).fitted_ for n in (1, 2)]
    assert all(model.fitted_.trees[n].same_as(alone[n].trees[n]) for n in range(2))
    first = alone[0].predict(x[:50], max(k, 5))
    few = model.predict(x[:50], k)
    for row in range(50):
        means = dict(zip(every_label.labels[row].tolist(), every_label.scores[row].tolist(), strict=True))
        for label, score in zip(few.labels[row].tolist(), few.scores[row].tolist(), strict=True):
            assert score <= means[label] * (1 + 1e-6)  # a tree that does not name a label counts 0
            if label in first.labels[row]:
                of_first = first.scores[row][first.labels[row] == label][0]
                assert score >= of_first / 3 * (1 - 1e-6)
    exact = model.search(x[:50], k, slack=0.0)
    assert model.search(x[:50], k).n_blocks.sum() < exact.n_blocks.sum()
    # Asked for all but five labels or more, an exact search lets every tree name all of them.
    np.testing.assert_array_equal(model.search(x[:50], 75, slack=0.0).top.labels, every_label.labels[:, :75])
