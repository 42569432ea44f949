"""A disk that is full at the n-th write: one line, the old result or none; never half of one, never a traceback.

All n with LABELWOOD_SOAK=full, else some of them.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.tagger.journal import journal_path

FULL = os.environ.get("LABELWOOD_SOAK") == "full"
SOURCE = Path(__file__).with_name("full_disk.c")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs LD_PRELOAD")]
# Small parts, each of them kept, and every file worth a cache.
CODE = """
import sys
from labelwood.data.reading import row_cache
from labelwood.models.linear import training_parts
from labelwood.storage import steps
import labelwood.scratch
training_parts.WORK_OF_PART, steps.LEAST_SECONDS = 3e4, 0.0
row_cache.LEAST_BYTES = labelwood.scratch.LEAST_BYTES = 100
from labelwood.cli.main import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def preload(tmp_path_factory):
    """The library that fills the disk."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    library = tmp_path_factory.mktemp("preload") / "full_disk.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
    return library


@pytest.fixture
def place(tmp_path):
    """A folder with data; what is written goes there too."""
    x = sparse.random(600, 200, 0.05, "csr", np.float32, random_state=1)
    y = (sparse.random(600, 120, 0.02, "csr", random_state=2) > 0).astype(np.float32).tocsr()
    lw.write(lw.Dataset(x, y), tmp_path / "rows.txt")
    texts = [f"{dish} with {side} {n}" for n in range(60) for dish, side in (("pasta", "sauce"), ("cake", "cream"))]
    lw.Tagger("linear-tree", n_threads=1).fit(texts, [["italian"], ["baking"]] * 60).save(tmp_path / "tagger")
    return tmp_path


def ran(place, preload, arguments, at=None):
    """(exit code, stderr, changes made) of a command on a disk that is full from change `at` on."""
    count = place.parent / f"{place.name}.count"
    environment = {
        **os.environ,
        "LD_PRELOAD": str(preload),
        "LW_FULL_BELOW": str(place / "work"),
        "LW_FULL_COUNT": str(count),
        "LABELWOOD_CACHE": str(place / "work" / "cache"),
        "SOURCE_DATE_EPOCH": "0",
        "OMP_NUM_THREADS": "1",
        **({} if at is None else {"LW_FULL_AT": str(at)}),
    }
    done = subprocess.run(
        [sys.executable, "-c", CODE, *arguments], env=environment, capture_output=True, text=True, timeout=300
    )
    return done.returncode, done.stderr, int(count.read_text())


def content(path):
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    return {entry.name: content(entry) for entry in sorted(path.iterdir())} if path.is_dir() else None


TRAIN = ["train", "rows.txt", "--out", "work/model", "--model", "linear-tree", "--threads", "1", "--set", "C=1"]
COMMANDS = {
    "train": TRAIN,
    "train --resume": [*TRAIN, "--resume"],
    "train --memory": [*TRAIN, "--memory", "300M"],
    "learn": ["learn", "work/tagger", "--threads", "1"],
    "convert": ["data", "convert", "rows.txt", "work/rows.svm"],
    "predict": ["predict", "tagger", "texts.csv", "--out", "work/answers.csv"],
}
OUT = {"learn": "work/tagger", "convert": "work/rows.svm", "predict": "work/answers.csv"}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_old_result_or_the_new_one(name, place, preload, monkeypatch):
    monkeypatch.chdir(place)
    arguments, out = COMMANDS[name], place / OUT.get(name, "work/model")
    (place / "texts.csv").write_text("text\npasta with sauce\ncake with cream\n")

    def prepared():
        shutil.rmtree(place / "work", ignore_errors=True)
        (place / "work").mkdir()
        if name == "learn":
            shutil.copytree(place / "tagger", place / "work" / "tagger")
            journal_path(place / "work" / "tagger").write_text('{"text": "sushi", "labels": ["japanese"]}\n')

    prepared()
    before = content(out)
    code, err, n_changes = ran(place, preload, arguments)
    assert code == 0, err
    after = content(out)
    assert n_changes > 1
    moments = range(1, n_changes + 1)
    chosen = moments if FULL else sorted({*moments[:: max(1, n_changes // 6)], n_changes - 1, n_changes})
    failed = 0
    for at in chosen:
        prepared()
        code, err, _ = ran(place, preload, arguments, at)
        assert "Traceback" not in err, err
        if code == 0:  # what could not be written was not needed: a step, or the cache
            assert content(out) == after
            continue
        failed += 1
        assert code == 2, (at, err)
        assert "No space left" in err, (at, err)
        assert content(out) in (before, after), at  # the last write makes the new one durable, and it is there by then
        code, err, _ = ran(place, preload, arguments)
        finished = content(out) == after
        assert finished, (at, err)
        assert code == 0 or "already" in err, (at, err)  # "holds a saved model already": the last write had done it
        assert not [path.name for path in (place / "work").iterdir() if path.name.startswith(".")], at
    assert failed
