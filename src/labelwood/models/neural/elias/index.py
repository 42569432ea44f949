"""The ELIAS index: a sparse graph of clusters and labels, built from a partition and trained afterwards.

A graph is two arrays (n_clusters, width): the labels of each cluster, filled from the left and padded with -1, and one
number per edge. Absent edges are absent: they take no part in any softmax.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.keyed_random import keyed_uniform
from labelwood.labelindex.balanced import balanced_tree
from labelwood.progress import SILENT, Progress

Int32 = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
PAD = -1
EDGE_START = 1.5  # of an edge that all rows of its label choose: its score then begins below 1, where it can learn


def label_partition(
    vectors: sparse.csr_matrix,
    n_clusters: int,
    *,
    seed: int,
    n_threads: int | None = None,
    progress: Progress = SILENT,
) -> Int32:
    """The cluster of every label, int32 (n_labels,): leaves of recursive balanced 2-means, equal in size within one.

    vectors (n_labels, n_features) with unit rows. With n_clusters not a power of two there may be a few less.
    """
    n_labels = int(vectors.shape[0])
    if n_clusters <= 1:
        return np.zeros(n_labels, np.int32)
    tree = balanced_tree(
        vectors, max_leaf=-(-n_labels // n_clusters), seed=seed, n_threads=n_threads, progress=progress
    )
    cluster = np.empty(n_labels, np.int32)
    for number, leaf in enumerate(tree.leaves):
        cluster[tree.labels_below(int(leaf))] = number
    return cluster


def partition_edges(cluster: Int32) -> Int32:
    """The graph of a partition, (n_clusters, largest cluster): each label in its own cluster only."""
    order = np.argsort(cluster, kind="stable").astype(np.int32)
    sizes = np.bincount(cluster)
    edges = np.full((len(sizes), int(sizes.max())), PAD, np.int32)
    starts = np.cumsum(sizes) - sizes
    edges[cluster[order], np.arange(len(order)) - starts[cluster[order]]] = order
    return edges


def matching_matrix(clusters: Int32, scores: Floats, y: sparse.csr_matrix, n_clusters: int) -> sparse.csr_matrix:
    """A' = M^T Y (n_clusters, n_labels): how strongly the rows of a label choose each cluster.

    clusters, scores (n_rows, beam): the best clusters of every row, and how good they are.
    """
    n_rows, beam = clusters.shape
    pointers = np.arange(0, n_rows * beam + 1, beam)
    chosen = sparse.csr_matrix(
        (scores.ravel().astype(np.float64), clusters.ravel(), pointers), shape=(n_rows, n_clusters)
    )
    return sparse.csr_matrix(chosen.T @ y.astype(np.float64))


def initial_edges(matching: sparse.csr_matrix, partition: Int32, kappa: int) -> tuple[Int32, int]:
    """(graph (n_clusters, kappa), number of labels that had to be inserted).

    Each cluster keeps its kappa best labels of the matching matrix (equal values: the smaller label). A label that no
    cluster keeps is inserted where it matches best, or into its cluster of the partition if it matches nowhere, in
    place of that cluster's weakest label that is also kept elsewhere.
    """
    n_clusters, n_labels = matching.shape
    rows: list[list[int]] = []
    for c in range(n_clusters):
        part = slice(matching.indptr[c], matching.indptr[c + 1])
        labels, values = matching.indices[part], matching.data[part]
        rows.append(labels[np.lexsort((labels, -values))[:kappa]].tolist())
    counts = np.zeros(n_labels, np.int64)
    for row in rows:
        counts[row] += 1
    lost = np.flatnonzero(counts == 0)
    homes: list[int] = counts.tolist()
    by_label = matching.tocsc()
    for label in lost.tolist():
        part = slice(by_label.indptr[label], by_label.indptr[label + 1])
        clusters, values = by_label.indices[part], by_label.data[part]
        best = clusters[np.lexsort((clusters, -values))].tolist()
        for c in [*best, int(partition[label]), *range(n_clusters)]:
            if _insert(rows[c], label, kappa, homes):
                break
    edges = np.full((n_clusters, kappa), PAD, np.int32)
    for c, row in enumerate(rows):
        edges[c, : len(row)] = row
    return edges, len(lost)


def _insert(row: list[int], label: int, kappa: int, homes: list[int]) -> bool:
    """Put a label into a cluster, if need be in place of the last label with another home; False if there is none."""
    if len(row) >= kappa:
        place = next((i for i in range(len(row) - 1, -1, -1) if homes[row[i]] > 1), None)
        if place is None:
            return False
        homes[row.pop(place)] -= 1
    row.append(label)
    homes[label] += 1
    return True


def initial_values(edges: Int32, matching: sparse.csr_matrix) -> Floats:
    """EDGE_START times the share of the label's rows that choose the cluster, of every edge; 0 at padding.

    matching: as `matching_matrix` gives it. The paper starts from random numbers, which forget how strongly each edge
    was suggested.
    """
    totals = np.asarray(matching.sum(axis=0)).ravel()
    shares = sparse.csr_matrix(matching @ sparse.diags(1 / np.where(totals > 0, totals, 1)))
    cluster, place = np.nonzero(edges != PAD)
    values = np.zeros(edges.shape, np.float32)
    if len(cluster):
        values[cluster, place] = EDGE_START * np.asarray(shares[cluster, edges[cluster, place]]).ravel()
    return values


def uniform_values(edges: Int32, seed: int) -> Floats:
    """Random numbers from 0 to 1 for every edge, as the paper starts; 0 at padding."""
    rows, places = np.arange(edges.shape[0])[:, None], np.arange(edges.shape[1])
    return np.where(edges == PAD, 0.0, keyed_uniform(seed, 4, rows, places)).astype(np.float32)


def edge_scores(edges: Int32, values: Floats, beta: float) -> Floats:
    """min(1, beta softmax) over the stored edges of each cluster (n_clusters, width); 0 at padding."""
    scores: Floats = np.minimum(1, beta * edge_shares(edges, values)).astype(np.float32)
    return scores


def edge_shares(edges: Int32, values: Floats) -> npt.NDArray[np.float64]:
    """The softmax over the stored edges of each cluster (n_clusters, width); 0 at padding."""
    real = edges != PAD
    shifted = np.where(real, values.astype(np.float64), -np.inf)
    top = shifted.max(axis=1, initial=-np.inf, keepdims=True)
    powers = np.exp(shifted - np.where(np.isfinite(top), top, 0))
    total = powers.sum(axis=1, keepdims=True)
    shares: npt.NDArray[np.float64] = powers / np.where(total > 0, total, 1)
    return shares


def parents(edges: Int32, scores: Floats, n_labels: int) -> Int32:
    """The strongest cluster of every label, int32 (n_labels,); equal edges: the smaller cluster; -1 if it has none."""
    cluster, place = np.nonzero(edges != PAD)
    label, score = edges[cluster, place], scores[cluster, place]
    order = np.lexsort((cluster, -score, label))
    label, cluster = label[order], cluster[order]
    first = np.concatenate([[True], label[1:] != label[:-1]]) if len(label) else np.zeros(0, bool)
    strongest = np.full(n_labels, -1, np.int32)
    strongest[label[first]] = cluster[first]
    return strongest


def edges_above(edges: Int32, scores: Floats, threshold: float) -> npt.NDArray[np.bool_]:
    """Which edges have at least this score."""
    keep: npt.NDArray[np.bool_] = (edges != PAD) & (scores >= threshold)
    return keep


def strongest_edges(edges: Int32, scores: Floats, n_kept: int) -> npt.NDArray[np.bool_]:
    """Which edges are among the n_kept strongest of their cluster; equal scores: the smaller label."""
    order = np.lexsort((edges, -np.where(edges == PAD, -np.inf, scores)), axis=1)[:, :n_kept]
    keep: npt.NDArray[np.bool_] = np.zeros(edges.shape, bool)
    np.put_along_axis(keep, order, True, axis=1)
    keep &= edges != PAD
    return keep


def kept_edges(edges: Int32, numbers: Floats, keep: npt.NDArray[np.bool_]) -> tuple[Int32, Floats]:
    """The kept edges of each row moved to the left, in their order; the width shrinks to the fullest row."""
    counts = keep.sum(axis=1)
    width = max(1, int(counts.max(initial=0)))
    if width == edges.shape[1] and bool(np.all(keep == (edges != PAD))):
        return edges.copy(), numbers.copy()
    cluster, place = np.nonzero(keep)
    to = np.arange(len(cluster)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept, values = np.full((len(edges), width), PAD, np.int32), np.zeros((len(edges), width), np.float32)
    kept[cluster, to] = edges[cluster, place]
    values[cluster, to] = numbers[cluster, place]
    return kept, values


def forced_ids(rows: Any, ids: Any, n_rows: int) -> tuple[npt.NDArray[np.int64], Int32]:
    """(starts, ids) of (row, id) pairs that come row after row, as the native shortlist takes them."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_rows))]).astype(np.int64)
    return starts, np.ascontiguousarray(ids, dtype=np.int32)
