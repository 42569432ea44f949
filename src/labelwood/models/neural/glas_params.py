"""What can be set of GLaS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labelwood.labelspace.affinity import AFFINITIES
from labelwood.models.neural.runtime import DEVICES, PRECISIONS
from labelwood.params import Params, param

REGULARIZERS = ("glas", "laplacian", "spreadout", "gravity", "none")
MAPS = ("residual", "nonlinear", "linear")


@dataclass(frozen=True)
class GLaSParams(Params):
    """Parameters of GLaS."""

    dim: int = param(256, "numbers in a vector", low=1, high=65536)
    map: str = param(
        "residual",
        "rows to vectors: one sparse layer (linear); then ReLU and a layer (nonlinear); both added (residual)",
        choices=MAPS,
    )
    widen: int = param(1, "nonlinear and residual: the sparse layer has so many times dim outputs", low=1, high=64)
    regularizer: str = param("glas", "what is asked of label vectors beside fitting", choices=REGULARIZERS)
    weight: float = param(100.0, "weight of the regularizer", low=0)
    adjacency: str = param("arithmetic", "how labels that occur together belong together", choices=AFFINITIES)
    loss: str = param("softmax", "what an error costs", choices=("softmax", "margin", "snm"))
    margin: float = param(0.3, "margin and snm: cosine by which a true label must be ahead", low=0, high=2)
    hardest: int = param(20, "snm: negatives of each row that count", low=1)
    negatives: int = param(
        100, "random labels a batch is compared with beside its own, unless with all", low=0, high=10**7
    )
    full_softmax: int = param(20_000, "softmax: up to so many labels all are compared, above a sample", low=0)
    scale: float | None = param(
        None,
        "softmax: first length of the scores, which is learnt; None: 0.85 sqrt(labels of a row) log(labels)",
        low=0,
        low_open=True,
        kind=float,
    )
    positives: str = param(
        "all", "labels of a row that a step fits and regularizes: all, or one drawn at random", choices=("all", "one")
    )
    keep: float = param(1.0, "share of a row's features that a training step sees", low=0, low_open=True, high=1)
    weight_norm: bool = param(True, "all outputs of a layer have one length, which is learnt")
    optimizer: str = param(
        "sgd",
        "steps of the feature vectors: in proportion to the gradient (sgd), or alike however rare the feature (adam)",
        choices=("sgd", "adam"),
    )
    lr: float = param(0.003, "learning rate of the map", low=0, low_open=True)
    label_lr: float = param(0.002, "learning rate of the label vectors", low=0, low_open=True)
    epochs: int = param(6, "passes over the rows", low=1, high=100_000)
    batch_size: int = param(256, "rows of a step at most; small data gets smaller steps", low=1)
    fit_batch: bool = param(True, "smaller steps for small data, 24 an epoch; False: steps of batch_size rows")
    validation: float = param(
        0.02, "share of the rows kept back to measure P@1 after each epoch, at most 2000", low=0, high=0.9
    )
    patience: int = param(0, "stop after so many epochs without a better validation P@1; 0: never", low=0)
    checkpoint: str | None = param(None, "folder for the state of training: a killed run goes on from there", kind=str)
    device: str = param("auto", "where to train: auto takes CUDA where there is one", choices=DEVICES)
    precision: str = param("auto", "auto: bf16 on GPUs that have it, else float32", choices=PRECISIONS)


# Guo et al., NeurIPS 2019: algorithm 2 with the base setting of table 1 (section 4, "Ablation Study"), the margin loss
# of equation 1, at most 10 epochs with early stopping ("Training and Inference Speed"). Not given there: the margin,
# the optimizer, its rates and the number of random negatives, which are the defaults here.
_BASE: Mapping[str, Any] = {
    "dim": 1024,
    "map": "nonlinear",
    "widen": 1,
    "regularizer": "glas",
    "weight": 10.0,
    "adjacency": "arithmetic",
    "loss": "margin",
    "positives": "one",
    "keep": 0.8,
    "weight_norm": True,
    "epochs": 10,
    "batch_size": 4096,
    "fit_batch": False,
    "patience": 1,
}
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": _BASE,
    # Section 4, "Comparison with Previous Work": "softmax-cross-entropy loss for the Delicious-200K dataset".
    "delicious-200k": {**_BASE, "loss": "softmax"},
}
