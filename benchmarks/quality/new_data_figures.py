"""`labelwood train` beside scikit-learn on the data sets that new_data.py makes, or on any folder with such files.

    python benchmarks/quality/new_data_figures.py FOLDER/SET ... [--options lang=none] [--options best] [--rival]

One line for each choice of options ("lang=none best" is `--lang none --best`), the defaults first: figures in per
cent, F1 of the tags that are assigned, CPU seconds of training. In brackets: the difference in nDCG@10 from the
defaults, with the interval that holds 95% of 2,000 bootstrap samples of the test rows. --rival: scikit-learn's
TfidfVectorizer(sublinear_tf=True) with a LinearSVC for each label, at its own defaults.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import labelwood as lw

RIVAL = "scikit-learn"
PLACES, SAMPLES = 10, 2_000
DISCOUNTS = 1 / np.log2(np.arange(2, PLACES + 2))


class Answered(NamedTuple):
    """What a model answers for the test rows."""

    ranked: list[list[str]]
    assigned: list[list[str]] | None
    seconds: float  # of the CPU, for training


def read(path: Path) -> tuple[list[str], list[list[str]]]:
    """(texts, labels) of a file of JSON lines."""
    with path.open(encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    return [row["text"] for row in rows], [row["labels"] for row in rows]


def as_options(words: str) -> list[str]:
    """The options of the command that "lang=none best" stands for: --lang none --best."""
    pairs = [word.partition("=") for word in words.split()]
    return [part for name, _, value in pairs for part in (f"--{name}", *([value] if value else []))]


def by_command(folder: Path, options: list[str], texts: list[str]) -> Answered:
    """What `labelwood train` with these options answers; its lines about its choices are printed."""
    with tempfile.TemporaryDirectory() as place:
        model = Path(place) / "model"
        command = [sys.executable, "-m", "labelwood", "train", str(folder / "train.jsonl"), "--out", str(model)]
        before = os.times()
        done = subprocess.run([*command, "--threads", "1", *options], capture_output=True, text=True)
        after = os.times()
        if done.returncode:
            raise SystemExit(done.stderr)
        for line in done.stderr.splitlines():
            if line.startswith(("model: ", "words: ")):
                print(f"    {line}")
        tagger: Any = lw.load(model)
        ranked = [[label for label, _ in row] for row in tagger.predict(texts, k=PLACES)]
        assigned = None
        if tagger.calibration_ is not None:
            assigned = [[label for label, _ in row] for row in tagger.predict(texts, assign=True)]
    seconds = after.children_user - before.children_user + after.children_system - before.children_system
    return Answered(ranked, assigned, seconds)


def by_rival(folder: Path, texts: list[str]) -> Answered:
    """What scikit-learn's one-vs-rest of support vector machines answers."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import MultiLabelBinarizer
    from sklearn.svm import LinearSVC

    training, labels = read(folder / "train.jsonl")
    start = time.process_time()
    vectorizer, binarizer = TfidfVectorizer(sublinear_tf=True), MultiLabelBinarizer()
    machine = OneVsRestClassifier(LinearSVC()).fit(vectorizer.fit_transform(training), binarizer.fit_transform(labels))
    seconds = time.process_time() - start
    scores = machine.decision_function(vectorizer.transform(texts))
    names = binarizer.classes_
    ranked = [[names[label] for label in row] for row in np.argsort(-scores, axis=1)[:, :PLACES]]
    return Answered(ranked, [[names[label] for label in np.flatnonzero(row > 0)] for row in scores], seconds)


def gains(ranked: list[list[str]], truth: list[list[str]]) -> npt.NDArray[np.float64]:
    """(n_rows, 4): P@1, P@3, P@5 and nDCG@10 of each row."""
    figures = np.zeros((len(truth), 4))
    for row, (answers, labels) in enumerate(zip(ranked, truth, strict=True)):
        hit = np.zeros(PLACES)
        hit[: len(answers)] = [label in labels for label in answers]
        ideal = DISCOUNTS[: len(labels)].sum()
        figures[row] = hit[0], hit[:3].mean(), hit[:5].mean(), (hit @ DISCOUNTS) / ideal if ideal else 0.0
    return 100 * figures


def micro_f1(assigned: list[list[str]], truth: list[list[str]]) -> float:
    """F1 of assigned labels over all rows, in per cent."""
    right = sum(len(set(some) & set(labels)) for some, labels in zip(assigned, truth, strict=True))
    return 200 * right / max(1, sum(map(len, assigned)) + sum(map(len, truth)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--options", action="append", default=[])
    parser.add_argument("--rival", action="store_true")
    given = parser.parse_args()
    for folder in given.folders:
        texts, truth = read(folder / "test.jsonl")
        print(f"{folder.name}: {len(texts):,} test rows", flush=True)
        usual: npt.NDArray[np.float64] | None = None
        for name in ("defaults", *given.options, *([RIVAL] if given.rival else [])):
            if name == RIVAL:
                answered = by_rival(folder, texts)
            else:
                answered = by_command(folder, [] if name == "defaults" else as_options(name), texts)
            figures = gains(answered.ranked, truth)
            shown = ", ".join(
                f"{metric} {value:.2f}"
                for metric, value in zip(("P@1", "P@3", "P@5", "nDCG@10"), figures.mean(axis=0), strict=True)
            )
            if usual is None:
                usual = figures
            else:
                change = (figures - usual)[:, 3]
                drawn = np.random.default_rng(0).integers(0, len(change), (SAMPLES, len(change)), dtype=np.int32)
                low, high = np.quantile(change[drawn].mean(axis=1), (0.025, 0.975))
                shown += f" ({change.mean():+.2f}, {low:+.2f} to {high:+.2f})"
            f1 = "" if answered.assigned is None else f", F1 {micro_f1(answered.assigned, truth):.2f}"
            print(f"  {name}: {shown}{f1}; {answered.seconds:.1f} CPU s", flush=True)


if __name__ == "__main__":
    main()
