"""Embedded training rows with their labels, in k-means clusters: what DXML asks for neighbours, and what grows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from labelwood import _native
from labelwood.errors import ModelFileError
from labelwood.models.neural.forward import unit_rows
from labelwood.neighbors.store import Float32, Int32, Int64, VectorStore
from labelwood.storage.schema import Array, ArrayRule, Arrays, Schema

_KMEANS_ITERATIONS = 20


POINTS: Schema = {
    "points": ArrayRule("float32", ("n_points", "n_padded")),
    "ids": ArrayRule("int32", ("n_points",)),
    "starts": ArrayRule("int64", ("n_clusters+1",)),
    "centroids": ArrayRule("float32", ("n_clusters", "n_padded")),
    "rows": ArrayRule("int64", ("n_points",), low=0, below="n_rows"),
    "y_indptr": ArrayRule("int64", ("n_points+1",)),
    "y_indices": ArrayRule("int32", ("n_entries",), low=0, below="n_labels"),
}


@dataclass(frozen=True, eq=False)
class PointIndex:
    """Points (unit vectors) with labels; point i belongs to the cluster with the nearest centroid.

    Centroids stay as they were made, so that points added later, one by one or at once, end in the same index as if all
    had been there from the start. store: the points cluster by cluster; ids: their numbers in order of arrival;
    cluster c holds the places starts[c] .. starts[c + 1] - 1. y and rows are in order of arrival.
    """

    store: VectorStore
    ids: Int32
    starts: Int64
    centroids: VectorStore
    y: sparse.csr_matrix
    rows: Int64

    @classmethod
    def of(cls, points: Float32, y: sparse.csr_matrix, rows: Int64, centroids: Float32) -> PointIndex:
        """The index of points (n, dim) and y (n, n_labels) in order of arrival; rows: the training row of each."""
        middles = VectorStore.of(centroids)
        cluster = np.zeros(len(points), np.int32)
        if len(points) and len(centroids) > 1:
            cluster = middles.nearest(middles.queries(points), 1)[0][:, 0]
        # Inside a cluster in order of arrival.
        ids = np.argsort(cluster, kind="stable").astype(np.int32)
        starts = np.searchsorted(cluster[ids], np.arange(len(centroids) + 1)).astype(np.int64)
        return cls(VectorStore.of(points[ids]), ids, starts, middles, y, rows)

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
        return PointIndex.of(all_points, joined, np.concatenate([self.rows, rows]), self.centroids.floats())

    def without(self, rows: Int64) -> PointIndex:
        """The index without the points of some training rows."""
        kept = ~np.isin(self.rows, rows)
        return PointIndex.of(self.points()[kept], self.y[kept], self.rows[kept], self.centroids.floats())

    def arrays(self) -> Arrays:
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
        """The index that `arrays` gave, which keep POINTS; ModelFileError if they do not fit together."""
        store, centroids = (
            VectorStore.restore({"vectors": arrays[name]}, dim, "ip") for name in ("points", "centroids")
        )
        ids, starts, indptr, indices = (arrays[name] for name in ("ids", "starts", "y_indptr", "y_indices"))
        n = len(store)
        if not np.array_equal(np.sort(ids), np.arange(n)):
            raise ModelFileError("the points are not numbered one after the other")
        if starts[0] != 0 or starts[-1] != n or np.any(np.diff(starts) < 0):
            raise ModelFileError("the clusters do not hold the points")
        if indptr[0] != 0 or indptr[-1] != len(indices) or np.any(np.diff(indptr) < 0):
            raise ModelFileError("the labels of the points are damaged")
        y = sparse.csr_matrix((np.ones(len(indices), np.float32), indices, indptr), shape=(n, n_labels))
        return cls(store, ids, starts, centroids, y, arrays["rows"])


def kmeans_centroids(points: Float32, n_clusters: int, seed: int, n_threads: int | None) -> Float32:
    """Unit centroids (at most n_clusters, dim) of spherical k-means over unit vectors; empty clusters are left out."""
    n, dim = points.shape
    n_clusters = min(n_clusters, n)
    if n_clusters < 2:
        return unit_rows(points.sum(axis=0, dtype=np.float64, keepdims=True).astype(np.float32))
    order = np.arange(n, dtype=np.int32)
    counts = np.zeros((1, n_clusters), np.int64)
    vectors = _native.LabelVectors(dim)
    vectors.add(
        np.arange(0, n * dim + 1, dim, dtype=np.int64),
        np.tile(np.arange(dim, dtype=np.int32), n),
        np.ascontiguousarray(points).reshape(-1),
    )
    _native.kmeans_nodes(
        vectors,
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
