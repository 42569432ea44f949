"""EvenSpace: dense vectors about their mean, in a space where no direction is spread much more than the others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood import _native
from labelwood.models.ensemble.network import in_bytes
from labelwood.models.ensemble.pairs import Floats
from labelwood.storage.schema import ArrayRule, Arrays, Schema

# Share of the mean spread that is added to that of every direction: where texts hardly differ stays small.
_ADDED = 0.5

SCHEMA: Schema = {
    "centre": ArrayRule("float32", ("n_dims",), finite=True),
    "turn": ArrayRule("int8", ("n_dims", "n_dims")),
    "turn_scale": ArrayRule("float32", ("n_dims",), finite=True),
}


@dataclass(frozen=True, eq=False)
class EvenSpace:
    """centre (n_dims): the mean vector of texts. turn (n_dims, n_dims) in bytes, each line times its scale.

    Vectors of texts have much in common, and a few directions tell most of their cosines: what is left says more about
    the labels. The texts alone decide about the space, not their labels.
    """

    centre: Floats
    turn: npt.NDArray[np.int8]
    turn_scale: Floats

    @classmethod
    def of(cls, vectors: Floats, n_threads: int | None = None) -> EvenSpace:
        """The space of the vectors of training texts."""
        known = vectors[vectors.any(axis=1)]  # a text without a known token is nowhere
        centre = np.asarray(known.sum(axis=0, dtype=np.float64) / max(len(known), 1), np.float32)
        about = of_length_one(known - centre)
        spread = product(about.T, about, n_threads).astype(np.float64)
        mean = np.trace(spread) / len(spread)
        # Without any spread there is nothing to even out.
        spread += np.eye(len(spread)) * (_ADDED * mean if mean > 0 else 1)
        return cls(centre, *in_bytes(lower_root(inverse(spread))))

    def placed(self, vectors: Floats, n_threads: int | None = None) -> Floats:
        """Where vectors lie in the space, of length 1; a vector of zeros (a text without a known token) stays one."""
        about = vectors - self.centre
        about[~vectors.any(axis=1)] = 0
        return of_length_one(product(about, self._table, n_threads))

    @cached_property
    def _table(self) -> Floats:
        """The turn as numbers: to make them for every query would cost more than to place it."""
        return np.asarray(self.turn * self.turn_scale[:, None], np.float32)

    def arrays(self) -> Arrays:
        """The space as the schema declares it."""
        return {name: getattr(self, name) for name in SCHEMA}


def of_length_one(vectors: Floats) -> Floats:
    """The vectors brought to length 1; those of zeros stay so."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return np.asarray(vectors / np.maximum(lengths, np.float32(1e-9))[:, None], np.float32)


def product(left: npt.NDArray[Any], right: npt.NDArray[Any], n_threads: int | None) -> Floats:
    """The matrix product, the same bytes for any number of threads."""
    out = np.empty((left.shape[0], right.shape[1]), np.float32)
    left, right = (np.ascontiguousarray(side, np.float32) for side in (left, right))
    _native.dense_rows_times_dense(left, right, out, n_threads or 0)
    return out


def inverse(matrix: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The inverse of a positive definite matrix by Gauss and Jordan; no LAPACK, whose bytes depend on threads."""
    left = matrix.astype(np.float64)
    right = np.eye(len(left))
    for place in range(len(left)):
        pivot = left[place, place]
        left[place] /= pivot
        right[place] /= pivot
        factors = left[:, place].copy()
        factors[place] = 0
        left -= factors[:, None] * left[place]
        right -= factors[:, None] * right[place]
    return right


def lower_root(matrix: npt.NDArray[np.float64]) -> Floats:
    """The lower triangle whose product with its transpose is a positive definite matrix, by Cholesky's steps."""
    rest, root = matrix.copy(), np.zeros_like(matrix)
    for place in range(len(rest)):
        root[place:, place] = rest[place:, place] / np.sqrt(rest[place, place])
        rest -= root[:, place, None] * root[:, place]
    return root.astype(np.float32)
