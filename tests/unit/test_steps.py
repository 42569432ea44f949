"""Steps of a run: keys, what is kept, and the public way to keep them."""

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.models.linear import training_parts
from labelwood.storage import steps
from labelwood.storage.steps import Key, Steps, current_steps


def test_keys_tell_everything_apart():
    array = np.arange(6, dtype=np.int32)
    parts = [
        [array],
        [array.astype(np.int64)],
        [array.reshape(2, 3)],
        [array[:-1]],
        [array, None],
        ["array"],
        [{"a": 1}],
        [{"a": 2}],
        [sparse.csr_matrix(np.eye(3, dtype=np.float32))],
        [sparse.csr_matrix(np.eye(3, 4, dtype=np.float32))],
    ]
    names = [Key("x").add(*given).name() for given in parts]
    assert len(set(names)) == len(names)
    assert Key("x").add(array).name() == Key("x").add(array[::1].copy()).name()
    assert Key("y").add(array).name() != names[0]
    shared = Key("x").add(1)
    assert shared.copy().add(2).name() != shared.copy().add(3).name()
    assert shared.name() == Key("x").add(1).name()


def test_quick_and_early_steps_are_not_kept(tmp_path, monkeypatch):
    made = {"a": np.ones(3)}
    quick = Steps(tmp_path / "steps")
    quick.arrays(Key("x"), lambda: made)
    assert not (tmp_path / "steps").exists()
    monkeypatch.setattr(steps, "LEAST_SECONDS", 0.0)
    patient = Steps(tmp_path / "steps", patience=1000)
    patient.arrays(Key("x"), lambda: made)
    assert not (tmp_path / "steps").exists()
    quick.arrays(Key("x"), lambda: made)
    assert quick.kept == 1
    found = Steps(tmp_path / "steps").arrays(Key("x"), lambda: pytest.fail("it is there"))
    np.testing.assert_array_equal(found["a"], made["a"])


def test_a_block_that_fails_leaves_its_steps_and_one_that_ends_removes_them(tmp_path, monkeypatch):
    monkeypatch.setattr(steps, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(training_parts, "WORK_OF_PART", 3e4)
    x = sparse.random(500, 100, 0.1, "csr", np.float32, random_state=1)
    y = (sparse.random(500, 300, 0.01, "csr", random_state=2) > 0).astype(np.float32).tocsr()
    folder = tmp_path / "steps"

    def failing():
        with lw.resumable(folder):
            lw.OneVsAll().fit(x, y)
            raise RuntimeError("power is gone")

    with pytest.raises(RuntimeError):
        failing()
    assert list(folder.iterdir())
    with lw.resumable(folder) as kept:
        model = lw.OneVsAll().fit(x, y)
    assert kept.reused > 0
    assert kept.kept == 0
    assert not folder.exists()
    assert current_steps() is None
    whole = lw.OneVsAll().fit(x, y)
    np.testing.assert_array_equal(model.predict(x, 5).scores, whole.predict(x, 5).scores)


def test_a_folder_with_something_else_is_refused(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(lw.ParamError, match="something else than steps"), lw.resumable(tmp_path):
        pass
    assert (tmp_path / "letter.txt").exists()
