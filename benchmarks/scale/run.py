"""How cost grows with labels and rows: time, memory, size and latency of labelwood, and of PECOS in the same run.

    python benchmarks/scale/run.py                                     # every point; days of PECOS included
    python benchmarks/scale/run.py --sweeps both --most-labels 300000 --pecos-labels 0 --threads 1
    python benchmarks/scale/run.py --page                              # only write the page from what was measured

Each point is made and measured in processes of its own, one after the other, smallest first. Figures go to the
benchmark cache, one file a point and tool: a killed run goes on where it was. Then docs/measurements/scale.csv, the
pictures and the tables of docs/scale.md are written from all figures that are there.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "peers"))

from compare import Figures, labelwood_run, measured, peer_runs  # noqa: E402
from environments import cache_folder  # noqa: E402
from measure import FILES  # noqa: E402
from points import SWEEPS, Point  # noqa: E402

from page import write_page  # noqa: E402


def main() -> None:
    """Measure every point that is asked for and not measured yet, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sweeps", default=",".join(SWEEPS), help=f"some of {', '.join(SWEEPS)}")
    parser.add_argument("--most-labels", type=int, default=3_000_000)
    parser.add_argument("--least-labels", type=int, default=0)
    parser.add_argument("--most-rows", type=int, default=3_000_000)
    parser.add_argument("--pecos-labels", type=int, default=3_000_000, help="PECOS up to so many labels; 0: not at all")
    parser.add_argument("--pecos-rows", type=int, default=3_000_000)
    parser.add_argument("--labelwood", default="n_trees=1", help="parameters of the linear tree")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--again", action="store_true", help="measure points that were measured before, too")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    options = parser.parse_args()
    options.deep = 0
    unknown = [name for name in options.sweeps.split(",") if name not in SWEEPS]
    if unknown:
        raise SystemExit(f"unknown sweep {unknown[0]!r}; known: {', '.join(SWEEPS)}")
    wanted = {point for name in options.sweeps.split(",") for point in SWEEPS[name]}
    points = sorted(wanted, key=lambda point: (point.rows * point.labels, point.labels))
    for point in points if not options.page else ():
        if options.least_labels <= point.labels <= options.most_labels and point.rows <= options.most_rows:
            measure_point(point, options)
    write_page(stored_figures())


def measure_point(point: Point, options: argparse.Namespace) -> None:
    """Measure the tools that have no figures of a point yet; its matrices go when that is done."""
    runs = [labelwood_run(options.labelwood)]
    if point.labels <= options.pecos_labels and point.rows <= options.pecos_rows:
        runs += peer_runs("pecos")
    missing = [run for run in runs if options.again or not stored_file(point, run.title).is_file()]
    if not missing:
        return
    folder = cache_folder() / "scale" / "matrices" / point.name
    if not all((folder / name).is_file() for name in FILES):
        subprocess.run(
            [sys.executable, str(HERE / "points.py"), *map(str, (point.rows, point.labels, folder))], check=True
        )
    for run in missing:
        print(f"{point.name}: {run.title}", file=sys.stderr, flush=True)
        figures = {"rows": point.rows, "labels": point.labels, **measured(run, folder, options)}
        file = stored_file(point, run.title)
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".partial")
        partial.write_text(json.dumps(figures, indent=1))
        partial.rename(file)
    shutil.rmtree(folder)


def stored_file(point: Point, title: str) -> Path:
    """Where the figures of one tool on one point are kept."""
    return cache_folder() / "scale" / "results" / point.name / f"{title.replace(' ', '_')}.json"


def stored_figures() -> list[Figures]:
    """All figures that were ever measured, by size."""
    files = (cache_folder() / "scale" / "results").glob("*/*.json")
    return sorted((json.loads(file.read_text()) for file in files), key=lambda f: (f["labels"], f["rows"], f["title"]))


if __name__ == "__main__":
    main()
