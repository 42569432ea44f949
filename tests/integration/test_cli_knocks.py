"""The command line where disks are full, folders damaged, numbers absurd and runs killed or run twice."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from labelwood.storage.save import save_folder


def one_line(done, *parts):
    assert done.code == 2, done
    assert done.err.count("\n") == 1, done.err
    assert done.err.startswith("labelwood: ")
    for part in parts:
        assert str(part) in done.err, done.err


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def damage(folder, name="arrays.safetensors", place=-3):
    raw = bytearray((folder / name).read_bytes())
    raw[place] ^= 4
    (folder / name).write_bytes(raw)


# damaged folders


def asked(command, folder, data):
    return {
        "predict": ["predict", folder, data],
        "evaluate": ["evaluate", folder, data],
        "explain": ["explain", folder, "apple cake"],
        "inspect": ["inspect", folder],
        "serve": ["serve", folder, "--port", "0"],
    }[command]


@pytest.mark.parametrize("command", ["predict", "evaluate", "explain", "inspect", "serve"])
def test_damaged_arrays_are_one_line(cli, jsonl, tagger, command):
    damage(tagger)
    words = asked(command, tagger, jsonl)
    one_line(cli(*words), tagger / "arrays.safetensors", "was changed after it was saved (xxh3 differs)")
    one_line(cli(*words, "--verify"), tagger / "arrays.safetensors", "(sha256 differs)")


@pytest.mark.parametrize("command", ["predict", "evaluate", "explain", "inspect", "serve"])
def test_a_damaged_manifest_is_one_line(cli, jsonl, tagger, command):
    path = tagger / "manifest.json"
    path.write_text(path.read_text().replace('"n_rows": 6', '"n_rows": 7'))
    one_line(cli(*asked(command, tagger, jsonl)), path, "manifest_sha256 differs")


@pytest.mark.parametrize("command", ["predict", "evaluate", "explain", "inspect"])
def test_whole_folders_pass_the_full_check(cli, jsonl, tagger, command):
    words = asked(command, tagger, jsonl)
    done = cli(*words, "--verify")
    assert done.code == 0
    if command != "inspect":
        assert done.out == cli(*words).out


# numbers that no memory can hold


@pytest.mark.parametrize("k", [10_001, 1_000_000_000, 10**30])
def test_an_absurd_k_is_one_line(cli, jsonl, tagger, k):
    one_line(cli("predict", tagger, jsonl, "-k", k), "k must be at most 10000 where there are 3 labels")
    one_line(cli("evaluate", tagger, jsonl, "-k", 1, "-k", k), "k must be at most 10000 where there are 3 labels")


def test_a_k_above_the_labels_gives_them_all(cli, jsonl, tagger):
    done = cli("predict", tagger, jsonl, "-k", 9999)
    assert done.code == 0
    assert len(json.loads(done.out.splitlines()[0])["labels"]) == 3


HEADERS = {
    "features": ("a.txt", "1 2147483647 3\n0 0:1\n", "line 1: 2147483647 features for 21 bytes"),
    "labels": ("a.txt", "1 3 2147483647\n0 0:1\n", "line 1: 2147483647 labels for 21 bytes"),
    "rows": ("a.txt", "2147483648 3 3\n0 0:1\n", "the header announces 2147483648"),
    "more features": ("a.txt", "1 2147483648 3\n0 0:1\n", "2147483648 features are too many"),
    "svmlight features": ("a.svm", "1 2147483646:1\n", "2147483647 features for 15 bytes"),
    "svmlight labels": ("a.svm", "2147483646 1:1\n", "2147483647 labels for 15 bytes"),
}


@pytest.mark.parametrize("what", HEADERS)
def test_two_lines_that_declare_billions_are_one_line(cli, tmp_path, what):
    name, content, message = HEADERS[what]
    (tmp_path / name).write_text(content)
    one_line(cli("train", tmp_path / name, "--out", tmp_path / "m", "-q"), name, message)
    one_line(cli("data", "info", tmp_path / name), name, message)


def test_a_header_that_declares_many_columns_is_believed_up_to_a_limit(cli, tmp_path):
    (tmp_path / "a.txt").write_text(f"1 {1 << 26} 3\n0 0:1\n")
    assert cli("data", "info", tmp_path / "a.txt").code == 0
    (tmp_path / "a.txt").write_text(f"1 {(1 << 26) + 1} 3\n0 0:1\n")
    one_line(cli("data", "info", tmp_path / "a.txt"), "67108865 features")


@pytest.mark.parametrize("side", ["X", "Y"])
@pytest.mark.parametrize("shape", [(2**62, 3), (2, 2**62), (2**31, 2**31)])
def test_npz_shapes_without_end_are_one_line(cli, tmp_path, side, shape):
    for name in "XY":
        sparse.save_npz(tmp_path / f"{name}.npz", sparse.eye(2, 3, format="csr"))
    with np.load(tmp_path / "X.npz") as arrays:
        np.savez(tmp_path / f"{side}.npz", **{**arrays, "shape": np.array(shape)})
    one_line(cli("train", tmp_path / "X.npz", "--out", tmp_path / "m"), f"{side}.npz", "for ", "bytes of data")


# full disks


LIMITED = """
import resource, sys
from labelwood.cli.main import run
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files")
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".txt", ".npz"])
def test_a_full_disk_names_the_file_of_predict(tagger, tmp_path, suffix):
    data, out = tmp_path / "many.jsonl", tmp_path / "out" / f"answers{suffix}"
    out.parent.mkdir()
    data.write_text("\n".join(json.dumps({"text": f"apple cake {i}"}) for i in range(4000)))
    command = [sys.executable, "-c", LIMITED, "predict", tagger, data, "--out", out, "-q", "--threads", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr == f"labelwood: {out}: cannot be written (File too large)\n"
    assert names_in(out.parent) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /dev/full")
def test_a_full_disk_behind_stdout_is_one_line(jsonl, tagger):
    command = [sys.executable, "-m", "labelwood", "predict", str(tagger), str(jsonl), "-q"]
    with open("/dev/full", "w") as full:  # noqa: PTH123 (a device, not a path of ours)
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert done.stderr == "labelwood: standard output: cannot be written (No space left on device)\n"


# runs that were killed, and runs at the same time


def test_what_a_killed_predict_left_is_removed_by_the_next(cli, jsonl, tagger, tmp_path):
    (tmp_path / ".part-0123456789ab-answers.csv").write_text("half")
    assert cli("predict", tagger, jsonl, "--out", tmp_path / "answers.csv").code == 0
    assert names_in(tmp_path) == ["answers.csv", "rows.jsonl", "tagger"]


KILLED = """
import os, sys
from labelwood.cli.main import run
from labelwood.storage import save
save.put_in_place = lambda *more, **options: os._exit(9)
run(sys.argv[1:])
"""


def test_what_a_killed_train_left_is_removed_by_the_next(cli, jsonl, tmp_path):
    words = ["train", str(jsonl), "--out", str(tmp_path / "m"), "--threads", "1"]
    done = subprocess.run([sys.executable, "-c", KILLED, *words], capture_output=True, timeout=120, check=False)
    assert done.returncode == 9, done.stderr
    assert names_in(tmp_path)[0].startswith(".m.saving-")
    assert cli(*words).code == 0
    assert names_in(tmp_path) == ["m", "rows.jsonl"]


def first_train_ends_meanwhile(monkeypatch, cli, words):
    """Let another train end while this one still trains."""
    from labelwood.cli import training as command

    real = command.train

    def slow(*arguments):
        trained = real(*arguments)
        monkeypatch.setattr(command, "train", real)
        assert cli(*words).code == 0
        return trained

    monkeypatch.setattr(command, "train", slow)


def test_the_second_of_two_trains_to_one_folder_is_refused_at_its_end(cli, jsonl, tmp_path, monkeypatch):
    out = tmp_path / "m"
    first_train_ends_meanwhile(monkeypatch, cli, ["train", jsonl, "--out", out, "--seed", 1])
    done = cli("train", jsonl, "--out", out, "--seed", 2, "-q")
    one_line(done, out, "holds a saved model already; give another name, or --force to replace it")
    assert json.loads(cli("inspect", out, "--json", "--verify").out)["seed"] == 1
    assert names_in(tmp_path) == ["m", "rows.jsonl"]


def test_with_force_the_last_of_two_trains_wins(cli, jsonl, tmp_path, monkeypatch):
    out = tmp_path / "m"
    first_train_ends_meanwhile(monkeypatch, cli, ["train", jsonl, "--out", out, "--seed", 1])
    assert cli("train", jsonl, "--out", out, "--seed", 2, "--force").code == 0
    assert json.loads(cli("inspect", out, "--json", "--verify").out)["seed"] == 2


def test_two_trains_started_together(jsonl, tmp_path):
    words = [sys.executable, "-m", "labelwood", "train", str(jsonl), "--out", str(tmp_path / "m"), "--threads", "1"]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    told = [process.communicate(timeout=120) for process in both]
    assert sorted(process.returncode for process in both) == [0, 2], told
    assert names_in(tmp_path) == ["m", "rows.jsonl"]


# other people's files


def test_force_into_a_folder_with_other_files_is_refused_before_the_data_is_read(cli, tmp_path):
    out = tmp_path / "m"
    save_folder(out, {"kind": "model", "name": "popular"}, {})
    (out / "thesis.txt").write_text("mine")
    one_line(cli("train", tmp_path / "no such data.txt", "--out", out, "--force"), out, "'thesis.txt' beside the model")
    (out / "thesis.txt").unlink()
    (out / "arrays.safetensors").mkdir()
    (out / "arrays.safetensors" / "thesis.txt").write_text("mine")
    one_line(cli("train", tmp_path / "no such data.txt", "--out", out, "--force"), "'arrays.safetensors' beside")
    assert (out / "arrays.safetensors" / "thesis.txt").read_text() == "mine"
