"""One run of a comparison, in a process of its own: train, answer, or give reasons; the parent process measures it.

    python -m labelwood.report.compare_run TASK.json

Writes one JSON object a line to stdout: progress {"what", "done", "total"}, at the end {"result", "peak_bytes"} or
{"error"}.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from labelwood.data.dataset import Dataset
from labelwood.data.keyed_random import keyed_order
from labelwood.errors import LabelwoodError, ParamError
from labelwood.loading import load
from labelwood.models.base import Model
from labelwood.models.registry import model_class
from labelwood.progress import WHOLE, Progress
from labelwood.report.compare_data import stored
from labelwood.tagger.tagger import Tagger
from labelwood.topk import TopK

ANSWERED = 5  # answers of a single query, and places whose probabilities are kept
WARM_UP_QUERIES = 20
MOST_QUERIES = 1000
QUERY_SECONDS = 5.0
PROBED_ANSWERS = 500  # test rows that a run on a part of the rows answers
SECONDS_BETWEEN_REPORTS = 0.2
Trained = Tagger | Model[Any, Any]


class Reports:
    """A Progress that writes JSON lines for the parent process, a few in a second."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._last = 0.0

    def step(self, what: str, done: int, total: int) -> None:
        """Write a line if the last one is not just written."""
        now = time.monotonic()
        if what != WHOLE and now - self._last >= SECONDS_BETWEEN_REPORTS:  # a comparison is more than this training
            self._last = now
            self.line({"what": what, "done": int(done), "total": int(total)})

    def line(self, value: dict[str, Any]) -> None:
        """Write one object."""
        self._stream.write(json.dumps(value) + "\n")
        self._stream.flush()


def train(task: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """What training cost; the model is saved in task["out"]."""
    data = stored(Path(task["data"]) / "train")
    trained, wall, cpu = _fitted(task, data, progress)
    out = Path(task["out"])
    trained.save(out)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    return {"train_wall_s": wall, "train_cpu_s": cpu, "model_bytes": size}


def probe(task: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """The seconds of training on task["n_rows"] rows, and of answering one row."""
    data = stored(Path(task["data"]) / "train")
    # Without groups: one of them may be too large for a part of the rows, and the time is the same.
    part = replace(data.take(np.sort(keyed_order(data.n_rows, 0)[: task["n_rows"]])), groups=None)
    trained, wall, _ = _fitted(task, part, progress)
    asked = stored(Path(task["data"]) / "test").take(slice(PROBED_ANSWERS))
    start = time.perf_counter()
    _answers(trained, asked, task["k"])
    return {"train_wall_s": wall, "answer_wall_s": (time.perf_counter() - start) / asked.n_rows}


def answer(task: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """What answering cost; the answers to all test rows are in task["out"]."""
    start = time.perf_counter()
    trained = load(task["model"])
    load_seconds = time.perf_counter() - start
    trained.n_threads = task["n_threads"]
    data = stored(Path(task["data"]) / "test")
    progress.step("answering", 0, data.n_rows)
    start, start_cpu = time.perf_counter(), time.process_time()
    top = _answers(trained, data, task["k"])
    wall, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    state = (trained.model_ if isinstance(trained, Tagger) else trained).fitted_
    chances = state.probabilities(top.scores[:, :ANSWERED])
    np.savez(task["out"], labels=top.labels, scores=top.scores, chances=chances)
    times = 1000 * _single_queries(trained, data, progress)
    return {
        "load_s": load_seconds,
        "answer_wall_s": wall,
        "answer_cpu_s": cpu,
        "single_p50_ms": float(np.quantile(times, 0.5)),
        "single_p99_ms": float(np.quantile(times, 0.99)),
        "single_queries": len(times),
    }


def explain(task: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """One line of reasons for each (row, label) of task["asked"]; a method without explanations says so."""
    trained = load(task["model"])
    trained.n_threads = task["n_threads"]
    data = stored(Path(task["data"]) / "test")
    return {"reasons": [_reason(trained, data, row, label) for row, label in task["asked"]]}


def _reason(trained: Trained, data: Dataset, row: int, label: int, n: int = 4) -> str:
    try:
        if isinstance(trained, Tagger):
            return trained.explain((data.texts or ())[row], trained.label_names[label]).text(n)
        return trained.explain(data.take([row]), label).text(data.feature_names, n)
    except ParamError as error:
        return str(error)


def _fitted(task: dict[str, Any], data: Dataset, progress: Progress) -> tuple[Trained, float, float]:
    """(the trained tagger or model, wall seconds, CPU seconds of all threads)."""
    start, start_cpu = time.perf_counter(), time.process_time()
    trained: Trained
    if data.x is None:
        tagger = Tagger(task["name"], features=task["features"], model_params=task["parameters"])
        trained = tagger.fit(data, progress=progress)
    else:
        trained = model_class(task["name"])(**task["parameters"]).fit(data, progress=progress)
    return trained, time.perf_counter() - start, time.process_time() - start_cpu


def _answers(trained: Trained, data: Dataset, k: int) -> TopK:
    return trained.predict_top(data.texts or (), k) if isinstance(trained, Tagger) else trained.predict(data, k)


def _single_queries(trained: Trained, data: Dataset, progress: Progress) -> Any:
    """The seconds of single queries on one thread, one row after the other, texts included where rows are texts."""
    trained.n_threads = 1
    order = keyed_order(data.n_rows, 0)[:MOST_QUERIES]
    rows = [data.take([row]) for row in order]
    for row in rows[:WARM_UP_QUERIES]:
        _answers(trained, row, ANSWERED)
    times: list[float] = []
    begin = time.perf_counter()
    for row in rows:
        start = time.perf_counter()
        _answers(trained, row, ANSWERED)
        times.append(time.perf_counter() - start)
        progress.step("single queries", len(times), len(rows))
        if time.perf_counter() - begin > QUERY_SECONDS:
            break
    return np.array(times)


def _peak_bytes() -> int | None:
    """The largest resident memory of this process so far, as Linux counts it; None elsewhere."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return None
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


Phase = Callable[[dict[str, Any], Progress], dict[str, Any]]
PHASES: dict[str, Phase] = {"train": train, "probe": probe, "answer": answer, "explain": explain}


def main(arguments: Sequence[str], phases: Mapping[str, Phase] = PHASES) -> int:
    """0 if the task of the file is done; every line on stdout is a JSON object."""
    reports = Reports(sys.stdout)
    sys.stdout = sys.stderr  # what a library prints does not come between the lines
    task = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    try:
        result = phases[task["phase"]](task, reports)
        reports.line({"result": result, "peak_bytes": _peak_bytes()})
    except LabelwoodError as error:
        reports.line({"error": str(error)})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
