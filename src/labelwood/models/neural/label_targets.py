"""What DXML's network learns to hit: vectors of labels from a label graph, and of rows from their labels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.keyed_random import keyed_uniform
from labelwood.labelindex.graph import deepwalk, isolated_labels, netmf
from labelwood.labelspace.pifa import label_vectors
from labelwood.models.neural.dxml_params import DXMLParams
from labelwood.models.neural.forward import unit_rows

Float32 = npt.NDArray[np.float32]
_PRODUCTS_AT_ONCE = 1 << 24


def graph_vectors(
    graph: sparse.csr_matrix, x: sparse.csr_matrix, y: sparse.csr_matrix, settings: DXMLParams
) -> tuple[Float32, Float32]:
    """(unit vectors (n_labels, dim) of the labels of a graph, their lengths before).

    A label of which the graph says nothing, or that does not fit into `dim` numbers, gets the mean of the vectors of
    the labels with the most similar rows (by their mean features); one without rows gets a random direction of its own.
    """
    seed, dim = settings.seed, label_dim(settings.dim, graph.shape[0])
    if settings.embedding == "deepwalk":
        vectors = deepwalk(
            graph,
            dim,
            n_walks=settings.n_walks,
            length=settings.walk_length,
            window=settings.window,
            negatives=settings.walk_negatives,
            epochs=settings.walk_epochs,
            learning_rate=settings.walk_rate,
            seed=seed,
            n_threads=settings.n_threads,
        )
    else:
        vectors = netmf(graph, dim, window=settings.window, seed=seed)
    lengths = np.sqrt(np.square(vectors, dtype=np.float64).sum(axis=1)).astype(np.float32)
    vectors = unit_rows(vectors)
    # With self loops a lonely label has a direction of its own as far as `dim` allows; DeepWalk's is random.
    lost = np.asarray(~vectors.any(axis=1))
    if settings.embedding == "deepwalk":
        lost |= isolated_labels(graph)
    if lost.any():
        vectors[lost] = _by_features(vectors, lost, x, y, seed)
        lengths[lost] = lengths[~lost].mean() if not lost.all() else 1.0
    return vectors, lengths


def label_dim(dim: int | None, n_labels: int) -> int:
    """The dimension of label vectors: as asked for, else 300; never more than there are labels."""
    return max(1, min(300 if dim is None else dim, n_labels))


def row_targets(y: sparse.csr_matrix, vectors: Float32, unit: bool = True) -> Float32:
    """The targets (n, dim) of rows: the mean of their labels' vectors, to length 1 if `unit`; zeros without labels."""
    counts = np.maximum(np.diff(y.indptr), 1).astype(np.float32)
    means = np.asarray((y @ vectors) / counts[:, None], np.float32)
    return unit_rows(means) if unit else means


def new_label_vectors(y: sparse.csr_matrix, vectors: Float32, n_new: int) -> Float32:
    """Unit vectors (n_new, dim) of labels that came after training: the mean of the labels they occur with.

    y: the labels of all rows; its last n_new columns are the new ones.
    """
    known = y[:, : len(vectors)]
    together = y[:, len(vectors) : len(vectors) + n_new].T.tocsr() @ known
    return unit_rows(np.asarray(together @ vectors, np.float32))


def _by_features(
    vectors: Float32, lost: npt.NDArray[np.bool_], x: sparse.csr_matrix, y: sparse.csr_matrix, seed: int
) -> Float32:
    features = label_vectors(x, y)
    wanted, others, theirs = features[lost], features[~lost].T.tocsr(), vectors[~lost]
    means = np.empty((wanted.shape[0], vectors.shape[1]), np.float32)
    piece = max(1, _PRODUCTS_AT_ONCE // max(1, others.shape[1]))
    for begin in range(0, len(means), piece):
        near = np.asarray((wanted[begin : begin + piece] @ others).todense(), np.float32)
        if near.shape[1] > 5:
            near[near < np.partition(near, -5, axis=1)[:, -5:-4]] = 0
        means[begin : begin + piece] = near @ theirs
    alone = ~means.any(axis=1)
    rows = np.flatnonzero(lost)[alone]
    means[alone] = (keyed_uniform(seed, 3, rows[:, None], np.arange(vectors.shape[1])) - 0.5).astype(np.float32)
    return unit_rows(means)
