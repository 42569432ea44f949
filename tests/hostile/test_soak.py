"""Long mixed load, other threads, other clocks, little memory, disks that may not be written.

LABELWOOD_SOAK=full makes the loop a hundred times as long.
"""

import gc
import hashlib
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.cli.main import run
from labelwood.data.madeup.shop_texts import make_texts
from labelwood.data.reading import row_cache
from labelwood.models.linear import training_parts
from labelwood.scratch import Scratch, sparing
from labelwood.storage.steps import Steps, keeping

FULL = os.environ.get("LABELWOOD_SOAK") == "full"
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """A file of rows, in the folder where the test is; small parts, every file worth a cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    monkeypatch.setenv("LABELWOOD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(row_cache, "LEAST_BYTES", 100)
    monkeypatch.setattr(training_parts, "WORK_OF_PART", 3e5)
    x = sparse.random(600, 200, 0.05, "csr", np.float32, random_state=1)
    y = (sparse.random(600, 120, 0.02, "csr", random_state=2) > 0).astype(np.float32).tocsr()
    lw.write(lw.Dataset(x, y), "rows.txt")
    return x, y


# A command with so many bytes of address space beyond what its modules take.
LIMITED = """
import resource, sys
import labelwood.data.reading.read, labelwood.data.reading.xmc_format, labelwood.storage.save
import labelwood.models.linear.linear_tree
from labelwood.cli import main
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
size = used + int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (size, size))
sys.exit(main.run(sys.argv[2:]))
"""
TRAIN = ["train", "rows.txt", "--model", "linear-tree", "--quiet", "--set=C=1"]


def content(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def resident():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def n_handles():
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@LINUX
@pytest.mark.slow
def test_memory_and_handles_stay_flat(rows, tmp_path):
    x, y = rows
    texts = make_texts(300, seed=1)

    def everything(number):
        with sparing(Scratch(tmp_path)), keeping(Steps(tmp_path / "steps")):
            lw.LinearTree(n_trees=2, C=1.0).fit(x, y)
        model = lw.LinearTree(C=1.0, keep_rows=True).fit(x, y)
        model.partial_fit(x[:20], y[:20])
        model.save(tmp_path / "model")
        loaded = lw.load(tmp_path / "model")
        loaded.predict(x, 5)
        loaded.explain(x[0], 3)
        lw.OneVsAll().fit(x, y).predict(x, 5)
        tagger = lw.Tagger("linear-tree", assign=None).fit(texts)
        tagger.learn([f"blue lamp number {number}"], [["lamps"]])
        tagger.predict(["a red chair"], 3)
        assert run([*TRAIN, "--out", "trained", "--force", "--memory", "300M"]) == 0
        assert run(["predict", "trained", "rows.txt", "--out", "answers.txt", "--force", "--quiet"]) == 0

    for number in range(5):
        everything(number)
    before, handles = resident(), n_handles()
    for number in range(1500 if FULL else 15):
        everything(number)
        assert n_handles() <= handles
    assert resident() - before < 0.1 * before + (16 << 20)


@pytest.mark.parametrize("n_threads", [1, 2, 8])
def test_any_number_of_threads_gives_the_same_bytes(n_threads, rows, tmp_path):
    assert run([*TRAIN, "--out", "one", "--threads", "1"]) == 0
    threads = ["--threads", str(n_threads)]
    assert run([*TRAIN, "--out", "many", *threads, "--memory", "300M"]) == 0
    assert run([*TRAIN, "--out", "kept", *threads, "--resume"]) == 0
    assert content(tmp_path / "one") == content(tmp_path / "many") == content(tmp_path / "kept")


@pytest.mark.parametrize("jump", [-10 * 365 * 86400.0, 10 * 365 * 86400.0], ids=["ten years back", "ten years ahead"])
def test_clocks_may_jump(jump, rows, tmp_path, monkeypatch):
    assert run([*TRAIN, "--out", "whole", "--memory", "300M"]) == 0
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + jump)
    os.utime("rows.txt", (real() + jump, real() + jump))
    assert run([*TRAIN, "--out", "again", "--memory", "300M", "--resume"]) == 0
    assert content(tmp_path / "whole") == content(tmp_path / "again")


@LINUX
@pytest.mark.slow
@pytest.mark.parametrize("n_threads", [1, 2, 8])
def test_too_little_memory_ends_in_one_line(n_threads, rows, tmp_path):
    arguments = [*TRAIN, "--out", "out", "--force", "--threads", str(n_threads)]
    codes = set()
    for megabytes in (2, 8, 16, 32, 64, 128, 2048) if FULL else (4, 32, 2048):
        done = subprocess.run(
            [sys.executable, "-c", LIMITED, str(megabytes << 20), *arguments],
            capture_output=True,
            text=True,
            timeout=300,
        )
        codes.add(done.returncode)
        assert done.returncode in (0, 1, 2), (megabytes, done.stderr)  # not killed by a signal
        assert done.stderr.count("\n") <= 1, (megabytes, done.stderr)
        assert done.returncode == 0 or not (tmp_path / "out").exists() or content(tmp_path / "out")
    assert 0 in codes


@LINUX
@pytest.mark.slow
def test_a_limit_that_the_kernel_keeps(tmp_path):
    """In a cgroup that kills the same training without --memory."""
    groups = Path("/sys/fs/cgroup/memory")
    version_1 = groups.is_dir()
    folder = (groups if version_1 else groups.parent) / f"labelwood-test-{os.getpid()}"
    try:
        folder.mkdir()
        limit = folder / ("memory.limit_in_bytes" if version_1 else "memory.max")
        limit.write_text(str(190 << 20))
    except OSError as error:
        pytest.skip(f"no cgroup may be made here ({error})")
    try:
        sizes = ["--rows", "30000", "--labels", "30000", "--features", "30000"]
        assert run(["data", "synth", str(tmp_path / "rows.txt"), "--kind", "sparse", *sizes, "--quiet"]) == 0
        join = f"echo $$ > {folder}/cgroup.procs; exec "
        train = f"'{sys.executable}' -m labelwood train rows.txt --model linear-tree --threads 1 --quiet --out"
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "0", "LABELWOOD_CACHE": str(tmp_path / "cache")}
        codes = [
            subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment, timeout=900).returncode
            for command in (f"{train} free", f"{join}{train} killed", f"{join}{train} sliced --memory 150M")
        ]
        assert codes == [0, -9, 0]
        assert content(tmp_path / "free") == content(tmp_path / "sliced")
    finally:
        folder.rmdir()


@LINUX
@pytest.mark.slow
def test_a_disk_that_may_not_be_written(rows, tmp_path):
    """In a mount namespace of its own, so that nobody else sees the read-only folder."""
    assert run([*TRAIN, "--out", "model"]) == 0
    (tmp_path / "frozen").mkdir()
    script = tmp_path / "steps.sh"
    script.write_text(
        f"""set -e
mount -t tmpfs tmpfs frozen && cp -r model rows.txt frozen/ && mount -o remount,ro frozen
set +e
labelwood() {{ '{sys.executable}' -m labelwood "$@"; echo "code $?"; }}
labelwood predict frozen/model frozen/rows.txt --out answers.txt --quiet
labelwood train frozen/rows.txt --out frozen/new --model linear-tree --quiet
labelwood train frozen/rows.txt --out frozen/new --model linear-tree --quiet --resume --memory 300M
LABELWOOD_CACHE=frozen/cache labelwood train frozen/rows.txt --out new --model linear-tree --quiet --memory 300M
labelwood data convert frozen/rows.txt frozen/rows.svm --quiet
labelwood learn frozen/model rows.txt --quiet
"""
    )
    done = subprocess.run(
        ["unshare", "--mount", "--map-root-user", "sh", str(script)], capture_output=True, text=True, timeout=600
    )
    if "code" not in done.stdout:
        pytest.skip(f"cannot mount here: {done.stderr.strip()[-100:]}")
    codes = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("code")]
    assert codes == ["0", "2", "2", "0", "2", "2"], done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 4, done.stderr
    assert json.loads((tmp_path / "new" / "manifest.json").read_text())["name"] == "linear-tree"
