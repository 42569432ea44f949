"""The network of GLaS: rows and labels -> vectors of length 1, and the loss of a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn.functional import normalize

from labelwood.labelspace.affinity import LabelAffinity
from labelwood.models.neural import losses
from labelwood.models.neural.forward import ACTIVATIONS, LINEAR_SUM
from labelwood.models.neural.glas_params import GLaSParams
from labelwood.models.neural.regularizers import glas_penalty, gravity_penalty, laplacian_penalty, spreadout_penalty
from labelwood.models.neural.sampling import RowBatch, Rows, label_batch, row_batch
from labelwood.models.neural.sparse_layer import SparseLinear
from labelwood.storage.schema import Arrays

EPS = 1e-12
FIRST_SPREAD = 0.1  # of the first weights: features too rare to learn from stay nearly silent
RESIDUAL_SPREAD = 0.1  # the residual starts near zero


class RowMap(nn.Module):
    """Sparse rows -> vectors of length 1, by one of glas_params.MAPS.

    "linear": e = W x + b. "nonlinear": V relu(e) + c. "residual": e + V relu(e) + c, which starts as the linear map.
    widen: e has so many times dim numbers; the ReLU sees all of them, the residual's first term is the first dim.

    Weight normalisation with one shared length: every output of a layer has a direction of its own and all have the
    layer's length g. The gradient of a direction's length, which the output does not depend on, is left out: with it
    the sparse layer's gradient would be dense.
    """

    def __init__(self, n_features: int, dim: int, kind: str, weight_norm: bool, widen: int = 1) -> None:
        super().__init__()
        self.weight_norm, self.residual, self.dim = weight_norm, kind == "residual", dim
        width = dim if kind == "linear" else widen * dim
        self.first = SparseLinear(n_features, width, spread=FIRST_SPREAD)
        self.first_bias = nn.Parameter(torch.zeros(width))
        self.second = None if kind == "linear" else nn.Linear(width, dim)
        self.first_length = nn.Parameter(torch.tensor((n_features / width) ** 0.5)) if weight_norm else None
        # The residual starts near zero: the network learns a correction of the linear map.
        share = RESIDUAL_SPREAD if self.residual else 1.0
        self.second_length = nn.Parameter(torch.tensor(share)) if weight_norm and self.second is not None else None
        if self.second is not None:
            nn.init.normal_(self.second.weight, std=share * width**-0.5)
            nn.init.zeros_(self.second.bias)

    def forward(self, batch: RowBatch) -> Tensor:
        """The vectors (n, dim)."""
        raw = self.first(batch)
        scale = self._first_scale()
        vectors: Tensor = (raw if scale is None else raw * scale) + self.first_bias
        if self.second is not None:
            inside = torch.relu(vectors) @ self._second_direction().T
            if self.second_length is not None:
                inside = inside * _each(self.second_length, inside.shape[1])
            inside = inside + self.second.bias
            vectors = vectors[:, : self.dim] + inside if self.residual else inside
        return normalize(vectors, dim=1, eps=EPS)

    def table_parameters(self) -> list[nn.Parameter]:
        """The large table of feature vectors."""
        return [self.first.weight]

    def dense_parameters(self) -> list[nn.Parameter]:
        """All parameters but the table."""
        return [parameter for name, parameter in self.named_parameters() if name != "first.weight"]

    def arrays(self) -> Arrays:
        """The map before the last scaling to length 1, for forward.bag_forward; lengths are multiplied in."""
        with torch.no_grad():
            scale = self._first_scale()
            table = self.first.weight if scale is None else self.first.weight * scale
            tensors = {"table": table, "bias": self.first_bias}
            if self.second is not None:
                length = 1.0 if self.second_length is None else self.second_length
                tensors |= {"outer": length * self._second_direction().T, "outer_bias": self.second.bias}
            activation = ACTIVATIONS.index("none" if self.second is None else "relu")
            arrays = {
                name: tensor.detach().cpu().numpy().astype(np.float32, order="C") for name, tensor in tensors.items()
            }
            return {**arrays, "kind": np.array([activation, LINEAR_SUM if self.residual else 0], np.int32)}

    def _first_scale(self) -> Tensor | None:
        if self.first_length is None:
            return None
        # The table is (features, outputs): an output's direction is a column.
        scale: Tensor = self.first_length / _column_lengths(self.first.weight.detach()).clamp(min=EPS)
        return scale

    def _second_direction(self) -> Tensor:
        weight: Tensor = self.second.weight  # type: ignore[union-attr]
        return normalize(weight, dim=1, eps=EPS) if self.weight_norm else weight


class GlasNetwork(nn.Module):
    """A row map, the label vectors, and the length that turns cosines into scores for the softmax."""

    def __init__(self, n_features: int, n_labels: int, settings: GLaSParams, sampled: bool, scale: float) -> None:
        super().__init__()
        self.map = RowMap(n_features, settings.dim, settings.map, settings.weight_norm, settings.widen)
        self.labels = nn.Embedding(n_labels, settings.dim, sparse=sampled)
        nn.init.normal_(self.labels.weight, std=settings.dim**-0.5)
        self.label_length = nn.Parameter(torch.tensor(float(scale)))


class BatchLoss:
    """The loss of a batch of rows: fitting loss plus weight times regulariser; called by the training loop."""

    def __init__(
        self,
        network: GlasNetwork,
        x: sparse.csr_matrix,
        y: sparse.csr_matrix,
        affinity: LabelAffinity | None,
        settings: GLaSParams,
        sampled: bool,
        device: Any,
    ) -> None:
        self.network, self.x, self.y, self.affinity, self.settings = network, x, y, affinity, settings
        self.sampled, self.device = sampled, device
        self.seen = np.flatnonzero(np.bincount(y.indices, minlength=y.shape[1]))

    def __call__(self, rows: Rows, step: int) -> Tensor:
        """The mean loss of the rows."""
        settings = self.settings
        batch = row_batch(self.x, rows, self.device).thinned(settings.keep)
        row_vectors = self.network.map(batch)
        # Which labels occur, and where, is worked out on the host and sent: a GPU would wait for every such number.
        row, label = (torch.from_numpy(part) for part in label_batch(self.y, rows))
        if len(row) == 0:
            nothing: Tensor = row_vectors.sum() * 0
            return nothing
        true_row, true_label = row, label
        if settings.positives == "one":
            drawn = one_per_row(row)
            row, label = row[drawn], label[drawn]
        present = torch.unique(label)  # the batch's labels, sorted
        if self.sampled:
            candidates, vectors = self._drawn(present)
            column = torch.searchsorted(candidates, label)
            inside = torch.isin(true_label, candidates)
            hidden = true_row[inside], torch.searchsorted(candidates, true_label[inside])
        else:
            vectors = normalize(self.network.labels.weight, dim=1, eps=EPS)
            candidates, column, hidden = None, label, (true_row, true_label)
        fit = self._fit(row_vectors, vectors, (row, column), hidden, candidates, present)
        if settings.regularizer == "none" or not settings.weight:
            return fit
        place = present if candidates is None else torch.searchsorted(candidates, present)
        total: Tensor = fit + settings.weight * self._penalty(row_vectors, vectors[self._sent(place)], present)
        return total

    def _sent(self, tensor: Tensor) -> Tensor:
        """The tensor on the device of the network."""
        return tensor.to(self.device, non_blocking=True)

    def _drawn(self, present: Tensor) -> tuple[Tensor, Tensor]:
        """(candidate labels, their vectors): the batch's labels and random ones."""
        drawn = torch.randint(len(self.seen), (self.settings.negatives,))
        random = torch.from_numpy(self.seen[drawn.numpy()])
        candidates = torch.unique(torch.cat([present, random]))
        vectors = normalize(self.network.labels(self._sent(candidates)), dim=1, eps=EPS)
        return candidates, vectors

    def _fit(
        self,
        row_vectors: Tensor,
        vectors: Tensor,
        pairs: tuple[Tensor, Tensor],
        hidden: tuple[Tensor, Tensor],
        candidates: Tensor | None,
        present: Tensor,
    ) -> Tensor:
        """The fitting loss of (row, column) pairs; hidden: all true pairs, which are no negatives of each other.

        Rows, columns and labels are on the host.
        """
        settings = self.settings
        on_host = pairs[0]
        row, column = (self._sent(part) for part in pairs)
        hidden = self._sent(hidden[0]), self._sent(hidden[1])
        if settings.loss == "softmax":
            length = _each(self.network.label_length, row_vectors.shape[1])
            scores = (row_vectors * length) @ vectors.T
            if candidates is None:
                return losses.softmax_loss(scores, row, column, hidden)
            positive = scores[row, column]
            valid = torch.ones_like(scores, dtype=torch.bool)
            valid[hidden] = False
            return losses.sampled_softmax_loss(positive, row, scores, valid, self._log_expected(candidates, present))
        cosines = row_vectors @ vectors.T
        valid = torch.ones_like(cosines, dtype=torch.bool)
        valid[hidden] = False
        chosen = self._sent(one_per_row(on_host))
        positive, others, valid = cosines[row[chosen], column[chosen]], cosines[row[chosen]], valid[row[chosen]]
        if settings.loss == "margin":
            return losses.margin_loss(positive, others, valid, settings.margin)
        return losses.mined_margin_loss(positive, others, valid, settings.margin, settings.hardest)

    def _log_expected(self, candidates: Tensor, present: Tensor) -> Tensor:
        """The logarithm of how often a label is a candidate: the batch's own always, others when drawn."""
        share = 1 - (1 - 1 / len(self.seen)) ** self.settings.negatives
        expected = torch.full((len(candidates),), float(np.log(share)))
        expected[torch.searchsorted(candidates, present)] = 0.0
        return self._sent(expected)

    def _penalty(self, row_vectors: Tensor, vectors: Tensor, present: Tensor) -> Tensor:
        if self.settings.regularizer == "gravity":
            return gravity_penalty(row_vectors, vectors)
        if self.settings.regularizer == "spreadout" or self.affinity is None:
            return spreadout_penalty(vectors)
        block = torch.from_numpy(self.affinity.block(present.numpy())).to(self.device)
        return (glas_penalty if self.settings.regularizer == "glas" else laplacian_penalty)(vectors, block)


def _each(length: Tensor, dim: int) -> Tensor:
    """The length once for every dimension: its gradient is then summed in one order for any number of threads."""
    return length.expand(dim)


def _column_lengths(table: Tensor) -> Tensor:
    """The lengths of the columns of a large table."""
    if table.device.type != "cpu":
        on_device: Tensor = torch.linalg.vector_norm(table, dim=0)
        return on_device
    # torch goes through a matrix against its order here: 43 ms for 34,521 x 256 where this takes 3.
    numbers = table.numpy()
    return torch.from_numpy(np.sqrt(np.einsum("ij,ij->j", numbers, numbers)))


def one_per_row(row: Tensor) -> Tensor:
    """For each row with labels, the number of one of its pairs, drawn uniformly; `row` is sorted."""
    counts = torch.bincount(row)
    counts = counts[counts > 0]
    first = counts.cumsum(0) - counts
    drawn = (torch.rand(len(counts)) * counts).long()
    return first + torch.minimum(drawn, counts - 1)
