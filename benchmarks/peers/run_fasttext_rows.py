"""fastText's supervised model with its hierarchical softmax on rows of features: every feature of a row is one word.

fastText knows words and no weights, so the tf-idf values are lost; `compare_fasttext.py` compares on texts. Settings as
in its tutorial on many labels: hs, 25 epochs, rate 0.5; single words, for the columns of a row have no order.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import fasttext
import measure
import numpy as np
from scipy import sparse

PREFIX = "__label__"


def lines(x: sparse.csr_matrix) -> list[str]:
    """Each row as a line of words."""
    return [
        " ".join(f"f{column}" for column in x.indices[x.indptr[row] : x.indptr[row + 1]]) for row in range(x.shape[0])
    ]


class FastTextAnswers:
    """A loaded fastText model."""

    def __init__(self, model: fasttext.FastText._FastText) -> None:
        self.model = model

    def batch_input(self, x: sparse.csr_matrix) -> list[str]:
        return lines(x)

    def batch(self, rows: list[str], k: int) -> list[list[str]]:
        return self.model.predict(rows, k=k)[0]

    def labels(self, answers: list[list[str]], k: int) -> np.ndarray:
        return measure.top_of_lists([[int(label.removeprefix(PREFIX)) for label in row] for row in answers], k)

    def single_input(self, row: sparse.csr_matrix) -> str:
        return lines(row)[0]

    def single(self, row: str, k: int) -> object:
        return self.model.predict(row, k=k)


class FastText:
    """Hierarchical softmax, 100 dimensions."""

    name = "fasttext"

    def prepare(self, folder: Path, model: Path, options: dict[str, str]) -> None:
        measure.refuse_unknown(options, [], self.name)
        x, y = measure.read_matrix(folder, "X.train.npz"), measure.read_matrix(folder, "Y.train.npz")
        with text_beside(model).open("w") as stream:
            for row, words in enumerate(lines(x)):
                labels = " ".join(f"{PREFIX}{label}" for label in y.indices[y.indptr[row] : y.indptr[row + 1]])
                if labels and words:
                    stream.write(f"{labels} {words}\n")

    def train(
        self, folder: Path, model: Path, threads: int, options: dict[str, str]
    ) -> tuple[Callable[[], object], Callable[[fasttext.FastText._FastText], None]]:
        def train() -> object:
            return fasttext.train_supervised(
                str(text_beside(model)), loss="hs", epoch=25, lr=0.5, dim=100, thread=threads, verbose=0
            )

        def save(trained: fasttext.FastText._FastText) -> None:
            model.mkdir(parents=True, exist_ok=True)
            trained.save_model(str(model / "model.bin"))
            text_beside(model).unlink()

        return train, save

    def load(self, model: Path, threads: int, options: dict[str, str]) -> FastTextAnswers:
        return FastTextAnswers(fasttext.load_model(str(model / "model.bin")))


def text_beside(model: Path) -> Path:
    return model.with_name(f"{model.name}-train.txt")


if __name__ == "__main__":
    measure.main(FastText())
