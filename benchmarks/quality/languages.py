"""Plain words, stems and dictionary forms compared on texts of one data set, trained and judged on its own split.

python benchmarks/quality/languages.py YSO-Finna-fi --lang fi [--rows 20000]
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import labelwood
from labelwood.features.languages import languages_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset")
    parser.add_argument("--lang", required=True)
    parser.add_argument("--rows", type=int, default=None, help="train on the first rows only")
    parser.add_argument("--model", default="linear-tree")
    given = parser.parse_args()
    folder = Path(os.environ["LABELWOOD_DATA"]) / given.dataset
    train, test = (labelwood.read(folder / f"{part}_raw.jsonl.gz") for part in ("train", "test"))
    if given.rows is not None:
        train = train.take(range(given.rows))
    print(f"{given.dataset}: {train.n_rows} rows, detected {'+'.join(languages_of(train.texts))}, {given.model}")
    for name, features in (
        ("plain words", {}),
        ("stems", {"stems": given.lang}),
        ("character 3- to 5-grams in words", {"analyzer": "char_wb", "ngram_range": (3, 5)}),
        ("dictionary forms", {"stems": given.lang, "lemmas": True}),
    ):
        start = time.process_time()
        tagger = labelwood.Tagger(given.model, features=features, n_threads=1).fit(train)
        seconds = time.process_time() - start
        figures = tagger.evaluate(test, ks=(1, 5, 10))
        shown = ", ".join(f"{metric} {figures[metric]:.2f}" for metric in ("P@1", "P@5", "nDCG@10"))
        print(f"{name}: {shown}; {tagger.vectorizer_.n_features_} features, fit {seconds:.1f} CPU s", flush=True)


if __name__ == "__main__":
    main()
