"""CPU time and precision of OneVsAll beside scikit-learn's OneVsRestClassifier(LinearSVC()), in one run.

Both get the same rows of length 1 and the same labels, each in a process of its own; CPU time is user + system of
fitting alone. `--labels N` takes a seeded random subset of N labels for both, and precision counts these labels
only, over the test rows that have one of them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy import sparse

import labelwood as lw
from labelwood.matrices import normalized_rows

DATA = Path(os.environ.get("LABELWOOD_DATA") or Path(__file__).parents[2] / ".." / "shared" / "data")
DEFAULT_SETS = ("Bibtex", "Delicious", "EURLEX57K")
KS = (1, 3, 5)


def subset(name: str, n_labels: int, seed: int) -> tuple[sparse.csr_matrix, ...]:
    """(training x, y, test x, y) with rows of length 1 and a random choice of labels that have a training row."""
    train, test = lw.read(DATA / name / "train.txt.gz"), lw.read(DATA / name / "test.txt.gz")
    x, test_x = normalized_rows(train.features()), normalized_rows(test.features())
    y, test_y = train.y.tocsc(), test.y.tocsc()
    if n_labels and n_labels < y.shape[1]:
        trained = np.flatnonzero(np.diff(y.indptr))
        chosen = np.sort(np.random.default_rng(seed).choice(trained, min(n_labels, len(trained)), replace=False))
        y, test_y = y[:, chosen], test_y[:, chosen]
        kept = np.diff(test_y.tocsr().indptr) > 0
        test_x, test_y = test_x[kept], test_y.tocsr()[kept]
    return x, y.tocsr(), test_x, test_y.tocsr()


def cpu_seconds() -> float:
    """User and system time of this process and its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(r.ru_utime + r.ru_stime for r in used)


def precision(labels: np.ndarray, scores: np.ndarray, test_y: sparse.csr_matrix) -> dict[str, float]:
    found = lw.evaluate(lw.TopK(labels, scores), test_y)
    return {f"P@{k}": round(found[f"P@{k}"], 2) for k in KS}


def run_labelwood(
    x: sparse.csr_matrix, y: sparse.csr_matrix, test_x: sparse.csr_matrix, test_y: sparse.csr_matrix
) -> dict:
    wall, cpu = time.perf_counter(), cpu_seconds()
    model = lw.OneVsAll(n_threads=2).fit(x, y)
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    top = model.predict(test_x, max(KS))
    size = sum(array.nbytes for array in model._arrays().values())
    return {"cpu": cpu, "wall": wall, "model_mb": size / 1e6, **precision(top.labels, top.scores, test_y)}


def run_sklearn(
    x: sparse.csr_matrix, y: sparse.csr_matrix, test_x: sparse.csr_matrix, test_y: sparse.csr_matrix
) -> dict:
    import warnings

    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    # Labels without a training row: it says so for each of them, and gives them a constant.
    warnings.simplefilter("ignore")
    wall, cpu = time.perf_counter(), cpu_seconds()
    model = OneVsRestClassifier(LinearSVC(), n_jobs=1).fit(x.astype(np.float64), y)
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    labels, scores = [], []
    for start in range(0, test_x.shape[0], 256):  # all scores of a few rows at a time
        found = np.asarray(model.decision_function(test_x[start : start + 256].astype(np.float64)))
        found = found.reshape(-1, 1) if found.ndim == 1 else found
        best = np.argsort(-found, axis=1, kind="stable")[:, : max(KS)]
        labels.append(best)
        scores.append(np.take_along_axis(found, best, axis=1))
    size = sum(e.coef_.nbytes for e in model.estimators_ if hasattr(e, "coef_"))
    figures = precision(np.concatenate(labels).astype(np.int32), np.concatenate(scores).astype(np.float32), test_y)
    return {"cpu": cpu, "wall": wall, "model_mb": size / 1e6, **figures}


RUNNERS = {"labelwood": run_labelwood, "scikit-learn": run_sklearn}


def in_own_process(which: str, name: str, n_labels: int, seed: int) -> dict:
    command = [sys.executable, __file__, "--one", which, "--data", name, "--labels", str(n_labels), "--seed", str(seed)]
    # One BLAS thread: idle ones spin and would be counted as CPU time.
    quiet = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=quiet).stdout)


def compare(name: str, n_labels: int, seed: int, skip_sklearn: bool) -> None:
    which_labels = f"{n_labels} random labels (seed {seed})" if n_labels else "all labels"
    print(f"{name}, {which_labels}:", flush=True)
    cpu = {}
    for which in RUNNERS:
        if skip_sklearn and which == "scikit-learn":
            print("  scikit-learn  left out (--skip-sklearn)")
            continue
        found = in_own_process(which, name, n_labels, seed)
        cpu[which] = found["cpu"]
        figures = "  ".join(f"P@{k} {found[f'P@{k}']:5.2f}" for k in KS)
        times = f"fit {found['cpu']:8.2f} s CPU {found['wall']:8.2f} s wall"
        print(f"  {which:13} {times}  {found['model_mb']:8.1f} MB  {figures}", flush=True)
    if len(cpu) == 2:
        print(f"  labelwood needs {cpu['labelwood'] / cpu['scikit-learn']:.3f} of scikit-learn's CPU time", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", action="append", help=f"data set; repeatable (default: {', '.join(DEFAULT_SETS)})")
    parser.add_argument("--labels", type=int, default=0, help="train on this many random labels; 0: all")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of labels")
    parser.add_argument("--skip-sklearn", action="store_true", help="only labelwood")
    parser.add_argument("--quick", action="store_true", help="Bibtex only, 40 labels")
    parser.add_argument("--one", choices=RUNNERS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(RUNNERS[given.one](*subset(given.data[0], given.labels, given.seed))))
        return
    for name in ["Bibtex"] if given.quick else given.data or DEFAULT_SETS:
        if (DATA / name / "train.txt.gz").is_file():
            compare(name, 40 if given.quick else given.labels, given.seed, given.skip_sklearn)
        else:
            print(f"{name}: not in {DATA}; set LABELWOOD_DATA")


if __name__ == "__main__":
    main()
