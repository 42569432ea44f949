"""LibMultiLabel's linear label tree with its defaults: K=100, depth 10, L2-regularised squared hinge, beam 10.

Its answers are dense (rows x labels), so batches are cut into slices of 256 rows; it has no other way.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import measure
import numpy as np
from libmultilabel import linear
from scipy import sparse

SLICE = 256
OPTIONS = "-s 1 -e 0.0001 -c 1"


class LibMultiLabelAnswers:
    """A loaded tree model."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def batch_input(self, x: sparse.csr_matrix) -> sparse.csr_matrix:
        return x

    def batch(self, rows: sparse.csr_matrix, k: int) -> np.ndarray:
        return np.vstack([self.single(rows[first : first + SLICE], k) for first in range(0, rows.shape[0], SLICE)])

    def labels(self, answers: np.ndarray, k: int) -> np.ndarray:
        return answers

    def single_input(self, row: sparse.csr_matrix) -> sparse.csr_matrix:
        return row

    def single(self, row: sparse.csr_matrix, k: int) -> np.ndarray:
        scores = np.asarray(linear.predict_values(self.model, row))
        best = np.argpartition(-scores, k - 1, axis=1)[:, :k]
        order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
        return np.take_along_axis(best, order, axis=1)


class LibMultiLabel:
    """A tree by k-means over label vectors, LIBLINEAR classifiers."""

    name = "libmultilabel"

    def prepare(self, folder: Path, model: Path, options: dict[str, str]) -> None:
        measure.refuse_unknown(options, [], self.name)

    def train(
        self, folder: Path, model: Path, threads: int, options: dict[str, str]
    ) -> tuple[Callable[[], Any], Callable[[Any], None]]:
        x, y = measure.read_matrix(folder, "X.train.npz"), measure.read_matrix(folder, "Y.train.npz")

        def train() -> Any:
            return linear.train_tree(y, x, f"{OPTIONS} -m {threads}", verbose=False)

        return train, lambda trained: linear.save_pipeline(str(model), None, trained)

    def load(self, model: Path, threads: int, options: dict[str, str]) -> LibMultiLabelAnswers:
        return LibMultiLabelAnswers(linear.load_pipeline(str(model / "linear_pipeline.pickle"))[1])


if __name__ == "__main__":
    measure.main(LibMultiLabel())
