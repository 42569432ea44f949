"""What goes wrong, label by label: labels never found, labels given too often, and labels given in place of others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from labelwood.matrices import as_labels
from labelwood.topk import TopK


@dataclass(frozen=True)
class Mistakes:
    """The worst labels, worst first.

    never_right: (label, rows that have it). too_often: (label, rows that were given it, rows that have it).
    confused: (true label, label given in its place, rows).
    """

    never_right: tuple[tuple[int, int], ...]
    too_often: tuple[tuple[int, int, int], ...]
    confused: tuple[tuple[int, int, int], ...]


def mistakes(top: TopK, y: Any, n: int = 5) -> Mistakes:
    """The n worst labels of each kind, from the labels that rows were given and those they have (n_rows, n_labels)."""
    truth = as_labels(y)
    n_labels = int(truth.shape[1])
    given = top.to_csr(n_labels)
    given.data = np.ones_like(given.data)
    right = given.multiply(truth).tocsr()
    missed, wrong = (truth - right).tocsr(), (given - right).tocsr()
    for part in (missed, wrong):
        part.eliminate_zeros()
    n_true, n_given, n_right = (np.asarray(part.sum(axis=0)).ravel().astype(np.int64) for part in (truth, given, right))
    never = np.where(n_right == 0, n_true, 0)
    excess = np.maximum(n_given - n_true, 0)
    return Mistakes(
        tuple((label, int(n_true[label])) for label in _largest(never, n)),
        tuple((label, int(n_given[label]), int(n_true[label])) for label in _largest(excess, n)),
        _confused(missed, wrong, n),
    )


def _largest(values: Any, n: int) -> list[int]:
    """The places of the n largest values above 0; of equal ones the first."""
    order = np.lexsort((np.arange(len(values)), -values))[:n]
    return [int(place) for place in order if values[place] > 0]


def _confused(missed: sparse.csr_matrix, wrong: sparse.csr_matrix, n: int) -> tuple[tuple[int, int, int], ...]:
    """The pairs of a missed and a wrongly given label that meet in most rows, at least two."""
    pairs = (missed.T @ wrong).tocoo()
    counts = pairs.data.astype(np.int64)
    order = np.lexsort((pairs.col, pairs.row, -counts))[:n]
    return tuple((int(pairs.row[p]), int(pairs.col[p]), int(counts[p])) for p in order if counts[p] > 1)
