"""What can be set of DXML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labelwood.models.neural.runtime import DEVICES
from labelwood.params import Params, param

EMBEDDINGS = ("netmf", "deepwalk")
DROPOUT_PLACES = ("hidden", "output")
TARGETS = ("unit", "raw")


@dataclass(frozen=True)
class DXMLParams(Params):
    """Parameters of DXML."""

    dim: int | None = param(
        None, "numbers in a label vector; None: as many as labels, at most 300", low=1, high=1 << 16, kind=int
    )
    embedding: str = param("netmf", "how label vectors come from the label graph", choices=EMBEDDINGS)
    weighted: bool = param(True, "edges weigh the number of rows with both labels; False: 1, as in the paper")
    self_weight: float = param(
        10.0, "a label is its own neighbour this many times as often as it occurs; 0: not at all", low=0, high=1e6
    )
    window: int = param(1, "steps of a walk that count as near", low=1, high=100)
    n_walks: int = param(10, "walks from every label (deepwalk)", low=1, high=10_000)
    walk_length: int = param(40, "labels in a walk (deepwalk)", low=2, high=10_000)
    walk_negatives: int = param(5, "random labels that a step is compared with (deepwalk)", low=1, high=1000)
    walk_epochs: int = param(1, "passes over the walks (deepwalk)", low=1, high=1000)
    walk_rate: float = param(0.025, "learning rate of the first pass (deepwalk)", low=0, low_open=True)
    normalize: bool = param(True, "rows go in at length 1; False: as they are")
    hidden: int = param(512, "width of the hidden layer", low=1, high=1 << 16)
    nonlinear: bool = param(True, "ReLU after the hidden layer; False: a linear map")
    residual: bool = param(True, "the hidden layer also counts as it is, and what went through the ReLU corrects it")
    input_dropout: float = param(0.4, "share of the features that a training step leaves out", low=0, high=0.95)
    dropout: float = param(0.5, "share of the units that a training step leaves out", low=0, high=0.95)
    dropout_at: str = param(
        "hidden", "which units: of the hidden layer, or of the last one, as in the paper", choices=DROPOUT_PLACES
    )
    out_norm: bool = param(True, "the network's vectors and its targets have length 1 while it learns")
    targets: str = param(
        "unit", "raw: targets are means of label vectors as the graph gives them, as in the paper", choices=TARGETS
    )
    n_models: int = param(
        3, "networks side by side, each with its own seed; their cosines are averaged", low=1, high=64
    )
    epochs: int = param(20, "passes over the training rows", low=0, high=100_000)
    batch_size: int = param(128, "rows in a training step", low=1)
    optimizer: str = param(
        "even",
        "adam; even: adam, but feature weights by steps in proportion to their gradients; sgd: as in the paper",
        choices=("even", "adam", "sgd"),
    )
    learning_rate: float = param(0.002, "size of a training step", low=0, low_open=True)
    weight_decay: float = param(0.0, "pull of the weights to zero", low=0)
    start: float | None = param(
        None,
        "how far from 0 the features' weights begin, in 1 / sqrt(hidden); None: 0.1 with optimizer=even, else 1",
        low=0,
        low_open=True,
        kind=float,
    )
    bias_start: float = param(0.0, "where the biases of the hidden layer begin; above 0 its units begin open")
    out_start: float = param(
        1.0, "how far from 0 the last layer's weights begin, in 1 / sqrt(hidden)", low=0, low_open=True
    )
    swa_start: float = param(1.0, "share of the epochs after which weights are averaged; 1: never", low=0, high=1)
    n_clusters: int | None = param(
        None, "k-means parts of the training rows; None: one per 5,000 rows", low=1, high=1 << 20, kind=int
    )
    nprobe: int = param(4, "parts that are looked into", low=1)
    n_neighbors: int | None = param(
        None, "training rows that vote; None: chosen on held-out rows", low=1, high=100_000, kind=int
    )
    temperature: float | None = param(
        None,
        "a neighbour votes with exp(cosine / temperature), inf: all alike; None: chosen",
        low=0,
        low_open=True,
        kind=float,
    )
    blend: float | None = param(
        None, "weight of a label's own cosine beside the votes; None: chosen on held-out rows", low=0, kind=float
    )
    validation: float = param(0.1, "share of the rows held out to choose how neighbours vote", low=0, high=0.5)
    device: str = param("auto", "where the network is trained", choices=DEVICES)


# Zhang et al., ICMR 2018: the graph and the targets of algorithm 1, the answers of algorithm 2, "Network Structure" and
# "Hyper-parameter Setting" of section 4.1 (small-scale data sets). Not given there, and chosen on held-out training
# rows of Bibtex and Delicious: the settings of DeepWalk, whether rows are scaled, epochs, batch size, the share of
# dropout, where the weights begin, and the number of clusters. An output at length 1 lets no decay of weights restrain
# the network: from the usual start it knows its rows by heart before it generalises. With a large last layer the
# features' weights do the learning, and with open units nearly as in a linear map. Validation chooses k; of equal votes
# the nearer rows' win.
_SMALL_SCALE: Mapping[str, Any] = {
    "dim": 100,
    "embedding": "deepwalk",
    "weighted": False,
    "self_weight": 0.0,
    "window": 2,
    "n_walks": 10,
    "walk_length": 40,
    "walk_epochs": 20,
    "normalize": True,
    "hidden": 256,
    "nonlinear": True,
    "residual": False,
    "input_dropout": 0.0,
    "dropout": 0.5,
    "dropout_at": "output",
    "out_norm": True,
    "targets": "raw",
    "n_models": 1,
    "epochs": 20,
    "batch_size": 64,
    "optimizer": "sgd",
    "learning_rate": 0.015,
    "weight_decay": 0.0005,
    "start": 0.05,
    "bias_start": 0.1,
    "out_start": 8.0,
    "n_clusters": 1,
    "nprobe": 1,
    "n_neighbors": None,
    "temperature": 1000.0,
    "blend": 0.0,
}
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": _SMALL_SCALE,
    # The same sections, large-scale data sets.
    "paper-large": {**_SMALL_SCALE, "dim": 300, "hidden": 512, "n_clusters": None},
}
