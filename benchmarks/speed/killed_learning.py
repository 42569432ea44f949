"""kill -9 at random moments of `labelwood learn`: afterwards the folder holds the old tagger or the new one.

python benchmarks/speed/killed_learning.py [DATA_FOLDER] [--kills 100] [--seed 0] [--rows 1000]

DATA_FOLDER (default: EURLEX57K) holds train_raw.jsonl.gz. A tagger with a linear tree is trained on all rows but the
last --rows, which it then learns. After every kill all hashes of the folder are checked, and 50 texts must be answered
exactly as by the old tagger or by the new one. Prints how many kills left which; any other outcome is an error.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import tempfile
import time
from pathlib import Path

from learning import DATA, read_rows, written

import labelwood as lw
import labelwood.changing
import labelwood.tagger.journal  # imported here, so that no child spends its time on it
from labelwood.cli.main import run

ASKED = 50


def child(folder: Path, corrections: Path) -> int:
    """The process id of a `labelwood learn`; forked, so that imports take none of the time."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        code = run(["learn", str(folder), str(corrections), "--quiet", "--json", "--threads", "1"])
    finally:
        os._exit(code)


def state_of(folder: Path, texts: list[str]) -> str:
    """The labels and the answers of the tagger in a folder whose hashes are right, as one text to compare."""
    tagger = lw.load(folder, verify=True)
    tagger.n_threads = 1
    return json.dumps([list(tagger.label_names), tagger.predict(texts, 5)])


def main() -> None:
    """Print how many kills left the old tagger and how many the new one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path, default=DATA / "EURLEX57K")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=1000)
    given = parser.parse_args()
    rows = read_rows(given.data / "train_raw.jsonl.gz")
    texts = [row["text"] for row in rows[-ASKED:]]
    with tempfile.TemporaryDirectory() as name:
        before, folder = Path(name) / "before", Path(name) / "tagger"
        corrections = written(Path(name) / "corrections.jsonl", rows[-given.rows :])
        taught = rows[: -given.rows]
        tagger = lw.Tagger("linear-tree", keep_rows=True, n_threads=1)
        tagger.fit([row["text"] for row in taught], [row["labels"] for row in taught]).save(before)
        old = state_of(before, texts)
        shutil.copytree(before, folder)
        begin = time.perf_counter()
        pid = child(folder, corrections)
        if os.waitpid(pid, 0)[1] != 0:
            raise SystemExit("labelwood learn failed without a kill")
        whole = time.perf_counter() - begin
        new = state_of(folder, texts)
        moments, counts, saved = random.Random(given.seed), {"old": 0, "new": 0}, True
        for _ in range(given.kills):
            if saved:
                shutil.rmtree(folder)
                shutil.copytree(before, folder)
            pid = child(folder, corrections)
            time.sleep(moments.uniform(0, whole))
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            found = state_of(folder, texts)
            if found not in (old, new):
                raise SystemExit(
                    f"after kill {sum(counts.values()) + 1} the folder holds neither the old nor the new tagger"
                )
            saved = found == new
            counts["new" if saved else "old"] += 1
            for left in Path(name).glob(".tagger.*"):  # what a killed save leaves; the next save would take it away
                shutil.rmtree(left, ignore_errors=True)
    print(
        f"{given.data.name}, {len(taught)} rows, learn of {given.rows} rows took {whole:.1f} s: {given.kills} kills, "
        f"{counts['old']} left the old tagger, {counts['new']} the new one, none anything else"
    )


if __name__ == "__main__":
    main()
