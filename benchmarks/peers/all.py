"""Every tool on every data set with its recommended settings: what `make bench-peers` runs.

    python benchmarks/peers/all.py                                      # everything that has no figures yet
    python benchmarks/peers/all.py --data Bibtex Delicious --tools pecos,omikuji --threads 1
    python benchmarks/peers/all.py --page                               # only write the page from what was measured

The peers' environments are made first. Tools run one after the other, each in processes of its own; figures go to the
benchmark cache, one file a data set and tool, so that a killed run goes on where it was. A tool that fails or takes
longer than --hours is noted and passed over. At the end docs/measurements/benchmarks.csv, the pictures and the tables
of docs/benchmarks.md are written from all figures that are there, those included in which others are ahead; what the
CSV has of other data sets and tools stays.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from compare import PEERS, ROOT, Run, labelwood_run, matrices, measured, peer_runs
from environments import cache_folder, environment_python
from measure import FILES
from tables import write_page

from labelwood.report.machine import machine_card

# Smallest first: a fault shows before hours have gone by. S, M and L are generated sets.
DATA = ("Bibtex", "CookingStackExchange", "Delicious", "S", "CVE-Products", "Debian-Depends", "EURLEX57K",
        "YSO-Finna-en", "YSO-Finna-fi", "Rust-Commits", "M", "L")  # fmt: skip
LABELWOOD = ("n_trees=1", "n_trees=3")
RECOMMENDED = "pecos,omikuji,napkinxc,fasttext,libmultilabel"


def main() -> None:
    """Measure what has no figures yet, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=list(DATA), help=f"some of {', '.join(DATA)}")
    parser.add_argument("--tools", default=RECOMMENDED, help=f"some of {', '.join(PEERS)}; '' for none")
    parser.add_argument(
        "--labelwood", nargs="*", default=list(LABELWOOD), help="one run a text: '[MODEL] key=value ...'"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--deep", type=int, default=0)
    parser.add_argument("--hours", type=float, default=2.0, help="a run that takes longer is stopped")
    parser.add_argument("--again", action="store_true", help="measure also what has figures")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    options = parser.parse_args()
    if not options.page:
        runs = [*(labelwood_run(text) for text in options.labelwood), *peer_runs(options.tools)]
        for tool in dict.fromkeys(run.environment for run in runs if run.environment is not None):
            environment_python(tool)
        for data in options.data:
            measure_data(data, runs, options)
    write_page(stored_figures(), DATA)


def measure_data(data: str, runs: list[Run], options: argparse.Namespace) -> None:
    """Measure the runs of one data set that have no figures, and keep them."""
    missing = [run for run in runs if options.again or not stored_file(data, run).is_file()]
    folder = data_folder(data) if missing else None
    if folder is None:
        if missing:
            print(f"{data}: is not here, left out", file=sys.stderr, flush=True)
        return
    card = machine_card(options.threads)
    for run in missing:
        print(f"{time.strftime('%H:%M')} {data}: {run.title}", file=sys.stderr, flush=True)
        figures: dict[str, Any] = {"data": data, "machine": card, "environment": run.environment}
        try:
            figures |= measured(run, folder, options, timeout=3600 * options.hours)
        except SystemExit as failure:
            figures |= {"title": run.title, "failed": str(failure)}
            print(f"{data}: {failure}", file=sys.stderr, flush=True)
        file = stored_file(data, run)
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".partial")
        partial.write_text(json.dumps(figures, indent=1))
        partial.rename(file)


def data_folder(data: str) -> Path | None:
    """The folder with the four matrices of a data set; None if the data set is not on this machine."""
    generated = cache_folder() / "synth" / data / f"synth-{data}"
    if all((generated / name).is_file() for name in FILES):
        return generated
    source = Path(os.environ.get("LABELWOOD_DATA", ROOT.parent / "shared" / "data")) / data
    known = any((source / name).is_file() for name in ("train.txt.gz", "train_raw.jsonl.gz"))
    return matrices(data, None) if known else None


def stored_file(data: str, run: Run) -> Path:
    """Where the figures of a run are kept."""
    return cache_folder() / "all" / data / run.file_name


def stored_figures() -> list[dict[str, Any]]:
    """All figures that were ever measured, in the order of the data sets."""
    files = sorted((cache_folder() / "all").glob("*/*.json"))
    found = [json.loads(file.read_text()) for file in files]
    return sorted((f for f in found if f["data"] in DATA), key=lambda f: (DATA.index(f["data"]), f["title"]))


if __name__ == "__main__":
    main()
