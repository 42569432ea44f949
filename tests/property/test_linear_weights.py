"""sample_weight of linear models: a row of weight 2 counts as if it came twice, one of weight 0 as if it were not."""

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw

FINE = {"eps": 1e-4, "max_passes": 5000, "prune": 0.0, "n_threads": 1}
SMALL = {"arity": 3, "max_leaf": 3, "C": 1.0}
MODELS = {
    "one-vs-all": lambda: lw.OneVsAll(**FINE),
    "tree": lambda: lw.LinearTree(**FINE, **SMALL),
    "balanced by frequency": lambda: lw.LinearTree(**FINE, **SMALL, balance_ratio=6.0, cover="greedy"),
    "forest": lambda: lw.LinearTree(**FINE, **SMALL, n_trees=3, negatives="tfn+man"),
}


def problem(n_rows=90, n_features=40, n_labels=14, seed=5):
    random = np.random.default_rng(seed)
    shown = random.choice(n_features, size=(n_labels, 4))
    x, y = np.zeros((n_rows, n_features), np.float32), np.zeros((n_rows, n_labels), np.float32)
    for row in range(n_rows):
        labels = random.choice(n_labels, size=random.integers(1, 3), replace=False)
        y[row, labels] = 1
        for label in labels:
            x[row, shown[label]] += random.uniform(0.5, 1.5, 4)
        x[row, random.choice(n_features, 3)] += random.uniform(0, 0.7, 3)
    return sparse.csr_matrix(x), sparse.csr_matrix(y)


def scores(model, x):
    return model.predict(x, model.n_labels_).to_csr(model.n_labels_).toarray()


def same_arrays(one, other):
    ours, theirs = one.fitted_.arrays(), other.fitted_.arrays()
    return set(ours) == set(theirs) and all(np.array_equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("name", MODELS)
def test_a_row_of_weight_two_comes_twice(name):
    x, y = problem()
    times = np.random.default_rng(1).integers(1, 4, x.shape[0])
    rows = np.repeat(np.arange(x.shape[0]), times)
    weighted = MODELS[name]().fit(x, y, sample_weight=times)
    repeated = MODELS[name]().fit(x[rows], y[rows])
    np.testing.assert_allclose(scores(weighted, x), scores(repeated, x), atol=0.02)
    assert np.abs(scores(weighted, x) - scores(MODELS[name]().fit(x, y), x)).max() > 0.05


@pytest.mark.parametrize("name", MODELS)
def test_a_row_of_weight_zero_is_not_there(name):
    x, y = problem()
    weights = np.ones(x.shape[0])
    weights[::3] = 0
    weighted = MODELS[name]().fit(x, y, sample_weight=weights)
    left = MODELS[name]().fit(x[weights > 0], y[weights > 0])
    if name == "one-vs-all":
        np.testing.assert_allclose(scores(weighted, x), scores(left, x), atol=0.02)
    else:
        assert same_arrays(weighted, left)


@pytest.mark.parametrize("name", MODELS)
def test_equal_weights_of_one_change_nothing(name):
    x, y = problem()
    assert same_arrays(MODELS[name]().fit(x, y, sample_weight=np.ones(x.shape[0])), MODELS[name]().fit(x, y))


def test_kept_rows_keep_their_weights(tmp_path):
    x, y = problem()
    weights = np.random.default_rng(2).choice([0, 0.5, 1, 3], x.shape[0]).astype(np.float32)
    model = lw.LinearTree(**FINE, **SMALL, keep_rows=True).fit(x[:60], y[:60], sample_weight=weights[:60])
    model.save(tmp_path / "m")
    loaded = lw.load(tmp_path / "m")
    for taught in (model, loaded):
        taught.partial_fit(x[60:], y[60:], sample_weight=weights[60:])
        np.testing.assert_array_equal(taught.fitted_.kept_rows.weights, weights)
    assert same_arrays(model, loaded)
    plain = lw.LinearTree(**FINE, **SMALL, keep_rows=True).fit(x[:60], y[:60], sample_weight=weights[:60])
    plain.partial_fit(x[60:], y[60:])
    np.testing.assert_array_equal(plain.fitted_.kept_rows.weights[60:], 1)
    assert np.abs(scores(model, x) - scores(plain, x)).max() > 0.05


def test_the_cost_is_chosen_with_weights_too():
    x, y = problem(n_rows=1100)
    weights = np.where(np.arange(1100) < 1050, 1.0, 0.0)
    model = lw.LinearTree(arity=4, max_leaf=4, n_threads=1)
    assert same_arrays(
        model.fit(x, y, sample_weight=weights), lw.LinearTree(**model.get_params()).fit(x[:1050], y[:1050])
    )
