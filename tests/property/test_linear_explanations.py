"""Explanations of linear models and label trees: every sum is visible, and the score is the one that predict gives."""

import math
from functools import cache

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw

N_LABELS = 20
SMALL = {"arity": 3, "max_leaf": 3, "n_threads": 1}
MODELS = {
    "tree": lambda: lw.LinearTree(**SMALL),
    "bytes": lambda: lw.LinearTree(**SMALL, weights="int8"),
    "sigmoid": lambda: lw.LinearTree(**SMALL, link="log-sigmoid", loss="logistic"),
    "one leaf": lambda: lw.LinearTree(n_threads=1),
    "forest": lambda: lw.LinearTree(**SMALL, n_trees=4),
    "one-vs-all": lambda: lw.OneVsAll(n_threads=1),
    "hsoftmax": lambda: lw.HSoftmax(dim=20, n_threads=1),
    "one draw": lambda: lw.HSoftmax(dim=20, loss="hs", storage="byte", n_threads=1),
    "hierarchicalxc": lambda: lw.HierarchicalXC(n_threads=1),
    "codes": lambda: lw.HierarchicalXC(encoding_dim=9, n_threads=1),
}
# Their searches answer for one label alone, so an explanation asks them for the score.
ASK_THE_SEARCH = ("tree", "bytes", "sigmoid", "one leaf", "forest", "hierarchicalxc", "codes")


@cache
def problem():
    random = np.random.default_rng(3)
    shown = random.choice(50, size=(N_LABELS, 4))
    x, y = np.zeros((120, 50), np.float32), np.zeros((120, N_LABELS), np.float32)
    for row in range(120):
        labels = random.choice(N_LABELS, size=random.integers(1, 4), replace=False)
        y[row, labels] = 1
        for label in labels:
            x[row, shown[label]] += random.uniform(0.5, 1.5, 4)
    return sparse.csr_matrix(x), sparse.csr_matrix(y)


@cache
def trained(name):
    return MODELS[name]().fit(*problem())


def assert_path_adds_up(why):
    """A single way to a label: contributions are margins, log scores are the score."""
    assert not why.shares
    for node in why.nodes:
        parts = [c.contribution for c in why.contributions if c.node == node.node]
        assert math.fsum(parts) == pytest.approx(node.margin, rel=1e-6, abs=1e-6)
    assert why.total == pytest.approx(math.fsum(node.margin for node in why.nodes), rel=1e-5, abs=1e-5)
    assert math.fsum(node.log_score for node in why.nodes) == pytest.approx(math.log(why.score), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_explanations_add_up_to_the_predicted_score(name):
    x, _ = problem()
    model = trained(name)
    for row in range(0, 120, 17):
        for label, score in next(iter(model.predict(x[row], N_LABELS))):
            why = model.explain(x[row], label)
            if name in ASK_THE_SEARCH:
                assert why.score == score
            assert why.score == pytest.approx(score, rel=1e-4)
            for path in [share.explanation for share in why.shares] or [why]:
                assert path.label == label
                assert_path_adds_up(path)


def test_a_forest_is_explained_tree_by_tree():
    x, _ = problem()
    model = trained("forest")
    for label in range(N_LABELS):
        why = model.explain(x[5], label)
        assert [share.name for share in why.shares] == ["tree 1", "tree 2", "tree 3", "tree 4"]
        assert [share.weight for share in why.shares] == [0.25] * 4
        summed = math.fsum(share.weight * share.explanation.score for share in why.shares)
        assert summed == pytest.approx(why.score, rel=1e-4)
        pushes = math.fsum(share.weight * share.explanation.total for share in why.shares)
        assert why.total == pytest.approx(pushes, rel=1e-6, abs=1e-9)
        assert why.margin == pytest.approx(np.mean([share.explanation.margin for share in why.shares]))
        for c in why.contributions:
            assert c.contribution == pytest.approx(c.value * c.weight, rel=1e-6)
        for number, share in enumerate(why.shares):
            tree = model.fitted_.trees[number]
            path = tree.path(label)[1:].tolist()
            assert [node.node for node in share.explanation.nodes][: len(path)] == path


def test_a_label_that_predict_leaves_out_is_explained_as_if_it_were_asked_for_all():
    """With few answers a tree may not name a label: predict then counts 0 for it; explain always asks every tree."""
    x, y = problem()
    model = lw.LinearTree(**SMALL, n_trees=2, beam=1).fit(x, y)
    label = int(model.predict(x[0], 1).labels[0, 0])
    exact = model.predict(x[0], N_LABELS, beam=0)
    assert model.explain(x[0], label).score == exact.scores[0, exact.labels[0].tolist().index(label)]


def test_a_retired_label_is_still_explained():
    x, y = problem()
    model = lw.LinearTree(**SMALL).fit(x, y)
    before = model.explain(x[0], 3)
    assert model.retire([3]).explain(x[0], 3) == before
