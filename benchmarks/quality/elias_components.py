"""What each part of ELIAS++ adds: stage 1, stage 2, ranker, calibration, the votes of linear trees, ensemble.

    python benchmarks/quality/elias_components.py TRAIN [TEST] [--models 3] [--set key=value ...] [--json FILE]
        [--texts TRAIN_RAW [TEST_RAW] --max-tokens 64]

Without TEST, 3,000 random training rows (at most a fifth) are held out and judged: the way to choose settings. With
TEST the rows of that file are judged. Prints a Markdown table; seconds are processor time.

--texts: the same rows as texts, in the same order; their MiniLM vectors are appended to the features, which is what
ELIAS(encoder="both") does. The vectors are cached (LABELWOOD_CACHE) and their making is not in the seconds. The linear
tree is given the features alone.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import labelwood
from labelwood.data.keyed_random import keyed_order
from labelwood.matrices import normalized_rows
from labelwood.models.neural.elias.calibration import Scoring, log_q
from labelwood.models.neural.elias.inputs import BOTH, joined
from labelwood.models.neural.elias.search import LearnedIndex, top_of
from labelwood.models.neural.elias.tree_votes import TreeVotes
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
    parser.add_argument("--texts", type=Path, nargs="+", metavar="RAW", help="the texts of TRAIN and TEST: use MiniLM")
    parser.add_argument("--max-tokens", type=int, default=128, help="tokens of a text that its vector is made of")
    parser.add_argument("--rows", type=int, help="so many random rows of TRAIN alone, for quick comparisons")
    parser.add_argument("--beams", type=int, nargs="*", default=[], help="both stages again with these beams")
    options = parser.parse_args()
    rows = components(*_parts(options), options)
    print("| | " + " | ".join(METRICS) + " | CPU s |")
    print("|---" * (len(METRICS) + 2) + "|")
    for name, figures in rows:
        seconds = f"{figures['seconds']:.0f}" if "seconds" in figures else ""
        print(f"| {name} | " + " | ".join(f"{figures[metric]:.2f}" for metric in METRICS) + f" | {seconds} |")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of the process {peak:.0f} MB")
    if options.json:
        options.json.write_text(json.dumps(dict(rows), indent=1))


def _parts(options: Any) -> tuple[sparse.csr_matrix, sparse.csr_matrix, sparse.csr_matrix, sparse.csr_matrix, int]:
    """(x, y, test x, test y, number of features without text vectors)."""
    if options.texts and len(options.texts) != 1 + bool(options.test):
        raise SystemExit("--texts wants one file for TRAIN and one for TEST, if there is one")
    texts = options.texts or [None, None]
    x, y, n_features = _read(options.train, texts[0], options.max_tokens)
    order = keyed_order(x.shape[0], 0, 0)
    if options.rows:
        order = order[: options.rows]
    if options.test:
        test_x, test_y, _ = _read(options.test, texts[1], options.max_tokens)
    else:
        n = min(3000, len(order) // 5)
        test_x, test_y, order = x[order[:n]], y[order[:n]], order[n:]
    chosen = np.sort(order)
    return x[chosen], y[chosen], test_x, test_y, n_features


def _read(path: Path, texts: Path | None, max_tokens: int) -> tuple[sparse.csr_matrix, sparse.csr_matrix, int]:
    data = labelwood.read(str(path))
    if texts is None:
        return data.x, data.y, data.n_features
    from labelwood.models.neural.text import text_vectors

    raw = labelwood.read(str(texts))
    if raw.n_rows != data.n_rows:
        raise SystemExit(f"{texts} holds {raw.n_rows} texts for {data.n_rows} rows")
    vectors = text_vectors(raw.texts or (), max_tokens=max_tokens, device="cpu", progress=Callback(_tell))
    return joined(data.x, vectors, BOTH), data.y, data.n_features


def components(
    x: sparse.csr_matrix,
    y: sparse.csr_matrix,
    test_x: sparse.csr_matrix,
    test_y: sparse.csr_matrix,
    n_features: int,
    options: Any,
) -> list[tuple[str, dict[str, float]]]:
    """(name, figures) of every row of the table; columns from n_features on are text vectors."""
    found: list[tuple[str, dict[str, float]]] = []

    def judge(name: str, top: labelwood.TopK, seconds: float | None = None) -> None:
        figures = labelwood.evaluate(top, test_y, train_y=y)
        found.append((name, {metric: float(figures[metric]) for metric in METRICS}))
        if seconds is not None:
            found[-1][1]["seconds"] = seconds

    if options.trees:
        started = time.process_time()
        tree = labelwood.LinearTree(n_trees=options.trees).fit(x[:, :n_features], y)
        top = tree.predict(test_x[:, :n_features], k=100)
        judge(f"linear tree x{options.trees}", top, time.process_time() - started)
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
        chosen, ranker = member.scoring, model.ranker_
        short = member.index.shortlist(rows)
        for n_candidates in sorted({0, model.candidates_}):
            labels, log_p, margins = ranker.judged(rows, short.labels, short.log_p, n_candidates)
            name = f"+ {n_candidates} candidates" if n_candidates else "+ ranker"
            for scoring in (Scoring(), chosen):
                top = labelwood.TopK(*top_of(labels, scoring.base(log_p, log_q(margins)), 100))
                judge(f"{name}, p^{scoring.power_p:g} q", top)
        scores = chosen.scores(log_p, log_q(margins), model.label_counts_[np.maximum(labels, 0)])
        judge(f"+ calibration, w {chosen.weight:g}", labelwood.TopK(*top_of(labels, scores, 100)), seconds)
        if model.votes_ is not None:
            weight, seed = model.votes_.weight, model.parameters_.seed
            # The first tree of several is the one that a model with one index has.
            tree = model.votes_.trees if options.models == 1 else labelwood.LinearTree(seed=seed).fit(x, y)
            voted = TreeVotes(tree, weight).added(test_x, labels, np.where(labels < 0, 0.0, scores))
            judge(f"+ vote of a linear tree, weight {weight:g}", labelwood.TopK(*top_of(*voted, 100)), seconds)
    if options.models > 1:
        judge(f"+ ensemble x{options.models}", model.predict(test_x, k=100), seconds)
    for beam in options.beams:
        for name, index in (("stage 1", model.first_stage_), ("+ stage 2", member.index)):
            judge(f"{name}, beam {beam}", _of_index(replace(index, beam=min(beam, len(index.edges))), rows))
    if options.save:
        model.save(options.save)
    return found


def _of_index(index: LearnedIndex, rows: sparse.csr_matrix) -> labelwood.TopK:
    short = index.shortlist(rows)
    return labelwood.TopK(*top_of(short.labels, short.log_p, 100))


def _tell(what: str, done: int, total: int) -> None:
    if done == total:
        print(f"{time.strftime('%X')} {what}", flush=True)


if __name__ == "__main__":
    main()
