"""Neural models and ensembles that were stopped go on from their last state, to the same arrays."""

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.data.madeup.shop_texts import make_texts
from labelwood.models.linear import training_parts
from labelwood.storage import steps
from labelwood.storage.steps import Steps, keeping

pytest.importorskip("torch")

from labelwood.models.neural import checkpoints, training


class StoppedError(Exception):
    """What ends a run in the middle."""


@pytest.fixture(autouse=True)
def every_moment(monkeypatch):
    """The state is kept at every chance."""
    monkeypatch.setattr(training, "LEAST_SECONDS", -1.0)
    monkeypatch.setattr(training, "MOST_COST", np.inf)
    monkeypatch.setattr(training_parts, "WORK_OF_PART", 3e5)
    monkeypatch.setattr(steps, "LEAST_SECONDS", 0.0)


@pytest.fixture
def rows():
    x = sparse.random(400, 60, 0.1, "csr", np.float32, random_state=1)
    y = (sparse.random(400, 30, 0.06, "csr", random_state=2) > 0).astype(np.float32).tocsr()
    return x, y


def stopped_after(monkeypatch, n_saves, made, folder):
    """Run made() until it has kept its state n_saves times; True if it was stopped before its end."""
    count = 0

    def counting(real):
        def save(self, *given):
            nonlocal count
            real(self, *given)
            count += 1
            if count == n_saves:
                raise StoppedError

        return save

    with monkeypatch.context() as patch, keeping(Steps(folder)):
        patch.setattr(checkpoints.Checkpoint, "save", counting(checkpoints.Checkpoint.save))
        patch.setattr(Steps, "_keep", counting(Steps._keep))
        try:
            made()
        except StoppedError:
            return True
    return False


def assert_same(one, other):
    assert sorted(one) == sorted(other)
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


@pytest.mark.parametrize(
    "model",
    [
        lw.GLaS(epochs=3, batch_size=64, dim=8),
        lw.DXML(epochs=3, batch_size=64),
        lw.NeuralXC(epochs=3, batch_size=64),
        pytest.param(lw.ELIAS(stage1_epochs=2, stage2_epochs=3, C=1.0), marks=pytest.mark.slow),
    ],
    ids=["glas", "dxml", "neuralxc", "elias"],
)
def test_a_stopped_model_goes_on(model, rows, tmp_path, monkeypatch):
    def made():
        return type(model)(**model.get_params()).fit(*rows)

    whole = made().fitted_.arrays()
    stops = 0
    for n_saves in (1, 2, 3):
        stops += stopped_after(monkeypatch, n_saves, made, tmp_path / "steps")
    assert stops >= 2
    with keeping(Steps(tmp_path / "steps")):
        assert_same(whole, made().fitted_.arrays())
    assert any(entry.name.startswith("epochs-") for entry in (tmp_path / "steps").iterdir())


def test_another_run_has_a_state_of_its_own(rows, tmp_path):
    x, y = rows
    with keeping(Steps(tmp_path / "steps")):
        one = lw.GLaS(epochs=2, batch_size=64, dim=8).fit(x, y).fitted_.arrays()
        other = lw.GLaS(epochs=2, batch_size=64, dim=8).fit(x[:, ::-1], y).fitted_.arrays()
    assert any(not np.array_equal(one[name], other[name]) for name in one)
    assert_same(other, lw.GLaS(epochs=2, batch_size=64, dim=8).fit(x[:, ::-1], y).fitted_.arrays())


@pytest.mark.slow
def test_an_ensemble_and_a_tagger_go_on(tmp_path, monkeypatch):
    rows = make_texts(1100, seed=1)

    def made():
        return lw.Tagger("ensemble", n_threads=1).fit(rows)

    whole = made().fitted_.state()[1]
    for n_saves in (2, 5, 9):
        assert stopped_after(monkeypatch, n_saves, made, tmp_path / "steps")
    with keeping(kept := Steps(tmp_path / "steps")):
        assert_same(whole, made().fitted_.state()[1])
    assert kept.reused >= 13
