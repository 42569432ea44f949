"""kill -9 at random moments: what a command writes is there whole, or as it was; the next run is not disturbed.

200 moments each with LABELWOOD_SOAK=full, else some. `learn` is in test_killed_learning.py, `--resume` in
tests/integration/test_resuming.py.
"""

import hashlib
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
from labelwood.data.reading import row_cache
from labelwood.models.linear import training_parts

N_KILLS = 200 if os.environ.get("LABELWOOD_SOAK") == "full" else 20
pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL"),
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]


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


def content(path):
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    return {entry.name: content(entry) for entry in sorted(path.iterdir())} if path.is_dir() else None


@pytest.mark.parametrize("n_kills", [2, pytest.param(N_KILLS, marks=pytest.mark.slow)], ids=["a few", "many"])
@pytest.mark.parametrize("name", ["train", "train --force", "train --memory", "convert"])
def test_whole_or_as_it_was(name, n_kills, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    monkeypatch.setenv("LABELWOOD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(row_cache, "LEAST_BYTES", 100)
    monkeypatch.setattr(training_parts, "WORK_OF_PART", 3e5)
    x = sparse.random(600, 200, 0.05, "csr", np.float32, random_state=1)
    y = (sparse.random(600, 120, 0.02, "csr", random_state=2) > 0).astype(np.float32).tocsr()
    lw.write(lw.Dataset(x, y), "rows.txt")
    train = ["train", "rows.txt", "--out", "out", "--model", "linear-tree", "--threads", "1", "--quiet", "--set=C=1"]
    arguments = {
        "train": train,
        "train --force": [*train, "--force"],
        "train --memory": [*train, "--memory", "300M"],
        "convert": ["data", "convert", "rows.txt", "out.svm", "--quiet"],
    }[name]
    out = tmp_path / ("out.svm" if name == "convert" else "out")
    old = None
    if name == "train --force":
        lw.Popular().fit(x, y).save(tmp_path / "old")
        old = content(tmp_path / "old")

    def prepared():
        for path in (tmp_path / "out", tmp_path / "cache"):
            shutil.rmtree(path, ignore_errors=True)
        out.unlink(missing_ok=True)
        if old is not None:
            shutil.copytree(tmp_path / "old", out)

    prepared()
    begin = time.perf_counter()
    assert os.waitpid(child(arguments), 0)[1] == 0
    seconds = time.perf_counter() - begin
    new = content(out)
    moments = random.Random(n_kills)
    for _ in range(n_kills):
        prepared()
        pid = child(arguments)
        time.sleep(moments.uniform(0, seconds))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        assert content(out) in (old, new)
    # What kills left behind is cleared away by a run that ends well.
    prepared()
    assert os.waitpid(child(arguments), 0)[1] == 0
    assert content(out) == new
    assert not list(tmp_path.glob(".*.saving-*"))
    assert not list(tmp_path.glob("*.unfinished"))
