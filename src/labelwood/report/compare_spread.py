"""The runs of a comparison done elsewhere: rows go out, the finished folders come back."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelwood.data.writing.atomic_file import whole_file
from labelwood.progress import SILENT, Progress
from labelwood.report.compare_data import Parts, store
from labelwood.spreading import Spread

if TYPE_CHECKING:
    from labelwood.report.compare import Run

Files = dict[str, bytes]
COSTS = "costs.json"  # written last: a folder that has it is whole


def execute_spread(
    spread: Spread, runs: Sequence[Run], parts: Parts, k: int, n_threads: int | None, budget: float | None,
    progress: Progress,
) -> None:  # fmt: skip
    """Do the runs as pieces of the spread; each ends as it would have here, with its folder in its place."""
    jobs = [(replace(run, folder=Path(run.folder.name)), k, n_threads, budget) for run in runs]
    results = spread.map(execute_elsewhere, [spread.share(parts)], jobs, what="runs of the cluster", progress=progress)
    for run, (status, why, costs, files) in zip(runs, results, strict=True):
        run.status, run.why, run.costs = status, why, costs
        for name, content in sorted(files.items(), key=lambda item: item[0] == COSTS):
            place = run.folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(place) as path:
                path.write_bytes(content)


def execute_elsewhere(
    parts: Parts, run: Run, k: int, threads: int | None, budget: float | None, *, n_threads: int | None = None
) -> tuple[str, str, dict[str, Any], Files]:
    """(status, reason, costs, the files of the run's folder) of one run in a folder that is gone afterwards."""
    from labelwood.report.compare import Clock, execute

    with tempfile.TemporaryDirectory(prefix="labelwood-compare-") as folder:
        data = Path(folder) / "data"
        for name, part in parts.named():
            store(part, data / name)
        # The machine may do other pieces too: a run that was told no number takes what this piece may take.
        entry = run.entry
        if entry.parameters.get("n_threads") is None:
            entry = replace(entry, parameters={**entry.parameters, "n_threads": n_threads})
        here = replace(run, entry=entry, folder=Path(folder) / run.folder)
        execute(here, data, k, threads or n_threads, Clock(budget), SILENT)
        return here.status, here.why, here.costs, _files_of(here.folder)


def _files_of(folder: Path) -> Files:
    paths = [Path(base) / name for base, _, names in os.walk(folder) for name in names]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
