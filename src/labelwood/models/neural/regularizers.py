"""Regularisers of label vectors (Guo et al., NeurIPS 2019). All rows of `vectors` have length 1."""

from __future__ import annotations

from torch import Tensor

from labelwood.models.neural.losses import total


def glas_penalty(vectors: Tensor, affinity: Tensor) -> Tensor:
    """The mean of (V V' - U)^2 over all b^2 pairs of labels: vectors are as close as labels belong together."""
    return total((vectors @ vectors.T - affinity).square()) / len(vectors) ** 2


def laplacian_penalty(vectors: Tensor, affinity: Tensor) -> Tensor:
    """The mean of |v - v'|^2 U over all b^2 pairs of labels (equation 4): labels that belong together are close."""
    return total((2 - 2 * (vectors @ vectors.T)) * affinity) / len(vectors) ** 2


def spreadout_penalty(vectors: Tensor) -> Tensor:
    """The mean of (V V')^2 over all b^2 pairs of labels: vectors of different labels are orthogonal."""
    return total((vectors @ vectors.T).square()) / len(vectors) ** 2


def gravity_penalty(rows: Tensor, vectors: Tensor) -> Tensor:
    """The mean of (row . vector)^2 over all rows and labels: rows keep away from the labels' common direction."""
    return total((rows.T @ rows) * (vectors.T @ vectors)) / (rows.shape[0] * vectors.shape[0])
