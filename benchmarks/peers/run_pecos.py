"""PECOS XR-Linear with its default settings: one tree, PIFA label vectors, 16-way splits, teacher-forcing negatives.

Answers come from the predict-only mode, which is PECOS's fast path for single rows as well as for batches.
Option: mmap=1 compiles the saved model to PECOS's memory-mapped form and answers from that.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import measure
import numpy as np
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
from scipy import sparse


class PecosAnswers:
    """A predict-only XR-Linear model."""

    def __init__(self, model: XLinearModel, threads: int) -> None:
        self.model, self.threads = model, threads

    def batch_input(self, x: sparse.csr_matrix) -> sparse.csr_matrix:
        return x

    def batch(self, rows: sparse.csr_matrix, k: int) -> sparse.csr_matrix:
        return self.model.predict(rows, only_topk=k, threads=self.threads)

    def labels(self, answers: sparse.csr_matrix, k: int) -> np.ndarray:
        return measure.top_of_csr(answers, k)

    def single_input(self, row: sparse.csr_matrix) -> sparse.csr_matrix:
        return row

    def single(self, row: sparse.csr_matrix, k: int) -> sparse.csr_matrix:
        return self.model.predict(row, only_topk=k, threads=self.threads)


class Pecos:
    """XR-Linear: k-means tree over PIFA vectors, squared-hinge classifiers, weights below 0.1 dropped."""

    name = "pecos"

    def prepare(self, folder: Path, model: Path, options: dict[str, str]) -> None:
        measure.refuse_unknown(options, ["mmap"], self.name)

    def train(
        self, folder: Path, model: Path, threads: int, options: dict[str, str]
    ) -> tuple[Callable[[], XLinearModel], Callable[[XLinearModel], None]]:
        x = measure.read_matrix(folder, "X.train.npz")
        y = measure.read_matrix(folder, "Y.train.npz").tocsc()

        def train() -> XLinearModel:
            vectors = LabelEmbeddingFactory.create(y, x, method="pifa", threads=threads)
            chain = Indexer.gen(
                vectors, indexer_type="hierarchicalkmeans", nr_splits=16, max_leaf_size=100, threads=threads
            )
            return XLinearModel.train(
                x,
                y,
                C=chain,
                nr_splits=16,
                negative_sampling_scheme="tfn",
                threshold=0.1,
                only_topk=20,
                threads=threads,
            )

        def save(trained: XLinearModel) -> None:
            if not use_mmap(options):
                trained.save(str(model))
                return
            plain = model.with_name(model.name + "-npz")
            trained.save(str(plain))
            XLinearModel.compile_mmap_model(str(plain), str(model))

        return train, save

    def load(self, model: Path, threads: int, options: dict[str, str]) -> PecosAnswers:
        return PecosAnswers(XLinearModel.load(str(model), is_predict_only=True), threads)


def use_mmap(options: dict[str, Any]) -> bool:
    return options.get("mmap", "0") == "1"


if __name__ == "__main__":
    measure.main(Pecos())
