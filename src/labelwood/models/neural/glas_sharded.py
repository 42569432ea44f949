"""The loss of GLaS over several ranks: each encodes a share of the rows and holds a share of the label vectors.

The label vectors of rank r are those of the labels r, r + size, r + 2 size, ...; the map is on every rank. What a batch
costs is the sum over ranks of what they compute here, and equals BatchLoss but for rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn.functional import normalize, softplus

from labelwood.errors import ParamError
from labelwood.labelspace.affinity import LabelAffinity
from labelwood.models.neural.forward import bag_forward, unit_rows
from labelwood.models.neural.glas_network import EPS, GlasNetwork, one_per_row
from labelwood.models.neural.glas_params import GLaSParams
from labelwood.models.neural.losses import NEVER, total
from labelwood.models.neural.ranks import Ranks
from labelwood.models.neural.sampling import Rows, label_batch, row_batch

_MOST_COSINES = 16_000_000  # at a time


def keep_own_labels(network: GlasNetwork, ranks: Ranks) -> None:
    """Leave the network the label vectors of its rank alone."""
    whole = network.labels
    weight = whole.weight.detach()[ranks.own(whole.num_embeddings)].clone()
    network.labels = nn.Embedding(len(weight), weight.shape[1], sparse=whole.sparse, _weight=weight)


def all_label_vectors(network: GlasNetwork, n_labels: int, ranks: Ranks) -> np.ndarray[Any, np.dtype[np.float32]]:
    """The vectors of all labels, of length 1, on every rank; together."""
    vectors = np.empty((n_labels, network.labels.embedding_dim), np.float32)
    own = normalize(network.labels.weight.detach(), dim=1).cpu()
    for rank, part in enumerate(ranks.collect(own)):
        vectors[rank :: ranks.size] = part.numpy()
    return vectors


class ShardedBatchLoss:
    """A rank's share of the loss of a batch; all ranks are called with the same rows."""

    def __init__(
        self,
        network: GlasNetwork,
        x: sparse.csr_matrix,
        y: sparse.csr_matrix,
        affinity: LabelAffinity | None,
        settings: GLaSParams,
        sampled: bool,
        device: Any,
        ranks: Ranks,
    ) -> None:
        if settings.loss == "snm":
            raise ParamError("GLaS: loss='snm' is not for several processes; use 'softmax' or 'margin'")
        self.network, self.x, self.y, self.affinity, self.settings = network, x, y, affinity, settings
        self.sampled, self.device, self.ranks = sampled, device, ranks
        self.seen = np.flatnonzero(np.bincount(y.indices, minlength=y.shape[1]))
        self.own_labels = torch.arange(ranks.rank, y.shape[1], ranks.size, device=device)

    def __call__(self, rows: Rows, step: int) -> Tensor:
        """The rank's share of the mean loss of the rows; together."""
        settings = self.settings
        row_vectors = self._row_vectors(rows)
        row, label = (torch.from_numpy(part).to(self.device) for part in label_batch(self.y, rows))
        if len(row) == 0:
            nothing: Tensor = row_vectors.sum() * 0
            return nothing
        true_row, true_label = row, label
        if settings.positives == "one":
            drawn = one_per_row(row)
            row, label = row[drawn], label[drawn]
        present = torch.unique(label)
        candidates, vectors = self._own_candidates(present)
        mine = torch.isin(label, candidates)
        pairs = row[mine], torch.searchsorted(candidates, label[mine])
        inside = torch.isin(true_label, candidates)
        hidden = true_row[inside], torch.searchsorted(candidates, true_label[inside])
        if settings.loss == "softmax":
            fit = self._softmax(row_vectors, vectors, candidates, present, pairs, hidden, row)
        else:
            fit = self._margin(row_vectors, vectors, candidates, hidden, row, label)
        if self.sampled:
            fit = fit + 0 * vectors.sum()  # a step of the optimizer on every rank, even without a candidate
        if settings.regularizer == "none" or not settings.weight:
            return fit
        share: Tensor = fit + settings.weight * self._penalty(row_vectors, vectors, candidates, present)
        return share

    def _row_vectors(self, rows: Rows) -> Tensor:
        """The vectors of all rows, of which this rank encodes a share."""
        batch = row_batch(self.x, rows, self.device)
        if self.settings.keep < 1:  # drawn for all rows, so that every rank draws the same
            batch = batch.thinned(self.settings.keep)
        own = torch.arange(self.ranks.rank, len(rows), self.ranks.size, device=self.device)
        vectors = torch.zeros(len(rows), self.settings.dim, device=self.device)
        return self.ranks.summed(vectors.index_copy(0, own, self.network.map(batch.take(own))))

    def _own_candidates(self, present: Tensor) -> tuple[Tensor, Tensor]:
        """(labels of this rank that the batch is compared with, their vectors)."""
        if not self.sampled:
            return self.own_labels, normalize(self.network.labels.weight, dim=1, eps=EPS)
        drawn = torch.randint(len(self.seen), (self.settings.negatives,))
        random = torch.from_numpy(self.seen[drawn.numpy()]).to(self.device)
        candidates = torch.unique(torch.cat([present, random]))
        own = candidates[candidates % self.ranks.size == self.ranks.rank]
        return own, normalize(self.network.labels(own // self.ranks.size), dim=1, eps=EPS)

    def _softmax(
        self,
        row_vectors: Tensor,
        vectors: Tensor,
        candidates: Tensor,
        present: Tensor,
        pairs: tuple[Tensor, Tensor],
        hidden: tuple[Tensor, Tensor],
        row: Tensor,
    ) -> Tensor:
        """The loss of the pairs whose label is here; row: those of all pairs, here and elsewhere."""
        n_rows = row_vectors.shape[0]
        length = self.network.label_length.expand(row_vectors.shape[1])
        scores = (row_vectors * length) @ vectors.T
        others = scores
        if self.sampled:
            others = scores - self._log_expected(candidates, present)
        mask = torch.zeros_like(scores, dtype=torch.bool)
        mask[hidden] = True
        here = torch.full((n_rows, 1), NEVER, device=self.device)  # where a rank has no candidate at all
        here = torch.cat([here, others.masked_fill(mask, NEVER)], dim=1).logsumexp(dim=1)
        of_ranks = torch.zeros(n_rows, self.ranks.size, device=self.device)
        column = torch.tensor([self.ranks.rank], device=self.device)
        of_others = self.ranks.summed(of_ranks.index_copy(1, column, here[:, None])).logsumexp(dim=1)
        counts = torch.bincount(row, minlength=n_rows).clamp(min=1)
        own_row, own_column = pairs
        each = softplus(of_others[own_row] - scores[own_row, own_column]) / counts[own_row]
        loss: Tensor = each.sum() / max(1, n_rows)
        return loss

    def _margin(
        self, row_vectors: Tensor, vectors: Tensor, candidates: Tensor, hidden: tuple[Tensor, Tensor], row: Tensor,
        label: Tensor,
    ) -> Tensor:  # fmt: skip
        """The mean over all valid pairs of [negative - positive + margin]+, for the negatives that are here."""
        cosines = row_vectors @ vectors.T
        valid = torch.ones_like(cosines, dtype=torch.bool)
        valid[hidden] = False
        chosen = one_per_row(row)
        row, label = row[chosen], label[chosen]
        mine = torch.isin(label, candidates).nonzero()[:, 0]
        own = cosines[row[mine], torch.searchsorted(candidates, label[mine])]
        positive = self.ranks.summed(torch.zeros(len(row), device=self.device).index_copy(0, mine, own))
        others, valid = cosines[row], valid[row]
        violations = torch.relu(others - positive[:, None] + self.settings.margin) * valid
        return total(violations) / max(1.0, self.ranks.total(float(valid.sum())))

    def _log_expected(self, candidates: Tensor, present: Tensor) -> Tensor:
        """The logarithm of how often a label is a candidate: the batch's own always, others when drawn."""
        share = 1 - (1 - 1 / len(self.seen)) ** self.settings.negatives
        expected = torch.full((len(candidates),), float(np.log(share)), device=self.device)
        expected[torch.isin(candidates, present)] = 0.0
        return expected

    def _penalty(self, row_vectors: Tensor, vectors: Tensor, candidates: Tensor, present: Tensor) -> Tensor:
        """The rank's rows of the regularizer: those of the batch's labels that are here; together."""
        kind = self.settings.regularizer
        places = (present % self.ranks.size == self.ranks.rank).nonzero()[:, 0]  # in `present`
        own = vectors[torch.searchsorted(candidates, present[places])]
        n = len(present)
        if kind == "gravity":
            return total((row_vectors.T @ row_vectors) * (own.T @ own)) / (row_vectors.shape[0] * n)
        everyone = torch.zeros(n, vectors.shape[1], device=self.device).index_copy(0, places, own)
        products = own @ self.ranks.summed(everyone).T
        if kind == "spreadout" or self.affinity is None:
            return total(products.square()) / n**2
        block = torch.from_numpy(self.affinity.block(present.cpu().numpy())).to(self.device)[places]
        if kind == "glas":
            return total((products - block).square()) / n**2
        return total((2 - 2 * products) * block) / n**2


class ShardedValidation:
    """P@1, in per cent, of the rows that were kept back, found by every rank among its own labels; together."""

    def __init__(
        self, network: GlasNetwork, x: sparse.csr_matrix, y: sparse.csr_matrix, seen: Rows, ranks: Ranks,
        n_threads: int | None,
    ) -> None:  # fmt: skip
        self.network, self.x, self.y, self.ranks, self.n_threads = network, x, y, ranks, n_threads
        self.own = seen[seen % ranks.size == ranks.rank]

    def __call__(self) -> float:
        """The value, the same on every rank."""
        vectors = unit_rows(bag_forward(self.network.map.arrays(), self.x, self.n_threads))
        labels = normalize(self.network.labels.weight.detach(), dim=1).cpu().numpy()[self.own // self.ranks.size]
        score, best = np.full(len(vectors), -2.0, np.float32), np.zeros(len(vectors), np.int64)
        piece = max(1, _MOST_COSINES // max(1, len(labels)))
        for first in range(0, len(vectors) if len(labels) else 0, piece):
            cosines = vectors[first : first + piece] @ labels.T
            place = cosines.argmax(axis=1)
            score[first : first + piece] = cosines[np.arange(len(place)), place]
            best[first : first + piece] = self.own[place]
        largest = self.ranks.maximum(torch.from_numpy(score)).numpy()
        # Of equal cosines the smallest label, as one process would take it.
        candidate = np.where(score == largest, -best, np.iinfo(np.int64).min)
        found = -self.ranks.maximum(torch.from_numpy(candidate)).numpy()
        return 100.0 * float(np.asarray(self.y[np.arange(len(found)), found]).mean())
