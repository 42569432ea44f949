"""Contract: a saved model answers as before, and a folder is whole or not there."""

import json

import numpy as np
import pytest

import labelwood
from labelwood.errors import ModelFileError


@pytest.fixture
def folder(trained, tmp_path):
    trained.save(tmp_path / "model")
    return tmp_path / "model"


def test_saved_and_loaded_are_equal(trained, folder, data, same):
    loaded = labelwood.load(folder)
    assert type(loaded) is type(trained)
    assert loaded.get_params() == {**trained.get_params(), "n_threads": None}
    same(loaded, trained)
    same(loaded.predict(data.x, k=20), trained.predict(data.x, k=20))


def test_a_loaded_model_can_be_saved_again(folder, tmp_path, data, same):
    labelwood.load(folder).save(tmp_path / "again")
    same(labelwood.load(tmp_path / "again"), labelwood.load(folder))


def test_a_loaded_model_can_be_trained_again(folder, data, same, trained):
    same(labelwood.load(folder).set_params(n_threads=1).fit(data.x, data.y), trained)


def test_the_manifest_is_json_that_names_the_model(folder, name):
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["name"] == name


def test_saving_leaves_nothing_else_behind(folder):
    assert [p.name for p in folder.parent.iterdir()] == ["model"]


def test_saving_over_a_model_replaces_it(trained, folder, make, data, same):
    make(seed=8).fit(data.x[:30], data.y[:30]).save(folder)
    assert labelwood.load(folder).get_params()["seed"] == 8
    trained.save(folder)
    same(labelwood.load(folder), trained)


def test_truncated_arrays_are_refused(folder):
    for path in folder.glob("*.safetensors"):
        path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(ModelFileError):
            labelwood.load(folder)


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match="nowhere"):
        labelwood.load(tmp_path / "nowhere")


def test_explanations_survive(trained, folder, data):
    label = int(np.flatnonzero(np.asarray(data.y.sum(axis=0)).ravel())[0])
    assert labelwood.load(folder).explain(data.x[0], label) == trained.explain(data.x[0], label)
