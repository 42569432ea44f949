"""`train --resume`: a run that was killed goes on where it was, and ends with the bytes of one that was not."""

import hashlib
import json
import os
import random
import shutil
import signal
import sys
import time

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.cli.main import run
from labelwood.cli.resuming import identity_of
from labelwood.models.linear import training_parts
from labelwood.storage import steps
from labelwood.storage.steps import Steps, keeping

NEEDS_FORK = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Parts of milliseconds, each of them kept; folders without the time of day."""
    monkeypatch.setattr(training_parts, "WORK_OF_PART", 3e4)
    monkeypatch.setattr(steps, "LEAST_SECONDS", 0.0)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")


@pytest.fixture
def rows():
    x = sparse.random(1500, 300, 0.05, "csr", np.float32, random_state=1)
    y = (sparse.random(1500, 400, 0.006, "csr", random_state=2) > 0).astype(np.float32).tocsr()
    return x, y


@pytest.fixture
def data(rows, tmp_path):
    lw.write(lw.Dataset(*rows), tmp_path / "rows.txt")
    return tmp_path / "rows.txt"


def command(data, out, *more):
    return [
        "train",
        str(data),
        "--out",
        str(out),
        "--model",
        "linear-tree",
        "--quiet",
        "--threads",
        "1",
        "--set=C=1",
        *more,
    ]


def content(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def arrays_of(model):
    return model.fitted_.arrays()


def assert_same(one, other):
    assert sorted(one) == sorted(other)
    for name in one:
        assert one[name].dtype == other[name].dtype
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


@pytest.mark.parametrize(
    "model",
    [
        lw.LinearTree(n_trees=3, max_leaf=20, C=1.0),
        lw.LinearTree(max_leaf=20, arity=4, negatives="tfn+man", C=1.0),
        lw.LinearTree(max_leaf=20, weighting="propensity", C=1.0),
        lw.OneVsAll(),
        lw.HierarchicalXC(),
    ],
    ids=["forest", "searched negatives", "weighted", "one-vs-all", "hierarchicalxc"],
)
def test_parts_are_the_whole(model, rows, tmp_path):
    whole = arrays_of(type(model)(**model.get_params()).fit(*rows))
    first, second = Steps(tmp_path / "steps"), Steps(tmp_path / "steps")
    with keeping(first):
        assert_same(whole, arrays_of(type(model)(**model.get_params()).fit(*rows)))
    with keeping(second):
        again = type(model)(**model.get_params()).set_params(n_threads=1).fit(*rows)
    assert_same(whole, arrays_of(again))
    assert first.kept > 1
    assert (second.kept, second.reused) == (0, first.kept + first.reused)


def test_weighted_rows_and_other_data_have_steps_of_their_own(rows, tmp_path):
    x, y = rows
    weights = np.linspace(0.5, 2, x.shape[0])
    plain = lw.LinearTree(max_leaf=20, C=1.0)
    whole = arrays_of(plain.fit(x, y, sample_weight=weights))
    with keeping(kept := Steps(tmp_path / "steps")):
        plain.fit(x, y)
        assert_same(whole, arrays_of(plain.fit(x, y, sample_weight=weights)))
        plain.fit(x[:-1], y[:-1])
        lw.LinearTree(max_leaf=20, C=1.0, seed=1).fit(x, y)
    assert kept.reused == 0


def test_a_damaged_step_is_made_again(rows, tmp_path):
    whole = arrays_of(lw.OneVsAll().fit(*rows))
    with keeping(Steps(tmp_path / "steps")):
        lw.OneVsAll().fit(*rows)
    damaged = sorted((tmp_path / "steps").glob("blocks-*/arrays.safetensors"))[0]
    content = bytearray(damaged.read_bytes())
    content[-3] ^= 1
    damaged.write_bytes(content)
    with keeping(kept := Steps(tmp_path / "steps")):
        assert_same(whole, arrays_of(lw.OneVsAll().fit(*rows)))
    assert kept.kept == 1


def test_a_step_that_cannot_be_kept_stops_nothing(rows, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with keeping(kept := Steps(tmp_path / "file" / "steps")):
        lw.OneVsAll().fit(*rows)
    assert kept.kept == 0
    assert "cannot be written" in kept.fault


def child(arguments):
    """The process id of a `labelwood` command."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        code = run(arguments)
    finally:
        os._exit(code)


def n_entries(folder):
    return sum(1 for _ in folder.iterdir()) if folder.exists() else 0


def ended(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@NEEDS_FORK
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("n_kills", [3, pytest.param(50, marks=pytest.mark.slow)], ids=["3 kills", "50 kills"])
def test_kills_leave_no_trace(n_kills, data, tmp_path):
    begin = time.perf_counter()
    assert ended(child(command(data, tmp_path / "whole"))) == 0
    seconds = time.perf_counter() - begin
    out, unfinished = tmp_path / "model", tmp_path / "model.unfinished"
    moments = random.Random(n_kills)
    kills, most_steps = 0, 0
    while kills < n_kills:
        pid = child(command(data, out, "--resume"))
        if kills % 2:
            time.sleep(moments.uniform(0, seconds))
        else:  # soon after one more step
            before, begin = n_entries(unfinished), time.perf_counter()
            while n_entries(unfinished) <= before and not out.exists() and time.perf_counter() - begin < 30:
                time.sleep(0.001)
            time.sleep(moments.uniform(0, 0.02))
        os.kill(pid, signal.SIGKILL)
        kills += ended(pid) == -signal.SIGKILL
        if out.exists():  # it was quicker than the kill: once more from the beginning
            assert content(out) == content(tmp_path / "whole")
            assert run(command(data, out, "--resume")) == 0
            assert not unfinished.exists()
            for path in out.iterdir():
                path.unlink()
            out.rmdir()
        elif unfinished.exists():
            most_steps = max(most_steps, n_entries(unfinished))
    assert run(command(data, out, "--resume")) == 0
    assert content(out) == content(tmp_path / "whole")
    assert most_steps > 1
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith(".")) == [
        "model",
        "rows.txt",
        "whole",
    ]


@pytest.fixture
def killed(data, tmp_path, monkeypatch):
    """A run that ended after a few steps, by an error that nobody expects."""
    real = Steps._keep

    def kept(self, key, made):
        real(self, key, made)
        if self.kept == 3:
            raise RuntimeError("stop")

    monkeypatch.setattr(Steps, "_keep", kept)
    assert run(command(data, tmp_path / "model", "--resume")) == 1
    monkeypatch.setattr(Steps, "_keep", real)
    assert (tmp_path / "model.unfinished" / "run.json").exists()
    return tmp_path / "model"


def test_the_same_run_goes_on(killed, data, tmp_path, capsys):
    assert run([*command(data, killed, "--resume"), "--json"]) == 0
    assert run(command(data, tmp_path / "whole")) == 0
    assert content(killed) == content(tmp_path / "whole")
    assert not killed.with_name("model.unfinished").exists()
    capsys.readouterr()
    assert run(command(data, killed, "--resume")) == 0
    assert "finished already" in capsys.readouterr().err
    assert run(command(data, killed, "--resume", "--seed", "3")) == 2
    assert "holds a saved model already" in capsys.readouterr().err


def test_a_note_says_what_was_reused(killed, data, capsys):
    arguments = [part for part in command(data, killed, "--resume") if part != "--quiet"]
    assert run(arguments) == 0
    assert "3 finished steps taken from" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "told"), [("--seed=1", "seed (0, now 1)"), ("--set=max_leaf=9", 'set (["C=1"], now')], ids=str
)
def test_another_run_is_refused_in_one_line(change, told, killed, data, capsys):
    assert run(command(data, killed, "--resume", change)) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


def test_other_data_and_other_versions_are_refused(killed, data, capsys):
    note = killed.with_name("model.unfinished") / "run.json"
    found = json.loads(note.read_text())
    note.write_text(json.dumps({**found, "labelwood": "0.0.1"}))
    assert run(command(data, killed, "--resume")) == 2
    assert 'another labelwood ("0.0.1", now' in capsys.readouterr().err
    note.write_text(json.dumps(found))
    with data.open("a") as stream:
        stream.write("\n")
    assert run(command(data, killed, "--resume")) == 2
    assert "another data" in capsys.readouterr().err


def test_files_are_known_by_what_they_hold(tmp_path):
    """A thesaurus that changed, and data that changed in the middle, are others; a file elsewhere is the same."""
    data, vocab = tmp_path / "rows.csv", tmp_path / "names.tsv"
    data.write_text("text,labels\n" + "some words,a\n" * 400_000)
    vocab.write_text("a\tapple\n")
    options = {"vocab": vocab, "set_": [f"tree={vocab}", "C=1"], "split": None, "seed": 1}
    first = identity_of(data, options)
    (tmp_path / "elsewhere").mkdir()
    there = shutil.copy(vocab, tmp_path / "elsewhere" / "other.tsv")
    assert identity_of(data, {**options, "vocab": there, "set_": [f"tree={there}", "C=1"]}) == first
    for change in ({"vocab": tmp_path / "none.tsv"}, {"set_": ["tree=none", "C=1"]}, {"vocab": None}):
        assert identity_of(data, {**options, **change}) != first
    vocab.write_text("a\tameise\n")
    assert identity_of(data, options) != first
    vocab.write_text("a\tapple\n")
    assert identity_of(data, options) == first
    rows = bytearray(data.read_bytes())
    rows[1_500_001] ^= 1
    data.write_bytes(rows)
    assert identity_of(data, options) != first


def test_a_run_is_not_finished_where_its_thesaurus_changed(tmp_path, capsys):
    (tmp_path / "rows.csv").write_text("text,labels\n" + "red apple,a\ngreen pear,b\n" * 10)
    vocab = tmp_path / "names.tsv"
    vocab.write_text("id\tname\na\tapple\nb\tpear\n")
    train = ["train", str(tmp_path / "rows.csv"), "--out", str(tmp_path / "m"), "--vocab", str(vocab), "--threads=1"]
    assert run(train) == 0
    assert run([*train, "--resume"]) == 0
    assert "this run is finished already" in capsys.readouterr().err
    vocab.write_text("id\tname\na\tpomme\nb\tpoire\n")
    assert run([*train, "--resume"]) == 2
    assert "finished already" not in capsys.readouterr().err


def test_work_is_not_thrown_away_by_accident(killed, data, tmp_path, capsys):
    assert run(command(data, killed)) == 2
    assert "add --resume to go on with it, or --force to begin anew" in capsys.readouterr().err
    assert run(command(data, killed, "--force")) == 0
    assert not killed.with_name("model.unfinished").exists()


def test_another_command_begins_anew(killed, data, capsys):
    arguments = [part for part in command(data, killed, "--seed", "5") if part != "--quiet"]
    assert run(arguments) == 0
    assert "removed the unfinished run" in capsys.readouterr().err


def test_a_folder_of_someone_else_is_left_alone(data, tmp_path, capsys):
    (tmp_path / "model.unfinished").mkdir()
    (tmp_path / "model.unfinished" / "letter.txt").write_text("dear")
    assert run(command(data, tmp_path / "model", "--resume")) == 2
    assert "it is left alone" in capsys.readouterr().err
    assert (tmp_path / "model.unfinished" / "letter.txt").read_text() == "dear"


@NEEDS_FORK
def test_two_runs_at_a_time_are_refused(killed, data, capsys):
    import fcntl

    descriptor = os.open(killed.with_name("model.unfinished"), os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    assert run(command(data, killed, "--resume")) == 2
    assert "another labelwood is working on this run" in capsys.readouterr().err
    os.close(descriptor)


def test_ctrl_c_says_how_to_go_on(data, tmp_path, monkeypatch, capsys):
    real = Steps._keep

    def kept(self, key, made):
        real(self, key, made)
        raise KeyboardInterrupt

    monkeypatch.setattr(Steps, "_keep", kept)
    assert run(command(data, tmp_path / "model", "--resume")) == 130
    assert "with --resume goes on where it was" in capsys.readouterr().err
