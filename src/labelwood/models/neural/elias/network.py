"""The trainable ELIAS network: encoder, cluster classifiers, edges and label classifiers, with the losses of the paper.

One batch costs its encoder, all clusters, and only the labels on its rows' shortlists: forward and backward of the
label layer are native products over (row, label) pairs, so no logits of all labels are ever made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from labelwood import _native
from labelwood.matrices import column_ids, row_pointers
from labelwood.models.neural.elias.device_shortlists import DeviceBatch, device_shortlists, row_labels
from labelwood.models.neural.elias.index import PAD, Floats, Int32, forced_ids
from labelwood.models.neural.elias.sizes import IndexSizes
from labelwood.models.neural.runtime import torch_threads

FLOOR = 1e-12  # of a path score before its logarithm
CEILING = 1 - 1e-6  # of a probability before log(1 - p)


@dataclass(frozen=True)
class Batch:
    """The shortlists of some rows: labels, edges of their best paths, truth, each (n, room); padding has label -1."""

    labels: npt.NDArray[np.int32]
    paths: npt.NDArray[np.int64]
    scores: Floats
    truth: npt.NDArray[np.bool_]
    most_labels: int


class IndexNetwork(nn.Module):
    """p = sigmoid(w_l . e + b_l) * max over the row's clusters of min(1, alpha softmax) * edge (ELIAS, eq. 1-6).

    Without edge values (stage 1) every stored edge counts 1; with them an edge is min(1, beta softmax) over the stored
    edges of its cluster. max_parents: clusters that the labels of a training row add to its beam, at most; 0: all.
    """

    _labels: Tensor
    _real: Tensor
    _outside: Tensor
    _parents: Tensor | None

    def __init__(
        self,
        encoder: nn.Module,
        dim: int,
        edges: Int32,
        sizes: IndexSizes,
        label_bias: Floats,
        max_parents: int = 0,
    ) -> None:
        super().__init__()
        self.max_parents = max_parents
        # On a device, gradients of label classifiers name the labels that occur, dense ones hold all labels.
        self.sparse_gradients = True
        self.encoder = encoder
        self.sizes = sizes
        n_labels = len(label_bias)
        self.clusters = nn.Linear(dim, len(edges))
        self.label_weight = nn.Parameter(torch.zeros(n_labels, dim))
        self.label_bias = nn.Parameter(torch.from_numpy(label_bias.copy())[:, None])
        self.edge_values: nn.Parameter | None = None
        self.set_edges(edges, None)

    def set_edges(self, edges: Int32, values: Floats | None) -> None:
        """Take over a graph: a partition (values None), or one whose edges are learned."""
        self.edges = edges
        self.set_parents(None)
        real = edges != PAD
        # Buffers go to the device with the network; they are no weights, so they are in no checkpoint.
        self.register_buffer("_labels", torch.from_numpy(edges.astype(np.int64)), persistent=False)
        self.register_buffer("_real", torch.from_numpy(real), persistent=False)
        # A cluster without labels keeps its softmax over padding, so that no gradient becomes nan; its scores are 0.
        outside = torch.from_numpy(~real & real.any(axis=1, keepdims=True))
        self.register_buffer("_outside", outside, persistent=False)
        self.edge_values = None if values is None else nn.Parameter(torch.from_numpy(values.copy()))

    def set_parents(self, parents: Int32 | None) -> None:
        """Take over the strongest cluster of every label (-1: none), which true labels add to a row's clusters."""
        self.parents = parents
        table = None if parents is None else torch.from_numpy(parents.astype(np.int64)).to(self.label_weight.device)
        self.register_buffer("_parents", table, persistent=False)

    def edge_scores(self) -> Tensor:
        """The scores of the edges, (n_clusters, width); 0 at padding."""
        if self.edge_values is None:
            return self._real.float()
        return torch.clamp(self.sizes.beta * self.edge_shares(), max=1.0)

    def edge_shares(self) -> Tensor:
        """The softmax over the stored edges of each cluster; 1 for every stored edge of a partition; 0 at padding."""
        if self.edge_values is None:
            return self._real.float()
        return row_softmax(self.edge_values.masked_fill(self._outside, -torch.inf)) * self._real

    def cluster_scores(self, vectors: Tensor) -> Tensor:
        """min(1, alpha softmax) of the clusters, (n, n_clusters)."""
        return torch.clamp(self.sizes.alpha * row_softmax(self.clusters(vectors)), max=1.0)

    def shortlists(
        self, cluster_scores: Tensor, y: sparse.csr_matrix, room: int, teach: bool, n_threads: int
    ) -> Batch | DeviceBatch:
        """The shortlists of rows with labels y; `teach` adds the parents of the true labels and keeps these labels.

        On the CPU by the native search, elsewhere on the device of the scores.
        """
        if cluster_scores.device.type == "cpu":
            return self.native_shortlists(cluster_scores, y, room, teach, n_threads)
        return self.device_shortlists(cluster_scores, y, room, teach)

    def device_shortlists(self, cluster_scores: Tensor, y: sparse.csr_matrix, room: int, teach: bool) -> DeviceBatch:
        """What `shortlists` gives, in torch on the device of the scores: nothing comes back to the host."""
        parents = self._parents if teach else None
        labels = row_labels(y, cluster_scores.device)
        return device_shortlists(
            cluster_scores, self._labels, self.edge_scores(), labels, parents, self.sizes.beam, room, self.max_parents
        )

    def native_shortlists(
        self, cluster_scores: Tensor, y: sparse.csr_matrix, room: int, teach: bool, n_threads: int
    ) -> Batch:
        """What `shortlists` gives, on the CPU."""
        n_rows, n_labels = y.shape
        row = np.repeat(np.arange(n_rows), np.diff(y.indptr))
        forced_clusters = forced_labels = None
        if teach and self.parents is not None:
            known = self.parents[y.indices] >= 0
            chosen = known
            if self.max_parents:
                chosen = known & (np.arange(len(row)) - y.indptr[row] < self.max_parents)
            forced_clusters = forced_ids(row[chosen], self.parents[y.indices[chosen]], n_rows)
            forced_labels = forced_ids(row, y.indices, n_rows)
        labels = np.empty((n_rows, room), np.int32)
        paths = np.empty((n_rows, room), np.int64)
        scores = np.empty((n_rows, room), np.float32)
        edge_scores = self.edge_scores().detach().numpy()
        given = cluster_scores.detach().numpy()
        _native.shortlist(
            self.edges, edge_scores, n_labels, given, self.sizes.beam, forced_clusters, forced_labels,
            labels, paths, scores, n_threads,
        )  # fmt: skip
        hit = np.empty(labels.shape, np.uint8)  # (n, room), whatever the number of labels
        _native.hit_matrix(labels, row_pointers(y), column_ids(y), n_labels, hit, n_threads)
        return Batch(labels, paths, scores, hit.view(bool), int(np.diff(y.indptr).max(initial=0)))

    def losses(
        self, vectors: Tensor, cluster_scores: Tensor, batch: Batch | DeviceBatch, n_threads: int
    ) -> tuple[Tensor, Tensor]:
        """(classification loss, shortlist loss): means over the shortlisted pairs, and over rows times most labels."""
        if isinstance(batch, DeviceBatch):
            paths, truth, real = batch.paths, batch.truth, batch.labels >= 0
            logits = device_logits(
                vectors, self.label_weight, self.label_bias, batch.labels, sparse=self.sparse_gradients
            )
        else:
            paths, truth = torch.from_numpy(batch.paths), torch.from_numpy(batch.truth)
            real = torch.from_numpy(batch.labels >= 0)
            logits = shortlist_logits(vectors, self.label_weight, self.label_bias, batch.labels, n_threads)
        cluster = paths // self.edges.shape[1]
        # Not [paths], whose gradient torch adds up in an order that the number of threads changes.
        edges = nn.functional.embedding(paths, self.edge_scores().reshape(-1, 1))[..., 0]
        path = cluster_scores.gather(1, cluster) * edges
        log_path = torch.log(path.clamp(min=FLOOR))
        log_p = logsigmoid(logits) + log_path
        log_rest = torch.log1p(-torch.exp(log_p).clamp(max=CEILING))
        each = -torch.where(truth, log_p, log_rest) * real
        n_rows = max(1, len(batch.labels))
        # Means over room, not over the labels found, as lambda belongs to them.
        classification = each.sum() / (n_rows * batch.labels.shape[1])
        shortlist = -(log_path * truth).sum() / (n_rows * max(1, batch.most_labels))
        return classification, shortlist


def shortlist_logits(vectors: Tensor, weight: Tensor, bias: Tensor, labels: Int32, n_threads: int) -> Tensor:
    """vectors[r] . weight[labels[r, j]] + bias[labels[r, j]], (n, room); gradients name only the labels that occur.

    weight (n_labels, dim), bias (n_labels, 1); padding (-1) gives 0. On the CPU.
    """
    products: Tensor = _ShortlistProduct.apply(vectors, weight, bias, labels, n_threads)  # type: ignore[no-untyped-call]
    return products


def device_logits(vectors: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, *, sparse: bool = True) -> Tensor:
    """What `shortlist_logits` gives, on any device; labels int64 (n, room). sparse: whether gradients are."""
    places = labels.clamp(min=0)
    rows = nn.functional.embedding(places, weight, sparse=sparse)  # (n, room, dim)
    shift = nn.functional.embedding(places, bias, sparse=sparse)[..., 0]
    logits: Tensor = torch.einsum("nd,nkd->nk", vectors, rows) + shift
    return logits * (labels >= 0)


def row_softmax(logits: Tensor) -> Tensor:
    """The softmax of every row, with gradients that do not depend on the number of threads."""
    shares: Tensor = _RowSoftmax.apply(logits)  # type: ignore[no-untyped-call]
    return shares


class _RowSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor) -> Tensor:
        shares = torch.softmax(logits, dim=1)
        ctx.save_for_backward(shares)
        return shares

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (shares,) = ctx.saved_tensors
        with torch_threads(1):  # torch's kernel sums a row in other steps when threads share the rows
            gradient: Tensor = torch.ops.aten._softmax_backward_data(gradients[0], shares, 1, shares.dtype)
        return gradient


class _ShortlistProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor, weight: Tensor, bias: Tensor, labels: Int32, n_threads: int) -> Tensor:
        out = torch.empty(labels.shape)
        rows = vectors.detach().contiguous()
        _native.shortlist_products(
            labels, rows.numpy(), weight.detach().numpy(), bias.detach().numpy().ravel(), out.numpy(), n_threads
        )
        ctx.save_for_backward(rows, weight)
        ctx.labels, ctx.n_threads = labels, n_threads
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        vectors, weight = ctx.saved_tensors
        labels: Int32 = ctx.labels
        values = (gradients[0].numpy() * (labels >= 0)).ravel()
        n_rows, room = labels.shape
        starts = np.arange(0, n_rows * room + 1, room, dtype=np.int64)
        places = np.maximum(labels, 0).ravel()
        to_vectors = torch.empty_like(vectors)
        _native.sparse_rows_times_dense(
            starts, places, values, weight.detach().numpy(), to_vectors.numpy(), ctx.n_threads
        )
        by_label = sparse.csr_matrix((values, places, starts), shape=(n_rows, weight.shape[0])).tocsc()
        used = np.flatnonzero(np.diff(by_label.indptr))
        starts = np.append(by_label.indptr[used], by_label.indptr[-1]).astype(np.int64)
        to_weight = torch.empty(len(used), vectors.shape[1])
        _native.sparse_rows_times_dense(
            starts, by_label.indices.astype(np.int32, copy=False), by_label.data, vectors.numpy(), to_weight.numpy(),
            ctx.n_threads,
        )  # fmt: skip
        to_bias = torch.from_numpy(
            np.add.reduceat(by_label.data, starts[:-1]) if len(used) else np.zeros(0, np.float32)
        )
        index = torch.from_numpy(used.astype(np.int64))[None]
        sizes = (weight.shape[0], vectors.shape[1]), (weight.shape[0], 1)
        weight_rows, bias_rows = (
            torch.sparse_coo_tensor(index, rows, size, is_coalesced=True, check_invariants=False)
            for rows, size in zip((to_weight, to_bias[:, None]), sizes, strict=True)
        )
        return to_vectors, weight_rows, bias_rows, None, None
