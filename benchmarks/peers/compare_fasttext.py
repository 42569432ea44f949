"""labelwood's hsoftmax against fastText: same words, n-grams, dimension, epochs, rate and threads, one run.

    python benchmarks/peers/compare_fasttext.py CookingStackExchange EURLEX57K [--epochs 25] [--trees huffman ratio=1]

A tree is "huffman" (fastText's own), or ratio=R for the interpolated tree of that balance ratio; add ",plt" for the
loss over all labels; "preset" is HSoftmax.preset("fasttext"), whose start goes with --dim as fastText's does. With
--loss softmax, ova or ns fastText has no tree, and beside it stands FastText.preset("fasttext") with that loss. With
several --seeds a line has means and deviations over them, and what labelwood's mean is above fastText's. Texts become
lower-case words with spaces between, so that both tools cut them alike. Examples a second are rows times epochs by the
CPU seconds of training, which for labelwood holds cutting the texts and making the tree, for fastText reading its
file. Rows whose labels are unknown count as they are: nothing is left out of the test rows. --validate N trains on all
training rows but N and answers those N: for choosing settings.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from environments import cache_folder, environment_python
from fasttext_options import add_training_options, training_options
from measure import accuracy, cpu_seconds
from scipy import sparse

HERE = Path(__file__).resolve().parent
FLAT = "flat"
Part = tuple[list[str], sparse.csr_matrix]


def read_part(path: Path, n_labels: int) -> Part:
    """(texts as words, labels) of a raw data file."""
    from labelwood import _native
    from labelwood.features.tokens import token_rules

    rules = token_rules(analyzer="word", min_n=1, max_n=1, lowercase=True, min_length=1, stop_words=())
    texts, rows, columns = [], [], []
    with gzip.open(path, "rt") as stream:
        for number, line in enumerate(stream):
            item = json.loads(line)
            texts.append(" ".join(_native.split_text(item["text"], rules)))
            rows += [number] * len(item["labels"])
            columns += item["labels"]
    y = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=(len(texts), n_labels))
    return texts, y


def write_lines(part: Part, path: Path) -> None:
    """Write a part as fastText's training lines."""
    texts, y = part
    with path.open("w") as stream:
        for i, text in enumerate(texts):
            labels = " ".join(f"__label__{label}" for label in y.indices[y.indptr[i] : y.indptr[i + 1]])
            stream.write(f"{labels} {text}\n")


def fasttext_figures(train: Part, test: Part, folder: Path, seed: int, given: argparse.Namespace) -> dict[str, float]:
    write_lines(train, folder / "train.txt")
    write_lines(test, folder / "test.txt")
    command = [
        str(environment_python("fasttext")),
        str(HERE / "run_fasttext.py"),
        str(folder / "train.txt"),
        str(folder / "test.txt"),
        *training_options(argparse.Namespace(**{**vars(given), "seed": seed})),
    ]
    figures: dict[str, float] = json.loads(
        subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    )
    return figures


def labelwood_figures(train: Part, test: Part, tree: str, seed: int, given: argparse.Namespace) -> dict[str, float]:
    from labelwood.features.bag import BagVectorizer
    from labelwood.models.baselines.fasttext import NEGATIVES, FastText
    from labelwood.models.hsoftmax import HSoftmax

    settings = {"dim": given.dim, "epochs": given.epochs, "rate": given.rate, "n_threads": given.threads, "seed": seed}
    model: FastText | HSoftmax
    if tree == FLAT:
        loss = NEGATIVES if given.loss == "ns" else given.loss
        model = FastText.preset("fasttext", **settings, loss=loss, start=given.dim**-0.5)
    elif tree == "preset":
        model = HSoftmax.preset("fasttext", **settings, start=given.dim**-0.5)
    else:
        kind, _, loss = tree.partition(",")
        shape = (
            {"tree": "interpolated", "balance_ratio": float(kind.removeprefix("ratio="))}
            if "=" in kind
            else {"tree": kind}
        )
        model = HSoftmax(**settings, **shape, loss=loss or "hs", start=given.start)
    wall, cpu = time.perf_counter(), cpu_seconds()
    bag = BagVectorizer(
        word_ngrams=given.ngrams, buckets=given.buckets, min_count=given.min_count, n_threads=given.threads
    )
    model.fit(bag.fit_transform(train[0]), train[1])
    figures = {"train_wall_s": time.perf_counter() - wall, "train_cpu_s": cpu_seconds() - cpu}
    cpu = cpu_seconds()
    top = model.predict(bag.transform(test[0]), k=5)
    figures["answers_cpu_s"] = cpu_seconds() - cpu
    return {**figures, **accuracy(top.labels, test[1]), "depth": model.structure().get("expected depth", 0.0)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", help="data sets below LABELWOOD_DATA with train_raw.jsonl.gz")
    parser.add_argument("--trees", nargs="*", default=["huffman", "ratio=1"])
    add_training_options(parser)
    parser.add_argument("--start", type=float, default=1.0, help="labelwood's start; fastText's is 1 / sqrt(dim)")
    parser.add_argument("--seeds", type=int, nargs="*", help="several runs, in place of --seed")
    parser.add_argument("--validate", type=int, default=0, metavar="N")
    parser.add_argument("--rows", type=int, default=0, help="train on so many rows only")
    parser.add_argument("--no-fasttext", action="store_true")
    given = parser.parse_args()
    root = Path(os.environ.get("LABELWOOD_DATA", HERE.parents[2] / "shared" / "data"))
    for data in given.data:
        with gzip.open(root / data / "labels.txt.gz", "rt") as stream:
            n_labels = sum(1 for _ in stream)
        train = read_part(root / data / "train_raw.jsonl.gz", n_labels)
        test = read_part(root / data / "test_raw.jsonl.gz", n_labels) if not given.validate else train
        if given.validate:
            order = np.random.default_rng(1).permutation(len(train[0]))
            held, kept = order[: given.validate], order[given.validate :]
            train, test = (([train[0][i] for i in rows], train[1][rows]) for rows in (kept, held))
        if given.rows:
            train = (train[0][: given.rows], train[1][: given.rows])
        folder = cache_folder() / "fasttext" / data
        folder.mkdir(parents=True, exist_ok=True)
        print(f"{data}: {len(train[0])} rows, {n_labels} labels, {given.epochs} epochs, rate {given.rate}", flush=True)
        runs = [] if given.no_fasttext else ["fastText"]
        trees = given.trees if given.loss == "hs" else [FLAT]
        means: dict[str, dict[str, float]] = {}
        for title in [*runs, *trees]:
            repeated = [
                fasttext_figures(train, test, folder, seed, given)
                if title == "fastText"
                else labelwood_figures(train, test, title, seed, given)
                for seed in (given.seeds or [given.seed])
            ]
            for figures in repeated:
                figures["examples/s"] = len(train[0]) * given.epochs / figures["train_cpu_s"]
            means[title] = {name: float(np.mean([one[name] for one in repeated])) for name in repeated[0]}
            print(f"  {title:16s}" + "  ".join(f"{name} {spread(repeated, name)}" for name in means[title]), flush=True)
        if "fastText" in means:
            for title in trees:
                above = (f"P@{k} {means[title][f'P@{k}'] - means['fastText'][f'P@{k}']:+.2f}" for k in (1, 3, 5))
                print(f"  {title:16s}above fastText: {'  '.join(above)}", flush=True)


def spread(repeated: list[dict[str, float]], name: str) -> str:
    """The mean of a figure, and its deviation over several runs."""
    values = [figures[name] for figures in repeated]
    return f"{np.mean(values):.2f}" + (f" +- {np.std(values, ddof=1):.2f}" if len(values) > 1 else "")


if __name__ == "__main__":
    sys.exit(main())
