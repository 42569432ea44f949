"""The input autoencoder of NeuralXC by itself, trained to rebuild the features; its encoder as layers without torch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from labelwood.data.keyed_random import keyed_bits
from labelwood.models.neural.encoders import FUNCTIONS
from labelwood.models.neural.layer_stack import LayerStack
from labelwood.models.neural.neuralxc import MOST_FEATURES, last_activation
from labelwood.models.neural.neuralxc_network import Stack, Targets, WideLayer, targets
from labelwood.models.neural.row_shares import own_rows
from labelwood.models.neural.sampling import Rows, row_batch
from labelwood.models.neural.sparse_layer import SparseLinear
from labelwood.models.neural.training import ParameterGroup, TrainingPlan, train
from labelwood.progress import Progress

# Those of the authors' code for NeuralXC.
RATE = 3e-4
WEIGHT_DECAY = 1e-4
BATCH = 64
SAMPLED = 2000  # columns drawn for a batch where there are too many to take all


class InputAutoencoder(nn.Module):
    """x -> ReLU layers of the widths -> code -> leaky layers back -> features; widths: features first, code last."""

    def __init__(self, widths: Sequence[int], last: str, sampled: bool) -> None:
        super().__init__()
        self.table = SparseLinear(widths[0], widths[1], sparse=sampled)
        nn.init.xavier_uniform_(self.table.weight)
        self.bias = nn.Parameter(torch.zeros(widths[1]))
        self.encode = Stack(list(widths[1:]), 0.0, last=True)
        self.decode = Stack(list(widths[:0:-1]), 0.2, last=True)
        self.outputs = WideLayer(widths[1], widths[0])
        self.last = FUNCTIONS[last]

    def loss(self, x: sparse.csr_matrix, rows: Rows, wanted: Targets) -> Tensor:
        """The mean squared error over rows and columns."""
        code = self.encode(torch.relu(self.table(row_batch(x, rows)) + self.bias))
        rebuilt = self.last(self.outputs(self.decode(code), wanted.columns))
        each = (rebuilt - wanted.values) ** 2 * wanted.weights
        return each.sum(dim=1).sum() / (each.shape[0] * wanted.weights.sum())

    def stack(self) -> LayerStack:
        """The encoder, for codes without torch."""
        layers = self.encode.layers
        weights = [self.table.weight, *(layer.weight.T for layer in layers)]
        biases = [self.bias, *(layer.bias for layer in layers)]
        return LayerStack(
            [np.array(weight.detach().numpy(), np.float32, order="C") for weight in weights],
            [np.array(bias.detach().numpy(), np.float32) for bias in biases],
            ["relu"] * len(weights),
        )


def trained_encoder(
    x: sparse.csr_matrix, widths: Sequence[int], epochs: int, seed: int, progress: Progress
) -> LayerStack:
    """The encoder of an autoencoder that was trained to rebuild the rows x."""
    sampled = SAMPLED if x.shape[1] > MOST_FEATURES else 0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed % 2**63)
        network = InputAutoencoder(widths, last_activation(x), bool(sampled))

    def batch_loss(rows: Rows, step: int) -> Tensor:
        random = np.random.default_rng(int(keyed_bits(seed, 0x696E6165, step)))
        return network.loss(x, own_rows(rows), targets(x, rows, sampled, random))

    tables = [network.table.weight, network.outputs.weight] if sampled else []
    dense = [weight for weight in network.parameters() if not any(weight is table for table in tables)]
    groups = [ParameterGroup(dense, RATE, "adam", WEIGHT_DECAY)]
    if tables:
        groups.append(ParameterGroup(tables, RATE, "sparse_adam"))
    # One torch thread: its matrix products round as the number of threads says, and a seed must give the same bytes.
    plan = TrainingPlan(epochs, BATCH, seed, warmup=0.0, schedule="constant", device="cpu", n_threads=1)
    train(network, groups, batch_loss, x.shape[0], plan, learns_from=[x, list(widths)], progress=progress)
    return network.stack()
