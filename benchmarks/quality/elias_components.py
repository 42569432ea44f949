"""What each part of ELIAS++ adds: stage 1, stage 2, ranker, calibration, ensemble.

    python benchmarks/quality/elias_components.py TRAIN [TEST] [--models 3] [--set key=value ...] [--json FILE]

Without TEST, 3,000 random training rows (at most a fifth) are held out and judged: the way to choose settings. With
TEST the rows of that file are judged. Prints a Markdown table; seconds are processor time.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import labelwood
from labelwood.data.keyed_random import keyed_order
from labelwood.matrices import normalized_rows
from labelwood.models.neural.elias.calibration import Scoring, log_q
from labelwood.models.neural.elias.search import LearnedIndex, top_of
from labelwood.progress import Callback

METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@5", "R@10", "R@100")


def main() -> None:
    """Train, judge and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path)
    parser.add_argument("test", type=Path, nargs="?")
    parser.add_argument("--models", type=int, default=1, help="indexes of the ensemble")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a parameter of ELIAS")
    parser.add_argument("--trees", type=int, default=3, help="trees of the linear tree to compare with; 0: none")
    parser.add_argument("--save", type=Path, help="keep the model in this folder")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args()
    data = labelwood.read(str(options.train))
    x, y = data.x, data.y
    if options.test:
        other = labelwood.read(str(options.test))
        test_x, test_y = other.x, other.y
    else:
        order = keyed_order(x.shape[0], 0, 0)
        n = min(3000, x.shape[0] // 5)
        test_x, test_y, x, y = x[order[:n]], y[order[:n]], x[np.sort(order[n:])], y[np.sort(order[n:])]
    rows = components(x, y, test_x, test_y, options)
    print("| | " + " | ".join(METRICS) + " | CPU s |")
    print("|---" * (len(METRICS) + 2) + "|")
    for name, figures in rows:
        seconds = f"{figures['seconds']:.0f}" if "seconds" in figures else ""
        print(f"| {name} | " + " | ".join(f"{figures[metric]:.2f}" for metric in METRICS) + f" | {seconds} |")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of the process {peak:.0f} MB")
    if options.json:
        options.json.write_text(json.dumps(dict(rows), indent=1))


def components(
    x: sparse.csr_matrix, y: sparse.csr_matrix, test_x: sparse.csr_matrix, test_y: sparse.csr_matrix, options: Any
) -> list[tuple[str, dict[str, float]]]:
    """(name, figures) of every row of the table."""
    found: list[tuple[str, dict[str, float]]] = []

    def judge(name: str, top: labelwood.TopK, seconds: float | None = None) -> None:
        figures = labelwood.evaluate(top, test_y, train_y=y)
        found.append((name, {metric: float(figures[metric]) for metric in METRICS}))
        if seconds is not None:
            found[-1][1]["seconds"] = seconds

    if options.trees:
        started = time.process_time()
        tree = labelwood.LinearTree(n_trees=options.trees).fit(x, y)
        judge(f"linear tree x{options.trees}", tree.predict(test_x, k=100), time.process_time() - started)
    settings = labelwood.ELIAS.Parameters.parse(options.set, "ELIAS")
    model = labelwood.ELIAS(n_models=options.models, **settings)
    started = time.process_time()
    model.fit(x, y, progress=Callback(_tell))
    seconds = time.process_time() - started
    member = model.members_[0]
    rows = normalized_rows(test_x)
    judge("stage 1", _of_index(model.first_stage_, rows))
    judge("+ stage 2", _of_index(member.index, rows))
    if model.ranker_ is not None:
        short = member.index.shortlist(member.index.vectors(rows))
        logs = log_q(model.ranker_.margins(rows, short.labels))
        chosen = member.scoring
        judge("+ ranker, p q", labelwood.TopK(*top_of(short.labels, Scoring().base(short.log_p, logs), 100)))
        judge(
            f"+ ranker, p^{chosen.power_p:g} q",
            labelwood.TopK(*top_of(short.labels, chosen.base(short.log_p, logs), 100)),
        )
        counts = model.label_counts_[np.maximum(short.labels, 0)]
        scores = chosen.scores(short.log_p, logs, counts)
        judge(f"+ calibration, w {chosen.weight:g}", labelwood.TopK(*top_of(short.labels, scores, 100)), seconds)
    if options.models > 1:
        judge(f"+ ensemble x{options.models}", model.predict(test_x, k=100), seconds)
    if options.save:
        model.save(options.save)
    return found


def _of_index(index: LearnedIndex, rows: sparse.csr_matrix) -> labelwood.TopK:
    short = index.shortlist(index.vectors(rows))
    return labelwood.TopK(*top_of(short.labels, short.log_p, 100))


def _tell(what: str, done: int, total: int) -> None:
    if done == total:
        print(f"{time.strftime('%X')} {what}", flush=True)


if __name__ == "__main__":
    main()
