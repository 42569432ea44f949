"""Network: small networks that tell all labels of a row at once, for data with few features, rows and labels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import ModelFileError
from labelwood.matrices import column_ids, normalized_rows, row_pointers
from labelwood.models.fit_input import TrainedOn
from labelwood.storage.schema import ArrayRule, Arrays, Schema
from labelwood.storage.sharing import shared
from labelwood.topk import TopK, empty

N_NETWORKS = 2  # that are trained one by one and answer together: the mean of their margins
N_HIDDEN = 256  # units of each
# Texts have more features, most of them rare: linear models do better there.
MOST_FEATURES = 5_000
MOST_WORK = 2e7  # rows times labels: training takes up to some ten seconds a network
_EPOCHS, _BATCH, _RATE = 20, 32, 5e-3
_SPREAD = 0.1  # of the first weights of features: rare ones, which hardly move, are to say little

SCHEMA: Schema = {
    "first": ArrayRule("int8", ("n_features", "n_hidden")),
    "first_scale": ArrayRule("float32", ("n_features",), finite=True),
    "first_bias": ArrayRule("float32", ("n_hidden",), finite=True),
    "second": ArrayRule("int8", ("n_hidden", "n_labels")),
    "second_scale": ArrayRule("float32", ("n_hidden",), finite=True),
    "second_bias": ArrayRule("float32", ("n_labels",), finite=True),
}
# Steps of stored numbers as a share of their root mean square: they add a hundredth of noise, and take little more than
# three bits and a half each when they are compressed.
STEP = 0.35
ROW_STEP = 0.7  # of vectors that stand for rows: a similarity adds up the errors of many numbers
# Networks that see dense vectors: their inputs are not the model's features.
DENSE_SCHEMA: Schema = {
    **SCHEMA,
    "first": ArrayRule("int8", ("n_dims", "n_hidden")),
    "first_scale": ArrayRule("float32", ("n_dims",), finite=True),
}

Bytes = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Network:
    """first (n_features, n_hidden) and second (n_hidden, n_labels) in bytes, each line times its scale.

    Rows of length 1 -> first, bias, ReLU -> second, bias: the margins of all labels. Several networks lie side by side.
    """

    first: Bytes
    first_scale: Floats
    first_bias: Floats
    second: Bytes
    second_scale: Floats
    second_bias: Floats

    @classmethod
    def of(
        cls,
        x: sparse.csr_matrix,
        y: sparse.csr_matrix,
        seed: int,
        n_threads: int | None,
        all_rows: int | None = None,
    ) -> Network | None:
        """Networks trained on rows x with labels y; None if there are too many features, rows or labels.

        all_rows: of the data that x is a part of; parts are to have what all rows will have.
        """
        if not is_quick(all_rows or x.shape[0], x.shape[1], y.shape[1]):
            return None
        return shared("network", lambda: [x, y, seed], lambda: cls._of_few(x, y, seed, n_threads))

    @classmethod
    def _of_few(cls, x: sparse.csr_matrix, y: sparse.csr_matrix, seed: int, n_threads: int | None) -> Network:
        """The networks of so few features, rows and labels that training is quick."""
        x = normalized_rows(x)
        parts = [_trained(x, y, seed + number, n_threads) for number in range(N_NETWORKS)]
        first, first_bias = np.hstack([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
        second = np.ascontiguousarray(np.hstack([part[2] for part in parts]).T / np.float32(N_NETWORKS))
        second_bias = np.asarray(np.mean([part[3] for part in parts], axis=0), np.float32)
        seen = cls(*in_steps(first, squares_of(x)), first_bias, *in_bytes(second), second_bias)
        units = np.square(seen.hidden(x, n_threads)).mean(axis=0, dtype=np.float64)
        second_steps, second_scale = in_steps(second, units)
        return replace(seen, second=second_steps, second_scale=second_scale)

    def best(self, rows: sparse.csr_matrix, k: int, n_threads: int | None) -> TopK:
        """The k likeliest labels of every row; columns behind the features say nothing."""
        top = empty(rows.shape[0], k)
        _native.ask_network(
            **self.arrays(), starts=row_pointers(rows), columns=column_ids(rows), values=rows.data,
            n_threads=n_threads or 0, labels=top.labels, scores=top.scores,
        )  # fmt: skip
        return top

    def hidden(self, x: sparse.csr_matrix, n_threads: int | None) -> Floats:
        """(n_rows, n_hidden): the hidden units of rows x of length 1."""
        units = np.empty((x.shape[0], len(self.first_bias)), np.float32)
        table = self.first * self.first_scale[:, None]
        _native.sparse_rows_times_dense(row_pointers(x), column_ids(x), x.data, table, units, n_threads or 0)
        return np.maximum(units + self.first_bias, np.float32(0))

    def arrays(self) -> Arrays:
        """The networks as the schema declares them."""
        return {name: getattr(self, name) for name in SCHEMA}

    @classmethod
    def restore(cls, arrays: Arrays, n_features: int, trained_on: TrainedOn) -> Network:
        """The networks of saved arrays; ModelFileError if they are of other features or labels."""
        if len(arrays["first"]) != n_features or len(arrays["second_bias"]) != trained_on.n_labels:
            raise ModelFileError("ensemble: the network is one of other features or labels")
        return cls(*(arrays[name] for name in SCHEMA))


def is_quick(n_rows: int, n_features: int, n_labels: int) -> bool:
    """Whether networks are trained on so many rows."""
    return n_features <= MOST_FEATURES and n_rows * n_labels <= MOST_WORK


def training_memory(n_rows: int, n_features: int, n_labels: int) -> int:
    """The bytes that training takes, and placing rows by the hidden units, from above; 0 where there is no network."""
    if not is_quick(n_rows, n_features, n_labels):
        return 0
    weights = (n_features + n_labels + 2) * N_HIDDEN
    placing = 4 * n_rows * N_NETWORKS * N_HIDDEN
    return 4 * (3 * weights + 2 * N_NETWORKS * weights + _BATCH * (3 * N_HIDDEN + 2 * n_labels) + placing)


def _trained(
    x: sparse.csr_matrix, y: sparse.csr_matrix, seed: int, n_threads: int | None
) -> tuple[Floats, Floats, Floats, Floats]:
    """(n_features, n_hidden), its bias, (n_labels, n_hidden) and its bias: one network."""
    random = np.random.default_rng(seed)
    first = (_SPREAD * random.standard_normal((x.shape[1], N_HIDDEN))).astype(np.float32)
    second = (random.standard_normal((y.shape[1], N_HIDDEN)) / np.sqrt(4 * N_HIDDEN)).astype(np.float32)
    share = (np.bincount(y.indices, minlength=y.shape[1]) + 0.1) / (y.shape[0] + 1)
    first_bias, second_bias = np.zeros(N_HIDDEN, np.float32), np.log(share / (1 - share)).astype(np.float32)
    _native.train_network(
        row_pointers(x), column_ids(x), x.data, row_pointers(y), column_ids(y), _EPOCHS, _BATCH, _RATE, seed,
        n_threads or 0, first, first_bias, second, second_bias,
    )  # fmt: skip
    return first, first_bias, second, second_bias


def in_steps(lines: Floats, use: npt.NDArray[np.float64] | None = None, step: float = STEP) -> tuple[Bytes, Floats]:
    """(small whole numbers, what those of each line are multiplied with) that stand for the lines.

    use: the mean square of what each line is multiplied with; all lines are to add the same error to the sums, so those
    that count more have smaller steps. Without it the steps follow each line's own numbers.
    """
    squares = np.square(lines).mean(axis=1, dtype=np.float64)
    if use is not None and len(use) and use.max() > 0:
        use = np.maximum(use, 1e-9 * use.max())
        squares = (use * squares).mean() / use
    largest = np.abs(lines).max(axis=1, initial=0)
    scale = np.maximum(step * np.sqrt(squares), largest / 127)
    scale = np.where(scale > 0, scale, 1).astype(np.float32)
    return np.rint(lines / scale[:, None]).astype(np.int8), scale


def unit_steps(lines: Floats, step: float = STEP) -> tuple[Bytes, Floats]:
    """The same for lines of length 1, so that what stands for them has that length, too (0 for lines of zeros)."""
    steps, _ = in_steps(lines, step=step)
    squares = np.square(steps, dtype=np.int32).sum(axis=1, dtype=np.int64)
    return steps, np.asarray(1 / np.sqrt(np.maximum(squares, 1)), np.float32)


def squares_of(x: sparse.csr_matrix) -> npt.NDArray[np.float64]:
    """The mean square of every column."""
    return np.asarray(np.bincount(x.indices, np.square(x.data, dtype=np.float64), x.shape[1]) / max(x.shape[0], 1))


def in_bytes(lines: Floats) -> tuple[Bytes, Floats]:
    """(whole numbers from -127 to 127, what those of each line are multiplied with) that stand for the lines."""
    largest = np.abs(lines).max(axis=1, initial=0)
    scale = np.where(largest > 0, largest / 127, 1).astype(np.float32)
    return np.rint(lines / scale[:, None]).astype(np.int8), scale
