"""What can be set of DXML."""

from __future__ import annotations

from dataclasses import dataclass

from labelwood.models.neural.runtime import DEVICES
from labelwood.params import Params, param

EMBEDDINGS = ("netmf", "deepwalk")


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
    hidden: int = param(512, "width of the hidden layer", low=1, high=1 << 16)
    nonlinear: bool = param(True, "ReLU after the hidden layer; False: a linear map")
    residual: bool = param(True, "the hidden layer also counts as it is, and what went through the ReLU corrects it")
    input_dropout: float = param(0.4, "share of the features that a training step leaves out", low=0, high=0.95)
    dropout: float = param(0.5, "share of the hidden units that a training step leaves out", low=0, high=0.95)
    out_norm: bool = param(True, "the network's vectors and its targets have length 1 while it learns")
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
