"""What every contract test uses: the models of the registry and a small problem with awkward corners."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from labelwood.models.registry import model_class, model_names

N_ROWS, N_FEATURES, N_LABELS = 90, 40, 12
# Models whose defaults suit thousands of rows learn this problem as well with less; everything else is as by default.
QUICKER = {"dxml": {"hidden": 64, "n_models": 2, "epochs": 10}}
EMPTY_ROW, EMPTY_FEATURE, UNSEEN_LABEL, UNLABELLED_ROW = 7, 11, 5, 13


@cache
def problem():
    """Rows whose labels show in their features; one row, one feature and one label are empty on purpose."""
    random = np.random.default_rng(20)
    own = random.choice(N_FEATURES, size=(N_LABELS, 4))  # each label's tell-tale features
    x = np.zeros((N_ROWS, N_FEATURES), np.float32)
    y = np.zeros((N_ROWS, N_LABELS), np.float32)
    for row in range(N_ROWS):
        labels = random.choice(N_LABELS, size=random.integers(1, 4), replace=False)
        y[row, labels] = 1
        for label in labels:
            x[row, own[label]] += random.uniform(0.5, 1.5, 4)
        x[row, random.choice(N_FEATURES, 3)] += random.uniform(0, 0.5, 3)
    y[:, UNSEEN_LABEL] = 0
    y[UNLABELLED_ROW] = 0
    x[:, EMPTY_FEATURE] = 0
    x[EMPTY_ROW] = 0
    x[4], y[4] = x[3], y[3]  # duplicate rows
    return sparse.csr_matrix(x), sparse.csr_matrix(y)


@pytest.fixture(params=model_names())
def name(request):
    """The registry name of one model after another."""
    return request.param


@pytest.fixture
def make(name):
    """Makes an untrained model: make(seed=3)."""

    def build(**parameters):
        return model_class(name)(**{"n_threads": 1, **QUICKER.get(name, {}), **parameters})

    return build


@pytest.fixture
def data():
    """Fresh copies, so that a model that edits its input is found out by one test alone."""
    x, y = problem()
    return SimpleNamespace(x=x.copy(), y=y.copy())


@cache
def _trained(name):
    x, y = problem()
    return model_class(name)(n_threads=1, **QUICKER.get(name, {})).fit(x.copy(), y.copy())


@pytest.fixture
def trained(name):
    """The model trained on the problem, once a session; tests must not change it."""
    return _trained(name)


@pytest.fixture
def same():
    """Asserts that two models or two TopK are equal to the last bit."""

    def check(one, other):
        if hasattr(one, "labels"):
            np.testing.assert_array_equal(one.labels, other.labels)
            np.testing.assert_array_equal(one.scores, other.scores)
            return
        ours, theirs = one.fitted_.arrays(), other.fitted_.arrays()
        assert set(ours) == set(theirs)
        for key in ours:
            assert ours[key].dtype == theirs[key].dtype, key
            assert ours[key].shape == theirs[key].shape, key
            assert ours[key].tobytes() == theirs[key].tobytes(), key
        assert one.fitted_.facts() == other.fitted_.facts()

    return check
