"""A task of a comparison run in a process of its own: shown, stopped at a deadline, measured by the kernel."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labelwood.errors import LabelwoodError
from labelwood.progress import Progress

MODULE = "labelwood.report.compare_run"


class RunError(LabelwoodError):
    """A run that failed or was stopped; the message says why."""


@dataclass(frozen=True)
class Outcome:
    """What a process gave back, and what the kernel counted: CPU seconds and peak bytes (None where it does not)."""

    result: dict[str, Any]
    cpu_s: float | None
    peak_bytes: int | None


def run_name(title: str, key: Sequence[Any]) -> str:
    """The name of a run's folder: readable, and another one whenever anything in `key` (of JSON's kinds) differs."""
    text = json.dumps(key, sort_keys=True)
    return f"{re.sub(r'[^-.a-zA-Z0-9_]+', '_', title)}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def run_task(
    task: dict[str, Any],
    folder: Path,
    title: str,
    progress: Progress,
    seconds: float | None,
    module: str = MODULE,
    command: Sequence[str] = (),
) -> Outcome:
    """The outcome of one task of `module`, or of another command; its messages are in folder/PHASE.log.

    RunError if it fails, or lasts over `seconds`.
    """
    phase = task["phase"]
    folder.mkdir(parents=True, exist_ok=True)
    task_file, log = folder / f"{phase}.task.json", folder / f"{phase}.log"
    task_file.write_text(json.dumps(task), encoding="utf-8")
    last: dict[str, Any] = {}
    late = threading.Event()
    with log.open("wb") as messages:
        child = subprocess.Popen(
            [*(command or (sys.executable, "-m", module)), str(task_file)],
            stdout=subprocess.PIPE,
            stderr=messages,
            encoding="utf-8",
        )

        def stop() -> None:
            late.set()
            child.kill()

        timer = None if seconds is None else threading.Timer(max(seconds, 0.0), stop)
        try:
            if timer is not None:
                timer.start()
            for line in child.stdout or ():
                last = json.loads(line)
                if "what" in last:
                    progress.step(f"{title}: {last['what']}", last["done"], last["total"])
            cpu_s, peak_bytes = _ended(child)
        finally:
            if timer is not None:
                timer.cancel()
            if child.returncode is None:  # an error or Ctrl-C here: the run must not live on
                child.kill()
                child.wait()
            if child.stdout is not None:
                child.stdout.close()
    if "result" in last:
        # Linux lets ru_maxrss begin at what the parent held when it started the child, so its own count goes first.
        return Outcome(last["result"], cpu_s, last["peak_bytes"] or peak_bytes)
    if late.is_set():
        raise RunError(f"stopped in phase {phase!r} after {seconds:.0f} s: the budget was used up")
    raise RunError(last.get("error") or _last_words(log, child.returncode))


def _ended(child: subprocess.Popen[str]) -> tuple[float | None, int | None]:
    """Wait for the process; (CPU seconds, peak bytes) of it as the kernel counted them, None where it cannot say."""
    if not hasattr(os, "wait4"):  # Windows
        child.wait()
        return None, None
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit


def _last_words(log: Path, code: int) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    if code < 0:
        return f"the process was ended by signal {-code}" + (" (out of memory?)" if code == -9 else "")
    return lines[-1] if lines else f"the process ended with exit code {code} and no message; see {log}"
