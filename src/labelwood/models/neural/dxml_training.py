"""DXML's network, trained: sparse rows -> the vector space of the labels. The only part of DXML that needs torch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor, nn

from labelwood.data.keyed_random import keyed_bits
from labelwood.models.neural.dxml_params import DXMLParams
from labelwood.models.neural.encoders import BagEncoder
from labelwood.models.neural.losses import smooth_l1_loss
from labelwood.models.neural.row_shares import RowDropout, current_share, own_rows
from labelwood.models.neural.runtime import chosen_device
from labelwood.models.neural.sampling import RowBatch, row_batch
from labelwood.models.neural.training import ParameterGroup, TrainingPlan, train
from labelwood.progress import Progress
from labelwood.storage.schema import Arrays

_SPREAD = 0.1  # of the first weights: features too rare to learn from stay nearly silent
Float32 = npt.NDArray[np.float32]


def _spread(settings: DXMLParams) -> float:
    if settings.start is not None:
        return settings.start
    return _SPREAD if settings.optimizer == "even" else 1.0


class Regressor(nn.Module):
    """x -> activation(x W1 + b1) [-> dropout] -> W2 + b2 [-> dropout] [-> length 1].

    DXML's figure 1 has the dropout behind the last layer: `dropout_at="output"`.

    With `residual` the hidden layer is e + V relu(e) + c for e = x W1 + b1: the linear map and a correction of it.
    """

    def __init__(self, n_features: int, dim: int, settings: DXMLParams) -> None:
        super().__init__()
        self.encoder = BagEncoder(
            n_features,
            settings.hidden,
            residual=False,
            dropout=settings.dropout if settings.dropout_at == "hidden" else 0.0,
            activation="relu" if settings.nonlinear else "none",
            sparse=settings.optimizer != "sgd",
            corrected=settings.nonlinear and settings.residual,
            spread=_spread(settings),
        )
        self.out = nn.Linear(settings.hidden, dim)
        with torch.no_grad():
            self.encoder.block.bias.add_(settings.bias_start)
            self.out.weight *= settings.out_start
        self.out_dropout = RowDropout(settings.dropout if settings.dropout_at == "output" else 0.0)
        self.out_norm = settings.out_norm

    def forward(self, batch: RowBatch) -> Tensor:
        """The vectors (n, dim) of sparse rows."""
        vectors: Tensor = self.out_dropout(self.out(self.encoder(batch)))
        return nn.functional.normalize(vectors, dim=1) if self.out_norm else vectors

    def arrays(self) -> Arrays:
        """What prediction needs: BagEncoder's arrays, and the last layer as (inputs, outputs)."""
        weight = self.out.weight.detach().cpu().numpy().T.astype(np.float32, order="C")
        bias = self.out.bias.detach().cpu().numpy().astype(np.float32)
        return {**self.encoder.arrays(), "out": weight, "out_bias": bias}


def trained_network(
    x: sparse.csr_matrix, targets: Float32, settings: DXMLParams, number: int, progress: Progress
) -> tuple[Arrays, float]:
    """(arrays of the trained network, its last mean loss); `number` tells networks of one model apart."""
    seed = int(keyed_bits(settings.seed, 0x64786D6C, number)) >> 1
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Regressor(x.shape[1], targets.shape[1], settings)
    device = chosen_device(settings.device)
    wanted = torch.from_numpy(targets)
    keep = 1.0 - settings.input_dropout

    def batch_loss(rows: npt.NDArray[np.int64], step: int) -> Tensor:
        batch = row_batch(x, rows, device)
        if keep < 1:
            thin = batch.thinned(keep)
            batch = RowBatch(thin.indices, thin.offsets, thin.values / keep)
        share = current_share()
        if share is not None:  # what is left out was drawn for all rows, so that every process draws the same
            batch = batch.take(torch.arange(len(rows), device=device)[share.own])
        return smooth_l1_loss(network(batch), wanted[torch.from_numpy(own_rows(rows))].to(device))

    lr = settings.learning_rate
    if settings.optimizer == "sgd":
        groups = [ParameterGroup(list(network.parameters()), lr, "sgd", settings.weight_decay, momentum=0.9)]
    else:
        table = {"even": "even_sgd", "adam": "sparse_adam"}[settings.optimizer]
        dense = [*network.encoder.dense_parameters(), *network.out.parameters()]
        groups = [
            ParameterGroup(network.encoder.table_parameters(), lr, table, settings.weight_decay),
            ParameterGroup(dense, lr, "adamw", settings.weight_decay),
        ]
    # One torch thread: its matrix products round as the number of threads says, and a seed must give the same bytes.
    plan = TrainingPlan(
        epochs=settings.epochs if x.shape[0] else 0,
        batch_size=settings.batch_size,
        seed=seed,
        warmup=0.0 if settings.optimizer == "sgd" else 0.05,  # the paper's rate is fixed
        schedule="constant" if settings.optimizer == "sgd" else "linear",
        swa_start=settings.swa_start,
        device=settings.device,
        n_threads=1,
    )
    seen = [x, targets, settings.saved()]
    history = train(network, groups, batch_loss, x.shape[0], plan, learns_from=seen, progress=progress)
    return network.arrays(), history.losses[-1] if history.losses else 0.0
