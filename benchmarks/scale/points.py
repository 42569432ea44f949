"""The points of the scale benchmark: generated data whose rows look alike however many labels there are.

    python benchmarks/scale/points.py ROWS LABELS FOLDER      # X.train.npz Y.train.npz X.test.npz Y.test.npz

Every row has about 75 features out of 100,000 and 5 labels, whatever the size: only the number of rows and labels
changes from point to point. Every label has a training row.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

FEATURES, NONZEROS, LABELS_PER_ROW, TEST_ROWS = 100_000, 75, 5.0, 2_000


@dataclass(frozen=True)
class Point:
    """One size of generated data."""

    rows: int
    labels: int

    @property
    def name(self) -> str:
        """Its name as a folder and as part of a file name."""
        return f"{self.rows}-rows-{self.labels}-labels"


_STEPS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)
# labels: more labels for the same rows. rows: more rows for the same labels. both: three labels for every row, so that
# a label keeps as few rows as in the largest catalogues.
SWEEPS: dict[str, list[Point]] = {
    "labels": [Point(100_000, labels) for labels in _STEPS],
    "rows": [Point(rows, 30_000) for rows in _STEPS[2:]],
    "both": [Point(labels // 3, labels) for labels in _STEPS[3:]],
}


def make(point: Point, folder: Path) -> None:
    """Write the four matrices of a point, each whole or not at all."""
    from scipy import sparse

    from labelwood.data.madeup.synthetic import make_sparse_pair

    parts = make_sparse_pair(
        point.rows, TEST_ROWS, FEATURES, point.labels, labels_per_row=LABELS_PER_ROW, nnz_per_row=NONZEROS
    )
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in zip(("train", "test"), parts, strict=True):
        for letter, matrix in (("X", part.x), ("Y", part.y)):
            partial = folder / f"{letter}.{name}.partial.npz"
            sparse.save_npz(partial, sparse.csr_matrix(matrix), compressed=False)
            partial.rename(folder / f"{letter}.{name}.npz")


if __name__ == "__main__":
    make(Point(int(sys.argv[1]), int(sys.argv[2])), Path(sys.argv[3]))
