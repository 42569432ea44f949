"""What the ensemble's sides and its ranker add to linear trees, on validation or test rows.

    python benchmarks/quality/ensemble.py CVE-Products YSO-Finna-en --rows validation

Data sets lie in $LABELWOOD_DATA. Validation rows are 3,000 of the training rows; the rest is trained on. One thread,
CPU seconds. `--splits` runs the ten random splits that a data set lists (trSplit file) in place of the given rows, or
ten of the same sizes drawn here where it lists none, and prints their mean.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import labelwood
from labelwood.report.papers.rows import splits
from labelwood.topk import TopK

KS = (1, 3, 5, 10)
METRICS = ("P@1", "P@3", "P@5", "nDCG@10", "PSP@5")
VOCABULARIES = {"YSO-Finna-en": "en", "YSO-Finna-fi": "fi"}
WORDS = {"YSO-Finna-fi": {"stems": "fi"}}  # how words are made of texts where there are no features
VALIDATION_ROWS = 3000


def main() -> None:
    """Train and judge each data set that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", nargs="+", help="names of data sets")
    parser.add_argument("--rows", choices=("validation", "test"), default="validation")
    parser.add_argument("--features", choices=("given", "texts"), default="given", help="given: the files of features")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="parameters of the ensemble")
    parser.add_argument("--take", type=int, help="only so many of the training rows")
    parser.add_argument("--hide", type=float, default=0, help="share of the labels that training rows do not have")
    parser.add_argument("--hide-seed", type=int, default=1, help="which labels are hidden")
    parser.add_argument("--favour", type=float, nargs="*", default=[], help="what the trained ranker gives so dialled")
    parser.add_argument("--single", type=int, default=0, help="so many rows are asked one at a time, too")
    parser.add_argument("--alone", action="store_true", help="without the three trees to compare with")
    parser.add_argument("--splits", action="store_true", help="the ten random splits")
    options = parser.parse_args()
    if options.splits:
        for name in options.data:
            judge_splits(name, labelwood.Ensemble.Parameters.parse(options.set, "ensemble"))
        return
    for name in options.data:
        train, test = read_data(name, options.features)
        if options.rows == "validation":
            order = np.random.default_rng(0).permutation(len(train))
            test = train.take(np.sort(order[:VALIDATION_ROWS]))
            train = train.take(np.sort(order[VALIDATION_ROWS:]))
        if options.take:
            train = train.take(np.arange(options.take))
        hidden = np.random.default_rng(options.hide_seed).random(train.n_labels) < options.hide
        if options.hide:
            train = without_labels(train, hidden)
        given = labelwood.Ensemble.Parameters.parse(options.set, "ensemble")
        if not options.alone:
            trees = labelwood.LinearTree(n_trees=3, seed=options.seed, n_threads=1)
            judge(f"{name}, three trees", trees, train, test)
        model = labelwood.Ensemble(seed=options.seed, n_threads=1, **given)
        top = judge(f"{name}, ensemble", model, train, test)
        print("   ", ", ".join(f"{what}: {number:g}" for what, number in model.structure().items()), flush=True)
        tell_unseen(top, train, test)
        for favour in options.favour:
            sides = replace(model.fitted_.ranked.sides, favour=favour)
            ranked = model.fitted_.ranked
            top = sides.best(model._rows(test), max(KS), ranked.ranker, 1, ranked.first)
            print(f"    favour {favour:g}: {told(top, train, test)}", flush=True)
            tell_unseen(top, train, test)
        if options.single:
            ask_one_by_one(model, test, options.single)


def judge_splits(name: str, given: dict[str, Any]) -> None:
    """Prints the figures of every random split of a data set with feature files, their mean and deviation."""
    folder = Path(os.environ["LABELWOOD_DATA"]) / name
    names, words = listed_names(folder), lines(folder / "vocab.txt.gz")
    found = []
    for split, parts in enumerate(splits(folder, 10)):
        train, test = (replace(part, label_names=names, feature_names=words) for part in (parts.train, parts.test))
        top = judge(f"{name}, split {split}", labelwood.Ensemble(n_threads=1, **given), train, test)
        figures = labelwood.evaluate(top, test.y, train_y=train.y, ks=KS)
        found.append([figures[metric] for metric in METRICS])
    means, spread = np.mean(found, axis=0), np.std(found, axis=0, ddof=1)
    told_means = " / ".join(f"{mean:.2f} +- {sd:.2f}" for mean, sd in zip(means, spread, strict=True))
    print(f"{name}, mean of {len(found)} splits: {told_means}", flush=True)


def tell_unseen(top: TopK, train: labelwood.Dataset, test: labelwood.Dataset) -> None:
    """Prints how many of the labels that no training row has are found among the first ten."""
    unseen = np.bincount(train.y.indices, minlength=train.n_labels) == 0
    truth = test.y.multiply(unseen[None, :]).tocsr()
    truth.eliminate_zeros()
    found = top.cut(10).to_csr(train.n_labels).multiply(truth).nnz
    print(f"    labels without a training row: {truth.nnz} in the test rows, {found} found", flush=True)


def told(top: TopK, train: labelwood.Dataset, test: labelwood.Dataset) -> str:
    """The figures of answers."""
    figures = labelwood.evaluate(top, test.y, train_y=train.y, ks=KS)
    return " / ".join(f"{figures[metric]:.2f}" for metric in METRICS)


def without_labels(data: labelwood.Dataset, hidden: np.ndarray) -> labelwood.Dataset:
    """The rows without some labels; rows that had no others are left out."""
    y = data.y.multiply(~hidden[None, :]).tocsr()
    y.eliminate_zeros()
    return replace(data, y=y).take(np.flatnonzero(np.diff(y.indptr)))


def ask_one_by_one(model: labelwood.Model, test: labelwood.Dataset, n_rows: int) -> None:
    """Prints what a single query costs."""
    times, cpu = [], []
    for row in range(n_rows):
        single = test.take([row])
        clock, used = time.perf_counter(), time.process_time()
        model.predict(single, 5)
        times.append(time.perf_counter() - clock)
        cpu.append(time.process_time() - used)
    clock, used = 1e3 * np.median(times), 1e3 * np.median(cpu)
    print(f"    a row alone: {clock:.2f} ms, {used:.2f} ms of CPU (medians)", flush=True)


def judge(what: str, model: labelwood.Model, train: labelwood.Dataset, test: labelwood.Dataset) -> TopK:
    """The answers for the test rows; prints the figures and what they cost."""
    start = time.process_time()
    model.fit(train)
    trained = time.process_time()
    top = model.predict(test, max(KS))
    asked = time.process_time()
    size = sum(array.nbytes for array in model.fitted_.arrays().values()) / 1e6
    per_row = 1e3 * (asked - trained) / test.n_rows
    cost = f"{trained - start:.0f} CPU s, {per_row:.2f} ms a row, {size:.2f} MB"
    print(f"{what}: {told(top, train, test)}; {cost}", flush=True)
    return top


def read_data(name: str, features: str) -> tuple[labelwood.Dataset, labelwood.Dataset]:
    """(training rows, test rows) with features, texts where there are some, and names of features and labels."""
    folder = Path(os.environ["LABELWOOD_DATA"]) / name
    if features == "given" and (folder / "train.txt.gz").exists():
        names, words = listed_names(folder), lines(folder / "vocab.txt.gz")
        both = [labelwood.read(folder / f"{part}.txt.gz") for part in ("train", "test")]
        with_names = [
            replace(data, texts=texts_of(folder, part), label_names=names, feature_names=words)
            for data, part in zip(both, ("train", "test"), strict=True)
        ]
        return with_names[0], with_names[1]
    rows = [raw_rows(folder, part) for part in ("train", "test")]
    ids = sorted({label for part in rows for row in part for label in row["labels"]})
    names = label_names(folder, ids)
    places = {label: place for place, label in enumerate(ids)}
    vectorizer = labelwood.TfidfVectorizer(sublinear_tf=True, n_threads=1, **WORDS.get(name, {}))
    both = []
    for number, part in enumerate(rows):
        texts = [row["text"] for row in part]
        x = vectorizer.fit_transform(texts) if number == 0 else vectorizer.transform(texts)
        labels = [[places[label] for label in row["labels"]] for row in part]
        starts = np.cumsum([0, *map(len, labels)])
        flat = np.concatenate([np.asarray(row, np.int32) for row in labels])
        y = sparse.csr_matrix((np.ones(len(flat), np.float32), flat, starts), shape=(len(part), len(ids)))
        stems = vectorizer.fitted_.in_column_names(names)
        both.append(
            labelwood.Dataset(x, y, texts, label_names=names, feature_names=vectorizer.feature_names, label_stems=stems)
        )
    return both[0], both[1]


def label_names(folder: Path, ids: list[str] | list[int]) -> list[str]:
    """What each label is called: by the vocabulary, or by the data set's own list; the id where there is no name."""
    language = VOCABULARIES.get(folder.name)
    if language is None:
        listed = listed_names(folder)
        return [listed[int(label)] for label in ids]
    head, *rows = [line.split("\t") for line in lines(folder.parent / "vocabularies" / "yso-names.tsv.gz")]
    known = {row[0]: row[head.index(language)] for row in rows}
    return told_apart([known.get(str(label)) or str(label) for label in ids], ids)


def listed_names(folder: Path) -> list[str]:
    """The names of the data set's own list, which may stand behind a number and a tab."""
    rows = [line.split("\t") for line in lines(folder / "labels.txt.gz")]
    return told_apart([row[-1] for row in rows], [row[0] for row in rows])


def told_apart(names: list[str], ids: list) -> list[str]:
    """The names, with the label's id behind those that came before."""
    different, taken = [], set()
    for name, label in zip(names, ids, strict=True):
        different.append(name if name not in taken else f"{name} ({label})")
        taken.add(different[-1])
    return different


def texts_of(folder: Path, part: str) -> list[str] | None:
    """The texts of a part, if the data set has them."""
    if not (folder / f"{part}_raw.jsonl.gz").exists():
        return None
    return [row["text"] for row in raw_rows(folder, part)]


def raw_rows(folder: Path, part: str) -> list[dict]:
    """Texts with their labels."""
    return [json.loads(line) for line in lines(folder / f"{part}_raw.jsonl.gz")]


def lines(path: Path) -> list[str]:
    """The lines of a compressed file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().split("\n")[:-1]


if __name__ == "__main__":
    main()
