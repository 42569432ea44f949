"""Ranks: the processes that torchrun started to train one model together, and what they tell each other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, distributed, nn

from labelwood.errors import ParamError


@dataclass(frozen=True)
class Ranks:
    """Process `rank` of `size`, 0 <= rank < size. All of them run the same program on the same data.

    Every rank has the losses of its share; the loss that is trained is their sum. Methods that all ranks must call in
    the same order say "together".
    """

    rank: int = 0
    size: int = 1

    def own(self, n: int) -> slice:
        """The places of 0..n-1 that belong to this rank: every size-th, so that popular labels are shared out."""
        return slice(self.rank, n, self.size)

    def total(self, value: float) -> float:
        """The sum of a number over all ranks; together."""
        if self.size == 1:
            return value
        sum_ = torch.tensor(value, dtype=torch.float64)
        distributed.all_reduce(sum_)
        return float(sum_)

    def summed(self, tensor: Tensor) -> Tensor:
        """The sum of a tensor over all ranks, through which gradients flow; together."""
        result: Tensor = _Summed.apply(tensor)  # type: ignore[no-untyped-call]
        return result

    def maximum(self, tensor: Tensor) -> Tensor:
        """The largest of each element over all ranks; together."""
        largest = tensor.clone()
        distributed.all_reduce(largest, op=distributed.ReduceOp.MAX)
        return largest

    def collect(self, tensor: Tensor) -> list[Tensor]:
        """The tensor of every rank, which may differ in their first dimension only; together."""
        n_rows = torch.zeros(self.size, dtype=torch.int64)
        n_rows[self.rank] = tensor.shape[0]
        distributed.all_reduce(n_rows)
        padded = tensor.new_zeros((int(n_rows.max()), *tensor.shape[1:]))
        padded[: tensor.shape[0]] = tensor
        of_ranks = [torch.empty_like(padded) for _ in range(self.size)]
        distributed.all_gather(of_ranks, padded)
        return [part[: int(n)] for part, n in zip(of_ranks, n_rows, strict=True)]

    def add_up_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Give every rank the sum of the gradients of parameters that all of them hold; together."""
        for parameter in parameters:
            gradient = parameter.grad
            if gradient is not None and gradient.is_sparse:
                parameter.grad = self._sparse_sum(gradient.coalesce())
                continue
            whole = torch.zeros_like(parameter) if gradient is None else gradient.contiguous()
            distributed.all_reduce(whole)
            parameter.grad = whole

    def _sparse_sum(self, gradient: Tensor) -> Tensor:
        """Only the rows that occur travel."""
        rows = torch.cat(self.collect(gradient.indices()[0]))
        values = torch.cat(self.collect(gradient.values()))
        return torch.sparse_coo_tensor(rows[None], values, gradient.shape, check_invariants=False).coalesce()


class _Summed(torch.autograd.Function):
    """y = sum of x over the ranks. The loss is a sum over ranks too, so x gets the sum of all gradients of y."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        result = tensor.detach().clone(memory_format=torch.contiguous_format)
        distributed.all_reduce(result)
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        gradient = gradients[0].clone(memory_format=torch.contiguous_format)
        distributed.all_reduce(gradient)
        return gradient


ALONE = Ranks()
_RANKS: ContextVar[Ranks] = ContextVar("labelwood_ranks", default=ALONE)


def current_ranks() -> Ranks:
    """The ranks that train together in this context."""
    return _RANKS.get()


@contextmanager
def torchrun_ranks() -> Iterator[Ranks]:
    """Models are trained together with the other processes that torchrun started; without torchrun, alone."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield ALONE
        return
    if not distributed.is_available():
        raise ParamError("this build of torch has no torch.distributed, so torchrun cannot be used")
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    distributed.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo")
    ranks = Ranks(distributed.get_rank(), distributed.get_world_size())
    token = _RANKS.set(ranks)
    try:
        yield ranks
    finally:
        _RANKS.reset(token)
        distributed.destroy_process_group()
