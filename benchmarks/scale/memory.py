"""Training and answering within a limit of memory that the kernel keeps, beside the same without a limit.

    python benchmarks/scale/memory.py TRAIN.txt [--test TEST.txt] --memory 4G [--limit 4.2G] [--threads 1]

Prints a line for each command: seconds, CPU seconds, the largest resident memory (getrusage), and whether both models
have the same bytes. --limit: a cgroup of that size (needs root; version 1 or 2), in which page cache counts too and a
program that needs more is killed.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from labelwood.memory import memory_text, parse_memory

CGROUPS = Path("/sys/fs/cgroup")


class Limit:
    """A cgroup that bounds memory, for the processes that join it."""

    def __init__(self, n_bytes: int) -> None:
        first = CGROUPS / "memory"  # version 1
        self.folder = (first if first.is_dir() else CGROUPS) / f"labelwood-{os.getpid()}"
        self.folder.mkdir()
        name = "memory.limit_in_bytes" if first.is_dir() else "memory.max"
        (self.folder / name).write_text(str(n_bytes))

    def join(self) -> None:
        """Put the calling process into the group."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self) -> None:
        """Remove the group; its processes have ended."""
        self.folder.rmdir()


def measured(arguments: list[str], limit: Limit | None, cache: Path) -> str:
    """What a command cost, as a line."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "labelwood", *arguments, "--quiet"]
    environment = {**os.environ, "LABELWOOD_CACHE": str(cache), "SOURCE_DATE_EPOCH": "0"}
    process = subprocess.Popen(command, env=environment, preexec_fn=None if limit is None else limit.join)
    _, status, used = os.wait4(process.pid, 0)
    code = process.returncode = os.waitstatus_to_exitcode(status)
    wall, cpu = time.perf_counter() - begin, used.ru_utime + used.ru_stime
    end = "" if code == 0 else f", ended with {code}"
    return f"{wall:.1f} s, {cpu:.1f} CPU s, {memory_text(used.ru_maxrss << 10)} resident{end}"


def main() -> None:
    """Run both and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path)
    parser.add_argument("--test", type=Path)
    parser.add_argument("--memory", required=True)
    parser.add_argument("--limit")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--only", choices=("free", "sliced"))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.train.absolute().parent) as folder:
        digests = {}
        for name, more in (("free", []), ("sliced", ["--memory", asked.memory])):
            if asked.only not in (None, name):
                continue
            out = Path(folder) / name
            limit = Limit(parse_memory(asked.limit)) if asked.limit and more else None
            threads = ["--threads", asked.threads, *more]
            train = ["train", str(asked.train), "--model", "linear-tree", "--out", str(out), *threads]
            print(f"{name:6} train   {measured(train, limit, Path(folder))}", flush=True)
            if asked.test is not None and out.is_dir():
                predict = ["predict", str(out), str(asked.test), "--out", f"{out}.npz", *threads]
                print(f"{name:6} predict {measured(predict, limit, Path(folder))}", flush=True)
            if limit is not None:
                limit.remove()
            if out.is_dir():
                digests[name] = hashlib.sha256((out / "arrays.safetensors").read_bytes()).hexdigest()
        if len(digests) == 2:
            print("the same bytes" if len(set(digests.values())) == 1 else "DIFFERENT BYTES")


if __name__ == "__main__":
    main()
