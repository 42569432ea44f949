"""What a learned index looks like, as numbers: the series behind the figures of the ELIAS paper."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood.matrices import with_fixed_signs
from labelwood.models.neural.elias.index import PAD, Floats, Int32

Doubles = npt.NDArray[np.float64]
N_DECILES = 10
CONFIDENT = 0.25  # an edge above this score counts as a home of its label


def label_deciles(counts: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The decile 0..9 of every label, frequent ones first: each holds a tenth of all positives, within one label."""
    order = np.argsort(-counts, kind="stable")
    before = np.cumsum(counts[order]) - counts[order]
    total = max(1, int(counts.sum()))
    deciles = np.empty(len(counts), np.int64)
    # A label belongs where its middle falls.
    deciles[order] = np.minimum(N_DECILES - 1, (before + counts[order] / 2) * N_DECILES // total)
    return deciles


def recall_curve(hits: npt.NDArray[np.bool_], n_true: npt.NDArray[Any]) -> Doubles:
    """R@1, R@2, ... of ranked answers: hits (n, k) tells which are true; rows without labels are left out; per cent."""
    rows = n_true > 0
    if not rows.any():
        return np.zeros(hits.shape[1])
    curve: Doubles = 100 * (np.cumsum(hits[rows], axis=1) / n_true[rows, None]).mean(axis=0)
    return curve


def decile_recall(
    labels: Int32, hits: npt.NDArray[np.bool_], n_true: npt.NDArray[Any], deciles: npt.NDArray[np.int64]
) -> Doubles:
    """What the labels of each decile add to the recall of all ranked answers, (10,); together they are the recall."""
    rows = n_true > 0
    added = np.zeros(N_DECILES)
    if rows.any():
        row, place = np.nonzero(hits[rows])
        share = 100 / n_true[rows][row] / int(rows.sum())
        np.add.at(added, deciles[labels[rows][row, place]], share)
    return added


def clusters_per_label(edges: Int32, scores: Floats, n_labels: int) -> npt.NDArray[np.int64]:
    """In how many clusters each label has an edge above 0.25."""
    return np.bincount(edges[(edges != PAD) & (scores > CONFIDENT)], minlength=n_labels)


def kept_partition_edges(edges: Int32, scores: Floats, partition: Int32, thresholds: Doubles) -> Doubles:
    """The share of the edges of stage 1 (every label to its first cluster) that have at least each threshold's score.

    Figure 7a of the paper. An edge that the learned index does not hold has no score, and counts as lost.
    """
    cluster, place = np.nonzero(edges != PAD)
    of_stage_1 = partition[edges[cluster, place]] == cluster
    score = scores[cluster, place][of_stage_1]
    return np.array([np.count_nonzero(score >= t) / max(1, len(partition)) for t in thresholds])


def plane(vectors: Floats) -> Doubles:
    """The vectors (n, dim) on the plane of their two largest principal components, (n, 2)."""
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, axes = np.linalg.eigh(centred.T @ centred)
    places: Doubles = centred @ with_fixed_signs(axes[:, ::-1][:, :2])
    return places if places.shape[1] == 2 else np.pad(places, ((0, 0), (0, 2 - places.shape[1])))
