"""Trains the network of GLaS and takes out what answering needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch.nn.functional import normalize

from labelwood.data.keyed_random import keyed_bits
from labelwood.labelspace.affinity import LabelAffinity
from labelwood.models.neural.forward import bag_forward, unit_rows
from labelwood.models.neural.glas_network import BatchLoss, GlasNetwork
from labelwood.models.neural.glas_params import GLaSParams
from labelwood.models.neural.glas_sharded import (
    ShardedBatchLoss,
    ShardedValidation,
    all_label_vectors,
    keep_own_labels,
)
from labelwood.models.neural.ranks import current_ranks
from labelwood.models.neural.runtime import chosen_device, torch_threads
from labelwood.models.neural.sampling import Rows, validation_split
from labelwood.models.neural.training import History, ParameterGroup, TrainingPlan, train
from labelwood.progress import Progress
from labelwood.storage.schema import Arrays

_FEWEST_VALIDATION = 50  # fewer rows say nothing
_MOST_VALIDATION = 2000
_MOST_COSINES = 16_000_000  # at a time: 64 MB, however many labels there are
_FEWEST_STEPS = 24  # of an epoch: small data gets smaller batches ...
_SMALLEST_BATCH = 8  # ... down to this


@dataclass(frozen=True)
class TrainedGlas:
    """The trained map (for forward.bag_forward), the vectors of all labels, and what the epochs reached."""

    map_arrays: Arrays
    label_vectors: np.ndarray[Any, np.dtype[np.float32]]
    history: dict[str, Any]


def trained_glas(
    x: sparse.csr_matrix,
    y: sparse.csr_matrix,
    settings: GLaSParams,
    identity: str,
    progress: Progress,
    on_epoch: Callable[[int, GlasNetwork], None] | None = None,
    groups: Rows | None = None,
) -> TrainedGlas:
    """The network trained on rows of length 1 and their labels; on_epoch(epoch, network) is called after each epoch."""
    training, validation = _split(y, settings, groups)
    device = chosen_device(settings.device)
    with torch_threads(1), torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(int(keyed_bits(settings.seed, 0x696E6974)) >> 1)
        sampled = settings.loss != "softmax" or y.shape[1] > settings.full_softmax
        scale = first_scale(y) if settings.scale is None else settings.scale
        network = GlasNetwork(x.shape[1], y.shape[1], settings, sampled, scale).to(device)
    affinity = LabelAffinity(y[training], settings.adjacency) if settings.regularizer in ("glas", "laplacian") else None
    ranks = current_ranks()
    batch_loss: BatchLoss | ShardedBatchLoss
    if ranks.size == 1:
        batch_loss = BatchLoss(network, x[training], y[training], affinity, settings, sampled, device)
    else:
        keep_own_labels(network, ranks)
        batch_loss = ShardedBatchLoss(network, x[training], y[training], affinity, settings, sampled, device, ranks)
    # One torch thread: its matrix products round as the number of threads says, and a seed must give the same bytes.
    plan = TrainingPlan(
        epochs=settings.epochs,
        batch_size=_batch_size(len(training), settings.batch_size) if settings.fit_batch else settings.batch_size,
        seed=settings.seed,
        patience=settings.patience,
        checkpoint=settings.checkpoint,
        precision=settings.precision,
        device=settings.device,
        n_threads=1,
        identity=identity,
    )
    held_out: _Validation | ShardedValidation | None = None
    if len(validation):
        kept = (network, x[validation], y[validation], batch_loss.seen)
        alone = ranks.size == 1
        held_out = (
            _Validation(*kept, settings.n_threads) if alone else ShardedValidation(*kept, ranks, settings.n_threads)
        )

    def after(epoch: int, history: History) -> None:
        if on_epoch is not None:
            on_epoch(epoch, network)

    history = train(
        network,
        _groups(network, settings),
        batch_loss,
        len(training),
        plan,
        validate=held_out,
        on_epoch=after,
        learns_from=None if on_epoch is not None else [x, y, settings.saved()],
        shares_itself=True,
        progress=progress,
    )
    facts = {"losses": history.losses, "validations": history.validations, "best_epoch": history.best_epoch}
    vectors = label_vectors(network) if ranks.size == 1 else all_label_vectors(network, y.shape[1], ranks)
    return TrainedGlas(network.map.arrays(), vectors, facts)


def first_scale(y: sparse.csr_matrix) -> float:
    """The length of the scores to start with: 0.85 sqrt(m) log(L), at least 4, for m labels a row and L labels in use.

    A softmax over L labels is sure of one when its score is about log(L) above the others; a vector that is as near
    as it can be to m labels at right angles has the cosine 1 / sqrt(m) with each of them. The factor comes from
    validation rows.
    """
    counts = np.diff(y.indptr)
    counts = counts[counts > 0]
    used = len(np.unique(y.indices))
    return max(4.0, 0.85 * float(np.sqrt(counts.mean())) * float(np.log(used))) if used else 4.0


def label_vectors(network: GlasNetwork) -> np.ndarray[Any, np.dtype[np.float32]]:
    """The vectors of all labels, of length 1."""
    return np.asarray(normalize(network.labels.weight.detach(), dim=1).cpu().numpy(), dtype=np.float32)


def _groups(network: GlasNetwork, settings: GLaSParams) -> list[ParameterGroup]:
    dense = network.map.dense_parameters()
    if settings.loss == "softmax":
        dense.append(network.label_length)
    table = {"sgd": "even_sgd", "adam": "sparse_adam"}[settings.optimizer]
    return [
        ParameterGroup(network.map.table_parameters(), settings.lr, table),
        ParameterGroup(dense, settings.lr, "adam"),
        ParameterGroup(list(network.labels.parameters()), settings.label_lr, "sparse_adam", sharded=True),
    ]


class _Validation:
    """P@1, in per cent, of the rows that were kept back."""

    def __init__(
        self, network: GlasNetwork, x: sparse.csr_matrix, y: sparse.csr_matrix, seen: Rows, n_threads: int | None
    ) -> None:
        self.network, self.x, self.y, self.seen, self.n_threads = network, x, y, seen, n_threads

    def __call__(self) -> float:
        vectors = unit_rows(bag_forward(self.network.map.arrays(), self.x, self.n_threads))
        labels = label_vectors(self.network)[self.seen]
        best = self.seen[nearest_labels(vectors, labels)]
        return 100.0 * float(np.asarray(self.y[np.arange(len(best)), best]).mean())


def nearest_labels(
    vectors: np.ndarray[Any, np.dtype[np.float32]],
    labels: np.ndarray[Any, np.dtype[np.float32]],
    most_cosines: int = _MOST_COSINES,
) -> Rows:
    """The label vector with the largest cosine for every row, in parts of at most `most_cosines` numbers or one row."""
    step = max(1, most_cosines // max(1, len(labels)))
    parts = [np.argmax(vectors[at : at + step] @ labels.T, axis=1) for at in range(0, len(vectors), step)]
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _split(y: sparse.csr_matrix, settings: GLaSParams, groups: Rows | None) -> tuple[Rows, Rows]:
    """(training rows, validation rows) among the rows that have labels."""
    labelled = np.flatnonzero(np.diff(y.indptr))
    if len(labelled) == 0:
        return np.arange(y.shape[0]), labelled
    groups = None if groups is None else groups[labelled]
    training, validation = validation_split(
        len(labelled), settings.validation, settings.seed, _MOST_VALIDATION, groups=groups
    )
    if len(validation) < _FEWEST_VALIDATION:
        return labelled, labelled[:0]
    return labelled[training], labelled[validation]


def _batch_size(n_rows: int, most: int) -> int:
    return min(most, max(_SMALLEST_BATCH, -(-n_rows // _FEWEST_STEPS)))
