"""One tree and three of the linear tree: processor time of training and answering, blocks, P@k, with and without slack.

    python benchmarks/quality/forests.py FOLDER ... [--trees 1,3] [--set root_arity=256 ...]

A folder holds X.train.npz, Y.train.npz, X.test.npz and Y.test.npz, as benchmarks/peers/compare.py keeps them; to choose
settings, let the test files be rows held out of the training rows. One thread; the fastest of five batches counts.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from scipy import sparse

import labelwood
from labelwood.metrics.hits import hit_matrix
from labelwood.metrics.ranking import precision

SINGLE_ROWS = 3000
BATCHES = 5


def report(folder: Path, forests: list[int], k: int, settings: dict[str, Any]) -> None:
    """Print one line a forest and way of searching."""
    parts = ("X.train", "Y.train", "X.test", "Y.test")
    x, y, x_test, y_test = (sparse.csr_matrix(sparse.load_npz(folder / f"{part}.npz")) for part in parts)
    for n_trees in forests:
        model = labelwood.LinearTree(**{"n_trees": n_trees, "n_threads": 1, **settings})
        start = time.process_time()
        model.fit(x, y)
        training = time.process_time() - start
        model.predict(x_test[:50])
        for title, options in (("learned", {}), ("exact", {"slack": 0.0})):
            batch = float("inf")
            for _ in range(BATCHES):
                start = time.process_time()
                answers = model.search(x_test, k, **options)
                batch = min(batch, 1e6 * (time.process_time() - start) / x_test.shape[0])
            hits = hit_matrix(answers.top, y_test)
            quality = " / ".join(f"{precision(hits, n):.2f}" for n in (1, 3, 5))
            learned = f" (slack {model.fitted_.slack:g}, {model.fitted_.nodes} nodes)" if title == "learned" else ""
            print(
                f"{folder.name}, {n_trees} trees, {title}{learned}: training "
                f"{training:.1f} s, batch {batch:.1f} us a row, {answers.n_blocks.mean():.1f} blocks, {quality}",
                flush=True,
            )
        rows = [x_test[row] for row in range(min(SINGLE_ROWS, x_test.shape[0]))]
        start = time.process_time()
        for row in rows:
            model.query(row.indices, row.data, k)
        print(f"  single rows: {1e6 * (time.process_time() - start) / len(rows):.1f} us", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--trees", default="1,3", help="numbers of trees")
    parser.add_argument("--k", type=int, default=5, help="answers a row")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="settings of the linear tree")
    asked = parser.parse_args()
    settings = labelwood.LinearTree.Parameters.parse(asked.set, "LinearTree")
    print(f"settings {settings}", flush=True)
    for folder in asked.folders:
        report(folder, [int(number) for number in asked.trees.split(",")], asked.k, settings)


if __name__ == "__main__":
    main()
