"""How sure, and how right: calibration error, thresholds and costs of `assign` on one data set, test rows once.

python benchmarks/quality/calibration.py DATA_FOLDER MODEL [--rows N] [--set KEY=VALUE ...] [--splits N] [--groups C]

DATA_FOLDER holds train_raw.jsonl.gz and test_raw.jsonl.gz (texts), or train.txt.gz and test.txt.gz (features).
--splits: means over random splits of the training rows, to choose a design by; no test row is asked.
--groups: neighbouring training rows whose tf-idf cosine is at least C are one group, held out and split together.
Debian-Depends stands in the order of the archive, so that packages of one source are neighbours, often with a paragraph
in common: at 0.3 a group has 2.0 rows, about as many packages as a source has.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import labelwood as lw
from labelwood.calibration.fit import learnt
from labelwood.calibration.held_out import as_unseen, held_out, places
from labelwood.calibration.rule import Assignment
from labelwood.data.groups import stretches
from labelwood.metrics.hits import hit_matrix
from labelwood.metrics.reliability import reliability
from labelwood.models.fit_input import checked_input
from labelwood.models.registry import model_class

BANDS = ("head", "torso", "tail")


def read_texts(path: Path) -> tuple[list[str], list[list[Any]]]:
    """(texts, labels: numbers or identifiers) of a file of JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    return [row["text"] for row in rows], [sorted(set(row["labels"])) for row in rows]


def label_matrix(lists: list[list[Any]], columns_of: dict[Any, int]) -> sparse.csr_matrix:
    """The label matrix of lists of labels."""
    ends = np.cumsum([0, *map(len, lists)])
    columns = np.array([columns_of[label] for labels in lists for label in labels], np.int32)
    return sparse.csr_matrix((np.ones(len(columns), np.float32), columns, ends), shape=(len(lists), len(columns_of)))


def read_folder(folder: Path, n_rows: int | None) -> tuple[Any, Any, Any, Any]:
    """(x, y, test x, test y); of the training rows n_rows at random, if that is given."""
    if (folder / "train_raw.jsonl.gz").exists():
        (texts, labels), (test_texts, test_labels) = (
            read_texts(folder / f"{part}_raw.jsonl.gz") for part in ("train", "test")
        )
        known = sorted({label for lists in (labels, test_labels) for row in lists for label in row})
        columns_of = {label: column for column, label in enumerate(known)}
        if n_rows is not None and n_rows < len(texts):
            kept = np.sort(np.random.default_rng(1).permutation(len(texts))[:n_rows])
            texts, labels = [texts[row] for row in kept], [labels[row] for row in kept]
        vectorizer = lw.TfidfVectorizer(sublinear_tf=True, n_threads=1)
        x = vectorizer.fit_transform(texts)
        y, test_y = label_matrix(labels, columns_of), label_matrix(test_labels, columns_of)
        return x, y, vectorizer.transform(test_texts), test_y
    train, test = (lw.read(folder / f"{part}.txt.gz") for part in ("train", "test"))
    return train.x, train.y, test.x, test.y


def best_f1(probabilities: Any, hit: Any, n_true: int) -> float:
    """The best micro-F1 that any threshold reaches on these answers."""
    right = np.cumsum(hit[np.argsort(-probabilities, kind="stable")])
    return float(np.max(2 * right / (np.arange(1, len(right) + 1) + n_true)))


def groups_of_neighbours(x: Any, cosine: float) -> Any:
    """The number of the group of each row: of the row before it if they are so similar, else the next one."""
    similar = np.asarray(x[1:].multiply(x[:-1]).sum(axis=1)).ravel() >= cosine
    return np.concatenate([[0], np.cumsum(~similar)])


def measured(model: Any, x: Any, y: Any, test_x: Any, test_y: Any, groups: Any = None) -> dict[str, float]:
    """The figures of a model like this one, trained on x and y, on the test rows."""
    start = time.process_time()
    model.fit(x, y, groups=groups)
    fit_seconds = time.process_time() - start
    data, rule = checked_input(x, y, groups=groups), Assignment("f1")
    start = time.process_time()
    settings = replace(model.fitted_.repeated_settings(), n_threads=1)
    answers = held_out(type(model), settings, data, places(data.y, rule), model.fitted_)
    calibration = learnt(answers, model.label_counts_, rule)
    seconds = time.process_time() - start
    top = model.predict(test_x, calibration.width)
    hit, real = hit_matrix(top, test_y).hit, top.labels >= 0
    probabilities = calibration.probabilities(top)
    first = real & (np.arange(top.k) < 5)
    bands = calibration.bands[np.maximum(top.labels, 0)]
    n_true = int(test_y.nnz)

    def figures(threshold_rule: str) -> tuple[float, float, float]:
        given = learnt(answers, model.label_counts_, Assignment.parse(threshold_rule)).assigned(top)
        right, n_given = int(hit_matrix(given, test_y).hit.sum()), int((given.labels >= 0).sum())
        return right / max(1, n_given), 2 * right / max(1, n_given + n_true), n_given / len(given)

    precision, f1, per_row = figures("f1")
    oracle = best_f1(probabilities[real], hit[real], n_true)
    asked, _, asked_per_row = figures("precision=0.9")
    return {
        "rows": int(x.shape[0]),
        "test_rows": int(test_x.shape[0]),
        "fit_seconds": round(fit_seconds, 1),
        "assign_seconds": round(seconds, 1),
        "held_out_rows": len(answers.top),
        "ece_uncalibrated": round(reliability(model.fitted_.probabilities(top.scores)[first], hit[first]).error, 4),
        "ece": round(reliability(probabilities[first], hit[first]).error, 4),
        **{
            f"ece_{name}": round(
                reliability(*(part[first & (bands == band)] for part in (probabilities, hit))).error, 4
            )
            for band, name in enumerate(BANDS)
        },
        "micro_f1": round(f1, 4),
        "oracle_micro_f1": round(oracle, 4),
        "share_of_oracle": round(f1 / oracle, 4),
        "precision": round(precision, 4),
        "labels_a_row": round(per_row, 2),
        "precision_asked_0.9": round(asked, 4),
        "labels_a_row_asked_0.9": round(asked_per_row, 4),
    }


def over_splits(make: Callable[[], Any], x: Any, y: Any, n_splits: int, groups: Any = None) -> dict[str, Any]:
    """Means and standard deviations over random splits of the training rows, a quarter of them asked.

    precision_of_all_asked_0.9: of the answers of all splits together, so that splits with few answers count little.
    """
    lines = []
    for seed in range(n_splits):
        order = np.random.default_rng(100 + seed).permutation(x.shape[0])
        asked = np.sort(stretches(order, x.shape[0] // 4, 1, groups)[0])
        taught = np.setdiff1d(order, asked)
        own = None if groups is None else groups[taught]
        lines.append(measured(make(), x[taught], y[taught], as_unseen(x[asked], x[taught]), y[asked], own))
    shown = ("ece", *(f"ece_{name}" for name in BANDS), "share_of_oracle", "precision_asked_0.9")
    columns = {name: np.array([line[name] for line in lines]) for name in (*shown, "labels_a_row_asked_0.9")}
    share, weight = columns["precision_asked_0.9"], columns["labels_a_row_asked_0.9"]
    return {
        "splits": n_splits,
        "rows": lines[0]["rows"],
        **{name: f"{columns[name].mean():.4f} +- {columns[name].std(ddof=1):.4f}" for name in shown},
        "labels_a_row_asked_0.9": round(float(weight.mean()), 4),
        "precision_of_all_asked_0.9": round(float((share * weight).sum() / weight.sum()), 4),
    }


def main() -> None:
    """Print one JSON object of figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("model")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--set", nargs="*", default=[])
    parser.add_argument("--splits", type=int, help="random splits of the training rows in place of the test rows")
    parser.add_argument("--groups", type=float, metavar="C", help="similar neighbours are one group")
    options = parser.parse_args()
    cls = model_class(options.model)
    settings = {"n_threads": 1, **cls.Parameters.parse(options.set, options.model)}
    x, y, test_x, test_y = read_folder(options.folder, options.rows)
    groups = None if options.groups is None else groups_of_neighbours(x, options.groups)
    if options.splits:
        figures = over_splits(lambda: cls(**settings), x, y, options.splits, groups)
    else:
        figures = measured(cls(**settings), x, y, test_x, test_y, groups)
    print(json.dumps({"data": options.folder.name, "model": options.model, **figures}), flush=True)


if __name__ == "__main__":
    main()
