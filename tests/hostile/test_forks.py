"""Processes made after the parent's threads have worked: they answer, the same, and end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from labelwood import _native

SCRIPT = Path(__file__).with_name("forked_predictions.py")
LINUX = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs fork and CPU affinity")


@LINUX
@pytest.mark.parametrize("way", ["plain_fork", "pool_fork", "pool_spawn"])
def test_children_answer_as_their_parent(way, tmp_path):
    run = subprocess.run(
        [sys.executable, SCRIPT, way, tmp_path / "model"], capture_output=True, text=True, timeout=120, check=False
    )
    assert (run.returncode, run.stdout) == (0, "same\n"), run.stderr


def threads_of_a_process(code="", **environment):
    """max_threads() of a new process that ran `code` first."""
    code = f"import os; {code}\nfrom labelwood import _native; print(_native.max_threads())"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | environment
    )
    return int(run.stdout)


def test_threads_are_limited_by_the_environment():
    processors = threads_of_a_process(OMP_NUM_THREADS="")
    assert threads_of_a_process(OMP_NUM_THREADS="1") == 1
    assert threads_of_a_process(OMP_NUM_THREADS="100000") == processors
    for no_number in ("0", "-1", "two", "1x", "99999999999999999999"):
        assert threads_of_a_process(OMP_NUM_THREADS=no_number) == processors


@LINUX
def test_threads_are_limited_by_the_affinity():
    assert threads_of_a_process("os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})", OMP_NUM_THREADS="") == 1
    assert 1 <= _native.max_threads() <= len(os.sched_getaffinity(0))
