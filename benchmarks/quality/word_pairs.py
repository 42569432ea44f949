"""Do held-out rows tell whether pairs of words help? The trial of `train`, and what full training says, on any texts.

    python benchmarks/quality/word_pairs.py FILE ... [--rows 20000] [--first-line] [--seeds 3] [--alike 6] [--min-df 2]

Only training rows belong here. For each seed a fifth of the rows judges; the trial of `train` is within the others.
One line a seed: what the trial chose and its CPU seconds, those for pairs in brackets; then what one-vs-all with the
chosen words scores without and with pairs on the fifth, nDCG@10 in per cent, the difference with its 95% interval, CPU
seconds of training, microseconds an answer and megabytes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import labelwood as lw
from labelwood.features.tfidf import TfidfVectorizer
from labelwood.models.linear.one_vs_all import OneVsAll
from labelwood.tagger.language_choice import PAIRS, chosen_words

PLACES = 10
DISCOUNTS = 1 / np.log2(np.arange(2, PLACES + 2))
USUAL: dict[str, Any] = {"sublinear_tf": True, "n_threads": 1}


class Judged(NamedTuple):
    """What one-vs-all with some words scores, row by row, and what that costs."""

    gains: npt.NDArray[np.float64]
    seconds: float
    microseconds: float
    megabytes: float


def judged(features: dict[str, Any], texts: Sequence[Sequence[str]], labels: Sequence[Any]) -> Judged:
    """One-vs-all trained on the first texts and asked with the second."""
    start = time.process_time()
    vectorizer = TfidfVectorizer(**features)
    model = OneVsAll(n_threads=1).fit(vectorizer.fit_transform(texts[0]), labels[0])
    trained = time.process_time()
    top = model.predict(vectorizer.transform(texts[1]), PLACES)
    asked = time.process_time()
    gains = []
    for answers, row in zip(top.labels, labels[1], strict=True):
        if row.nnz:
            hit = np.isin(answers, row.indices)
            gains.append(100 * hit @ DISCOUNTS[: len(hit)] / DISCOUNTS[: row.nnz].sum())
    size = sum(array.nbytes for state in (model.fitted_, vectorizer.fitted_) for array in state.arrays().values())
    return Judged(np.array(gains), trained - start, 1e6 * (asked - trained) / len(texts[1]), size / 1e6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--rows", type=int, default=None, help="so many rows, chosen by chance")
    parser.add_argument("--first-line", action="store_true", help="only the first line of each text")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--alike", type=int, default=None, help="ids that begin alike for so long are on one side")
    parser.add_argument("--min-df", type=int, default=1, help="with pairs, only what so many rows hold")
    given = parser.parse_args()
    for file in given.files:
        data = lw.read(file)
        if given.rows is not None:
            data = data.take(np.sort(np.random.default_rng(0).permutation(data.n_rows)[: given.rows]))
        texts = [text.split("\n")[0] if given.first_line else text for text in data.texts or ()]
        keys = list(range(data.n_rows))
        if given.alike is not None:
            starts = [str(name)[: given.alike] for name in data.row_ids or ()]
            keys = np.unique(starts, return_inverse=True)[1].tolist()
        mean = sum(map(len, texts)) / len(texts)
        print(f"{file}: {len(texts):,} texts of {mean:.0f} characters, {data.n_labels:,} labels", flush=True)
        for seed in range(given.seeds):
            chance = np.random.default_rng(seed).random(max(keys) + 1)[keys]
            sides = [np.flatnonzero(chance >= 0.2), np.flatnonzero(chance < 0.2)]
            parts, labels = [[texts[row] for row in side] for side in sides], [data.y[side] for side in sides]
            seconds = []
            for pairs in (False, False, True):  # the first one loads the dictionaries
                start = time.process_time()
                features, note = chosen_words(parts[0], labels[0], USUAL, "auto", seed, pairs=pairs)
                seconds.append(time.process_time() - start)
            print(f"  {note}; {seconds[2]:.1f} ({seconds[2] - seconds[1]:.1f}) s")
            usual = {name: value for name, value in features.items() if name not in ("analyzer", "ngram_range")}
            without, beside = (
                judged(words, parts, labels) for words in (usual, {**usual, **PAIRS, "min_df": given.min_df})
            )
            change = beside.gains - without.gains
            spread = 1.96 * change.std() / len(change) ** 0.5
            print(
                f"    {without.gains.mean():.2f}, with pairs {change.mean():+.2f} ({change.mean() - spread:+.2f} to "
                f"{change.mean() + spread:+.2f}); training {without.seconds:.1f} and {beside.seconds:.1f} s; an answer "
                f"{without.microseconds:.0f} and {beside.microseconds:.0f} us; {without.megabytes:.1f} and "
                f"{beside.megabytes:.1f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
