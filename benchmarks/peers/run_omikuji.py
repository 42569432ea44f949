"""Omikuji with three trees: Parabel (its default settings) or, with tree=bonsai, the Bonsai settings of its manual.

Omikuji trains from an XMC text file only and reads it inside its training call, so reading is part of the training
time; writing the file is not. It answers one row a call; turning CSR rows into its lists of pairs is not timed.
Options: tree=parabel|bonsai, n_trees (3), densify (off, else the largest density that stays sparse).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import measure
import numpy as np
import omikuji
from scipy import sparse

Pairs = list[tuple[int, float]]
# "unbalanced, cluster.k=100, max_depth=3", as in the table of Omikuji's manual that compares it with Bonsai.
TREES = {"parabel": {}, "bonsai": {"cluster_balanced": False, "cluster_k": 100, "max_depth": 3}}
TEXT = "train.txt"


def pairs(x: sparse.csr_matrix) -> list[Pairs]:
    """Every row as a list of (feature, value)."""
    indices, values, ends = x.indices.tolist(), x.data.tolist(), x.indptr.tolist()
    return [list(zip(indices[start:end], values[start:end], strict=True)) for start, end in itertools.pairwise(ends)]


def write_text(x: sparse.csr_matrix, y: sparse.csr_matrix, path: Path) -> None:
    """Write an XMC text file; rows without features are left out, because Omikuji refuses the whole file for one."""
    filled = np.flatnonzero(np.diff(x.indptr))
    x, y = x[filled], y[filled]
    with path.open("w") as stream:
        stream.write(f"{x.shape[0]} {x.shape[1]} {y.shape[1]}\n")
        for i, row in enumerate(pairs(x)):
            labels = ",".join(map(str, y.indices[y.indptr[i] : y.indptr[i + 1]].tolist()))
            stream.write(f"{labels} {' '.join(f'{feature}:{value:.7g}' for feature, value in row)}\n")


class OmikujiAnswers:
    """A loaded Omikuji model with its own pool of threads."""

    def __init__(self, model: omikuji.Model) -> None:
        self.model = model

    def batch_input(self, x: sparse.csr_matrix) -> list[Pairs]:
        return pairs(x)

    def batch(self, rows: list[Pairs], k: int) -> list[Pairs]:
        return [self.model.predict(row, top_k=k) for row in rows]

    def labels(self, answers: list[Pairs], k: int) -> np.ndarray:
        return measure.top_of_lists(answers, k)

    def single_input(self, row: sparse.csr_matrix) -> Pairs:
        return pairs(row)[0]

    def single(self, row: Pairs, k: int) -> Pairs:
        return self.model.predict(row, top_k=k)


class Omikuji:
    """Parabel or Bonsai, three trees."""

    name = "omikuji"

    def prepare(self, folder: Path, model: Path, options: dict[str, str]) -> None:
        measure.refuse_unknown(options, ["tree", "n_trees", "densify"], self.name)
        if options.get("tree", "parabel") not in TREES:
            raise SystemExit(f"tree must be one of {', '.join(TREES)}, but is {options['tree']!r}")
        x, y = measure.read_matrix(folder, "X.train.npz"), measure.read_matrix(folder, "Y.train.npz")
        write_text(x, y, text_beside(model))

    def train(
        self, folder: Path, model: Path, threads: int, options: dict[str, str]
    ) -> tuple[Callable[[], omikuji.Model], Callable[[omikuji.Model], None]]:
        parameters = omikuji.Model.default_hyper_param()
        parameters.n_trees = int(options.get("n_trees", 3))
        for key, value in TREES[options.get("tree", "parabel")].items():
            setattr(parameters, key, value)

        def train() -> omikuji.Model:
            return omikuji.Model.train_on_data(str(text_beside(model)), parameters, n_threads=threads)

        def save(trained: omikuji.Model) -> None:
            trained.save(str(model))
            text_beside(model).unlink()

        return train, save

    def load(self, model: Path, threads: int, options: dict[str, str]) -> OmikujiAnswers:
        loaded = omikuji.Model.load(str(model))
        loaded.init_prediction_thread_pool(threads)
        if "densify" in options:
            loaded.densify_weights(float(options["densify"]), n_threads=threads)
        return OmikujiAnswers(loaded)


def text_beside(model: Path) -> Path:
    return model.with_name(f"{model.name}-{TEXT}")


if __name__ == "__main__":
    measure.main(Omikuji())
