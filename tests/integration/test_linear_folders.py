"""Folders of linear models: no byte depends on the threads, and a failing fit changes nothing."""

import numpy as np
import pytest

import labelwood as lw
from labelwood.errors import DataError, LabelwoodError

MODELS = {
    "linear-tree": (lw.LinearTree, {"arity": 4, "max_leaf": 4}),
    "linear-tree, rows kept": (lw.LinearTree, {"arity": 4, "max_leaf": 4, "keep_rows": True, "n_trees": 3, "C": 1.0}),
    "linear-tree, searched negatives": (lw.LinearTree, {"arity": 4, "max_leaf": 4, "negatives": "tfn+man", "C": 1.0}),
    "linear-tree, budget": (lw.LinearTree, {"arity": 4, "max_leaf": 4, "prune": 0.0, "size_budget": "45k", "C": 1.0}),
    "one-vs-all": (lw.OneVsAll, {}),
    "hierarchicalxc": (lw.HierarchicalXC, {}),
    "hierarchicalxc, codes": (lw.HierarchicalXC, {"encoding_dim": 6}),
}


def problem(n_rows=1100, n_features=60, n_labels=24, seed=2):
    """Enough rows that a linear tree chooses its cost."""
    random = np.random.default_rng(seed)
    y = (random.random((n_rows, n_labels)) < 0.08).astype(np.float32)
    x = y @ (random.random((n_labels, n_features)) < 0.1) + 0.3 * (random.random((n_rows, n_features)) < 0.05)
    return x.astype(np.float32), y


@pytest.mark.parametrize("which", MODELS)
def test_threads_change_no_byte_of_the_folder(tmp_path, monkeypatch, which):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    made, settings = MODELS[which]
    for n_threads in (1, 2):
        made(**settings, n_threads=n_threads).fit(*problem()).save(tmp_path / str(n_threads))
    files = sorted(path.name for path in (tmp_path / "1").iterdir())
    assert "manifest.json" in files
    assert files == sorted(path.name for path in (tmp_path / "2").iterdir())
    for name in files:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes(), name


class StopError(Exception):
    """What a user's progress raises."""


class Stopping:
    """A progress that stops the work at its n-th step."""

    def __init__(self, n):
        self.left = n

    def step(self, what, done, total):
        self.left -= 1
        if self.left < 0:
            raise StopError


@pytest.mark.parametrize("made", [lw.LinearTree, lw.HSoftmax, lw.HierarchicalXC, lw.OneVsAll])
def test_an_interrupted_or_refused_fit_leaves_the_model_as_it_was(made):
    x, y = problem(300)
    model = made(n_threads=1).fit(x[:200], y[:200])
    state, answers = model.fitted_, model.predict(x, 5)
    with pytest.raises(StopError):
        model.fit(x, y, progress=Stopping(0))
    with pytest.raises(LabelwoodError):
        model.fit(x, y[:-1])
    with pytest.raises(LabelwoodError):
        model.fit(x, y, memory=1000)
    assert model.fitted_ is state
    np.testing.assert_array_equal(model.predict(x, 5).scores, answers.scores)


@pytest.mark.parametrize("steps", [0, 1])
def test_an_interrupted_update_leaves_the_model_as_it_was(steps):
    x, y = problem(300)
    model = lw.LinearTree(arity=4, max_leaf=4, keep_rows=True, n_threads=1).fit(x[:200], y[:200]).retire([2])
    state = model.fitted_
    with pytest.raises(StopError):
        model.partial_fit(x[200:], y[200:], progress=Stopping(steps))
    with pytest.raises(DataError):
        model.retire([2, 99])
    assert model.fitted_ is state


def test_a_model_holds_its_settings_and_one_state():
    x, y = problem(200)
    for made in (lw.LinearTree, lw.HSoftmax, lw.HierarchicalXC, lw.OneVsAll):
        model = made(n_threads=1).fit(x, y)
        assert set(vars(model)) == {*made.Parameters.ranges(), "_fitted"}
        assert model.fitted_.settings.n_threads is None
