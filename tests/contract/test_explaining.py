"""Contract: an explanation adds up to the score that predict gives."""

import math

import pytest

from labelwood.errors import DataError


def test_contributions_add_up_to_the_score(trained, data):
    top = trained.predict(data.x, k=trained.n_labels_)
    for row in range(0, data.x.shape[0], 9):
        for label, score in next(iter(top[row])):
            why = trained.explain(data.x[row], label)
            assert why.label == label
            assert why.score == pytest.approx(score, rel=1e-4, abs=1e-6)
            adds_up(why)


def adds_up(why):
    """The parts of an explanation and of all its shares make its score."""
    if why.shares:
        total = math.fsum(share.weight * share.explanation.score for share in why.shares)
        assert total == pytest.approx(why.score, rel=1e-4, abs=1e-6)
        parts = math.fsum(share.weight * share.explanation.total for share in why.shares)
        assert why.total == pytest.approx(parts, rel=1e-4, abs=1e-5)
        for share in why.shares:
            adds_up(share.explanation)
        return
    for node in why.nodes:
        parts = [c.contribution for c in why.contributions if c.node == node.node]
        assert math.fsum(parts) == pytest.approx(node.margin, rel=1e-4, abs=1e-5)
    if why.score > 0:
        total = math.fsum(node.log_score for node in why.nodes)
        assert total == pytest.approx(math.log(why.score), rel=1e-3, abs=1e-4)


def test_the_sum_can_be_read(trained, data):
    label = int(trained.predict(data.x[2], k=1).labels[0, 0])
    why = trained.explain(data.x[2], label)
    assert f"= {why.total:+.2f} -> " in why.text()
    assert why.text().endswith(f"score {why.score:.3f}")


def test_every_contribution_is_value_times_weight(trained, data):
    row = data.x[2]
    for c in trained.explain(row, trained.predict(row, k=1).labels[0, 0]).contributions:
        assert c.contribution == pytest.approx(c.value * c.weight, rel=1e-5, abs=1e-9)
        if c.feature >= 0:
            assert row[0, c.feature] != 0


def test_top_is_strongest_first(trained, data):
    sizes = [abs(c.contribution) for c in trained.explain(data.x[2], 0).top(5)]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) <= 5


@pytest.mark.parametrize("label", [-1, 12, 2.0, "a", None, True])
def test_unknown_labels_are_refused(trained, data, label):
    with pytest.raises(DataError, match=r"is outside 0\.\.11"):
        trained.explain(data.x[0], label)


def test_one_row_at_a_time(trained, data):
    with pytest.raises(DataError, match="explain takes one row, but got 2"):
        trained.explain(data.x[:2], 0)


def test_an_empty_row_is_explained_by_the_bias_alone(trained, data):
    why = trained.explain(data.x[7], 0)
    assert all(c.feature == -1 for c in why.contributions)
