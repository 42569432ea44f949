"""Optimisers by name; those for tables touch only the rows that a sparse gradient names.

Not torch.optim: constructing the first of its optimisers imports torch's compiler (measured: 6.5 CPU seconds, more than
training a small model), and its SparseAdam makes a dozen passes over the rows where one native pass does.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from labelwood import _native
from labelwood.errors import ParamError, unknown_name


@dataclass(frozen=True)
class ParameterGroup:
    """Parameters that are updated alike.

    optimizer: "adam" (weight decay added to the gradient), "adamw" (decoupled weight decay), "sgd" (with momentum),
    "even_sgd" (one step size for all weights, see EvenSGD), "adagrad"; "sparse_adam" for tables with sparse
    gradients: adamw on the rows that occur, the others are left alone.
    every: update once in so many steps, with the gradients of all of them.
    sharded: where several processes train together, each holds other rows of these parameters.
    """

    parameters: Sequence[nn.Parameter]
    lr: float
    optimizer: str = "adamw"
    weight_decay: float = 0.0
    momentum: float = 0.0
    every: int = 1
    sharded: bool = False


class Optimizer(ABC):
    """Updates parameters in place from their gradients; `state` holds named tensors for each of them."""

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float, weight_decay: float = 0.0) -> None:
        self.parameters = list(parameters)
        self.lr = lr
        self.weight_decay = weight_decay
        self.state: list[dict[str, Tensor]] = [{} for _ in self.parameters]

    @torch.no_grad()
    def step(self) -> None:
        """Update every parameter that has a gradient."""
        for parameter, state in zip(self.parameters, self.state, strict=True):
            if parameter.grad is not None:
                self._update(parameter, parameter.grad, state)

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @abstractmethod
    def _update(self, parameter: Tensor, gradient: Tensor, state: dict[str, Tensor]) -> None:
        """Update one parameter in place."""


class Adam(Optimizer):
    """Adam; with a sparse gradient on the rows it names, as torch.optim.SparseAdam, in one native pass.

    Moments of absent rows stay as they are; the bias correction counts all steps. decoupled: weight decay as in AdamW
    (of a sparse gradient: on the named rows only), else it is added to the (dense) gradient.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        lr: float = 1e-3,
        weight_decay: float = 0.0,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        decoupled: bool = True,
    ) -> None:
        super().__init__(parameters, lr, weight_decay)
        self.betas, self.eps, self.decoupled = betas, eps, decoupled

    def _update(self, parameter: Tensor, gradient: Tensor, state: dict[str, Tensor]) -> None:
        if not state:
            state["step"] = torch.zeros((), dtype=torch.int64)
            state["mean"] = torch.zeros_like(parameter)
            state["square"] = torch.zeros_like(parameter)
        state["step"] += 1
        decay = self.weight_decay if self.decoupled else 0.0
        if self.weight_decay and not self.decoupled:
            gradient = gradient + self.weight_decay * parameter
        if gradient.is_sparse:
            rows, values = _named_rows(gradient)
            tables = [_matrix(values), _matrix(parameter), _matrix(state["mean"]), _matrix(state["square"])]
        else:
            flat = 1 if parameter.ndim < 2 else parameter.shape[0]
            rows = torch.arange(flat, device=parameter.device)
            dense = (gradient, parameter, state["mean"], state["square"])
            tables = [tensor.contiguous().view(flat, -1) for tensor in dense]
        self._step_rows(rows, tables, decay, int(state["step"]))

    def _step_rows(self, rows: Tensor, tables: list[Tensor], decay: float, t: int) -> None:
        """tables: the gradient of the rows; the parameter, its mean and its mean square, as matrices."""
        beta1, beta2 = self.betas
        if rows.device.type == "cpu":
            g, w, m, v = (table.detach().numpy() for table in tables)
            threads = torch.get_num_threads()
            _native.adam_rows(rows.numpy(), g, w, m, v, self.lr, beta1, beta2, self.eps, decay, t, threads)
            return
        gradient, parameter, means, squares = tables
        mean = means[rows].mul_(beta1).add_(gradient, alpha=1 - beta1)
        square = squares[rows].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        means[rows], squares[rows] = mean, square
        scale = square.sqrt().mul_((1 - beta2**t) ** -0.5).add_(self.eps)
        parameter[rows] = parameter[rows] * (1 - self.lr * decay) - self.lr / (1 - beta1**t) * mean / scale


class SGD(Optimizer):
    """Gradient descent with momentum, as torch.optim.SGD."""

    def __init__(
        self, parameters: Iterable[nn.Parameter], lr: float, weight_decay: float = 0.0, momentum: float = 0.0
    ) -> None:
        super().__init__(parameters, lr, weight_decay)
        self.momentum = momentum

    def _update(self, parameter: Tensor, gradient: Tensor, state: dict[str, Tensor]) -> None:
        if self.weight_decay:
            gradient = gradient + self.weight_decay * parameter
        if self.momentum:
            if not state:
                state["momentum"] = torch.zeros_like(parameter)
            gradient = state["momentum"].mul_(self.momentum).add_(gradient)
        parameter.add_(gradient, alpha=-self.lr)


class EvenSGD(Optimizer):
    """Gradient descent whose step is divided by one number: the root of the running mean square of the gradients.

    Adam divides every weight's gradient by its own history, so a feature that occurs in one training row moves as far
    each time as one that occurs in hundreds: it learns its row by heart. Here steps stay in proportion to the
    gradients, and `lr` is still the size of a typical step, whatever the scale of the loss. A gradient of more than
    _LARGEST times the typical size is scaled down to that: one batch in thousands has a gradient hundreds of times as
    large, which would undo an epoch. Of a sparse gradient only the named rows count and move; weight decay is
    decoupled.
    """

    _MEMORY = 0.99
    _LARGEST = 3.0

    def _update(self, parameter: Tensor, gradient: Tensor, state: dict[str, Tensor]) -> None:
        if not state:
            on_cpu = parameter.device.type == "cpu"
            state["step"] = torch.zeros((), dtype=torch.int64)
            state["square"] = (
                torch.zeros((), dtype=torch.float64) if on_cpu else torch.zeros(1, device=parameter.device)
            )
        rows, values = None, gradient
        if gradient.is_sparse:
            rows, values = _named_rows(gradient)
        if values.numel() == 0:
            return
        state["step"] += 1
        if values.device.type != "cpu":
            self._device_update(parameter, rows, values, state)
            return
        # Row by row, then in double precision by one thread: the same for any number of threads.
        lengths = torch.linalg.vector_norm(values.flatten(1) if values.ndim > 1 else values[:, None], dim=1)
        mean = float(np.square(lengths.double().numpy()).sum()) / values.numel()
        excess = 1.0
        if int(state["step"]) > 1:
            before = float(state["square"]) / (1 - self._MEMORY ** (int(state["step"]) - 1))
            if mean > self._LARGEST**2 * before > 0:
                excess = math.sqrt(mean / before) / self._LARGEST
                mean = self._LARGEST**2 * before
        state["square"].mul_(self._MEMORY).add_((1 - self._MEMORY) * mean)
        typical = math.sqrt(float(state["square"]) / (1 - self._MEMORY ** int(state["step"])))
        if typical == 0:
            return
        shrink = 1 - self.lr * self.weight_decay
        if rows is None:
            parameter.mul_(shrink).add_(values, alpha=-self.lr / (typical * excess))
            return
        if self.weight_decay:
            parameter[rows] *= shrink
        parameter.index_add_(0, rows, values, alpha=-self.lr / (typical * excess))

    def _device_update(self, parameter: Tensor, rows: Tensor | None, values: Tensor, state: dict[str, Tensor]) -> None:
        """The same step in float32 on the gradient's device: its size is never read on the host."""
        step, square = int(state["step"]), state["square"]
        mean = values.square().mean().reshape(1)
        if step > 1:
            most = self._LARGEST**2 * square / (1 - self._MEMORY ** (step - 1))
            over = (mean > most) & (most > 0)
            excess = torch.where(over, torch.sqrt(mean / most.clamp(min=1e-30)), 1.0)
            mean = torch.where(over, most, mean)
        else:
            excess = torch.ones_like(mean)
        square.mul_(self._MEMORY).add_((1 - self._MEMORY) * mean)
        typical = torch.sqrt(square / (1 - self._MEMORY**step))
        factor = torch.where(typical > 0, -self.lr / (typical * excess).clamp(min=1e-30), 0.0)
        shrink = 1 - self.lr * self.weight_decay
        if rows is None:
            parameter.mul_(shrink).add_(values * factor)
            return
        if self.weight_decay:
            parameter[rows] *= shrink
        parameter.index_add_(0, rows, values * factor)


class Adagrad(Optimizer):
    """Adagrad, as torch.optim.Adagrad; sparse gradients touch only the rows they name."""

    def _update(self, parameter: Tensor, gradient: Tensor, state: dict[str, Tensor]) -> None:
        if not state:
            state["square"] = torch.zeros_like(parameter)
        if gradient.is_sparse:
            rows, values = _named_rows(gradient)
            square = state["square"].index_select(0, rows).addcmul_(values, values)
            state["square"].index_copy_(0, rows, square)
            parameter.index_add_(0, rows, values / (square.sqrt() + 1e-10), alpha=-self.lr)
            return
        if self.weight_decay:
            gradient = gradient + self.weight_decay * parameter
        state["square"].addcmul_(gradient, gradient)
        parameter.addcdiv_(gradient, state["square"].sqrt() + 1e-10, value=-self.lr)


OPTIMIZERS = ("adam", "adamw", "sparse_adam", "sgd", "even_sgd", "adagrad")


def made_optimizer(group: ParameterGroup) -> Optimizer:
    """The optimiser of a group; ParamError for unknown names."""
    if group.optimizer in ("adamw", "sparse_adam"):
        return Adam(group.parameters, group.lr, group.weight_decay)
    if group.optimizer == "adam":
        return Adam(group.parameters, group.lr, group.weight_decay, decoupled=False)
    if group.optimizer == "sgd":
        return SGD(group.parameters, group.lr, group.weight_decay, group.momentum)
    if group.optimizer == "even_sgd":
        return EvenSGD(group.parameters, group.lr, group.weight_decay)
    if group.optimizer == "adagrad":
        return Adagrad(group.parameters, group.lr, group.weight_decay)
    raise ParamError(unknown_name("optimizer", group.optimizer, OPTIMIZERS))


def _named_rows(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """(the rows that a sparse gradient names, in order and each once; their values)."""
    rows = gradient._indices()[0]
    # Torch forgets that a gradient came in order, and would copy all of it: a fifth of the time of a step.
    if rows.device.type == "cpu" and bool((rows[1:] > rows[:-1]).all()):
        return rows, gradient._values()
    gradient = gradient.coalesce()
    return gradient.indices()[0], gradient.values()


def _matrix(tensor: Tensor) -> Any:
    return tensor.contiguous().flatten(1) if tensor.ndim > 1 else tensor[:, None]
