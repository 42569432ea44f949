"""Label trees from the bottom up: labels that come together are merged first (complete linkage on co-occurrence).

Two labels that share no row have similarity 0, the least there is, and a merged cluster is only as similar to another
as its least similar pair. So a cluster keeps exactly the neighbours that all its members share: the graph of
co-occurring labels can only lose edges, and the dendrogram is exact in the memory of that graph, with no table of all
pairs.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import ParamError, unknown_name
from labelwood.labelindex.hierarchy import tree_from_parents
from labelwood.labelindex.tree import LabelTree
from labelwood.labelspace.cooccurrence import cooccurrence
from labelwood.matrices import as_labels
from labelwood.progress import SILENT, Progress

DISTANCES = ("jaccard", "counts")
TIES = ("rounds", "chain")
_LEAST_MERGED = 0.1  # of the clusters in a round; below it one large cluster only swallows the others one by one


def cooccurrence_tree(
    y: Any, *, distance: str = "jaccard", ties: str = "rounds", progress: Progress = SILENT
) -> LabelTree:
    """The binary tree (one label a leaf, n_labels - 1 inner nodes) of complete linkage on label co-occurrence.

    distance: "jaccard", 1 - |both| / |either|, or "counts", -|both|. ties: what happens to clusters without a shared
    row, which are all equally far apart: "rounds" takes each for one label (its rows are those of its members) and
    starts again, and joins what never meets by Huffman's rule; "chain" joins them as they come, as plain linkage
    does.
    """
    if distance not in DISTANCES:
        raise ParamError(unknown_name("distance", distance, DISTANCES))
    if ties not in TIES:
        raise ParamError(unknown_name("way with ties", ties, TIES))
    labels = as_labels(y)
    n_labels = labels.shape[1]
    parents = np.full(2 * n_labels - 1, -1, np.int64)
    clusters = np.arange(n_labels)  # the nodes that have no parent yet
    members, next_node = labels, n_labels
    while True:
        group = _linked(_similarity(members, distance), clusters, parents, next_node)
        progress.step("merging labels", n_labels - len(np.unique(group)), n_labels - 1)
        next_node += len(clusters) - len(np.unique(group))
        roots, place = np.unique(group, return_inverse=True)
        join = sparse.csr_matrix((np.ones(len(place), np.float32), (np.arange(len(place)), place)))
        merged = 1 - len(roots) / len(clusters)
        members, clusters = as_labels(members @ join), roots
        if ties == "chain" or len(roots) == 1 or merged < _LEAST_MERGED:
            break
    if ties == "chain":
        _chain(clusters, parents, next_node)
    else:
        _by_weight(clusters, np.bincount(members.indices, minlength=len(clusters)), parents, next_node)
    return tree_from_parents(parents, np.arange(n_labels))


def _similarity(members: sparse.csr_matrix, distance: str) -> sparse.csr_matrix:
    """The similarity of clusters that share a row: Jaccard's, or the number of shared rows."""
    counts = np.bincount(members.indices, minlength=members.shape[1]).astype(np.float64)
    both = cooccurrence(members, diagonal=False).tocoo()
    data = both.data.astype(np.float64)
    if distance == "jaccard":
        data = data / (counts[both.row] + counts[both.col] - data)
    return sparse.csr_matrix((data, (both.row, both.col)), shape=both.shape)


def _linked(
    similarity: sparse.csr_matrix, names: npt.NDArray[np.int64], parents: npt.NDArray[np.int64], next_node: int
) -> npt.NDArray[np.int64]:
    """The node above each cluster when all similar ones are merged; parents of the merged are written.

    Nearest-neighbour chains (Murtagh 1983): follow the most similar neighbour until two have each other, merge them.
    """
    near: dict[int, dict[int, float]] = {}
    bounds, columns, values = similarity.indptr, similarity.indices, similarity.data
    for place, name in enumerate(names.tolist()):
        part = slice(bounds[place], bounds[place + 1])
        near[name] = dict(zip(names[columns[part]].tolist(), values[part].tolist(), strict=True))
    top: dict[int, int] = {}
    for start in names.tolist():
        chain = [start] if start in near else []
        while chain:
            here = chain[-1]
            if not near[here]:
                break  # alone, and then nothing led here
            before = chain[-2] if len(chain) > 1 else -1
            # At a tie back to where the chain came from, else to the smaller number: so no chain turns in a circle.
            there = max(near[here].items(), key=lambda item: (item[1], item[0] == before, -item[0]))[0]
            if there != before:
                chain.append(there)
                continue
            del chain[-2:]
            _merge(near, here, there, next_node)
            parents[here] = parents[there] = next_node
            top[here] = top[there] = next_node
            next_node += 1
    roots = []
    for name in names.tolist():
        while name in top:
            name = top[name]
        roots.append(name)
    return np.array(roots, np.int64)


def _merge(near: dict[int, dict[int, float]], first: int, second: int, name: int) -> None:
    """Replace two clusters by one that keeps their common neighbours, at the smaller of both similarities."""
    a, b = near.pop(first), near.pop(second)
    del a[second], b[first]
    for gone, neighbours in ((first, a), (second, b)):
        for neighbour in neighbours:
            del near[neighbour][gone]
    common = {neighbour: min(value, b[neighbour]) for neighbour, value in a.items() if neighbour in b}
    for neighbour, value in common.items():
        near[neighbour][name] = value
    near[name] = common


def _chain(clusters: npt.NDArray[np.int64], parents: npt.NDArray[np.int64], next_node: int) -> None:
    last = int(clusters[0])
    for cluster in clusters[1:].tolist():
        parents[last] = parents[cluster] = next_node
        last, next_node = next_node, next_node + 1


def _by_weight(
    clusters: npt.NDArray[np.int64], weights: npt.NDArray[np.int64], parents: npt.NDArray[np.int64], next_node: int
) -> None:
    heap = [(float(weight), int(cluster)) for weight, cluster in zip(weights, clusters, strict=True)]
    heapq.heapify(heap)
    while len(heap) > 1:
        (a, first), (b, second) = heapq.heappop(heap), heapq.heappop(heap)
        parents[first] = parents[second] = next_node
        heapq.heappush(heap, (a + b, next_node))
        next_node += 1
