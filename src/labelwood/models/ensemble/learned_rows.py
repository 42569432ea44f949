"""LearnedRows: training rows in a space that is learnt from their labels, for data with few features and rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import ModelFileError
from labelwood.matrices import normalized_rows
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
_SPREAD = 0.5  # every direction is divided by its spread to this power: strong directions count less
# votes: how many of the nearest rows have the label, weighed by similarity; closest: similarity of the nearest row that
# has it; first ten: how many of the ten nearest rows have it; rank by the votes
COLUMNS = ("votes", "closest", "first ten", "rank")

SCHEMA: Schema = {
    "projection": ArrayRule("int8", ("n_features", "n_dims")),
    "projection_scale": ArrayRule("float32", ("n_features",), finite=True),
    "rows": ArrayRule("int8", ("n_rows", "n_dims")),
    "row_scale": ArrayRule("float32", ("n_rows",), finite=True),
}

Bytes = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class LearnedRows:
    """projection (n_features, n_dims) and rows (n_rows, n_dims) of length 1, in bytes, each line times its scale.

    The rows' labels are brought to few numbers (their main directions), and a ridge regression learns to tell these
    numbers from the features: rows for which it tells the same lie together.
    """

    projection: Bytes
    projection_scale: Floats
    rows: Bytes
    row_scale: Floats

    @classmethod
    def of(cls, x: sparse.csr_matrix, y: sparse.csr_matrix, seed: int) -> LearnedRows | None:
        """The space of training rows x with labels y; None if there are too many of them or of their features."""
        n_dims = min(N_DIMS, y.shape[1], x.shape[1])
        if x.shape[1] > MOST_FEATURES or x.shape[0] > MOST_ROWS or n_dims < 2:
            return None
        x, y = normalized_rows(x), normalized_rows(y)
        weights = regression(x, y @ main_directions(y, n_dims, seed))
        spread = np.maximum((x @ weights).std(axis=0), np.float32(1e-9)) ** _SPREAD
        projection, projection_scale = in_bytes(weights / spread)
        placed = x @ (projection * projection_scale[:, None])
        lengths = np.sqrt(np.einsum("ij,ij->i", placed, placed))
        return cls(projection, projection_scale, *in_bytes(placed / np.maximum(lengths, np.float32(1e-9))[:, None]))

    def arrays(self) -> Arrays:
        """The space as the schema declares it."""
        return {
            "projection": self.projection, "projection_scale": self.projection_scale, "rows": self.rows,
            "row_scale": self.row_scale,
        }  # fmt: skip

    @classmethod
    def restore(cls, arrays: Arrays, trained_on: TrainedOn) -> LearnedRows:
        """The space of saved arrays; ModelFileError if it is one of other rows."""
        if len(arrays["rows"]) != trained_on.n_rows or len(arrays["projection"]) != trained_on.n_features:
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


def regression(x: sparse.csr_matrix, targets: Floats) -> Floats:
    """(n_features, n_targets): the weights of a ridge regression of the targets on x, by conjugate gradients."""
    back = x.T.tocsr()
    weights = np.zeros((x.shape[1], targets.shape[1]), np.float32)
    rest = np.asarray(back @ targets, np.float32)
    step, size = rest.copy(), np.einsum("ij,ij->j", rest, rest)
    for _ in range(_STEPS):
        moved = back @ (x @ step) + np.float32(_RIDGE) * step
        length = size / np.maximum(np.einsum("ij,ij->j", step, moved), np.float32(1e-20))
        weights += length * step
        rest -= length * moved
        before, size = size, np.einsum("ij,ij->j", rest, rest)
        step = rest + size / np.maximum(before, np.float32(1e-20)) * step
    return weights


def in_bytes(lines: Floats) -> tuple[Bytes, Floats]:
    """(whole numbers from -127 to 127, what those of each line are multiplied with) that stand for the lines."""
    largest = np.abs(lines).max(axis=1, initial=0)
    scale = np.where(largest > 0, largest / 127, 1).astype(np.float32)
    return np.rint(lines / scale[:, None]).astype(np.int8), scale
