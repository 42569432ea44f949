"""Regularisers of label vectors (Guo et al., NeurIPS 2019). All rows of `vectors` have length 1."""

from __future__ import annotations

from torch import Tensor

from labelwood.models.neural.losses import total

REGULARIZERS = ("glas", "spreadout", "gravity", "none")


def glas_penalty(vectors: Tensor, affinity: Tensor) -> Tensor:
    """The mean of (V V' - U)^2 over all b^2 pairs of labels: vectors are as close as labels belong together."""
    return total((vectors @ vectors.T - affinity).square()) / len(vectors) ** 2


def spreadout_penalty(vectors: Tensor) -> Tensor:
    """The mean of (V V')^2 over all b^2 pairs of labels: vectors of different labels are orthogonal."""
    return total((vectors @ vectors.T).square()) / len(vectors) ** 2


def gravity_penalty(rows: Tensor, vectors: Tensor) -> Tensor:
    """The mean of (row . vector)^2 over all rows and labels: rows keep away from the labels' common direction."""
    return total((rows.T @ rows) * (vectors.T @ vectors)) / (rows.shape[0] * vectors.shape[0])
