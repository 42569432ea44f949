"""Fine-tuning a text encoder on labelled texts: afterwards its vectors tell the labels apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from labelwood.models.neural.row_shares import own_rows
from labelwood.models.neural.sampling import multi_hot
from labelwood.models.neural.text import TextEncoder
from labelwood.models.neural.training import ParameterGroup, TrainingPlan, train
from labelwood.progress import SILENT, Progress

Arrays = dict[str, np.ndarray[Any, Any]]
ENCODER_RATE = 5e-5
HEAD_RATE = 5e-3
BATCH = 32
WEIGHT_DECAY = 0.01
_LAYER = re.compile(r"(?:^|\.)(?:layers?|h|block|blocks)\.(\d+)\.")  # the number of a layer in a parameter's name
SCALE = 10.0  # of the unit vectors before the label classifiers, whose logits would else hardly move


class _Tagged(nn.Module):
    """A text encoder with one linear classifier a label, which is thrown away afterwards."""

    def __init__(self, encoder: TextEncoder, y: sparse.csr_matrix) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(encoder.width, y.shape[1])
        share = (np.bincount(y.indices, minlength=y.shape[1]) + 0.1) / (y.shape[0] + 0.2)
        with torch.no_grad():
            self.head.weight.zero_()
            self.head.bias.copy_(torch.from_numpy(np.log(share / (1 - share)).astype(np.float32)))

    def forward(self, texts: Sequence[str]) -> Tensor:
        logits: Tensor = self.head(SCALE * self.encoder(self.encoder.tokens(texts)))
        return logits


def tune_encoder(
    encoder: TextEncoder,
    texts: Sequence[str],
    y: sparse.csr_matrix,
    epochs: int,
    *,
    seed: int = 0,
    n_threads: int | None = None,
    progress: Progress = SILENT,
) -> Arrays:
    """The weights of the encoder's transformer by name, after it was trained (in place) to tell the labels y of texts.

    Binary cross-entropy over all labels; the same seed gives the same weights with the same number of threads.
    """
    network = _Tagged(encoder, y)

    def batch_loss(rows: np.ndarray[Any, np.dtype[np.int64]], step: int) -> Tensor:
        rows = own_rows(rows)
        logits = network([texts[row] for row in rows])
        wanted = multi_hot(y, rows).to(logits)
        return nn.functional.binary_cross_entropy_with_logits(logits, wanted, reduction="sum") / len(rows)

    train(
        network,
        [
            *layer_groups(encoder, ENCODER_RATE),
            ParameterGroup(list(network.head.parameters()), HEAD_RATE, "adamw"),
        ],
        batch_loss,
        len(texts),
        TrainingPlan(epochs=epochs, batch_size=BATCH, seed=seed, warmup=0.1, device="cpu", n_threads=n_threads),
        learns_from=[list(texts), y],
        progress=progress,
    )
    encoder.eval()
    return encoder_weights(encoder)


def layer_groups(encoder: TextEncoder, rate: float, layer_decay: float = 1.0) -> list[ParameterGroup]:
    """The encoder's parameters, layer by layer, for AdamW; biases and norms do not decay.

    The last layer learns at the rate, every layer below at layer_decay times that of the next one, embeddings at the
    slowest: lower layers hold what all texts have in common (Sun et al., "How to fine-tune BERT", 2019, section 5.4.3).
    """
    by_layer: dict[tuple[int, bool], list[nn.Parameter]] = {}
    top = 0
    for name, parameter in encoder.transformer.named_parameters():
        number = _LAYER.search(name)
        layer = int(number[1]) + 1 if number else (0 if "embed" in name or "wte" in name or "wpe" in name else -1)
        top = max(top, layer)
        plain = name.endswith("bias") or "norm" in name.lower() or parameter.ndim < 2
        by_layer.setdefault((layer, plain), []).append(parameter)
    return [
        ParameterGroup(
            parameters,
            # What has no number and is no embedding (a last norm, a pooler) learns as fast as the last layer.
            rate * layer_decay ** (top - layer if layer >= 0 else 0),
            "adamw",
            weight_decay=0.0 if plain else WEIGHT_DECAY,
        )
        for (layer, plain), parameters in sorted(by_layer.items(), key=lambda item: item[0])
    ]


def encoder_weights(encoder: TextEncoder) -> Arrays:
    """Copies of the weights of the encoder's transformer by name, as `use_weights` takes them."""
    return {name: p.detach().cpu().numpy().copy() for name, p in encoder.transformer.state_dict().items()}


def use_weights(encoder: TextEncoder, weights: Arrays) -> None:
    """Give the encoder's transformer these weights; RuntimeError if they are not all of it."""
    encoder.transformer.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in weights.items()})
