"""napkinXC's probabilistic label tree with its default settings: one tree, exact (best-first) search.

napkinXC writes its model while it trains, so its training time includes that.
Its exact search grows steeply with k: ask for 100 answers only on small sets, or with search=beam.
Options: ensemble (1), search=exact|beam, seed (0).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import measure
import numpy as np
from napkinxc.models import PLT
from scipy import sparse


class NapkinAnswers:
    """A loaded PLT."""

    def __init__(self, model: PLT) -> None:
        self.model = model

    def batch_input(self, x: sparse.csr_matrix) -> sparse.csr_matrix:
        return x

    def batch(self, rows: sparse.csr_matrix, k: int) -> list[list[int]]:
        return self.model.predict(rows, top_k=k)

    def labels(self, answers: list[list[int]], k: int) -> np.ndarray:
        return measure.top_of_lists(answers, k)

    def single_input(self, row: sparse.csr_matrix) -> sparse.csr_matrix:
        return row

    def single(self, row: sparse.csr_matrix, k: int) -> list[list[int]]:
        return self.model.predict(row, top_k=k)


def plt(model: Path, threads: int, options: dict[str, str]) -> PLT:
    return PLT(
        str(model),
        ensemble=int(options.get("ensemble", 1)),
        tree_search_type=options.get("search", "exact"),
        seed=int(options.get("seed", 0)),
        threads=threads,
    )


class NapkinXC:
    """PLT: hierarchical 2-means tree, logistic classifiers."""

    name = "napkinxc"

    def prepare(self, folder: Path, model: Path, options: dict[str, str]) -> None:
        measure.refuse_unknown(options, ["ensemble", "search", "seed"], self.name)

    def train(
        self, folder: Path, model: Path, threads: int, options: dict[str, str]
    ) -> tuple[Callable[[], None], Callable[[None], None]]:
        x, y = measure.read_matrix(folder, "X.train.npz"), measure.read_matrix(folder, "Y.train.npz")
        model.mkdir(parents=True, exist_ok=True)
        tree = plt(model, threads, options)
        return lambda: tree.fit(x, y), lambda trained: None

    def load(self, model: Path, threads: int, options: dict[str, str]) -> NapkinAnswers:
        tree = plt(model, threads, options)
        tree.load()
        return NapkinAnswers(tree)


if __name__ == "__main__":
    measure.main(NapkinXC())
