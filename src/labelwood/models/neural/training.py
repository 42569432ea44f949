"""The one training loop of all neural models.

Everything random is keyed by (seed, epoch) or (seed, step), never by what was drawn before: a run that was killed and
resumed from its checkpoint ends with the same weights as one that was not.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from labelwood.data.keyed_random import keyed_bits
from labelwood.errors import ParamError
from labelwood.models.neural.checkpoints import (
    Checkpoint,
    Tensors,
    optimizer_tensors,
    prefixed,
    restore_optimizers,
    weights_of,
    without_prefix,
)
from labelwood.models.neural.optimizers import ParameterGroup, made_optimizer
from labelwood.models.neural.ranks import current_ranks
from labelwood.models.neural.row_shares import RowShare, sharing_rows
from labelwood.models.neural.runtime import chosen_device, torch_threads, uses_bf16
from labelwood.models.neural.sampling import Rows, epoch_order
from labelwood.progress import SILENT, Progress
from labelwood.storage.steps import Key, Steps, current_steps

__all__ = ["History", "ParameterGroup", "TrainingPlan", "train"]

# Of the time of training that keeping its state may take, where nobody asked for it.
MOST_COST = 0.02
LEAST_SECONDS = 1.0
SCHEDULES = ("linear", "cosine", "constant")


@dataclass(frozen=True)
class TrainingPlan:
    """How long and in which steps to train.

    warmup: share of all steps in which the learning rate rises from 0; schedule: how it falls after that.
    accumulate: batches per update. swa_start: share of the epochs after which weights are averaged (1: never),
    swa_every: updates between two samples of the average. patience: stop after so many epochs without a better
    validation (0: never). checkpoint: folder, written after each epoch and after every `checkpoint_every` updates (0:
    after epochs only). identity: what else makes two runs the same run, such as a hash of parameters and data.
    """

    epochs: int
    batch_size: int
    seed: int = 0
    warmup: float = 0.05
    schedule: str = "linear"
    accumulate: int = 1
    swa_start: float = 1.0
    swa_every: int = 10
    patience: int = 0
    checkpoint: str | Path | None = None
    checkpoint_every: int = 0
    precision: str = "auto"
    device: str = "auto"
    n_threads: int | None = None
    identity: str = ""


@dataclass
class History:
    """What happened: the mean loss and the validation value of each epoch, and which epoch's weights were kept."""

    losses: list[float] = field(default_factory=list)
    validations: list[float] = field(default_factory=list)
    best_epoch: int = -1
    stopped_early: bool = False
    cpu_seconds: float = 0.0


def train(
    network: nn.Module,
    groups: Sequence[ParameterGroup],
    batch_loss: Callable[[Rows, int], Tensor],
    n_rows: int,
    plan: TrainingPlan,
    *,
    validate: Callable[[], float] | None = None,
    on_epoch: Callable[[int, History], None] | None = None,
    on_resume: Callable[[], None] | None = None,
    learns_from: Sequence[Any] | None = None,
    shares_itself: bool = False,
    progress: Progress = SILENT,
) -> History:
    """The history of training `network` in place; it is left in eval mode with the best (else the last) weights.

    batch_loss(rows, step): the mean loss of a batch, rows being numbers 0..n_rows-1; it is called in train mode with
    torch's random numbers keyed by (seed, step). validate(): higher is better, called in eval mode after each epoch.
    on_epoch(epoch, history): called after each epoch's validation, for curves.
    learns_from: all that batch_loss and validate look at beside the network, as arrays, matrices and JSON. With it, and
    without a folder in the plan, the run keeps its state among the steps of who started it (storage/steps.py).
    on_resume: called with the weights of a run that goes on, in place of the on_epoch before; with it the state is
    kept after epochs only, else also in the midst of long ones.
    Where several processes train together (ranks.py), each is to compute the mean loss of its own rows of the batch
    (row_shares.py); a batch_loss that knows nothing of it computes all of them, and the result is the same.
    shares_itself: batch_loss gives the process's share of the batch's loss instead.
    """
    if plan.schedule not in SCHEDULES:
        raise ParamError(f"schedule must be one of {', '.join(map(repr, SCHEDULES))}, but is {plan.schedule!r}")
    device = chosen_device(plan.device)
    devices = [device.index or 0] if device.type == "cuda" else []
    with torch_threads(plan.n_threads), torch.random.fork_rng(devices=devices), _steady(device):
        network.to(device)
        run = _Run(network, groups, batch_loss, n_rows, plan, device)
        run.shares_rows = run.ranks.size > 1 and not shares_itself
        run.keep_among_steps(learns_from, on_resume)
        return run.train(validate, on_epoch, progress)


class _Run:
    """One call of train: the state that a checkpoint holds, and the loop over it."""

    def __init__(
        self,
        network: nn.Module,
        groups: Sequence[ParameterGroup],
        batch_loss: Callable[[Rows, int], Tensor],
        n_rows: int,
        plan: TrainingPlan,
        device: torch.device,
    ) -> None:
        self.network, self.groups, self.batch_loss, self.n_rows, self.plan = network, groups, batch_loss, n_rows, plan
        self.device = device
        self.ranks = current_ranks()
        self.shares_rows = False
        if self.ranks.size > 1 and plan.checkpoint is not None:
            raise ParamError("several processes (torchrun) keep no checkpoint; leave it out, or start one process")
        self.optimizers = [made_optimizer(group) for group in groups]
        self.base_lr = [group.lr for group in groups]
        bf16 = uses_bf16(plan.precision, device)
        self.cast: Callable[[], Any] = (lambda: torch.autocast(device.type, torch.bfloat16)) if bf16 else nullcontext
        self.batches = max(1, math.ceil(n_rows / plan.batch_size))  # of one epoch
        self.updates = max(1, math.ceil(self.batches / plan.accumulate))
        self.history = History()
        self.epoch = 0
        self.next_batch = 0  # within the epoch
        self.loss_sum = 0.0
        self.unread: list[tuple[int, Tensor]] = []  # (batch, loss) that were not looked at yet
        self.best = -math.inf
        self.best_weights: Tensors | None = None
        self.average: Tensors | None = None
        self.averaged = 0
        self.checkpoint = None if plan.checkpoint is None else Checkpoint(plan.checkpoint, self._identity())
        self.on_resume: Callable[[], None] | None = None
        self.steps: Steps | None = None  # among which the state is kept, only as often as costs little
        self.kept_at, self.keeping_took = time.monotonic(), 0.0

    def keep_among_steps(self, learns_from: Sequence[Any] | None, on_resume: Callable[[], None] | None) -> None:
        """Keep the state in a folder of the steps that are kept at present, if there are any."""
        self.on_resume = on_resume
        steps = None if self.ranks.size > 1 else current_steps()
        if steps is None or learns_from is None or self.checkpoint is not None or not self.n_rows:
            return
        weights = [tensor.detach().cpu().numpy() for tensor in self.network.state_dict().values()]
        key = Key("epochs").add(self._identity(), *weights, *learns_from)
        self.checkpoint = Checkpoint(steps.folder_of(key), self._identity())
        self.steps = steps

    def train(
        self,
        validate: Callable[[], float] | None,
        on_epoch: Callable[[int, History], None] | None,
        progress: Progress,
    ) -> History:
        self._resume()
        while self.epoch < self.plan.epochs and not self.history.stopped_early:
            self._epoch(progress)
            self.history.losses.append(self.loss_sum / self.batches)
            with self._averaged():
                self._validate(validate)
                if on_epoch is not None:
                    on_epoch(self.epoch, self.history)
            self.epoch, self.next_batch, self.loss_sum = self.epoch + 1, 0, 0.0
            if self.steps is None or self._worth_keeping(self.steps):
                self._save()
        final = self.best_weights if validate is not None else self.average
        if final is not None:
            self.network.load_state_dict(final)
        self.network.eval()
        return self.history

    def _epoch(self, progress: Progress) -> None:
        started = time.process_time()
        plan, what = self.plan, self._headline()
        order = epoch_order(self.n_rows, plan.seed, self.epoch)
        self.network.train()
        progress.step(what, self.next_batch, self.batches)
        while self.next_batch < self.batches:
            first = self.next_batch
            self._update(order)
            every = plan.checkpoint_every
            done = math.ceil(self.next_batch / plan.accumulate)
            told = first // 16 != self.next_batch // 16 or self.next_batch == self.batches
            saved = bool(every) and done % every == 0
            if self.steps is not None:
                saved = self.on_resume is None and self._worth_keeping(self.steps)
            saved = saved and self.next_batch < self.batches
            if told or saved:
                self._read_losses()
            if saved:
                self._save()
            if told:
                progress.step(what, self.next_batch, self.batches)
        self.history.cpu_seconds += time.process_time() - started

    def _update(self, order: Rows) -> None:
        """One optimiser step, over `accumulate` batches or what is left of the epoch."""
        plan = self.plan
        last = min(self.next_batch + plan.accumulate, self.batches)
        share = 1.0 / (last - self.next_batch)
        for batch in range(self.next_batch, last):
            step = self.epoch * self.batches + batch
            rows = np.sort(order[batch * plan.batch_size : (batch + 1) * plan.batch_size])
            self._seed(int(keyed_bits(plan.seed, 0x73746570, step)) >> 1)
            with self.cast():
                loss = self._shared_loss(rows, step) if self.shares_rows else self.batch_loss(rows, step)
            self.unread.append((batch, loss.detach()))
            if self.device.type == "cpu":
                self._read_losses()
            if loss.requires_grad:
                (loss * share).backward()  # type: ignore[no-untyped-call]
        self.next_batch = last
        update = self.epoch * self.updates + math.ceil(last / plan.accumulate) - 1
        factor = self._lr_factor(update)
        for group, optimizer, base in zip(self.groups, self.optimizers, self.base_lr, strict=True):
            if (update + 1) % group.every:
                continue
            optimizer.lr = base * factor
            if self.ranks.size > 1 and not group.sharded:
                self.ranks.add_up_gradients(group.parameters)
            optimizer.step()
            optimizer.zero_grad()
        start = round(plan.swa_start * plan.epochs) * self.updates
        if update >= start and (update - start) % plan.swa_every == plan.swa_every - 1:
            self._take_sample()

    def _shared_loss(self, rows: Rows, step: int) -> Tensor:
        """What this process's rows of a batch add to its loss."""
        share = RowShare(self.ranks, len(rows))
        with sharing_rows(share):
            return self.batch_loss(rows, step) * share.weight

    def _read_losses(self) -> None:
        """Add up the losses since the last look. On a GPU that waits for all steps so far, so it is done rarely."""
        if not self.unread:
            return
        batches, losses = zip(*self.unread, strict=True)
        self.unread = []
        values = [float(losses[0])] if len(losses) == 1 else torch.stack(losses).tolist()
        values = [self.ranks.total(value) for value in values]
        for batch, value in zip(batches, values, strict=True):
            if not math.isfinite(value):
                raise ParamError(
                    f"training came apart: the loss is {value} in epoch {self.epoch + 1}, batch {batch + 1}; "
                    "a smaller learning rate helps"
                )
            self.loss_sum += value

    def _seed(self, seed: int) -> None:
        # Not torch.manual_seed: without a GPU it remembers every call for the day one appears, with its stack.
        torch.default_generator.manual_seed(seed)
        if self.device.type == "cuda":
            torch.cuda.manual_seed(seed)

    def _lr_factor(self, update: int) -> float:
        total = self.plan.epochs * self.updates
        rising = self.plan.warmup * total
        if update + 1 < rising:
            return (update + 1) / rising
        if self.plan.schedule == "constant":
            return 1.0
        left = 1.0 - max(0.0, update + 1 - rising) / (total - rising + 1)
        return max(0.0, left if self.plan.schedule == "linear" else 0.5 - 0.5 * math.cos(math.pi * left))

    # stochastic weight averaging

    def _take_sample(self) -> None:
        self.averaged += 1
        if self.average is None:
            self.average = weights_of(self.network)
            return
        for name, tensor in self.network.state_dict().items():
            mean = self.average[name]
            if mean.is_floating_point():
                mean.add_(tensor - mean, alpha=1 / self.averaged)
            else:
                mean.copy_(tensor)

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """The block sees the averaged weights, once there are some; training goes on with what it had."""
        if self.average is None:
            yield
            return
        current = weights_of(self.network)
        self.network.load_state_dict(self.average)
        try:
            yield
        finally:
            self.network.load_state_dict(current)

    def _validate(self, validate: Callable[[], float] | None) -> None:
        if validate is None:
            self.history.best_epoch = self.epoch
            return
        self.network.eval()
        with torch.no_grad():
            value = float(validate())
        self.history.validations.append(value)
        if value > self.best:
            self.best = value
            self.best_weights = weights_of(self.network)
            self.history.best_epoch = self.epoch
        elif self.plan.patience and self.epoch - self.history.best_epoch >= self.plan.patience:
            self.history.stopped_early = True

    def _headline(self) -> str:
        text = f"training, epoch {self.epoch + 1} of {self.plan.epochs}"
        if not self.history.losses:
            return text
        text += f" (loss {self.history.losses[-1]:.4f}"
        if self.history.validations:
            text += f", validation P@1 {self.history.validations[-1]:.2f}"
        return text + ")"

    # checkpoints

    def _identity(self) -> str:
        plan = asdict(self.plan)
        for name in ("checkpoint", "checkpoint_every", "n_threads", "device"):  # they change no result
            del plan[name]
        shapes = {name: list(tensor.shape) for name, tensor in self.network.state_dict().items()}
        groups = [[group.lr, group.optimizer, group.weight_decay, group.momentum, group.every] for group in self.groups]
        text = json.dumps([plan, shapes, groups, self.n_rows], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def _worth_keeping(self, steps: Steps) -> bool:
        """Whether so much was done since the last time that keeping it costs little beside it."""
        return steps.keeps_now() and time.monotonic() - self.kept_at > max(LEAST_SECONDS, self.keeping_took / MOST_COST)

    def _resume(self) -> None:
        saved = None if self.checkpoint is None else self.checkpoint.load()
        if saved is None:
            return
        facts, tensors = saved
        self.epoch, self.next_batch, self.loss_sum = facts["epoch"], facts["next_batch"], facts["loss_sum"]
        self.averaged = facts["averaged"]
        self.best = -math.inf if facts["best"] is None else facts["best"]
        self.history = History(**facts["history"])
        self.network.load_state_dict(without_prefix("network", tensors))
        self.best_weights = without_prefix("best", tensors) or None
        self.average = without_prefix("average", tensors) or None
        restore_optimizers(self.optimizers, prefixed("optimizer", without_prefix("optimizer", tensors)))
        for name, tensor in without_prefix("gradient", tensors).items():
            self.network.get_parameter(name).grad = tensor
        if self.on_resume is not None:
            with self._averaged():
                self.on_resume()

    def _save(self) -> None:
        if self.checkpoint is None:
            return
        facts = {
            "epoch": self.epoch,
            "next_batch": self.next_batch,
            "loss_sum": self.loss_sum,
            "averaged": self.averaged,
            "best": self.best if math.isfinite(self.best) else None,
            "history": asdict(self.history),
        }
        waiting = {  # of groups that are updated less often
            name: parameter.grad.to_dense()
            for name, parameter in self.network.named_parameters()
            if parameter.grad is not None
        }
        tensors = {
            **prefixed("network", weights_of(self.network)),
            **prefixed("best", self.best_weights),
            **prefixed("average", self.average),
            **prefixed("gradient", waiting),
            **optimizer_tensors(self.optimizers),
        }
        begin, checkpoint = time.monotonic(), self.checkpoint
        if self.steps is None:
            checkpoint.save(facts, tensors)
        else:
            self.steps.keep(lambda: checkpoint.save(facts, tensors))
        self.kept_at = time.monotonic()
        self.keeping_took = self.kept_at - begin


@contextmanager
def _steady(device: torch.device) -> Iterator[None]:
    """On a GPU, only algorithms that give the same result every time; on a CPU all that is used here are such."""
    # Said explicitly: torch warns of the unchecked sparse gradients that it adds up itself.
    with torch.sparse.check_sparse_tensor_invariants(False):  # type: ignore[no-untyped-call]
        if device.type == "cpu":  # setting it imports torch's compiler, which takes seconds
            yield
            return
        before = torch.are_deterministic_algorithms_enabled()
        torch.use_deterministic_algorithms(True, warn_only=True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before)
