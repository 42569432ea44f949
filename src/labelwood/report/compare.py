"""compare: several models trained on the same rows, each in processes of its own, and what their answers are worth.

Finished runs are kept, by data, settings and version, so a comparison that was stopped, or gets a model more, goes on.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from labelwood import __version__
from labelwood.data.writing.atomic_file import whole_file
from labelwood.errors import DataError, ParamError
from labelwood.progress import SILENT, Progress
from labelwood.report.compare_data import Parts, store
from labelwood.report.compare_figures import WIDTH, Answered, Judged, figures, judged, sample_rows, spare_places
from labelwood.report.compare_process import RunError, run_name, run_task
from labelwood.report.compare_spread import execute_spread
from labelwood.report.machine import machine_card
from labelwood.report.peers import SCRIPT, store_features
from labelwood.spreading import current_spread
from labelwood.topk import TopK

SHOWN_ANSWERS = 3
SHOWN_CHARACTERS = 400
SHOWN_FEATURES = 12
# Time is estimated from a run on this part of the rows, in proportion. Most methods take more than that, few less, so
# a model that does not fit by the estimate would hardly fit; one that takes longer is stopped at the deadline.
PROBE_SHARE = 8
LEAST_PROBE_ROWS = 500
# The reasons of the sample rows are quick; they may take this long after the budget.
REASON_SECONDS = 30.0


@dataclass(frozen=True)
class Entry:
    """A model to compare: the title it goes by, its registry name, its parameters, and those of its text features.

    python: the Python that has it, if it is another package; its name is then one of peers.PEERS. missing: why it
    cannot run.
    """

    title: str
    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    features: Mapping[str, Any] = field(default_factory=dict)
    python: str = ""
    missing: str = ""


@dataclass
class Run:
    """What became of an entry: "done" with costs, or "skipped" or "failed" with the reason why."""

    entry: Entry
    folder: Path
    status: str = "waiting"
    why: str = ""
    reused: bool = False
    estimate_s: float | None = None
    costs: dict[str, Any] = field(default_factory=dict)


class Clock:
    """The time that is left of a budget in seconds; without a budget there is always enough."""

    def __init__(self, budget: float | None) -> None:
        self.budget = budget
        self._start = time.monotonic()

    def left(self) -> float | None:
        """The seconds left, None without a budget."""
        return None if self.budget is None else self.budget - (time.monotonic() - self._start)


def compare(
    parts: Parts,
    entries: Sequence[Entry],
    work: Path,
    *,
    budget: float | None = None,
    n_threads: int | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """The report as one value of JSON's own kinds; RunError if no model could be trained.

    work: the folder for runs, which are reused if they are there. budget: seconds for everything; models that would not
    fit are skipped, and the report says so. Where work is spread, all runs begin at once, each with the whole budget.
    """
    _check(entries)
    start = time.perf_counter()
    clock = Clock(budget)
    fingerprint = parts.fingerprint
    data = work / f"data-{fingerprint[:12]}"
    try:
        for name, part in parts.named():
            store(part, data / name)
    except OSError as error:
        raise DataError(f"{data}: cannot be written ({error.strerror or error})") from None
    k = WIDTH + spare_places(parts)
    runs = [Run(entry, work / _folder_name(entry, fingerprint, k, n_threads)) for entry in entries]
    for run in runs:
        _reuse(run)
        if run.entry.missing and run.status == "waiting":
            run.status, run.why = "skipped", run.entry.missing
    waiting = [run for run in runs if run.status == "waiting"]
    ours = [run for run in waiting if not run.entry.python]
    spread = current_spread()
    if budget is not None and spread.n_parts == 1:
        _estimate(ours, parts, data, k, clock, progress)
        waiting.sort(key=lambda run: run.estimate_s or 0.0)  # cheapest first: as many as can be
    if spread.n_parts > 1:  # peers have their own Python on this machine alone
        execute_spread(spread, ours, parts, k, n_threads, clock.left(), progress)
        waiting = [run for run in waiting if run.entry.python]
    for run in waiting:
        rows = store_features(parts, data, n_threads) if run.entry.python else data
        execute(run, rows, k, n_threads, clock, progress)
    done = [run for run in runs if run.status == "done"]
    if not done:
        raise RunError("no model was trained: " + "; ".join(f"{run.entry.title}: {run.why}" for run in runs))
    models = [judged(_answers(run), parts) for run in done]
    progress.step("resampling rows", 0, 0)
    measured = figures(models, parts, seed=seed)
    samples = _samples(done, models, parts, data, n_threads, clock, progress)
    return {
        "labelwood": __version__,
        "data": _data_facts(parts, fingerprint),
        "runs": [_run_facts(run) for run in runs],
        **measured,
        "samples": samples,
        "machine": machine_card(n_threads),
        "seconds": time.perf_counter() - start,
        "budget_s": budget,
    }


def _check(entries: Sequence[Entry]) -> None:
    if not entries:
        raise ParamError("there is no model to compare")
    titles = [entry.title for entry in entries]
    for title in titles:
        if titles.count(title) > 1:
            raise ParamError(f"two models are called {title!r}; give one another title, such as {title}-2={title}")


def _folder_name(entry: Entry, fingerprint: str, k: int, n_threads: int | None) -> str:
    """The name of a run's folder: another data set, setting or version is another folder."""
    key = [fingerprint, entry.name, dict(entry.parameters), dict(entry.features), k, n_threads, __version__]
    return run_name(entry.name, [*key, "peer"] if entry.python or entry.missing else key)


def _reuse(run: Run) -> None:
    """Take over a run that was finished earlier."""
    file = run.folder / "costs.json"
    if file.is_file():
        run.costs = json.loads(file.read_text(encoding="utf-8"))
        run.status, run.reused = "done", True


def _task(run: Run, phase: str, data: Path, **more: Any) -> dict[str, Any]:
    entry = run.entry
    settings = {"name": entry.name, "parameters": dict(entry.parameters), "features": dict(entry.features)}
    return {"phase": phase, "data": str(data), **settings, **more}


def _estimate(runs: Sequence[Run], parts: Parts, data: Path, k: int, clock: Clock, progress: Progress) -> None:
    """Set how long each run would take at least, from a run on a part of the rows; skip it if even that is too long."""
    n_rows = parts.train.n_rows
    size = max(LEAST_PROBE_ROWS, n_rows // PROBE_SHARE)
    if 2 * size > n_rows:
        return  # the whole is hardly more than the part would be: the deadline alone decides
    for place, run in enumerate(runs):
        allowed = (clock.left() or 0.0) / (len(runs) - place + 1)
        task = _task(run, "probe", data, n_rows=size, k=k)
        try:
            seconds = run_task(task, run.folder, f"{run.entry.title}, estimate", progress, allowed).result
        except RunError as error:
            run.status, run.why = "skipped", f"already a part of the rows, {size:,} of {n_rows:,}, failed: {error}"
            continue
        run.estimate_s = seconds["train_wall_s"] * n_rows / size + seconds["answer_wall_s"] * parts.test.n_rows


def execute(run: Run, data: Path, k: int, n_threads: int | None, clock: Clock, progress: Progress) -> None:
    """Train and answer, and keep both; a run that fails or does not fit the budget says why."""
    left = clock.left()
    if run.status != "waiting":
        return
    if left is not None and (left <= 0 or (run.estimate_s or 0.0) > left):
        needs = "" if run.estimate_s is None else f"it would take {run.estimate_s:.0f} s or more, but "
        run.status, run.why = "skipped", f"{needs}{max(left, 0.0):.0f} s of the budget were left"
        return
    title, model = run.entry.title, run.folder / "model"
    python = run.entry.python
    command = (python, str(SCRIPT)) if python else ()
    more = {"n_threads": n_threads, "seed": int(run.entry.parameters.get("seed", 0))} if python else {}
    try:
        task = _task(run, "train", data, out=str(model), **more)
        training = run_task(task, run.folder, title, progress, left, command=command)
        asked = {**more, "n_threads": n_threads, "model": str(model), "out": str(run.folder / "answers.npz"), "k": k}
        task = _task(run, "answer", data, **asked)
        answering = run_task(task, run.folder, title, progress, clock.left(), command=command)
    except RunError as error:
        run.status, run.why = "failed" if clock.left() is None or (clock.left() or 0) > 0 else "skipped", str(error)
        return
    run.costs = {
        **training.result,
        "train_peak_bytes": training.peak_bytes,
        "train_process_cpu_s": training.cpu_s,
        **answering.result,
        "answer_peak_bytes": answering.peak_bytes,
        "measured": time.strftime("%Y-%m-%d %H:%M"),
    }
    with whole_file(run.folder / "costs.json") as path:
        path.write_text(json.dumps(run.costs, indent=1), encoding="utf-8")
    run.status = "done"


def _answers(run: Run) -> Answered:
    with np.load(run.folder / "answers.npz", allow_pickle=False) as kept:
        return Answered(run.entry.title, TopK(kept["labels"], kept["scores"]), kept["chances"])


def _samples(
    runs: Sequence[Run], models: Sequence[Judged], parts: Parts, data: Path, n_threads: int | None, clock: Clock,
    progress: Progress,
) -> list[dict[str, Any]]:  # fmt: skip
    """Some test rows with their true labels, and each model's answers with the reason for the first."""
    chosen = sample_rows(models)
    reasons = [
        _reasons(run, model, [row for row, _ in chosen], data, n_threads, clock, progress)
        for run, model in zip(runs, models, strict=True)
    ]
    samples = []
    for place, (row, why) in enumerate(chosen):
        answers = {}
        for model, lines in zip(models, reasons, strict=True):
            best = model.hits.top[row].cut(SHOWN_ANSWERS)
            right = model.hits.hit[row]
            answers[model.title] = {
                "answers": [
                    {"label": parts.name(label), "score": score, "right": bool(right[rank])}
                    for rank, (label, score) in enumerate(next(iter(best)))
                ],
                "reason": lines[place],
            }
        true = [parts.name(int(label)) for label in models[0].hits.y[row].indices]
        samples.append({"row": row, "why": why, "shown": _shown(parts, row), "true": true, "models": answers})
    return samples


def _reasons(
    run: Run, model: Judged, rows: Sequence[int], data: Path, n_threads: int | None, clock: Clock, progress: Progress
) -> list[str]:
    """Why the model gives each row its first answer, a line each."""
    if run.entry.python:
        return ["another package: it gives no reasons"] * len(rows)
    asked = [(row, int(model.hits.top.labels[row, 0])) for row in rows]
    asked = [(row, label) for row, label in asked if label >= 0]
    task = _task(run, "explain", data, model=str(run.folder / "model"), asked=asked, n_threads=n_threads)
    left = clock.left()
    try:
        outcome = run_task(
            task, run.folder, run.entry.title, progress, None if left is None else max(left, REASON_SECONDS)
        )
    except RunError as error:
        return [f"no reasons: {error}"] * len(rows)
    lines = dict(zip([row for row, _ in asked], outcome.result["reasons"], strict=True))
    return [lines.get(row, "no answer") for row in rows]


def _shown(parts: Parts, row: int) -> str:
    """The row for people: the beginning of its text, or its strongest features."""
    test = parts.test
    if test.texts is not None:
        text = " ".join(test.texts[row].split())
        return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 3] + "..."
    entries = test.features()[row]
    strongest = np.argsort(-np.abs(entries.data), kind="stable")[:SHOWN_FEATURES]
    names = test.feature_names
    words = [
        f"{f'feature {column}' if names is None else names[column]} {value:.3g}"
        for column, value in zip(entries.indices[strongest].tolist(), entries.data[strongest].tolist(), strict=True)
    ]
    return ", ".join(words) + (f", and {entries.nnz - len(words)} more" if entries.nnz > len(words) else "")


def _data_facts(parts: Parts, fingerprint: str) -> dict[str, Any]:
    train, test = parts.train, parts.test
    return {
        "source": train.source,
        "test_source": test.source,
        "holds": "texts" if train.x is None else "features",
        "train_rows": train.n_rows,
        "test_rows": test.n_rows,
        "n_labels": train.n_labels,
        "n_features": train.n_features,
        **{f"{name}_groups": len(set(part.groups)) for name, part in parts.named() if part.groups is not None},
        "labels_a_row": test.y.nnz / test.n_rows,
        "unknown_labels": test.n_labels - train.n_labels,
        "fingerprint": fingerprint,
    }


def _run_facts(run: Run) -> dict[str, Any]:
    entry = run.entry
    return {
        "title": entry.title,
        "model": entry.name,
        "parameters": dict(entry.parameters),
        "features": dict(entry.features),
        "status": run.status,
        "why": run.why,
        "reused": run.reused,
        "estimate_s": run.estimate_s,
        "costs": run.costs,
    }
