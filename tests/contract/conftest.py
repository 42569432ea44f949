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
# A second configuration of every model, as far from the default as its parameters go.
OTHER = {
    "popular": {"seed": 5},
    "one-vs-all": {"loss": "logistic", "bias": 0.0, "C": 4.0},
    "linear-tree": {
        "n_trees": 3,
        "max_leaf": 3,
        "arity": 2,
        "weights": "int8",
        "keep_rows": True,
        "link": "log-sigmoid",
    },
    "hsoftmax": {"loss": "hs", "tree": "huffman", "storage": "byte", "dim": 24},
    "elias": {"n_models": 2, "calibration": False, "trees": 1},
    "neuralxc": {"shortcut": False, "epochs": 20, "latent_weight": 0.1},
    "hierarchicalxc": {"encoding_dim": 12, "link": "log-sigmoid"},
    "glas": {"map": "nonlinear", "regularizer": "spreadout", "dim": 32},
    "dxml": {"embedding": "deepwalk", "n_neighbors": 3, "blend": 0.5, "temperature": 0.2, "hidden": 64, "n_models": 1},
    "random": {"seed": 5},
    "knn": {"n_neighbors": 3, "temperature": 0.1},
    "leml": {"dim": 5, "reg": 0.1, "rounds": 2, "steps": 4},
    "fastxml": {"n_trees": 5, "max_leaf": 3, "C": 0.5, "leaf_labels": 2},
    "fasttext": {"loss": "softmax", "dim": 24, "weighting": "equal"},
    "ensemble": {"models": "popular,linear-tree,one-vs-all", "weights": "1,2,2"},
}
CONFIGURATIONS = {name: (name, QUICKER.get(name, {})) for name in model_names()} | {
    f"{name}-other": (name, OTHER[name]) for name in model_names()
}
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


@pytest.fixture(params=CONFIGURATIONS)
def configuration(request):
    """The name of one configuration after another."""
    return request.param


@pytest.fixture
def name(configuration):
    """The registry name of the model."""
    return CONFIGURATIONS[configuration][0]


@pytest.fixture
def settings(configuration):
    """The parameters that differ from the defaults."""
    return CONFIGURATIONS[configuration][1]


@pytest.fixture
def make(name, settings):
    """Makes an untrained model: make(seed=3)."""

    def build(**parameters):
        return model_class(name)(**{"n_threads": 1, **settings, **parameters})

    return build


@pytest.fixture
def data():
    """Fresh copies, so that a model that edits its input is found out by one test alone."""
    x, y = problem()
    return SimpleNamespace(x=x.copy(), y=y.copy())


@cache
def _trained(configuration):
    name, settings = CONFIGURATIONS[configuration]
    x, y = problem()
    return model_class(name)(**{"n_threads": 1, **settings}).fit(x.copy(), y.copy())


@pytest.fixture
def trained(configuration):
    """The model trained on the problem, once a session; tests must not change it."""
    return _trained(configuration)


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
