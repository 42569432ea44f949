"""Data parallel training: every process computes its share of a batch's rows, as one process would compute them.

Everything random is drawn for the whole batch, which all processes draw alike, and each takes what belongs to its rows.
So several processes end with the weights of one, but for rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from labelwood.models.neural.ranks import Ranks
from labelwood.models.neural.sampling import Rows


@dataclass(frozen=True)
class RowShare:
    """The rows of a batch of n_rows that one of several processes computes.

    A batch with fewer rows than processes is computed by all of them.
    """

    ranks: Ranks
    n_rows: int

    @property
    def own(self) -> slice:
        """The places in the batch of this process's rows."""
        return self.ranks.own(self.n_rows) if self.n_rows >= self.ranks.size else slice(None)

    @property
    def weight(self) -> float:
        """What a mean over these rows counts in the sum over all processes, which is the mean over the batch."""
        if self.n_rows < self.ranks.size:
            return 1 / self.ranks.size
        return len(range(self.n_rows)[self.own]) / self.n_rows

    @property
    def n_computed(self) -> int:
        """The rows that all processes compute together."""
        return self.n_rows if self.n_rows >= self.ranks.size else self.n_rows * self.ranks.size


_SHARE: ContextVar[RowShare | None] = ContextVar("labelwood_row_share", default=None)


def current_share() -> RowShare | None:
    """The share of the batch that is computed at present; None: all of it."""
    return _SHARE.get()


@contextmanager
def sharing_rows(share: RowShare) -> Iterator[None]:
    """In the block, this process computes its share of a batch."""
    token = _SHARE.set(share)
    try:
        yield
    finally:
        _SHARE.reset(token)


def own_rows(rows: Rows) -> Rows:
    """Those of a batch's rows that this process computes."""
    share = current_share()
    return rows if share is None else rows[share.own]


class RowDropout(nn.Dropout):
    """Dropout of vectors (n, dim), a row of the batch each; a process's rows drop what one process would drop."""

    def forward(self, input: Tensor) -> Tensor:
        """The vectors, some numbers 0 and the others scaled up, while training."""
        share = current_share()
        if share is None or not self.training or not self.p:
            return super().forward(input)
        whole = input.new_ones((share.n_rows, *input.shape[1:]))
        return input * super().forward(whole)[share.own]


def batch_normed(norm: nn.BatchNorm1d, rows: Tensor) -> Tensor:
    """The rows through a batch norm, with the statistics of the whole batch, whoever computes its rows; together."""
    share = current_share()
    if share is None or not norm.training:
        alone: Tensor = norm(rows)
        return alone
    n, summed = share.n_computed, share.ranks.summed
    mean = summed(rows.sum(dim=0)) / n
    variance = summed((rows - mean).square().sum(dim=0)) / n
    _remember(norm, mean.detach(), variance.detach(), share.n_rows)
    return (rows - mean) * torch.rsqrt(variance + norm.eps) * norm.weight + norm.bias


@torch.no_grad()
def _remember(norm: nn.BatchNorm1d, mean: Tensor, variance: Tensor, n: int) -> None:
    """Move the statistics that answers use towards those of a batch of n rows."""
    if norm.running_mean is None or norm.running_var is None or norm.momentum is None:
        return
    norm.running_mean.lerp_(mean, norm.momentum)
    norm.running_var.lerp_(variance * (n / (n - 1)), norm.momentum)
    if norm.num_batches_tracked is not None:
        norm.num_batches_tracked.add_(1)
