"""The classic baselines on the test rows of a data set, beside what was published of them.

    python benchmarks/quality/baselines.py Bibtex Delicious [--models knn leml fastxml] [--threads 1]

Published: tables 2 of Zhang et al., ICMR 2018 (means over ten splits; here one given split).
"""

from __future__ import annotations

import argparse
import math
import os
import time
from pathlib import Path

import labelwood as lw
from labelwood.models.registry import model_class

PRINTED = {
    ("Bibtex", "knn"): (57.04, 34.38, 25.44),
    ("Bibtex", "leml"): (62.54, 38.41, 28.21),
    ("Bibtex", "fastxml"): (63.42, 39.23, 28.86),
    ("Delicious", "knn"): (64.95, 58.89, 54.11),
    ("Delicious", "leml"): (65.67, 60.55, 56.08),
    ("Delicious", "fastxml"): (69.61, 64.12, 59.27),
}
CHANGES = {"knn": {"temperature": math.inf}}  # as published: all neighbours alike


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", help="data sets below LABELWOOD_DATA")
    parser.add_argument("--models", nargs="*", default=["random", "popular", "knn", "leml", "fastxml"])
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    root = Path(os.environ.get("LABELWOOD_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
    for data in given.data:
        train, test = (lw.read(root / data / f"{part}.txt.gz") for part in ("train", "test"))
        for name in given.models:
            model = model_class(name)(n_threads=given.threads, **CHANGES.get(name, {}))
            start = time.process_time()
            model.fit(train)
            seconds = time.process_time() - start
            found = lw.evaluate(model.predict(test, 5), test.y)
            ours = " / ".join(f"{found[f'P@{k}']:.2f}" for k in (1, 3, 5))
            theirs = " / ".join(f"{value:.2f}" for value in PRINTED.get((data, name), ())) or "-"
            print(
                f"{data:10s} {name:8s} P@1 / P@3 / P@5 {ours}   published {theirs}   fit {seconds:.1f} CPU s",
                flush=True,
            )


if __name__ == "__main__":
    main()
