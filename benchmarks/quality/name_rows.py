"""What a tagger gains by learning from the names of its labels: with held-out rows deciding, always, and never.

    python benchmarks/quality/name_rows.py YSO-Finna-en CVE-Products --rows validation --model linear-tree

Data sets lie in $LABELWOOD_DATA. Validation rows are 3,000 of the training rows. One thread, CPU seconds.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from ensemble import METRICS, VALIDATION_ROWS, WORDS, read_data

import labelwood
from labelwood.models.registry import model_class

KS = (1, 3, 5, 10)


def main() -> None:
    """Train and judge three taggers on each data set that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", nargs="+", help="names of data sets with texts")
    parser.add_argument("--rows", choices=("validation", "test"), default="validation")
    parser.add_argument("--model", default="linear-tree")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="parameters of the model")
    parser.add_argument("--always", action="store_true", help="also with names where held-out rows leave them out")
    options = parser.parse_args()
    given = model_class(options.model).Parameters.parse(options.set, options.model)
    for name in options.data:
        train, test = read_data(name, "texts")
        if options.rows == "validation":
            order = np.random.default_rng(0).permutation(len(train))
            test, train = train.take(np.sort(order[:VALIDATION_ROWS])), train.take(np.sort(order[VALIDATION_ROWS:]))
        for name_rows in (False, None, True)[: 3 if options.always else 2]:
            start = time.process_time()
            tagger = labelwood.Tagger(
                options.model, model_params=given, features=WORDS.get(name), n_threads=1, name_rows=name_rows
            ).fit(train.texts, named(train))
            seconds = time.process_time() - start
            figures = tagger.evaluate(test.texts, named(test), ks=KS)
            told = " / ".join(f"{figures[metric]:.2f}" for metric in METRICS)
            what = f"{name}, {options.model}, names {name_rows}"
            print(f"{what}: {told}; {seconds:.1f} CPU s", *tagger.notes_, flush=True)


def named(data: labelwood.Dataset) -> list[list[str]]:
    """The names of each row's labels."""
    parts = np.split(data.y.indices, data.y.indptr[1:-1])
    return [[data.label_names[column] for column in part] for part in parts]


if __name__ == "__main__":
    main()
