"""Label graphs, and vectors of their labels: labels that are often used together lie close to each other.

DeepWalk (Perozzi et al., KDD 2014) trains vectors on random walks; NetMF (Qiu et al., WSDM 2018) factorises the matrix
that those walks sample, in closed form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.data.keyed_random import keyed_bits, keyed_uniform
from labelwood.errors import DataError, ParamError
from labelwood.labelspace.cooccurrence import cooccurrence
from labelwood.matrices import as_labels, column_ids, row_pointers, with_fixed_signs

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]

# Up to this many labels the matrix of NetMF is made whole (2,000 x 2,000 doubles: 32 MB) and decomposed exactly.
DENSE_LABELS = 2_000
# Above, only so many of the largest entries of each label are kept, ...
_KEPT = 512
# ... and walks of more than one step are followed only as long as they cost less than this many products.
_WORK = 2e10
_ROWS_AT_ONCE = 256
_LEAST_SHARE = 0.05


def label_graph(
    y: Any, *, weighted: bool = True, self_weight: float = 0.0, max_per_row: int = 50, seed: int = 0
) -> sparse.csr_matrix:
    """The label graph of the training labels, CSR float64 (n_labels, n_labels), symmetric: who occurs with whom.

    weighted: the number of common rows, else 1. self_weight: the diagonal is this many times each label's own number
    of rows (else 1). A row with more than max_per_row labels counts with a random max_per_row of them (pairs grow with
    the square).
    """
    if not 0 <= self_weight < np.inf:
        raise ParamError(f"self_weight must be a number from 0 up, but is {self_weight}")
    labels = _thinned(as_labels(y), max_per_row, seed)
    graph = cooccurrence(labels, diagonal=self_weight > 0).astype(np.float64)
    if not weighted:
        graph.data[:] = 1
    if self_weight > 0:
        graph.data[graph.indices == np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))] *= self_weight
    return graph


def edge_graph(edges: Any, n_labels: int) -> sparse.csr_matrix:
    """The graph of given pairs of labels (n_edges, 2), such as (parent, child) of a hierarchy; CSR, symmetric.

    A pair may be repeated and counts as often; a label with itself is no edge.
    """
    pairs = np.asarray(edges)
    if pairs.size == 0:
        return sparse.csr_matrix((n_labels, n_labels), dtype=np.float64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise DataError(f"edges must be whole numbers of shape (n_edges, 2), but are {pairs.dtype} {pairs.shape}")
    bad = np.flatnonzero((pairs < 0).any(axis=1) | (pairs >= n_labels).any(axis=1))
    if len(bad):
        raise DataError(f"edges[{bad[0]}] is {pairs[bad[0]].tolist()}; labels are 0..{n_labels - 1}")
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    one_way = sparse.csr_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n_labels, n_labels))
    return (one_way + one_way.T).tocsr()


def checked_graph(graph: Any, n_labels: int) -> sparse.csr_matrix:
    """A symmetric CSR float64 graph over n_labels labels from any sparse matrix or array; DataError if it is none."""
    try:
        matrix = sparse.csr_matrix(graph, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"a label graph must be a sparse matrix or an array, but is {type(graph).__name__}") from error
    if matrix.shape != (n_labels, n_labels):
        raise DataError(f"the label graph has shape {matrix.shape}, but there are {n_labels} labels")
    if matrix.nnz and (not np.isfinite(matrix.data).all() or matrix.data.min() < 0):
        raise DataError("the weights of a label graph must be finite numbers from 0 up")
    matrix.eliminate_zeros()
    difference = abs(matrix - matrix.T)
    if difference.nnz and difference.max() > 1e-6 * matrix.max():
        raise DataError("a label graph must be symmetric: the weight of (a, b) is the weight of (b, a)")
    matrix.sort_indices()
    return matrix


def isolated_labels(graph: sparse.csr_matrix) -> npt.NDArray[np.bool_]:
    """True for every label without an edge to another label."""
    others = np.diff(graph.indptr) - (graph.diagonal() != 0)
    return np.asarray(others == 0)


def netmf(graph: sparse.csr_matrix, dim: int, *, window: int = 5, negatives: float = 1.0, seed: int = 0) -> Float32:
    """The vectors (n_labels, dim) of NetMF: U sqrt(S) of log max(1, vol / (b window) (P + ... + P^window) D^-1).

    b: `negatives`. Labels without edges get zeros, and so do labels of which `dim` numbers keep nothing, and columns
    beyond the rank. Up to 2,000 labels exactly;
    above, each label keeps its 512 largest entries, the decomposition is randomised, and the window shrinks to what
    2e10 products pay for.
    """
    if dim < 1 or window < 1 or not negatives > 0:
        raise ParamError(f"netmf needs dim, window and negatives above 0, but got {dim}, {window} and {negatives}")
    n_labels = graph.shape[0]
    degree = np.asarray(graph.sum(axis=1)).ravel()
    inverse = np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0)
    if n_labels > DENSE_LABELS:
        window = max(1, min(window, int(_WORK / max(1, n_labels * graph.nnz))))
    step = sparse.diags(inverse) @ graph
    scale = degree.sum() / (negatives * window)
    parts = []
    for begin in range(0, n_labels, _ROWS_AT_ONCE):
        now = np.asarray(step[begin : begin + _ROWS_AT_ONCE].todense())
        total = now.copy()
        for _ in range(window - 1):
            now = now @ step
            total += now
        total *= scale
        total *= inverse[None, :]
        np.log(np.maximum(total, 1.0, out=total), out=total)
        parts.append(total if n_labels <= DENSE_LABELS else _largest(total))
    vectors = np.zeros((n_labels, dim), np.float32)
    axes = _decomposed(parts, min(dim, n_labels), seed)
    vectors[:, : axes.shape[1]] = axes
    return vectors


def deepwalk(
    graph: sparse.csr_matrix,
    dim: int,
    *,
    n_walks: int = 10,
    length: int = 40,
    window: int = 5,
    negatives: int = 5,
    epochs: int = 1,
    learning_rate: float = 0.025,
    seed: int = 0,
    n_threads: int | None = None,
) -> Float32:
    """The vectors (n_labels, dim) that skip-gram with negative samples learns from random walks over the graph.

    Walks are made by all threads, each with random numbers of its own; skip-gram runs in one thread, in one order: the
    same seed gives the same bytes. Labels without edges keep their random start; `isolated_labels` tells which.
    """
    n_labels = graph.shape[0]
    walks = np.empty((n_labels * n_walks, length), np.int32)
    if len(walks) >= 2**32:
        raise ParamError(f"{n_labels} labels with {n_walks} walks each are too many; at most 2^32 walks")
    cumulative = _cumulative_rows(graph)
    _native.random_walks(row_pointers(graph), column_ids(graph), cumulative, n_walks, seed, n_threads or 0, walks)
    # word2vec's choices: negatives by frequency^0.75, vectors start small and random, contexts at 0.
    visits = np.bincount(walks[walks >= 0], minlength=n_labels).astype(np.float64)
    negative_cumulative = np.cumsum(visits**0.75)
    rows = np.arange(n_labels)[:, None]
    vectors = ((keyed_uniform(seed, 1, rows, np.arange(dim)) - 0.5) / dim).astype(np.float32)
    contexts = np.zeros_like(vectors)
    _native.skip_gram(
        walks, negative_cumulative, window, negatives, epochs, learning_rate, seed % 2**63, vectors, contexts
    )
    return vectors


def _thinned(y: sparse.csr_matrix, most: int, seed: int) -> sparse.csr_matrix:
    """The labels with at most `most` random ones in each row."""
    sizes = np.diff(y.indptr)
    if not len(sizes) or sizes.max() <= most:
        return y
    rows = np.repeat(np.arange(y.shape[0]), sizes)
    order = np.lexsort((keyed_bits(seed, np.arange(y.nnz)), rows))
    place = np.arange(y.nnz) - np.repeat(y.indptr[:-1], sizes)
    kept = order[place < most]
    return sparse.csr_matrix((np.ones(len(kept), np.float32), (rows[kept], y.indices[kept])), shape=y.shape)


def _largest(block: Float64) -> sparse.csr_matrix:
    """The _KEPT largest positive entries of each row of a dense block."""
    if block.shape[1] > _KEPT:
        least = np.partition(block, -_KEPT, axis=1)[:, -_KEPT]
        block = np.where(block >= least[:, None], block, 0.0)
    return sparse.csr_matrix(block)


def _decomposed(parts: list[Any], dim: int, seed: int) -> Float64:
    """U sqrt(S) of the symmetric matrix that lies in blocks of rows, the `dim` largest singular values.

    A row whose kept part is less than _LEAST_SHARE of its diagonal entry is zero: its own direction is not among those
    kept, and what is left of it is chance, which a later scaling to length 1 would make as loud as any other row.
    """
    if isinstance(parts[0], np.ndarray):
        matrix = np.vstack(parts)
        diagonal = matrix.diagonal()
        values, axes = np.linalg.eigh((matrix + matrix.T) / 2)
    else:
        stacked = sparse.vstack(parts, format="csr")
        diagonal = stacked.diagonal()
        values, axes = _random_eigenvectors(((stacked + stacked.T) / 2).tocsr(), dim, seed)
    best = np.argsort(-np.abs(values), kind="stable")[:dim]
    sizes = np.abs(values[best])
    real = sizes > 1e-9 * max(float(sizes[0]), 1e-300)  # beyond the rank there are only rounding errors
    kept: Float64 = with_fixed_signs(axes[:, best[real]]) * np.sqrt(sizes[real])
    lengths = np.einsum("ij,ij->i", kept, kept)
    kept[lengths <= np.maximum(_LEAST_SHARE * diagonal, 1e-9 * lengths.max(initial=0.0))] = 0
    return kept


def _random_eigenvectors(matrix: sparse.csr_matrix, dim: int, seed: int) -> tuple[Float64, Float64]:
    """(values, vectors) of about the `dim` largest eigenvalues: subspace iteration, random start (Halko, 2011)."""
    n = matrix.shape[0]
    width = min(n, dim + 20)
    basis = keyed_uniform(seed, 2, np.arange(n)[:, None], np.arange(width)) - 0.5
    for _ in range(6):
        basis, _ = np.linalg.qr(matrix @ basis)
    small = basis.T @ (matrix @ basis)
    values, inner = np.linalg.eigh((small + small.T) / 2)
    return values, basis @ inner


def _cumulative_rows(graph: sparse.csr_matrix) -> Float64:
    """The running sum of the weights inside each row."""
    total = np.cumsum(graph.data, dtype=np.float64)
    before = np.concatenate([[0.0], total])[graph.indptr[:-1]]
    inside: Float64 = total - np.repeat(before, np.diff(graph.indptr))
    return inside
