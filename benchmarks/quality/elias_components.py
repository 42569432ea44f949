"""What each part of ELIAS++ adds: stage 1, stage 2, ranker, calibration, the votes of linear trees, ensemble.

    python benchmarks/quality/elias_components.py TRAIN [TEST] [--models 3] [--set key=value ...] [--json FILE]
        [--texts TRAIN_RAW [TEST_RAW] --max-tokens 64] [--resume FOLDER]

Without TEST, random training rows (--held-out, at most a fifth) are held out and judged: the way to choose settings.
With TEST the rows of that file are judged. Prints a Markdown table; seconds are processor time. The peak of training is
printed after it; the linear tree and one-vs-all to compare with are trained before, --trees 0 leaves them out.

--texts: the same rows as texts, in the same order, for ELIAS(encoder="both"). Their MiniLM vectors are cached
(LABELWOOD_CACHE); where they are there, their making is not in the seconds. The linear tree and one-vs-all to compare
with are given the features alone.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import labelwood
from labelwood.data.keyed_random import keyed_order
from labelwood.matrices import normalized_rows
from labelwood.models.neural.elias.inputs import BOTH
from labelwood.progress import Callback
from labelwood.report.elias_parts import index_answers, part_answers
from labelwood.storage.steps import resumable

METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@5", "R@10", "R@100")


def main() -> None:
    """Train, judge and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path)
    parser.add_argument("test", type=Path, nargs="?")
    parser.add_argument("--models", type=int, default=1, help="indexes of the ensemble")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a parameter of ELIAS")
    parser.add_argument(
        "--trees", type=int, default=3, help="trees of the linear tree to compare with; 0: no tree and no one-vs-all"
    )
    parser.add_argument("--no-one-vs-all", action="store_true", help="no one-vs-all to compare with: it takes long")
    parser.add_argument("--baselines", action="store_true", help="the linear tree and one-vs-all alone, not ELIAS")
    parser.add_argument("--threads", type=int, help="threads of the linear tree and one-vs-all")
    parser.add_argument("--save", type=Path, help="keep the model in this folder")
    parser.add_argument("--resume", type=Path, help="keep steps of training in this folder, to go on after a kill")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--texts", type=Path, nargs="+", metavar="RAW", help="the texts of TRAIN and TEST: use MiniLM")
    parser.add_argument("--max-tokens", type=int, default=128, help="tokens of a text that its vector is made of")
    parser.add_argument("--rows", type=int, help="so many random rows of TRAIN alone, for quick comparisons")
    parser.add_argument("--held-out", type=int, default=3000, help="rows to judge if there is no TEST, at most a fifth")
    parser.add_argument("--single", type=int, default=0, help="so many rows one by one, for the time of a query")
    parser.add_argument("--beams", type=int, nargs="*", default=[], help="both stages again with these beams")
    options = parser.parse_args()
    rows = components(*_parts(options), options)
    print("| | " + " | ".join(METRICS) + " | CPU s |")
    print("|---" * (len(METRICS) + 2) + "|")
    for name, figures in rows:
        seconds = f"{figures['seconds']:.0f}" if "seconds" in figures else ""
        print(f"| {name} | " + " | ".join(f"{figures[metric]:.2f}" for metric in METRICS) + f" | {seconds} |")
    print(f"peak memory of the process {_peak():.0f} MB")
    if options.json:
        options.json.write_text(json.dumps(dict(rows), indent=1))


def _parts(options: Any) -> tuple[labelwood.Dataset, labelwood.Dataset]:
    """(rows to train on, rows to judge)."""
    if options.texts and len(options.texts) != 1 + bool(options.test):
        raise SystemExit("--texts wants one file for TRAIN and one for TEST, if there is one")
    texts = options.texts or [None, None]
    train = _read(options.train, texts[0])
    order = keyed_order(train.n_rows, 0, 0)
    if options.rows:
        order = order[: options.rows]
    if options.test:
        return train.take(np.sort(order)), _read(options.test, texts[1])
    n = min(options.held_out, len(order) // 5)
    return train.take(np.sort(order[n:])), train.take(np.sort(order[:n]))


def _read(path: Path, texts: Path | None) -> labelwood.Dataset:
    data = labelwood.read(str(path))
    if texts is None:
        return data
    raw = labelwood.read(str(texts))
    if raw.n_rows != data.n_rows:
        raise SystemExit(f"{texts} holds {raw.n_rows} texts for {data.n_rows} rows")
    return labelwood.Dataset(data.x, data.y, raw.texts)


def components(train: labelwood.Dataset, test: labelwood.Dataset, options: Any) -> list[tuple[str, dict[str, float]]]:
    """(name, figures) of every row of the table."""
    table: list[tuple[str, dict[str, float]]] = []
    x, y, test_y = train.x, train.y, test.y

    def judge(name: str, top: labelwood.TopK, seconds: float | None = None) -> None:
        figures = labelwood.evaluate(top, test_y, train_y=y)
        table.append((name, {metric: float(figures[metric]) for metric in METRICS}))
        if seconds is not None:
            table[-1][1]["seconds"] = seconds
        print(name, {metric: round(figures[metric], 2) for metric in METRICS}, flush=True)

    if options.trees:
        started = time.process_time()
        top = labelwood.LinearTree(n_trees=options.trees, n_threads=options.threads).fit(x, y).predict(test.x, k=100)
        judge(f"linear tree x{options.trees}", top, time.process_time() - started)
    if options.trees and not options.no_one_vs_all:
        started = time.process_time()
        top = labelwood.OneVsAll(n_threads=options.threads).fit(x, y).predict(test.x, k=100)
        judge("one-vs-all", top, time.process_time() - started)
    if options.baselines:
        return table
    settings = labelwood.ELIAS.Parameters.parse(options.set, "ELIAS")
    if options.texts:
        settings = {"encoder": BOTH, "max_tokens": options.max_tokens, **settings}
    model = labelwood.ELIAS(n_models=options.models, **settings)
    started = time.process_time()
    with resumable(options.resume) if options.resume else nullcontext():
        model.fit(train, progress=Callback(_tell))
    seconds = time.process_time() - started
    print(f"trained in {seconds:.0f} CPU s; peak memory so far {_peak():.0f} MB", flush=True)
    if options.save:
        model.save(options.save)
    state = model.fitted_
    x_test, x_first = state.inputs(test.x, test.texts), state.first_inputs(test.x, test.texts)
    for name, top in part_answers(state, x_test, first_x=x_first):
        judge(name, top, None if name in ("stage 1", "+ stage 2") else seconds)
    rows, index, first = normalized_rows(state.views(x_test)[0]), state.members[0].index, state.first_stage
    for beam in options.beams:
        for name, stage in (("stage 1", first), ("+ stage 2", index)):
            seen = normalized_rows(state.views(x_first)[0]) if stage is first else rows
            judge(f"{name}, beam {beam}", index_answers(replace(stage, beam=min(beam, len(stage.edges))), seen))
    if options.single:
        _tell_single(model, test, options.single)
    for name, figure in model.structure().items():
        print(f"{name}: {figure:g}")
    return table


def _peak() -> float:
    """The largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _tell_single(model: labelwood.ELIAS, test: labelwood.Dataset, n: int) -> None:
    rows = [test.take([row]) if model.reads_texts else test.x[row] for row in range(min(n, test.n_rows))]
    times, cpu = [], []
    for row in rows:
        clock, used = time.perf_counter(), time.process_time()
        model.predict(row, 5)
        times.append(time.perf_counter() - clock)
        cpu.append(time.process_time() - used)
    print(f"a row alone: {1e3 * np.median(times):.2f} ms, {1e3 * np.median(cpu):.2f} ms of CPU (medians)", flush=True)


def _tell(what: str, done: int, total: int) -> None:
    if done == total:
        print(f"{time.strftime('%X')} {what}", flush=True)


if __name__ == "__main__":
    main()
