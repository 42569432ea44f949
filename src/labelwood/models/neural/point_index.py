"""Embedded training rows with their labels, in k-means clusters: what DXML asks for neighbours, and what grows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from labelwood import _native
from labelwood.errors import ModelFileError
from labelwood.models.neural.forward import unit_rows
from labelwood.neighbors.store import Float32, Int32, Int64, VectorStore

Array = np.ndarray[Any, Any]
_KMEANS_ITERATIONS = 20


class PointIndex:
    """Points (unit vectors) with labels; point i belongs to the cluster with the nearest centroid.

    Centroids stay as they were made, so that points added later, one by one or at once, end in the same index as if all
    had been there from the start.
    """

    def __init__(self, points: Float32, y: sparse.csr_matrix, rows: Int64, centroids: Float32) -> None:
        """Take points (n, dim) and y (n, n_labels) in order of arrival; rows: which training row each point is."""
        self.centroids = VectorStore.of(centroids)
        cluster = np.zeros(len(points), np.int32)
        if len(points) and len(centroids) > 1:
            cluster = self.centroids.nearest(self.centroids.queries(points), 1)[0][:, 0]
        # Inside a cluster in order of arrival.
        self.ids: Int32 = np.argsort(cluster, kind="stable").astype(np.int32)
        self.starts: Int64 = np.searchsorted(cluster[self.ids], np.arange(len(centroids) + 1)).astype(np.int64)
        self.store = VectorStore.of(points[self.ids])
        self.y = y
        self.rows = rows

    def __len__(self) -> int:
        return len(self.store)

    def points(self) -> Float32:
        """The points (n, dim) in order of arrival."""
        back = np.empty(len(self), np.int64)
        back[self.ids] = np.arange(len(self))
        return self.store.floats(back)

    def nearest(self, queries: Float32, k: int, nprobe: int, n_threads: int | None) -> tuple[Int32, Float32]:
        """(ids, cosines), both (n, k): the nearest points of the `nprobe` nearest clusters, best first, padded."""
        ready = self.store.queries(queries)
        n_clusters = len(self.centroids)
        if nprobe >= n_clusters:
            return self.store.nearest(ready, k, ids=self.ids, n_threads=n_threads)
        probes, _ = self.centroids.nearest(ready, nprobe, n_threads=n_threads)
        return self.store.nearest(ready, k, starts=self.starts, probes=probes, ids=self.ids, n_threads=n_threads)

    def grown(self, points: Float32, y: sparse.csr_matrix, rows: Int64) -> PointIndex:
        """The index with more points; y (n, n_labels) may have more labels than before."""
        old = sparse.csr_matrix((self.y.data, self.y.indices, self.y.indptr), shape=(len(self), y.shape[1]))
        joined = sparse.vstack([old, y], format="csr").astype(np.float32)
        all_points = np.concatenate([self.points(), points])
        return PointIndex(all_points, joined, np.concatenate([self.rows, rows]), self.centroids.floats())

    def arrays(self) -> dict[str, Array]:
        """The index as named arrays; `restore` takes them back."""
        return {
            "points": self.store.data,
            "ids": self.ids,
            "starts": self.starts,
            "centroids": self.centroids.data,
            "rows": self.rows,
            "y_indptr": self.y.indptr.astype(np.int64),
            "y_indices": self.y.indices.astype(np.int32),
        }

    @classmethod
    def restore(cls, arrays: Mapping[str, Array], n_labels: int, dim: int) -> PointIndex:
        """The index that `arrays` gave; ModelFileError if the arrays do not fit together."""
        index = cls.__new__(cls)
        index.store = VectorStore.restore({"vectors": arrays["points"]}, dim, "ip")
        index.centroids = VectorStore.restore({"vectors": arrays["centroids"]}, dim, "ip")
        index.ids, index.starts, index.rows = arrays["ids"], arrays["starts"], arrays["rows"]
        indptr, indices = arrays["y_indptr"], arrays["y_indices"]
        n = len(index.store)
        fits = (
            index.ids.dtype == np.int32
            and index.ids.shape == index.rows.shape == (n,)
            and index.rows.dtype == index.starts.dtype == indptr.dtype == np.int64
            and index.starts.shape == (len(index.centroids) + 1,)
            and indptr.shape == (n + 1,)
            and indices.dtype == np.int32
            and indices.ndim == 1
        )
        if not fits:
            raise ModelFileError(f"the arrays of the {n} points do not fit together")
        if n and not np.array_equal(np.sort(index.ids), np.arange(n)):
            raise ModelFileError("the points are not numbered one after the other")
        if index.starts[0] != 0 or index.starts[-1] != n or np.any(np.diff(index.starts) < 0):
            raise ModelFileError("the clusters do not hold the points")
        if indptr[0] != 0 or indptr[-1] != len(indices) or np.any(np.diff(indptr) < 0):
            raise ModelFileError("the labels of the points are damaged")
        if len(indices) and (int(indices.min()) < 0 or int(indices.max()) >= n_labels):
            raise ModelFileError(f"a point has a label outside 0..{n_labels - 1}")
        index.y = sparse.csr_matrix((np.ones(len(indices), np.float32), indices, indptr), shape=(n, n_labels))
        return index


def kmeans_centroids(points: Float32, n_clusters: int, seed: int, n_threads: int | None) -> Float32:
    """Unit centroids (at most n_clusters, dim) of spherical k-means over unit vectors; empty clusters are left out."""
    n, dim = points.shape
    n_clusters = min(n_clusters, n)
    if n_clusters < 2:
        return unit_rows(points.sum(axis=0, dtype=np.float64, keepdims=True).astype(np.float32))
    order = np.arange(n, dtype=np.int32)
    counts = np.zeros((1, n_clusters), np.int64)
    _native.kmeans_nodes(
        np.arange(0, n * dim + 1, dim, dtype=np.int64),
        np.tile(np.arange(dim, dtype=np.int32), n),
        np.ascontiguousarray(points).reshape(-1),
        dim,
        np.zeros(1, np.int64),
        np.array([n], np.int64),
        np.zeros(1, np.int64),
        n_clusters,
        _KMEANS_ITERATIONS,
        1e-4,
        seed,
        n_threads or 0,
        order,
        counts,
    )
    sizes = counts[0][counts[0] > 0]
    firsts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    sums = np.add.reduceat(points[order].astype(np.float64), firsts, axis=0)
    return unit_rows(sums.astype(np.float32))
