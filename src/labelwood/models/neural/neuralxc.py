"""NeuralXC: an autoencoder of the features, one of the labels, and a regressor between their codes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from labelwood.data.keyed_random import keyed_bits
from labelwood.matrices import normalized_rows
from labelwood.models.base import Model
from labelwood.models.explanation import Contribution, Explanation, NodeScore
from labelwood.models.fit_input import FitInput, TrainedOn
from labelwood.models.fitted import Fitted
from labelwood.models.neural.layer_stack import LAYERS, SHORTCUT, LayerStack
from labelwood.models.neural.neuralxc_sizes import network_sizes
from labelwood.models.neural.runtime import DEVICES, require_torch
from labelwood.params import Params, param
from labelwood.progress import Progress
from labelwood.storage.schema import Arrays, Schema
from labelwood.topk import TopK, empty

# Above these a batch is judged by the columns that occur in it and a sample of the others.
MOST_LABELS = 20_000
MOST_FEATURES = 10_000
ROWS_AT_ONCE = 4_000_000  # numbers of one block of scores in prediction


@dataclass(frozen=True)
class NeuralXCParams(Params):
    """Parameters of neuralxc."""

    epochs: int = param(10, "visits of every row", low=1, high=100_000)
    batch_size: int = param(64, "rows of one step", low=1)
    rate: float = param(3e-3, "learning rate of AdamW", low=0, low_open=True)
    weight_decay: float = param(1e-4, "pull of all weights to 0", low=0)
    dropout: float = param(0.5, "share of the input encoder's units left out in a step", low=0, high=0.95)
    input_weight: float = param(0.01, "what rebuilding the features counts in the loss", low=0)
    output_weight: float = param(0.01, "what rebuilding the labels counts in the loss", low=0)
    latent_weight: float = param(0.0, "what the distance of the predicted code to the labels' code counts", low=0)
    shortcut: bool = param(True, "the first hidden layer also reaches the labels by a linear path of its own")
    plain: bool = param(
        False, "the authors' layers: no batch norm, Xavier's start for all, and a fixed rate of Adam, not AdamW"
    )
    sampled: int = param(2000, "columns drawn for a batch where there are too many to take all", low=1)
    normalize: bool = param(True, "scale rows to length 1 first")
    device: str = param("auto", "where to train", choices=DEVICES)


# "Extreme Classification using Autoencoders", section 3, with the numbers of the authors' code (the text has none):
# a = b = 0.01, batches of 64, Adam at 3e-4 with decay 1e-4. Its epochs are left blank. Widths are those of
# neuralxc_sizes.PUBLISHED on the paper's data sets. Its EURLex network has two batch norms; `plain` has none.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": {
        "epochs": 50,
        "batch_size": 64,
        "rate": 3e-4,
        "weight_decay": 1e-4,
        "dropout": 0.0,
        "input_weight": 0.01,
        "output_weight": 0.01,
        "latent_weight": 0.0,
        "shortcut": False,
        "plain": True,
        "normalize": False,
    }
}


@dataclass(frozen=True, eq=False)
class FittedNeuralXC(Fitted[NeuralXCParams]):
    """The layers on the way from features to label logits."""

    name = "neuralxc"
    stack: LayerStack

    # answering

    def predict(self, x: sparse.csr_matrix, k: int, n_threads: int | None = None) -> TopK:
        """The k labels with the largest probabilities of every row."""
        rows = scaled(x, self.settings)
        top = empty(x.shape[0], k)
        at_once = max(1, ROWS_AT_ONCE // self.n_labels)
        for begin in range(0, x.shape[0], at_once):
            logits = self.stack.forward(rows[begin : begin + at_once], n_threads)
            _best(_sigmoid(logits), top.labels[begin : begin + at_once], top.scores[begin : begin + at_once])
        return top

    def explain(self, row: sparse.csr_matrix, label: int, n_threads: int | None = None) -> Explanation:
        """The label's logit, feature by feature as the layers let them through for this row; its sigmoid: the score."""
        unit = scaled(row, self.settings)
        weights, rest = self.stack.reasons(unit, label)
        values, pushes = row.data.astype(np.float64), weights * unit.data
        parts = [Contribution(0, -1, 1.0, rest, rest)]
        for feature, value, push in zip(row.indices.tolist(), values.tolist(), pushes.tolist(), strict=True):
            if value != 0:
                parts.append(Contribution(0, feature, value, push / value, push))
        margin = math.fsum(part.contribution for part in parts)
        log_score = -float(np.logaddexp(0.0, -margin))
        return Explanation(label, math.exp(log_score), (NodeScore(0, margin, log_score),), tuple(parts))

    def structure(self) -> dict[str, float]:
        """The widths on the way from features to labels."""
        widths = [self.n_features, *(weight.shape[1] for weight in self.stack.weights)]
        tables = [*self.stack.weights, *([] if self.stack.shortcut is None else [self.stack.shortcut])]
        return {f"width {number}": width for number, width in enumerate(widths)} | {
            "weights": sum(table.size for table in tables)
        }

    # storage

    @classmethod
    def schema(cls, settings: NeuralXCParams, facts: Mapping[str, Any]) -> Schema:
        """The layers, as many as there are, and the shortcut past them."""
        return {**LAYERS, **SHORTCUT} if settings.shortcut else LAYERS

    def arrays(self) -> Arrays:
        """The layers."""
        return self.stack.to_arrays()

    @classmethod
    def restore(
        cls, settings: NeuralXCParams, trained_on: TrainedOn, arrays: Arrays, facts: Mapping[str, Any]
    ) -> FittedNeuralXC:
        """The state of saved layers; ModelFileError if they do not lead to the labels."""
        return cls(settings, trained_on, LayerStack.from_arrays(arrays, trained_on.n_labels, cls.name))


class NeuralXC(Model[NeuralXCParams, FittedNeuralXC]):
    """Two autoencoders and a regressor between their codes, trained jointly; scores are probabilities of each label.

    loss = BCE(psi_o(f(phi_i(x))), y) + input_weight |psi_i(phi_i(x)) - x|^2 + output_weight |psi_o(phi_o(y)) - y|^2
    + latent_weight |f(phi_i(x)) - phi_o(y)|^2, every term a mean over rows and columns. With shortcut the first hidden
    layer of phi_i also adds to the answer's logits by a linear path, which is what makes them good. Layer widths are
    the published ones where the data set is. Above 20,000 labels (10,000 features) each batch is judged by the columns
    that occur in it and a sample of the others. Prediction needs no torch.
    """

    name = "neuralxc"
    Parameters = NeuralXCParams
    FittedState = FittedNeuralXC
    PRESETS = PRESETS

    @staticmethod
    def _train(settings: NeuralXCParams, data: FitInput) -> FittedNeuralXC:
        require_torch("NeuralXC")
        stack = trained_stack(scaled(data.x, settings), data.y, settings, data.progress)
        return FittedNeuralXC(settings, data.trained_on(), stack)

    @staticmethod
    def _training_memory(settings: NeuralXCParams, data: FitInput) -> int:
        n_features, n_labels = int(data.x.shape[1]), data.n_labels
        sizes = network_sizes(n_features, n_labels)
        weights = 2 * sum(a * b for widths in (sizes.input, sizes.output) for a, b in pairwise(widths))
        weights += sizes.input[1] * n_labels if settings.shortcut else 0
        wide = settings.batch_size * 4 * (min(n_features, 50_000) + min(n_labels, 50_000))
        # weights, gradients, two moments of Adam, a copy; torch itself; dense targets and outputs of a batch
        return int(400_000_000 + 20 * weights + 16 * data.x.nnz + 8 * wide)


def scaled(x: sparse.csr_matrix, settings: NeuralXCParams) -> sparse.csr_matrix:
    """The rows as the networks get them: of length 1 if the settings say so."""
    return normalized_rows(x) if settings.normalize else x


def trained_stack(
    x: sparse.csr_matrix, y: sparse.csr_matrix, settings: NeuralXCParams, progress: Progress
) -> LayerStack:
    """The way from features to label logits, after training all three networks."""
    import torch

    from labelwood.models.neural.neuralxc_network import NeuralXCNetwork, targets
    from labelwood.models.neural.training import ParameterGroup, TrainingPlan, train

    sample_x = settings.sampled if x.shape[1] > MOST_FEATURES else 0
    sample_y = settings.sampled if y.shape[1] > MOST_LABELS else 0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed % 2**63)
        network = NeuralXCNetwork(
            network_sizes(x.shape[1], y.shape[1]),
            last_activation(x),
            settings.dropout,
            bool(sample_x),
            bool(sample_y),
            None if settings.plain else label_shares(y),
            1.0 if settings.plain else value_gain(x),
            settings.shortcut,
            settings.plain,
        )
    share = {
        "labels": 1.0,
        "input": settings.input_weight,
        "output": settings.output_weight,
        "latent": settings.latent_weight,
    }

    def batch_loss(rows: Any, step: int) -> Any:
        random = np.random.default_rng(int(keyed_bits(settings.seed, 0x6E7863, step)))
        parts = network.losses(x, y, rows, targets(x, rows, sample_x, random), targets(y, rows, sample_y, random))
        return sum(share[name] * part for name, part in parts.items() if share[name])

    optimizer = "adam" if settings.plain else "adamw"
    groups = [ParameterGroup(network.dense_parameters(), settings.rate, optimizer, settings.weight_decay)]
    if network.sparse_parameters():
        groups.append(ParameterGroup(network.sparse_parameters(), settings.rate, "sparse_adam", 0.0))
    # One torch thread: its matrix products round as the number of threads says, and a seed must give the same bytes.
    plan = TrainingPlan(settings.epochs, settings.batch_size, settings.seed, device=settings.device, n_threads=1)
    if settings.plain:
        plan = replace(plan, warmup=0.0, schedule="constant")
    seen = [x, y, settings.saved()]
    train(network, groups, batch_loss, x.shape[0], plan, learns_from=seen, progress=progress)
    return network.cpu().stack()


def label_shares(y: sparse.csr_matrix) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The share of the rows that have each label, away from 0 and 1."""
    counts = np.bincount(y.indices, minlength=y.shape[1])
    return np.asarray((counts + 0.1) / (y.shape[0] + 0.2), np.float64)


def value_gain(x: sparse.csr_matrix) -> float:
    """What brings the values other than 0 to a root mean square of 1; 1 if there are none."""
    squares = float(np.square(x.data, dtype=np.float64).sum())
    return math.sqrt(np.count_nonzero(x.data) / squares) if squares else 1.0


def last_activation(x: sparse.csr_matrix) -> str:
    """How the rebuilt features end: sigmoid for values in 0..1, ReLU for values from 0 up, else as they are."""
    low, high = (float(x.data.min()), float(x.data.max())) if x.nnz else (0.0, 0.0)
    if low < 0:
        return "none"
    return "sigmoid" if high <= 1 else "relu"


def _sigmoid(logits: np.ndarray[Any, np.dtype[np.float32]]) -> np.ndarray[Any, np.dtype[np.float32]]:
    with np.errstate(over="ignore"):  # below -88 the score is 0, as it should be
        return np.asarray(1 / (1 + np.exp(-logits)), np.float32)


def _best(scores: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], best: np.ndarray[Any, Any]) -> None:
    """Write the largest scores of each row, best first, ties to the smaller label."""
    k = labels.shape[1]
    # (n,) the k-th best score: only labels at or above it are sorted
    worst = np.partition(scores, scores.shape[1] - k, axis=1)[:, scores.shape[1] - k]
    for row, low in enumerate(worst):
        likely = np.flatnonzero(scores[row] >= low)
        likely = likely[np.argsort(-scores[row, likely], kind="stable")][:k]
        labels[row], best[row] = likely, scores[row, likely]
