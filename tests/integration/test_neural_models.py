"""The trained networks as models: threads leave no trace, states survive pickling, reasons equal answers."""

import pickle

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.errors import ModelFileError
from labelwood.models.persistence import restored, state_of
from labelwood.progress import Callback

pytest.importorskip("torch")
MODELS = {
    "dxml": (lw.DXML, {"hidden": 64, "epochs": 4, "n_models": 2}),
    "glas": (lw.GLaS, {"epochs": 3}),
    "neuralxc": (lw.NeuralXC, {"epochs": 2}),
}
N_LABELS = 14


@pytest.fixture(params=MODELS)
def make(request):
    cls, settings = MODELS[request.param]
    return lambda **more: cls(**{"n_threads": 1, **settings, **more})


@pytest.fixture
def rows():
    random = np.random.default_rng(5)
    y = random.random((200, N_LABELS)) < 0.15
    y[:, 4] = False
    features = random.random((N_LABELS, 30)) < 0.15
    x = y @ (features * random.uniform(0.5, 1.5, features.shape)) + (random.random((200, 30)) < 0.05)
    return sparse.csr_matrix(x, dtype=np.float32), sparse.csr_matrix(y, dtype=np.float32)


def test_folders_are_the_same_bytes_for_any_number_of_threads(make, rows, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    for n_threads in (1, 2):
        make(n_threads=n_threads).fit(*rows).save(tmp_path / str(n_threads))
    for path in (tmp_path / "1").iterdir():
        assert path.read_bytes() == (tmp_path / "2" / path.name).read_bytes(), path.name


def test_a_pickled_model_gives_the_same_answers(make, rows):
    model = make().fit(*rows)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(rows[0], 9).scores, model.predict(rows[0], 9).scores)
    assert copy.get_params() == model.get_params()


def test_reasons_of_every_label_equal_the_answers(make, rows):
    model = make().fit(*rows)
    top = model.predict(rows[0][:12], N_LABELS)
    for row, answers in enumerate(top):
        scores = dict(answers)
        for label in range(N_LABELS):
            why = model.explain(rows[0][row], label)
            assert why.score == pytest.approx(scores.get(label, 0.0), abs=2e-6)
            assert why.total == pytest.approx(why.margin, abs=1e-9)


def test_probabilities_keep_the_order(make, rows):
    model = make().fit(*rows)
    top = model.predict(rows[0], N_LABELS)
    likely = model.fitted_.probabilities(top.scores)
    assert likely.min() >= 0
    assert likely.max() <= 1
    rising = np.diff(top.scores[:, :3], axis=1) < 0
    assert np.all(np.diff(likely[:, :3], axis=1)[rising] < 0)


def test_a_refit_that_fails_leaves_the_model_as_it_was(make, rows):
    model = make().fit(*rows)
    before = model.fitted_

    def stop(what, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(rows[0][:50], rows[1][:50], progress=Callback(stop))
    assert model.fitted_ is before


def test_every_array_has_a_rule_that_is_kept(make, rows):
    """A missing array, one of another type or one too short is refused, whichever it is."""
    fields, arrays = state_of(make().fit(*rows).fitted_)
    restored(fields, arrays, "folder")
    for name, array in arrays.items():
        wrong = np.float64 if array.dtype != np.float64 else np.float32
        for bad in (None, array.astype(wrong), array[:-1], array[None]):
            damaged = {key: kept for key, kept in arrays.items() if key != name}
            if bad is not None:
                damaged[name] = bad
            with pytest.raises(ModelFileError, match="folder"):
                restored(fields, damaged, "folder")
    with pytest.raises(ModelFileError, match="does not belong"):
        restored(fields, {**arrays, "foreign": np.zeros(3)}, "folder")
