"""LearnedRows: training rows in a space that is learnt from their labels, for data with few features and rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import ModelFileError
from labelwood.matrices import normalized_rows
from labelwood.models.ensemble.network import ROW_STEP, Network, in_steps, squares_of, unit_steps
from labelwood.models.fit_input import TrainedOn
from labelwood.storage.schema import ArrayRule, Arrays, Schema

N_DIMS = 128
N_NEAR = 100
MOST_PROPOSED = 50
# A search reads all rows, and every feature has a vector: beyond these it would cost more than all other sides.
MOST_FEATURES, MOST_ROWS = 5_000, 30_000
_ROUNDS = 10  # of the search for the main directions of the labels
_STEPS = 12  # of conjugate gradients
_RIDGE = 3.0
_UNITS = 1.5  # length that hidden units of a network are brought to, beside features of length 1
_SPREAD = 0.5  # every direction is divided by its spread to this power: strong directions count less
# votes: how many of the nearest rows have the label, weighed by similarity; closest: similarity of the nearest row that
# has it; first ten: how many of the ten nearest rows have it; rank by the votes
COLUMNS = ("votes", "closest", "first ten", "rank")

SCHEMA: Schema = {
    "projection": ArrayRule("int8", ("n_inputs", "n_dims")),
    "projection_scale": ArrayRule("float32", ("n_inputs",), finite=True),
    "rows": ArrayRule("int8", ("n_rows", "n_dims")),
    "row_scale": ArrayRule("float32", ("n_rows",), finite=True),
}

Bytes = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class LearnedRows:
    """projection (n_inputs, n_dims) and rows (n_rows, n_dims) of length 1, in bytes, each line times its scale.

    The rows' labels are brought to few numbers (their main directions), and a ridge regression learns to tell these
    numbers from the features and, if there are networks, their hidden units: rows for which it tells the same lie
    together.
    """

    projection: Bytes
    projection_scale: Floats
    rows: Bytes
    row_scale: Floats

    @classmethod
    def of(
        cls,
        x: sparse.csr_matrix,
        y: sparse.csr_matrix,
        seed: int,
        network: Network | None = None,
        n_threads: int | None = None,
        all_rows: int | None = None,
    ) -> LearnedRows | None:
        """The space of training rows x with labels y; None if there are too many of them or of their features.

        all_rows: of the data that x is a part of.
        """
        n_dims = min(N_DIMS, y.shape[1], x.shape[1])
        if x.shape[1] > MOST_FEATURES or (all_rows or x.shape[0]) > MOST_ROWS or n_dims < 2:
            return None
        x, y = normalized_rows(x), normalized_rows(y)
        inputs = Inputs(x, np.zeros((x.shape[0], 0), np.float32), n_threads)
        factor, use = np.ones((x.shape[1], 1), np.float32), squares_of(x)
        if network is not None:
            hidden = network.hidden(x, n_threads)
            squares = float(np.einsum("ij,ij->", hidden, hidden)) / len(hidden)
            by = np.float32(_UNITS / np.sqrt(squares)) if squares > 0 else np.float32(1)
            inputs = Inputs(x, hidden * by, n_threads)
            factor = np.concatenate([factor, np.full((hidden.shape[1], 1), by)])
            use = np.concatenate([use, np.square(hidden).mean(axis=0, dtype=np.float64)])
        weights = regression(inputs, y @ main_directions(y, n_dims, seed))
        spread = np.maximum(inputs.times(weights).std(axis=0), np.float32(1e-9)) ** _SPREAD
        projection, projection_scale = in_steps(weights * factor / spread, use)
        placed = inputs.times(np.asarray(projection * projection_scale[:, None] / factor, np.float32))
        lengths = np.sqrt(np.einsum("ij,ij->i", placed, placed))
        placed /= np.maximum(lengths, np.float32(1e-9))[:, None]
        return cls(projection, projection_scale, *unit_steps(placed, ROW_STEP))

    def arrays(self) -> Arrays:
        """The space as the schema declares it."""
        return {
            "projection": self.projection, "projection_scale": self.projection_scale, "rows": self.rows,
            "row_scale": self.row_scale,
        }  # fmt: skip

    @classmethod
    def restore(cls, arrays: Arrays, trained_on: TrainedOn, n_units: int = 0) -> LearnedRows:
        """The space of saved arrays; ModelFileError if it is one of other rows or of another number of hidden units."""
        if len(arrays["rows"]) != trained_on.n_rows or len(arrays["projection"]) != trained_on.n_features + n_units:
            raise ModelFileError("ensemble: the learned space is one of other rows or features")
        return cls(*(arrays[name] for name in SCHEMA))


def main_directions(y: sparse.csr_matrix, n_dims: int, seed: int) -> Floats:
    """(n_labels, n_dims): orthonormal directions along which the rows of y spread most, by orthogonal iteration."""
    directions = np.random.default_rng(seed).standard_normal((y.shape[1], n_dims)).astype(np.float32)
    back = y.T.tocsr()
    for _ in range(_ROUNDS):
        directions = orthonormal(back @ (y @ directions))
    return directions


def orthonormal(columns: Floats) -> Floats:
    """The same span with columns of length 1 at right angles; no BLAS, whose sums depend on the number of threads."""
    rows = np.ascontiguousarray(columns.T, dtype=np.float64)
    for place, row in enumerate(rows):
        for _ in range(2):  # the second time takes away what rounding left
            row -= np.einsum("i,ij->j", np.einsum("ij,j->i", rows[:place], row), rows[:place])
        row /= max(np.sqrt(np.einsum("i,i->", row, row)), 1e-30)
    return np.ascontiguousarray(rows.T, dtype=np.float32)


class Inputs:
    """Sparse features and dense hidden units of rows, side by side: products that no number of threads changes."""

    def __init__(self, x: sparse.csr_matrix, hidden: Floats, n_threads: int | None = None) -> None:
        self.x, self.back, self.n_threads = x, x.T.tocsr(), n_threads or 0
        self.hidden, self.hidden_back = hidden, np.ascontiguousarray(hidden.T)

    def times(self, weights: Floats) -> Floats:
        """(n_rows, n): the rows times weights (n_inputs, n)."""
        product = np.asarray(self.x @ weights[: self.x.shape[1]], np.float32)
        return product + self._dense(self.hidden, weights[self.x.shape[1] :])

    def times_back(self, numbers: Floats) -> Floats:
        """(n_inputs, n): the inputs by column times numbers (n_rows, n)."""
        product = np.asarray(self.back @ numbers, np.float32)
        return np.concatenate([product, self._dense(self.hidden_back, numbers)])

    def _dense(self, rows: Floats, table: Floats) -> Floats:
        out = np.zeros((len(rows), table.shape[1]), np.float32)
        if rows.size:
            _native.dense_rows_times_dense(rows, np.ascontiguousarray(table, np.float32), out, self.n_threads)
        return out


def regression(inputs: Inputs, targets: Floats) -> Floats:
    """(n_inputs, n_targets): the weights of a ridge regression of the targets on rows, by conjugate gradients."""
    rest = inputs.times_back(targets)
    weights = np.zeros_like(rest)
    step, size = rest.copy(), np.einsum("ij,ij->j", rest, rest)
    for _ in range(_STEPS):
        moved = inputs.times_back(inputs.times(step)) + np.float32(_RIDGE) * step
        length = size / np.maximum(np.einsum("ij,ij->j", step, moved), np.float32(1e-20))
        weights += length * step
        rest -= length * moved
        before, size = size, np.einsum("ij,ij->j", rest, rest)
        step = rest + size / np.maximum(before, np.float32(1e-20)) * step
    return weights
