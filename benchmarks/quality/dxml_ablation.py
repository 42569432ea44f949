"""What each part of DXML is worth: precision on the test rows of a data set, every variant trained alike.

Variants change one thing of the defaults; how neighbours vote is chosen on held-out training rows each time. "k-NN on
the features" uses the same votes and the same choice on plain normalised rows. `--splits` runs random splits instead,
as published figures do, with the defaults or the variants named: the columns of a *_trSplit file where there are
several, else ten splits of the same sizes drawn here.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
from scipy import sparse

import labelwood as lw
from labelwood.matrices import normalized_rows
from labelwood.models.neural.neighbor_votes import NEIGHBORS, best_labels, chosen_rule, voted
from labelwood.models.neural.sampling import validation_split
from labelwood.neighbors.store import VectorStore
from labelwood.report.papers.rows import splits as random_splits

DATA = Path(os.environ.get("LABELWOOD_DATA") or Path(__file__).parents[2] / ".." / "shared" / "data")
KS = (1, 3, 5)
VARIANTS = {
    "defaults": {},
    "linear": {"nonlinear": False},
    "the paper's network": {"residual": False, "optimizer": "adam"},
    "one network": {"n_models": 1},
    "one network, linear": {"n_models": 1, "nonlinear": False},
    "one network, votes only": {"n_models": 1, "blend": 0.0},
    "one network, unweighted votes": {"n_models": 1, "blend": 0.0, "temperature": float("inf")},
    "one network, self loops of weight 1": {"n_models": 1, "self_weight": 1.0},
    "one network, no self loops": {"n_models": 1, "self_weight": 0.0},
    "one network, edges of weight 1, no self loops": {"n_models": 1, "self_weight": 0.0, "weighted": False},
    "one network, window 5": {"n_models": 1, "window": 5},
    "one network, 100 numbers": {"n_models": 1, "dim": 100},
    "one network, DeepWalk": {"n_models": 1, "embedding": "deepwalk", "window": 5},
    "one network, no length 1": {"n_models": 1, "out_norm": False},
}


def read(name: str) -> tuple[sparse.csr_matrix, ...]:
    train, test = lw.read(DATA / name / "train.txt.gz"), lw.read(DATA / name / "test.txt.gz")
    return train.features(), train.y, test.features(), test.y


def precision(top: lw.TopK, y: sparse.csr_matrix) -> list[float]:
    found = lw.evaluate(top, y)
    return [found[f"P@{k}"] for k in KS]


def shown(values: list[float]) -> str:
    return " | ".join(f"{value:.2f}" for value in values)


def plain_neighbors(
    x: sparse.csr_matrix, y: sparse.csr_matrix, test_x: sparse.csr_matrix, seed: int = 0
) -> tuple[lw.TopK, str]:
    """(answers, rule) of k-NN on the features themselves."""
    dense = np.asarray(normalized_rows(x).todense(), np.float32)
    seen, held = validation_split(len(dense), 0.1, seed, 2000)
    none = np.zeros((len(dense), 1), np.float32), np.zeros((y.shape[1], 1), np.float32)
    store = VectorStore.of(dense[seen])
    ids, cosines = store.nearest(store.queries(dense[held]), max(NEIGHBORS))
    rule, _ = chosen_rule(ids, cosines, y[seen], none[0][held], none[1], y[held], (None, None, 0.0))
    store = VectorStore.of(dense)
    ids, cosines = store.nearest(store.queries(np.asarray(normalized_rows(test_x).todense(), np.float32)), rule.k)
    scores = voted(ids, cosines, y, rule, np.zeros((len(ids), 1), np.float32), none[1])
    return best_labels(scores, max(KS)), f"k={rule.k}, temperature {rule.temperature:g}"


def ablation(name: str, wanted: list[str], seeds: int, threads: int) -> None:
    x, y, test_x, test_y = read(name)
    print(f"{name}: {x.shape[0]:,} training rows, {test_x.shape[0]:,} test rows, {y.shape[1]:,} labels")
    print("| | P@1 | P@3 | P@5 | votes | fit, CPU s |")
    print("|---|---|---|---|---|---|")
    if x.shape[0] * x.shape[1] <= 100_000_000:
        top, rule = plain_neighbors(x, y, test_x)
        print(f"| k-NN on the features | {shown(precision(top, test_y))} | {rule} | |", flush=True)
    for variant in wanted:
        figures = []
        for seed in range(seeds):
            start = time.process_time()
            model = lw.DXML(n_threads=threads, seed=seed, **VARIANTS[variant]).fit(x, y)
            used = time.process_time() - start
            rule = model.fitted_.rule
            votes = f"k={rule.k}, temperature {rule.temperature:g}, blend {rule.blend:g}"
            figures.append(precision(model.predict(test_x, max(KS)), test_y))
            print(f"| {variant}, seed {seed} | {shown(figures[-1])} | {votes} | {used:.0f} |", flush=True)
        if seeds > 1:
            print(f"| {variant}, mean of {seeds} seeds | {shown(list(np.mean(figures, axis=0)))} | | |", flush=True)


def splits(name: str, some: range, variant: str, threads: int) -> None:
    """Precision of a variant on random splits, and their mean."""
    found = []
    for split, parts in enumerate(random_splits(DATA / name, 10)):
        if split not in some:
            continue
        start = time.process_time()
        model = lw.DXML(n_threads=threads, **VARIANTS[variant]).fit(parts.train)
        used = time.process_time() - start
        found.append(precision(model.predict(parts.test, max(KS)), parts.test.y))
        print(f"{name}, {variant}, split {split}: {shown(found[-1])} ({used:.0f} CPU s to fit)", flush=True)
    print(f"{name}, {variant}, mean of {len(found)}: {shown(list(np.mean(found, axis=0)))}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="a data set of LABELWOOD_DATA")
    parser.add_argument("--variants", help="some variants, separated by ';'")
    parser.add_argument("--seeds", type=int, default=1, help="train every variant with so many seeds")
    parser.add_argument("--splits", action="store_true", help="the ten random splits instead")
    parser.add_argument("--some", help="with --splits, some of them: '0:5' for the first five")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if options.splits:
        first, last = (int(part) for part in (options.some or "0:10").split(":"))
        for variant in options.variants.split(";") if options.variants else ["defaults"]:
            splits(options.name, range(first, last), variant, options.threads)
    else:
        wanted = options.variants.split(";") if options.variants else list(VARIANTS)
        ablation(options.name, wanted, options.seeds, options.threads)


if __name__ == "__main__":
    main()
