"""Shortlists of training rows made on the device of the network: what `_native.shortlist` does, in torch alone.

A GPU would wait in every step if cluster scores went to the host to be searched there. All shapes follow from the batch
and the index, never from values, so nothing is read back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from labelwood.models.neural.elias.index import PAD


@dataclass(frozen=True)
class DeviceBatch:
    """The shortlists of some rows on a device: labels, edges of their best paths and truth, each (n, room).

    Padding has label -1 and path 0. most_labels: of a row.
    """

    labels: Tensor
    paths: Tensor
    truth: Tensor
    most_labels: int


def row_labels(y: sparse.csr_matrix, device: Any) -> Tensor:
    """The labels of rows side by side, int64 (n, most labels of a row), padded with -1; made on the host, sent once."""
    counts = np.diff(y.indptr)
    table = np.full((y.shape[0], max(1, int(counts.max(initial=0)))), PAD, np.int64)
    row = np.repeat(np.arange(y.shape[0]), counts)
    table[row, np.arange(len(row)) - y.indptr[row]] = y.indices
    return torch.from_numpy(table).to(device)


@torch.no_grad()
def device_shortlists(
    cluster_scores: Tensor,
    edges: Tensor,
    edge_scores: Tensor,
    true_labels: Tensor,
    parents: Tensor | None,
    beam: int,
    room: int,
    max_parents: int,
) -> DeviceBatch:
    """The shortlists of rows; equal to those of the native search, with equal scores to the smaller path and label.

    cluster_scores (n, n_clusters); edges, edge_scores (n_clusters, width); true_labels: `row_labels`. parents
    (n_labels,): the cluster that each true label adds (-1: none), of the first max_parents labels of a row (0: all);
    true labels are then never cut. None: nothing is taught.
    """
    n_rows, width = cluster_scores.shape[0], edges.shape[1]
    clusters = _best(cluster_scores, beam)
    visited = torch.ones_like(clusters, dtype=torch.bool)
    if parents is not None:
        asked = true_labels[:, :max_parents] if max_parents else true_labels
        forced = torch.where(asked >= 0, parents[asked.clamp(min=0)], PAD)
        clusters = torch.cat([clusters, forced.clamp(min=0)], dim=1)
        visited = torch.cat([visited, forced >= 0], dim=1)
    clusters, order = clusters.sort(dim=1)
    visited = visited.gather(1, order)
    paths = (clusters[:, :, None] * width + torch.arange(width, device=edges.device)).flatten(1)  # (n, beam * width)
    labels = torch.where(visited[:, :, None], edges[clusters], PAD).flatten(1)
    scores = (cluster_scores.gather(1, clusters)[:, :, None] * edge_scores[clusters]).flatten(1)
    scores = torch.where(labels >= 0, scores, -1.0)
    # The best path of every label first: by score, then (stable) by label; the same label again is a weaker path.
    order = scores.argsort(dim=1, descending=True, stable=True)
    order = order.gather(1, labels.gather(1, order).argsort(dim=1, stable=True))
    labels, paths, scores = (part.gather(1, order) for part in (labels, paths, scores))
    again = torch.zeros_like(labels, dtype=torch.bool)
    again[:, 1:] = labels[:, 1:] == labels[:, :-1]
    scores = torch.where(again, -1.0, scores)
    if parents is not None:
        scores = torch.where(_among(labels, true_labels) & (scores >= 0), torch.inf, scores)
    best = _best(scores, min(room, scores.shape[1])).sort(dim=1).values  # places rise with labels
    kept = scores.gather(1, best) >= 0
    labels = torch.where(kept, labels.gather(1, best), PAD)
    paths = torch.where(kept, paths.gather(1, best), 0)
    # Real labels to the left, in their order, and padding up to the room.
    order = (~kept).to(torch.int8).argsort(dim=1, stable=True)
    labels, paths = labels.gather(1, order), paths.gather(1, order)
    if labels.shape[1] < room:
        lacking = (n_rows, room - labels.shape[1])
        labels = torch.cat([labels, labels.new_full(lacking, PAD)], dim=1)
        paths = torch.cat([paths, paths.new_zeros(lacking)], dim=1)
    return DeviceBatch(labels, paths, _among(labels, true_labels), int(true_labels.shape[1]))


def _best(scores: Tensor, n_best: int) -> Tensor:
    """The places of the largest scores of every row, of equal ones the first."""
    return scores.argsort(dim=1, descending=True, stable=True)[:, :n_best]


def _among(labels: Tensor, true_labels: Tensor) -> Tensor:
    """Which labels (n, m) are among the true ones of their row (n, most), which rise and are padded on the right."""
    rising = torch.where(true_labels < 0, torch.iinfo(torch.int64).max, true_labels)
    place = torch.searchsorted(rising, labels).clamp(max=rising.shape[1] - 1)
    return rising.gather(1, place) == labels
