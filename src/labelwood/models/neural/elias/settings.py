"""The parameters of ELIAS, declared once."""

from __future__ import annotations

from dataclasses import dataclass

from labelwood.models.neural.elias.inputs import BOW, ENCODERS
from labelwood.params import Params, param

EVEN, ADAM = "even", "adam"
OPTIMIZERS = (EVEN, ADAM)


@dataclass(frozen=True)
class ELIASParams(Params):
    """Parameters of ELIAS; None means: chosen from the number of labels or rows."""

    ranker: bool = param(True, "re-rank the shortlist by sparse linear classifiers (ELIAS++)")
    calibration: bool = param(True, "correct scores by a small tree fitted on held-out rows (ELIAS++)")
    n_models: int = param(1, "indexes to average, each with its own clustering", low=1, high=100)
    encoder: str = param(
        BOW, "what a row is read by: its features, the MiniLM vector of its text, or both", choices=ENCODERS
    )
    text_model: str | None = param(
        None, "a Hugging Face text encoder: folder or hub name; None: the installed MiniLM", kind=str
    )
    max_tokens: int = param(128, "tokens of a text that its vector is made of, the first ones", low=3, high=100_000)
    tune_epochs: int = param(0, "epochs in which the text encoder itself is trained first; 0: it stays frozen", low=0)
    zero_shot: bool = param(False, "find labels without training rows by their names; needs texts and label names")
    dim: int = param(512, "length of the encoder's vectors", low=1, high=8192)
    residual: bool = param(False, "a ReLU layer corrects the sum of feature vectors; False: the sum alone")
    dropout: float = param(0.4, "share of the encoder's numbers dropped in training", low=0, high=0.95)
    warm_epochs: int = param(1, "epochs before the labels are clustered again, by the encoder too; 0: never", low=0)
    stage1_epochs: int = param(4, "epochs with the fixed partition", low=1)
    stage2_epochs: int = param(8, "epochs in which the index is learned; 0: stage 1 only", low=0)
    batch_size: int | None = param(None, "rows of a batch; None: 1% of the rows, 32 to 256", low=1, kind=int)
    optimizer: str = param(
        EVEN, "feature vectors move in proportion to their gradients, or all as far, by Adam", choices=OPTIMIZERS
    )
    feature_lr: float | None = param(
        None, "learning rate of feature vectors; None: from the length of the rows", low=0, low_open=True, kind=float
    )
    lr: float = param(0.005, "learning rate of dense layers and clusters", low=0, low_open=True)
    label_lr: float | None = param(
        None, "learning rate of label classifiers; None: twice lr", low=0, low_open=True, kind=float
    )
    edge_lr: float = param(0.02, "learning rate of the edges between clusters and labels", low=0, low_open=True)
    weight_decay: float = param(0.01, "weight decay of the dense layers", low=0)
    label_every: int = param(1, "label classifiers and edges are updated once in so many batches", low=1)
    shortlist_loss: float = param(0.05, "lambda: weight of the shortlist loss in stage 2", low=0)
    stage1_lambda: float = param(0.05, "weight of the shortlist loss in stage 1", low=0)
    swa_start: float = param(1.0, "share of stage 2 after which weights are averaged; 1: never", low=0, high=1)
    keep_labels: bool = param(True, "stage 2 goes on with the label classifiers of stage 1")
    n_clusters: int | None = param(None, "clusters of labels", low=1, kind=int)
    alpha: float | None = param(
        None, "scale of cluster scores before they are cut at 1", low=0, low_open=True, kind=float
    )
    beta: float | None = param(None, "scale of edge scores before they are cut at 1", low=0, low_open=True, kind=float)
    kappa: int | None = param(None, "labels stored with a cluster", low=1, kind=int)
    beam: int | None = param(None, "clusters that a row visits", low=1, kind=int)
    shortlist: int | None = param(None, "labels that a row keeps", low=1, kind=int)
    C: float | None = param(
        None,
        "ranker: cost of an error; None: 1 (2 with features and texts), on small data what held-out rows want",
        low=0,
        low_open=True,
        kind=float,
    )
    rare_power: float = param(0.25, "ranker: a label with n rows gets the cost C (20 / n)^rare_power", low=0, high=2)
    candidates: int = param(
        50, "ranker: labels that it finds by itself and adds to the shortlist, if it learned from all rows", low=0
    )
    trees: int | None = param(
        None,
        "linear trees that vote beside the ranker if held-out rows want them; None: as many as indexes, 0: none",
        low=0,
        high=1000,
        kind=int,
    )
    prune: float = param(0.01, "ranker: weights smaller than this are dropped", low=0)
    validation: float = param(0.05, "share of the rows held out to choose the scoring, at most 4000", low=0, high=0.5)
