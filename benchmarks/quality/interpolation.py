"""Print what shallow popular labels save: depth, blocks and time of a query by balance ratio, mean over seeds.

usage: python benchmarks/quality/interpolation.py EURLEX57K --arity 4 --ratios 0,1,2 [--seeds 3] [--validation]
Rows to answer are the data set's test rows, or with --validation 6,000 training rows held out anew for every seed (to
choose a ratio with). Every figure is a mean over the seeds; times are those of one thread, all trees taking turns.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np

import labelwood as lw
from labelwood.report.balance_sweep import balance_sweep

SHOWN = ("p1", "p3", "p5", "depth1", "depth5", "blocks1", "blocks5", "micros1", "micros5", "cpu_micros1", "cpu_micros5")
COMPARED = ("depth1", "micros1", "micros5", "cpu_micros1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="a data set below LABELWOOD_DATA, or a folder")
    parser.add_argument("--arity", type=int, required=True)
    parser.add_argument("--max-leaf", type=int, default=1)
    parser.add_argument("--ratios", default="0,0.5,1,2,4")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--validation", action="store_true")
    options = parser.parse_args()
    folder = Path(options.name)
    if not folder.is_dir():
        folder = Path(os.environ.get("LABELWOOD_DATA", "../shared/data")) / options.name
    ending = "txt.gz" if (folder / "train.txt.gz").exists() else "txt"
    train = lw.read(folder / f"train.{ending}")
    test = None if options.validation else lw.read(folder / f"test.{ending}")
    ratios = [float(ratio) for ratio in options.ratios.split(",")]
    runs = []
    for seed in range(options.seeds):
        known = np.arange(train.x.shape[0])
        asked = (test.x, test.y) if test is not None else None
        if asked is None:
            order = np.random.default_rng(100 + seed).permutation(train.x.shape[0])
            held, known = np.sort(order[:6000]), np.sort(order[6000:])
            asked = (train.x[held], train.y[held])
        points = balance_sweep(
            (train.x[known], train.y[known]),
            asked,
            ratios=ratios,
            curves=["marginal"],
            parameters={"arity": options.arity, "max_leaf": options.max_leaf, "seed": seed},
            timed_rows=3000,
        )
        runs.append([[getattr(point, name) for name in SHOWN] for point in points])
    means = np.mean(runs, axis=0)
    print(f"{options.name}, arity {options.arity}, max_leaf {options.max_leaf}, {options.seeds} seeds")
    print("| ratio | " + " | ".join(SHOWN) + " | " + " | ".join(f"{name} %" for name in COMPARED) + " |")
    print("|---" * (1 + len(SHOWN) + len(COMPARED)) + "|")
    for ratio, row in zip(ratios, means, strict=True):
        change = [100 * (row[SHOWN.index(name)] / means[0][SHOWN.index(name)] - 1) for name in COMPARED]
        cells = [f"{value:.2f}" for value in row] + [f"{value:+.1f}" for value in change]
        print(f"| {ratio:g} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
