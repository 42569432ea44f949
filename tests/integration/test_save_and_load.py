"""Models through a folder and back; saves that are killed at any moment."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.data.fingerprint import data_fingerprint, label_names_sha256
from labelwood.models.persistence import save_state
from labelwood.storage.load import load_folder
from labelwood.storage.save import save_folder


@pytest.fixture
def fitted():
    rng = np.random.default_rng(0)
    x, y = rng.random((40, 6), np.float32), (rng.random((40, 9)) < 0.3).astype(np.float32)
    return lw.Popular(seed=3).fit(x, y), x, y


@pytest.mark.parametrize("cls", [lw.Popular, lw.OneVsAll])
def test_a_model_comes_back_equal(tmp_path, fitted, cls):
    _, x, y = fitted
    model = cls(seed=3).fit(x, y)
    model.save(tmp_path / "m", extra={"note": "first"})
    for verify in (False, True):
        back = lw.load(tmp_path / "m", verify=verify)
        assert type(back) is cls
        assert back.get_params() == model.get_params()
        assert back.parameters_ == model.parameters_
        assert (back.n_features_, back.n_labels_, back.n_rows_) == (6, 9, 40)
        ours, theirs = model.predict(x, 4), back.predict(x, 4)
        np.testing.assert_array_equal(ours.labels, theirs.labels)
        np.testing.assert_array_equal(ours.scores, theirs.scores)
    back.save(tmp_path / "again", extra={"note": "first"})
    assert lw.load(tmp_path / "again", verify=True).predict(x, 4).labels.tolist() == ours.labels.tolist()


def test_the_manifest_tells_where_the_model_came_from(tmp_path, fitted):
    _, x, y = fitted
    names = [f"label {i}" for i in range(9)]
    fingerprint = data_fingerprint(x, y)
    model = lw.Popular(seed=3).fit(lw.Dataset(x, y, label_names=names))
    save_state(model.fitted_, tmp_path / "m", {"a": [1]}, metrics={"P@1": 12.5}, data_fingerprint=fingerprint)
    manifest = json.loads((tmp_path / "m" / "manifest.json").read_text())
    assert manifest["name"] == "popular"
    assert manifest["kind"] == "model"
    assert manifest["seed"] == 3
    assert manifest["parameters"] == {"seed": 3}
    assert manifest["shape"] == {"n_features": 6, "n_labels": 9, "n_rows": 40}
    assert manifest["metrics"] == {"P@1": 12.5}
    assert manifest["data_fingerprint"] == fingerprint
    assert manifest["label_names_sha256"] == label_names_sha256(names)
    assert manifest["labelwood_version"] == lw.__version__
    assert manifest["extra"] == {"a": [1]}
    back = lw.load(tmp_path / "m")
    assert back.label_names_ == tuple(names)
    np.testing.assert_array_equal(back.label_counts_, model.label_counts_)


def label_arrays(folder, change):
    """Save a model once more, with its label arrays changed."""
    manifest, arrays = load_folder(folder)
    fields = {key: manifest[key] for key in ("kind", "name", "parameters", "shape", "facts", "seed")}
    arrays = dict(arrays)
    change(arrays)
    save_folder(folder, fields, arrays)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.pop("labels.counts"), "labels.counts"),
        (lambda a: a.update({"labels.counts": a["labels.counts"][:-1]}), "asks for 9"),
        (lambda a: a.update({"labels.counts": a["labels.counts"].astype(np.float32)}), "is float32"),
        (lambda a: a.update({"labels.counts": a["labels.counts"] - 100}), "below 0"),
        (lambda a: a.update({"labels.counts": a["labels.counts"] + 100}), r"outside 0\.\.40"),
        (lambda a: a.pop("labels.ends"), "labels.ends"),
        (lambda a: a.update({"labels.ends": a["labels.ends"][:-1]}), "asks for 9"),
        (lambda a: a.update({"labels.utf8": a["labels.utf8"] | 128}), "damaged"),
        (
            lambda a: a.update({"labels.utf8": a["labels.utf8"][:7], "labels.ends": a["labels.ends"][:1]}),
            "asks for 9",
        ),
    ],
)
def test_label_arrays_that_do_not_fit_are_refused(tmp_path, fitted, change, message):
    _, x, y = fitted
    names = [f"label {i}" for i in range(9)]
    lw.Popular().fit(lw.Dataset(x, y, label_names=names)).save(tmp_path / "m")
    label_arrays(tmp_path / "m", change)
    with pytest.raises(lw.ModelFileError, match=message):
        lw.load(tmp_path / "m")


def test_a_model_that_is_not_trained_cannot_be_saved(tmp_path):
    with pytest.raises(lw.NotFittedError):
        lw.Popular().save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, sys
import numpy as np
from labelwood.storage import swap
from labelwood.storage.load import load_folder
from labelwood.storage.save import save_folder

root, can_exchange = sys.argv[1], sys.argv[2] == "exchange"
target = os.path.join(root, "m")
fields = {"kind": "model", "name": "popular"}
old, new = np.arange(1000), np.arange(2000)
save_folder(target, fields, {"a": old})
if not can_exchange:
    swap._exchange = lambda one, other: False
kills = 0
while True:
    child = os.fork()
    if child == 0:
        left = [kills]

        def step():
            left[0] -= 1
            if left[0] < 0:
                os._exit(9)

        def hook(event, details):  # before every opening, renaming, making and removing of files below root
            events = "open", "os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.listdir", "ctypes.dlsym"
            if event in events:
                if event == "ctypes.dlsym" or any(isinstance(d, str) and root in d for d in details):
                    step()

        sync = os.fsync
        os.fsync = lambda descriptor: (step(), sync(descriptor))
        sys.addaudithook(hook)
        save_folder(target, fields, {"a": new})
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not os.path.exists(target):
        assert not can_exchange, "the model was away"
        left_over = swap.previous_folders(swap.Path(target))
        assert len(left_over) == 1, left_over
        try:
            load_folder(target)
        except Exception as error:
            assert str(left_over[0]) in str(error), error
        os.rename(left_over[0], target)
    found = load_folder(target, verify=True)[1]["a"]
    assert len(found) in (1000, 2000), len(found)
    np.testing.assert_array_equal(found, np.arange(len(found)))
    if code == 0:
        break
    assert code == 9, code
    if len(found) == 2000:  # start again from the old model
        save_folder(target, fields, {"a": old})
    kills += 1
assert len(found) == 2000
print("killed", kills, "times")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="uses fork")
@pytest.mark.parametrize("how", ["exchange", "rename aside"])
def test_a_killed_save_leaves_the_old_or_the_new_model(tmp_path, how):
    if how == "exchange" and not sys.platform.startswith("linux"):
        pytest.skip("folders are exchanged in one step on Linux alone")
    script = [sys.executable, "-c", KILLED, str(tmp_path), how]
    done = subprocess.run(script, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[1]) > 8  # it was killed at many moments, not only at one


def test_fingerprints():
    x = np.array([[0, 1.5], [2, 0]], np.float32)
    y = np.eye(2)
    name = data_fingerprint(x, y)
    assert (
        name == data_fingerprint(sparse.csc_matrix(x), sparse.coo_matrix(y)) == data_fingerprint(x.astype(float), y * 7)
    )
    stored_zero = sparse.csr_matrix((np.array([0, 1.5, 2], np.float32), [0, 1, 0], [0, 2, 3]), shape=(2, 2))
    assert name == data_fingerprint(stored_zero, y)
    assert name.startswith("sha256:")
    for other in (x * 2, x[:, ::-1], np.pad(x, ((0, 0), (0, 1)))):
        assert data_fingerprint(other, y) != name
    assert label_names_sha256(["ab", "c"]) != label_names_sha256(["a", "bc"])
    assert len(label_names_sha256([])) == 64


@pytest.mark.parametrize("verify", [False, True])
def test_folders_of_format_1_still_load(tmp_path, verify):
    """The folder was written by the last version with that format."""
    old = Path(__file__).parent / "format1" / "tagger"
    tagger = lw.load(old, verify=verify)
    answers = tagger.predict(["apple cake"], 3)[0]
    assert [name for name, _ in answers] == ["dessert", "apple", "drink"]
    assert [score for _, score in answers] == pytest.approx([0.6314926, 0.5115638, 0.3606891], abs=1e-6)
    tagger.save(tmp_path / "new")
    assert load_folder(tmp_path / "new")[0]["format_version"] == 2
    assert lw.load(tmp_path / "new").predict(["apple cake"], 3)[0] == answers


def test_a_model_may_be_saved_only_where_there_is_none(tmp_path, fitted):
    tagger = lw.Tagger("popular").fit(["apple pie", "plum cake"], [["x"], ["y"]])
    for name, saved in (("model", fitted[0]), ("tagger", tagger)):
        saved.save(tmp_path / name, overwrite=False)
        with pytest.raises(lw.ModelFileError, match="exists already; it is not replaced"):
            saved.save(tmp_path / name, overwrite=False)
        saved.save(tmp_path / name)
