"""kill -9 in the middle of `labelwood learn`: the folder holds the old tagger or the new one; no correction is lost."""

import os
import random
import shutil
import signal
import sys
import time

import pytest

import labelwood
from labelwood.cli.main import run
from labelwood.tagger.journal import journal_path
from labelwood.tagger.tagger import Tagger

N_KILLS = 200 if os.environ.get("LABELWOOD_SOAK") == "full" else 100
LINES = "".join(f'{{"text": "sushi and rice number {n}", "labels": ["japanese"], "id": {n}}}\n' for n in range(40))


def child(folder):
    """The process id of a `labelwood learn`."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        code = run(["learn", str(folder), "--quiet", "--json", "--threads", "1"])
    finally:
        os._exit(code)


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("n_kills", [8, pytest.param(N_KILLS, marks=pytest.mark.slow)], ids=["a few", "many"])
def test_the_old_tagger_or_the_new_one(n_kills, tmp_path):
    texts = [f"{dish} with {side} {n}" for n in range(100) for dish, side in (("pasta", "sauce"), ("cake", "cream"))]
    Tagger("linear-tree", n_threads=1).fit(texts, [["italian"], ["baking"]] * 100).save(tmp_path / "before")
    folder = tmp_path / "tagger"
    journal = journal_path(folder)

    def prepared():
        for path in (folder, *tmp_path.glob(".tagger.*")):
            shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(tmp_path / "before", folder)
        journal.write_text(LINES)

    prepared()
    begin = time.perf_counter()
    assert os.waitpid(child(folder), 0)[1] == 0
    whole = time.perf_counter() - begin
    assert "japanese" in labelwood.load(folder, verify=True).label_names
    assert not journal.exists()

    moments = random.Random(0)
    n_new = 0
    for _ in range(n_kills):
        prepared()
        pid = child(folder)
        time.sleep(moments.uniform(0, whole))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        tagger = labelwood.load(folder, verify=True)
        new = tagger.label_names == ("baking", "italian", "japanese")
        assert new or tagger.label_names == ("baking", "italian")
        assert tagger.predict(["pasta with sauce"], 1)[0][0][0] == "italian"
        assert new or journal.read_text() == LINES
        n_new += new
        # Once more, undisturbed: it ends as if nothing had happened.
        if journal.exists():
            assert run(["learn", str(folder), "--quiet", "--json", "--threads", "1"]) == 0
            assert len(labelwood.load(folder).fitted_.rows) == 240
    assert n_new < n_kills  # some came before the end
