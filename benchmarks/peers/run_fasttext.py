"""fastText's supervised model, with its hierarchical softmax unless another loss is named, on labelled lines.

    python run_fasttext.py TRAIN TEST --dim 128 --epochs 25 --rate 0.5 --ngrams 2 --buckets 200000 \
        --min-count 1 --threads 2

Lines are `__label__3 __label__17 some words`. Prints one JSON object; runs in the environment "fasttext".
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import fasttext
from fasttext_options import add_training_options
from measure import cpu_seconds, peak_rss_mb

PREFIX = "__label__"


def labelled_lines(path: Path) -> tuple[list[set[str]], list[str]]:
    """The label sets and texts of a file of labelled lines."""
    labels, texts = [], []
    for line in path.read_text().splitlines():
        words = line.split(" ")
        labels.append({word for word in words if word.startswith(PREFIX)})
        texts.append(" ".join(word for word in words if not word.startswith(PREFIX)))
    return labels, texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path)
    parser.add_argument("test", type=Path)
    add_training_options(parser)
    given = parser.parse_args()
    wall, cpu = time.perf_counter(), cpu_seconds()
    model = fasttext.train_supervised(
        str(given.train), loss=given.loss, dim=given.dim, epoch=given.epochs, lr=given.rate, wordNgrams=given.ngrams,
        bucket=given.buckets, minCount=given.min_count, minn=0, maxn=0, thread=given.threads, verbose=0,
        seed=given.seed,
    )  # fmt: skip
    figures = {"train_wall_s": time.perf_counter() - wall, "train_cpu_s": cpu_seconds() - cpu}
    figures["peak_rss_mb"] = peak_rss_mb()
    truth, texts = labelled_lines(given.test)
    cpu = cpu_seconds()
    found, _ = model.predict(texts, k=5)
    figures["answers_cpu_s"] = cpu_seconds() - cpu
    for k in (1, 3, 5):
        hits = sum(len(true & set(labels[:k])) for true, labels in zip(truth, found, strict=True))
        figures[f"P@{k}"] = 100 * hits / (k * len(truth))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
