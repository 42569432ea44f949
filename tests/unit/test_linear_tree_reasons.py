"""Explanations of the linear tree on a tree of several levels: every node adds up, and the path is the label's."""

import math

import pytest

import labelwood as lw
from labelwood.data.synthetic import make_sparse


@pytest.fixture(scope="module")
def data():
    return make_sparse(300, 200, 60, nnz_per_row=15)


@pytest.mark.parametrize("settings", [{"arity": 2, "max_leaf": 4}, {"arity": 4, "max_leaf": 8, "link": "hinge2"}])
def test_every_node_of_the_path_adds_up(data, settings):
    model = lw.LinearTree(**settings).fit(data)
    tree = model.trees_[0]
    assert tree.max_depth >= 2
    top = model.predict(data.x[:5], 3)
    for row in range(5):
        for label, score in zip(top.labels[row], top.scores[row], strict=True):
            why = model.explain(data.x[row], int(label))
            assert [node.node for node in why.nodes] == [*tree.path(int(label))[1:], tree.n_nodes + label]
            for node in why.nodes:
                parts = [c.contribution for c in why.contributions if c.node == node.node]
                assert math.fsum(parts) == pytest.approx(node.margin, rel=1e-4, abs=1e-5)
            assert math.exp(sum(node.log_score for node in why.nodes)) == pytest.approx(score, rel=1e-3)
            assert why.score == pytest.approx(score, rel=1e-3)
