"""A labelwood model, linear-tree unless told otherwise.

Options: model (registry name), every parameter of that model (`balance=0.5 n_trees=3`), and fast=METHOD, the name of a
method (columns, values, k) that answers one row without a matrix around it; its latency is then measured as well.
Without fast=, `query` is taken if the model has it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import measure
import numpy as np
from scipy import sparse

import labelwood
from labelwood.models.registry import model_class

FAST = "query"


class LabelwoodAnswers:
    """A loaded labelwood model."""

    def __init__(self, model: labelwood.Model) -> None:
        self.model = model

    def batch_input(self, x: sparse.csr_matrix) -> sparse.csr_matrix:
        return x

    def batch(self, rows: sparse.csr_matrix, k: int) -> labelwood.TopK:
        return self.model.predict(rows, k=k)

    def labels(self, answers: labelwood.TopK, k: int) -> np.ndarray:
        return answers.labels

    def single_input(self, row: sparse.csr_matrix) -> sparse.csr_matrix:
        return row

    def single(self, row: sparse.csr_matrix, k: int) -> labelwood.TopK:
        return self.model.predict(row, k=k)


class FastAnswers(LabelwoodAnswers):
    """A loaded labelwood model that can also answer a row given as two arrays."""

    def __init__(self, model: labelwood.Model, method: str) -> None:
        super().__init__(model)
        self.method: Callable[..., Any] = getattr(model, method)

    def fast_input(self, row: sparse.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
        return row.indices, row.data

    def fast(self, row: tuple[np.ndarray, np.ndarray], k: int) -> Any:
        return self.method(row[0], row[1], k)


class Labelwood:
    """Any model of the registry."""

    name = "labelwood"

    def prepare(self, folder: Path, model: Path, options: dict[str, str]) -> None:
        new_model(options, 1)

    def train(
        self, folder: Path, model: Path, threads: int, options: dict[str, str]
    ) -> tuple[Callable[[], labelwood.Model], Callable[[labelwood.Model], None]]:
        x, y = measure.read_matrix(folder, "X.train.npz"), measure.read_matrix(folder, "Y.train.npz")
        new = new_model(options, threads)
        return lambda: new.fit(x, y), lambda trained: trained.save(model)

    def imports(self, options: dict[str, str]) -> None:
        importlib.import_module("labelwood.loading")
        new_model(options, 1)

    def load(self, model: Path, threads: int, options: dict[str, str]) -> LabelwoodAnswers:
        loaded = labelwood.load(model)
        if not isinstance(loaded, labelwood.Model):
            raise SystemExit(f"{model} is not a model but a {type(loaded).__name__}")
        loaded.set_params(n_threads=threads)
        method = options.get("fast", FAST)
        if hasattr(loaded, method):
            return FastAnswers(loaded, method)
        if "fast" in options:
            raise SystemExit(f"{type(loaded).__name__} has no method {method}")
        return LabelwoodAnswers(loaded)


def new_model(options: dict[str, str], threads: int) -> labelwood.Model:
    cls = model_class(options.get("model", "linear-tree"))
    assignments = [f"{key}={value}" for key, value in options.items() if key not in ("model", "fast")]
    return cls(**{"n_threads": threads, **cls.Parameters.parse(assignments, cls.__name__)})


if __name__ == "__main__":
    measure.main(Labelwood())
