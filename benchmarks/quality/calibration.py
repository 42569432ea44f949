"""How sure, and how right: calibration error, thresholds and costs of `assign` on one data set, test rows once.

python benchmarks/quality/calibration.py DATA_FOLDER MODEL [--rows N] [--set KEY=VALUE ...]

DATA_FOLDER holds train_raw.jsonl.gz and test_raw.jsonl.gz (texts), or train.txt.gz and test.txt.gz (features).
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import labelwood as lw
from labelwood.calibration.fit import learnt
from labelwood.calibration.held_out import held_out, places
from labelwood.calibration.rule import Assignment
from labelwood.metrics.hits import hit_matrix
from labelwood.metrics.reliability import reliability
from labelwood.models.fit_input import checked_input
from labelwood.models.registry import model_class

BANDS = ("head", "torso", "tail")


def read_texts(path: Path) -> tuple[list[str], list[list[int]]]:
    """(texts, label numbers) of a file of JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    return [row["text"] for row in rows], [sorted(row["labels"]) for row in rows]


def label_matrix(lists: list[list[int]], n_labels: int) -> sparse.csr_matrix:
    """The label matrix of lists of numbers."""
    ends = np.cumsum([0, *map(len, lists)])
    columns = np.array([label for labels in lists for label in labels], np.int32)
    return sparse.csr_matrix((np.ones(len(columns), np.float32), columns, ends), shape=(len(lists), n_labels))


def read_folder(folder: Path, n_rows: int | None) -> tuple[Any, Any, Any, Any]:
    """(x, y, test x, test y); of the training rows n_rows at random, if that is given."""
    if (folder / "train_raw.jsonl.gz").exists():
        (texts, labels), (test_texts, test_labels) = (
            read_texts(folder / f"{part}_raw.jsonl.gz") for part in ("train", "test")
        )
        n_labels = 1 + max(label for lists in (labels, test_labels) for row in lists for label in row)
        if n_rows is not None and n_rows < len(texts):
            kept = np.sort(np.random.default_rng(1).permutation(len(texts))[:n_rows])
            texts, labels = [texts[row] for row in kept], [labels[row] for row in kept]
        vectorizer = lw.TfidfVectorizer(sublinear_tf=True, n_threads=1)
        x = vectorizer.fit_transform(texts)
        y, test_y = label_matrix(labels, n_labels), label_matrix(test_labels, n_labels)
        return x, y, vectorizer.transform(test_texts), test_y
    train, test = (lw.read(folder / f"{part}.txt.gz") for part in ("train", "test"))
    return train.x, train.y, test.x, test.y


def best_f1(probabilities: Any, hit: Any, n_true: int) -> float:
    """The best micro-F1 that any threshold reaches on these answers."""
    right = np.cumsum(hit[np.argsort(-probabilities, kind="stable")])
    return float(np.max(2 * right / (np.arange(1, len(right) + 1) + n_true)))


def main() -> None:
    """Print one JSON object of figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("model")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--set", nargs="*", default=[])
    options = parser.parse_args()
    cls = model_class(options.model)
    model = cls(**{"n_threads": 1, **cls.Parameters.parse(options.set, options.model)})
    x, y, test_x, test_y = read_folder(options.folder, options.rows)
    start = time.process_time()
    model.fit(x, y)
    fit_seconds = time.process_time() - start
    data, rule = checked_input(x, y), Assignment("f1")
    start = time.process_time()
    settings = replace(model.fitted_.repeated_settings(), n_threads=1)
    answers = held_out(cls, settings, data, places(data.y, rule))
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
    result = {
        "data": options.folder.name,
        "model": options.model,
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
        "labels_a_row_asked_0.9": round(asked_per_row, 2),
    }
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
