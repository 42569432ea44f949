"""reproduce: the experiments of a paper run on the data sets that are there, beside what the paper prints.

Every finished run is one JSON file, named by data, settings and version, so what was stopped goes on, and tables that
need the same run share it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from labelwood import __version__
from labelwood.data.catalogue import USUAL, find
from labelwood.data.writing.atomic_file import whole_file
from labelwood.errors import DataError
from labelwood.models.registry import model_class
from labelwood.progress import SILENT, Progress
from labelwood.report.compare_data import Parts, store
from labelwood.report.compare_process import RunError, run_name, run_task
from labelwood.report.machine import machine_card
from labelwood.report.papers.experiment import ANSWERS, Experiment, Paper, Variant
from labelwood.report.papers.rows import data_folder, splits

MODULE = "labelwood.report.papers.run"


@dataclass(frozen=True)
class Request:
    """What to run, where from and where to.

    data: the folder with data sets. on: data sets to run on in place of the paper's. most_splits, most_seeds: fewer
    than the experiment has. most_rows: of the training rows so many by chance. quick: a small part of the rows, one
    split and one seed. changes: parameters of every model that has them, but where the experiment varies them.
    """

    data: Path
    work: Path
    on: tuple[str, ...] = ()
    most_splits: int | None = None
    most_seeds: int | None = None
    quick: bool = False
    n_threads: int | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    most_rows: int | None = None


def reproduce(
    paper: Paper, experiments: Sequence[Experiment], request: Request, progress: Progress = SILENT
) -> dict[str, Any]:
    """The report as one value of JSON's own kinds: for each experiment its data sets, with lines printed and measured.

    Data sets that are not there are in it with status "missing"; runs that fail with the reason.
    """
    start = time.perf_counter()
    kept_splits: dict[tuple[str, int], list[_Split]] = {}

    def splits_of(name: str, n_splits: int) -> list[_Split]:
        if (name, n_splits) not in kept_splits:
            kept_splits[name, n_splits] = _stored_splits(request, name, n_splits, progress)
        return kept_splits[name, n_splits]

    shown = [_experiment(experiment, request, splits_of, progress) for experiment in experiments]
    return {
        "labelwood": __version__,
        "paper": paper.name,
        "title": paper.title,
        "quick": request.quick,
        "most_rows": request.most_rows,
        "data": str(request.data),
        "changes": dict(request.changes),
        "experiments": shown,
        "machine": machine_card(request.n_threads),
        "date": time.strftime("%Y-%m-%d"),
        "seconds": time.perf_counter() - start,
    }


@dataclass(frozen=True)
class _Split:
    """A split that lies in a folder for the runs."""

    folder: Path
    fingerprint: str
    facts: dict[str, int]


def _stored_splits(request: Request, name: str, n_splits: int, progress: Progress) -> list[_Split]:
    folder = data_folder(request.data, name)
    if folder is None:
        raise DataError(f"{request.data}: has no folder {name}")
    n = 1 if request.quick else min(n_splits, request.most_splits or n_splits)
    kept = []
    for number, parts in enumerate(splits(folder, n_splits, quick=request.quick, most_rows=request.most_rows)):
        if number == n:
            break
        progress.step(f"reading {name}", number, n)
        kept.append(_store(parts, request.work))
    return kept


def _store(parts: Parts, work: Path) -> _Split:
    fingerprint = parts.fingerprint
    folder = work / f"data-{fingerprint[:12]}"
    try:
        for name, part in (("train", parts.train), ("test", parts.test)):
            store(part, folder / name)
    except OSError as error:
        raise DataError(f"{folder}: cannot be written ({error.strerror or error})") from None
    facts = {
        "train_rows": parts.train.n_rows,
        "test_rows": parts.test.n_rows,
        "n_features": parts.train.n_features,
        "n_labels": parts.train.n_labels,
    }
    return _Split(folder, fingerprint, facts)


def _experiment(
    experiment: Experiment, request: Request, splits_of: Callable[[str, int], list[_Split]], progress: Progress
) -> dict[str, Any]:
    sets = []
    wanted = [_catalogue_name(name) for name in request.on] or list(experiment.data)
    for name in dict.fromkeys([*wanted, *experiment.data]):
        asked = name in wanted
        if not asked:
            sets.append(_not_run(experiment, name, "other", "the paper's data set; another one was asked for"))
        elif data_folder(request.data, name) is None:
            sets.append(_not_run(experiment, name, "missing", f"there is no folder {name} in {request.data}"))
        else:
            sets.append(_data_set(experiment, name, request, splits_of, progress))
    picture = experiment.picture
    return {
        "name": experiment.name,
        "what": experiment.what,
        "where": experiment.where,
        "note": experiment.note,
        "metrics": list(experiment.metrics),
        "picture": None
        if picture is None
        else {"across": picture.across, "up": [picture.up, *picture.also], "log": picture.log},
        "sets": sets,
    }


def _not_run(experiment: Experiment, name: str, status: str, why: str) -> dict[str, Any]:
    lines = {row.line: row.values for row in experiment.printed if row.data == name}
    return {"data": name, "status": status, "why": why, "facts": {}, "lines": _printed_lines(experiment, lines)}


def _printed_lines(experiment: Experiment, lines: Mapping[str, Mapping[str, float]]) -> list[dict[str, Any]]:
    return [
        {"title": line, "curve": "", "printed": _of(experiment.metrics, values), "measured": {}, "failed": []}
        for line, values in lines.items()
    ]


def _data_set(
    experiment: Experiment,
    name: str,
    request: Request,
    splits_of: Callable[[str, int], list[_Split]],
    progress: Progress,
) -> dict[str, Any]:
    """The lines of an experiment on one data set that is there."""
    kept = splits_of(name, experiment.n_splits)
    n_seeds = 1 if request.quick or experiment.n_splits > 1 else experiment.n_seeds
    seeds = range(min(n_seeds, request.most_seeds or n_seeds))
    lines: list[dict[str, Any]] = []
    used: set[str] = set()
    for variant in experiment.variants:
        results, failed = [], []
        for number, split in enumerate(kept):
            for seed in seeds:
                what = f"{experiment.name}, {name}, {variant.title or variant.model}, split {number + 1}, seed {seed}"
                try:
                    results.append(_run(variant, split, seed, name, request, what, progress))
                except RunError as error:
                    failed.append(str(error))
        for title, curve, figures in _parts_of(experiment, variant, results):
            line = variant.printed_as if experiment.group == ANSWERS else title
            used.add(line)
            printed = _of(experiment.metrics, experiment.values_printed(name, line))
            measured = _summaries(experiment.metrics, figures)
            lines.append({"title": title, "curve": curve, "printed": printed, "measured": measured, "failed": failed})
        if not results:
            lines.append(
                {"title": variant.title or variant.model, "curve": "", "printed": {}, "measured": {}, "failed": failed}
            )
    others = {row.line: row.values for row in experiment.printed if row.data == name and row.line not in used}
    lines += _printed_lines(experiment, others)
    return {"data": name, "status": "done", "why": "", "facts": kept[0].facts, "lines": lines}


def _parts_of(
    experiment: Experiment, variant: Variant, results: Sequence[dict[str, Any]]
) -> list[tuple[str, str, list[dict[str, float]]]]:
    """(title, curve, figures of every run) of the lines that a variant gives."""
    lines: dict[str, list[dict[str, float]]] = {}
    for result in results:
        for part, figures in result["groups"].get(experiment.group, {}).items():
            lines.setdefault(part, []).append(figures)
    if experiment.group == ANSWERS:
        return [(variant.title, variant.curve, figures) for figures in lines.values()]
    front = f"{variant.title}, " if len(experiment.variants) > 1 else ""
    return [(front + part, variant.title or experiment.group, figures) for part, figures in lines.items()]


def _of(metrics: Sequence[str], values: Mapping[str, float]) -> dict[str, float]:
    return {metric: values[metric] for metric in metrics if metric in values}


def _summaries(metrics: Sequence[str], runs: Sequence[Mapping[str, float]]) -> dict[str, dict[str, Any]]:
    """Mean, sample deviation (None of one run) and number of runs of every metric that they have."""
    found = {}
    for metric in metrics:
        values = [run[metric] for run in runs if metric in run]
        if values:
            deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
            found[metric] = {"mean": float(np.mean(values)), "deviation": deviation, "n": len(values)}
    return found


def _run(
    variant: Variant, split: _Split, seed: int, name: str, request: Request, what: str, progress: Progress
) -> dict[str, Any]:
    """The figures of one run: kept ones, or measured now; RunError if it fails."""
    cls = model_class(variant.model)
    known = cls.Parameters.defaults()
    settings = {} if variant.preset is None else dict(cls.preset_settings(variant.preset))
    settings |= {"seed": seed, "n_threads": request.n_threads} if "seed" in known else {}
    # What the experiment varies stays varied, whatever is changed for all.
    settings |= {key: value for key, value in request.changes.items() if key in known} | dict(variant.changes)
    propensity = _propensity(name)
    folder = request.work / run_name(
        variant.model, [split.fingerprint, variant.model, settings, list(propensity), __version__]
    )
    file = folder / "result.json"
    if file.is_file():
        kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return kept
    task = {
        "phase": "measure", "data": str(split.folder), "model": variant.model, "parameters": settings,
        "propensity": list(propensity),
    }  # fmt: skip
    outcome = run_task(task, folder, what, progress, None, MODULE)
    result = {**outcome.result, "peak_bytes": outcome.peak_bytes, "measured": time.strftime("%Y-%m-%d %H:%M")}
    with whole_file(file) as path:
        path.write_text(json.dumps(result, indent=1), encoding="utf-8")
    return result


def _catalogue_name(name: str) -> str:
    """The name that the catalogue has for a data set, else the name as it is."""
    try:
        return find(name).name
    except DataError:
        return name


def _propensity(name: str) -> tuple[float, float]:
    try:
        return find(name).propensity
    except DataError:
        return USUAL
