"""Edited one-vs-all folders whose checksums fit: refused, or answered without a crash or a warning."""

import contextlib

import numpy as np
import pytest

import labelwood as lw
from labelwood.models.persistence import restored, state_of
from labelwood.storage.load import load_folder
from labelwood.storage.save import save_folder

MANIFEST, ARRAYS = "manifest.json", "arrays.safetensors"


def example(seed=0, n_rows=60, n_features=150, n_labels=40):
    rng = np.random.default_rng(seed)
    x = (rng.random((n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.2)).astype(np.float32)
    return x, rng.random((n_rows, n_labels)) < 0.15


X, Y = example()


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "m"
    lw.OneVsAll().fit(X, Y).save(folder)
    return folder


class Edited:
    """The arrays of a saved folder, flat and writable; `write` makes a folder of them, with checksums that fit."""

    def __init__(self, folder, target):
        manifest, arrays = load_folder(folder)
        self.target = target
        self.fields = {name: manifest[name] for name in ("kind", "name", "parameters", "shape", "facts", "seed")}
        self.shapes = {name: array.shape for name, array in arrays.items()}
        self.arrays = {name: array.reshape(-1).copy() for name, array in arrays.items()}

    def write(self):
        arrays = {name: array.reshape(self.shapes[name]) for name, array in self.arrays.items()}
        save_folder(self.target, self.fields, arrays)
        return self.target


def use(folder):
    """True if the folder was loaded and asked everything; ModelFileError is the only error allowed."""
    try:
        model = lw.load(folder)
    except lw.ModelFileError:
        return False
    top = model.predict(X, 7)
    assert top.labels.shape == (len(X), 7)
    assert top.labels.min() >= 0
    assert top.labels.max() < Y.shape[1]
    assert not np.isnan(top.scores).any()
    assert all(len(set(row)) == 7 for row in top.labels.tolist())
    for label in (0, 17, 39):
        with contextlib.suppress(lw.ModelFileError):  # a weight that is no number has no explanation
            assert np.isfinite(model.explain(X[0], label).margin)
    return True


def test_the_untouched_copy_answers_as_the_model(saved, tmp_path):
    assert use(Edited(saved, tmp_path / "e").write())


NAMES = [
    "labels.counts", "feature_rank", "blocks.child_start", "blocks.bias", "blocks.top_bits", "blocks.top_rank",
    "blocks.word_start", "blocks.words", "blocks.payload_start", "blocks.payload",
]  # fmt: skip


def test_these_are_all_arrays(saved, tmp_path):
    assert sorted(Edited(saved, tmp_path / "e").arrays) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_random_edits_of_an_array(saved, tmp_path, name):
    rng = np.random.default_rng(NAMES.index(name))
    loaded = 0
    for attempt in range(30):
        edited = Edited(saved, tmp_path / "e")
        array = edited.arrays[name]
        if array.dtype == np.float32:
            extremes = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 0, 1e-45], np.float32)
        else:
            info = np.iinfo(array.dtype)
            extremes = np.array([info.max, info.min, info.max - 1, 0, 1, info.max // 2], array.dtype)
        places = rng.integers(0, len(array), 1 if attempt < 10 else max(1, len(array) // 5))
        if attempt % 3 == 0:
            array[places] = rng.choice(extremes, len(places))
        elif attempt % 3 == 1:
            bytes_of = array.view(np.uint8)
            bytes_of[places * array.itemsize + rng.integers(0, array.itemsize, len(places))] ^= rng.integers(
                1, 256, len(places), dtype=np.uint8
            )
        else:
            array[places] = array[rng.integers(0, len(array), len(places))]
        loaded += use(edited.write())
    if name in ("blocks.top_bits", "blocks.top_rank", "blocks.words", "blocks.payload"):
        assert loaded == 30  # these cannot be told from good ones without reading all: they must be harmless


def test_infinite_and_undefined_weights_give_no_warning_and_no_nan(saved, tmp_path):
    for half in (np.inf, -np.inf, np.nan, 65504):
        edited = Edited(saved, tmp_path / "e")
        edited.arrays["blocks.payload"][::3] = np.float16(half).view(np.uint16) >> 8
        assert use(edited.write())


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_bias_that_is_no_number_is_refused(saved, tmp_path, value):
    edited = Edited(saved, tmp_path / "e")
    edited.arrays["blocks.bias"][3] = value
    with pytest.raises(lw.ModelFileError, match="finite"):
        lw.load(edited.write())


def test_feature_ranks_of_another_kind_are_refused(saved):
    fields, arrays = state_of(lw.load(saved).fitted_)
    rank = arrays["feature_rank"]
    for wrong in (rank.astype(np.float32), rank.astype(np.int64), rank[:-1]):
        with pytest.raises(lw.ModelFileError, match="feature_rank"):
            restored(fields, {**arrays, "feature_rank": wrong}, "here")


@pytest.mark.parametrize("change", [{"n_labels": 39}, {"n_labels": 41}, {"n_features": 149}])
def test_shapes_that_do_not_fit_are_refused(saved, change):
    fields, arrays = state_of(lw.load(saved).fitted_)
    with pytest.raises(lw.ModelFileError):
        restored({**fields, "shape": {**fields["shape"], **change}}, arrays, "here")


# values that training and prediction must survive


def test_margins_far_below_zero_give_score_zero_without_a_warning():
    model = lw.OneVsAll(normalize=False, C=100.0).fit(X, Y)
    top = model.predict(X * 1e6, 40)
    assert np.all((top.scores >= 0) & (top.scores <= 1))
    assert np.all(np.diff(top.scores, axis=1) <= 0)
    assert (top.scores == 0).any()
    for label in (int(top.labels[0, 0]), int(top.labels[0, -1])):
        explained = model.explain(X[0] * 1e6, label)
        assert np.isfinite(explained.nodes[0].log_score)
        assert explained.score == pytest.approx(float(top.scores[0][top.labels[0] == label][0]), abs=1e-5)


@pytest.mark.parametrize("loss", ["squared-hinge", "logistic"])
def test_values_near_the_end_of_float32_are_refused_or_trained(loss):
    for scale in (1e-30, 1e3, 1e12):
        model = lw.OneVsAll(normalize=False, loss=loss, prune=0.0).fit(X * np.float32(scale), Y)
        assert np.isfinite(model.fitted_.blocks.arrays["bias"]).all()
        assert not np.isnan(model.predict(X * np.float32(scale), 3).scores).any()
    for scale in (1e16, 1e19, 1e30, 1e38):
        with pytest.raises(lw.DataError, match="too large"):
            lw.OneVsAll(normalize=False, loss=loss).fit(X * np.float32(scale), Y)
    assert lw.OneVsAll(loss=loss).fit(X * np.float32(1e30), Y).predict(X * np.float32(1e30), 3).labels.min() >= 0
