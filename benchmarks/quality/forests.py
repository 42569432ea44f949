"""One tree and three of the linear tree: processor time of training and answering, blocks, P@k, with and without slack.

    python benchmarks/quality/forests.py FOLDER ...

A folder holds X.train.npz, Y.train.npz, X.test.npz and Y.test.npz, as benchmarks/peers/compare.py keeps them; to choose
settings, let the test files be rows held out of the training rows. One thread.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from scipy import sparse

import labelwood
from labelwood.metrics.hits import hit_matrix
from labelwood.metrics.ranking import precision

SINGLE_ROWS = 3000


def report(folder: Path) -> None:
    """Print one line a forest and way of searching."""
    parts = ("X.train", "Y.train", "X.test", "Y.test")
    x, y, x_test, y_test = (sparse.csr_matrix(sparse.load_npz(folder / f"{part}.npz")) for part in parts)
    for n_trees in (1, 3):
        model = labelwood.LinearTree(n_trees=n_trees, n_threads=1)
        start = time.process_time()
        model.fit(x, y)
        training = time.process_time() - start
        model.predict(x_test[:50])
        for title, options in (("learned", {}), ("exact", {"slack": 0.0})):
            start = time.process_time()
            answers = model.search(x_test, 5, **options)
            batch = 1e6 * (time.process_time() - start) / x_test.shape[0]
            hits = hit_matrix(answers.top, y_test)
            quality = " / ".join(f"{precision(hits, k):.2f}" for k in (1, 3, 5))
            slack = options.get("slack", model.fitted_.slack)
            print(
                f"{folder.name}, {n_trees} trees, {title} (slack {slack:g}): training "
                f"{training:.1f} s, batch {batch:.0f} us a row, {answers.n_blocks.mean():.1f} blocks, {quality}",
                flush=True,
            )
        rows = [x_test[row] for row in range(min(SINGLE_ROWS, x_test.shape[0]))]
        start = time.process_time()
        for row in rows:
            model.query(row.indices, row.data, 5)
        print(f"  single rows: {1e6 * (time.process_time() - start) / len(rows):.0f} us", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    for folder in parser.parse_args().folders:
        report(folder)


if __name__ == "__main__":
    main()
