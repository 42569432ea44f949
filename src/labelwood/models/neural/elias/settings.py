"""The parameters of ELIAS, declared once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from labelwood.models.linear.weight_blocks import LOSSES
from labelwood.models.neural.elias.inputs import AUTO, BOTH, BOW, ENCODERS, END_TO_END, FROZEN, TEXT_TRAININGS
from labelwood.models.neural.runtime import CLS, DEVICES, MEAN, POOLINGS
from labelwood.params import Params, param

EVEN, ADAM = "even", "adam"
OPTIMIZERS = (EVEN, ADAM)
MATCHING, UNIFORM = "matching", "uniform"
EDGE_STARTS = (MATCHING, UNIFORM)
SHORTLIST = "shortlist"
NEGATIVES = (AUTO, SHORTLIST)
SQUARED_HINGE, LOGISTIC = LOSSES
CHOSEN, PRODUCT = "chosen", "product"
SCORINGS = (CHOSEN, PRODUCT)


@dataclass(frozen=True)
class ELIASParams(Params):
    """Parameters of ELIAS; None means: chosen from the number of labels or rows."""

    ranker: bool = param(True, "re-rank the shortlist by sparse linear classifiers (ELIAS++)")
    calibration: bool = param(True, "correct scores by a small tree fitted on held-out rows (ELIAS++)")
    n_models: int = param(1, "indexes to average, each with its own clustering", low=1, high=100)
    encoder: str = param(
        BOW,
        "what a row is read by: its features, the MiniLM vector of its text, or both; auto: both where there are texts",
        choices=ENCODERS,
    )
    text_model: str | None = param(
        None, "a Hugging Face text encoder: folder or hub name; None: the installed MiniLM", kind=str
    )
    max_tokens: int = param(128, "tokens of a text that its vector is made of, the first ones", low=3, high=100_000)
    tune_epochs: int = param(0, "epochs in which the text encoder itself is trained first; 0: it stays frozen", low=0)
    text_training: str = param(
        FROZEN, "the text encoder stays frozen, or learns end to end with the first index", choices=TEXT_TRAININGS
    )
    own_encoders: bool = param(
        False, "end-to-end: every index trains a text encoder of its own; False: all read by that of the first one"
    )
    pooling: str = param(MEAN, "a text's vector: mean of the last layer, or the first token's", choices=POOLINGS)
    text_lr: float = param(1e-4, "end-to-end: learning rate of the text encoder's last layer", low=0, low_open=True)
    layer_decay: float = param(
        0.9, "end-to-end: rate of each layer of the text encoder in that of the next one", low=0, low_open=True, high=1
    )
    text_epochs: int | None = param(
        None, "end-to-end: first epochs of each stage in which the text encoder learns too; None: all", low=1, kind=int
    )
    recompute: bool = param(False, "end-to-end: compute activations twice instead of keeping them, for less memory")
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
    edge_start: str = param(
        MATCHING, "edges start by how the rows of a label choose clusters, or uniform in 0..1", choices=EDGE_STARTS
    )
    weight_decay: float = param(0.01, "weight decay of the dense layers", low=0)
    label_decay: float = param(0.0, "weight decay of the label classifiers, where they are updated", low=0)
    bias_decay: bool = param(True, "biases of the dense layers decay too")
    label_every: int = param(1, "label classifiers and edges are updated once in so many batches", low=1)
    shortlist_loss: float = param(0.05, "lambda: weight of the shortlist loss in stage 2", low=0)
    stage1_lambda: float = param(0.05, "weight of the shortlist loss in stage 1", low=0)
    swa_start: float = param(1.0, "share of stage 2 after which weights are averaged; 1: never", low=0, high=1)
    max_parents: int = param(16, "clusters that a training row visits for its labels, at most; 0: all", low=0)
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
    negatives: str = param(
        AUTO,
        "ranker: negatives are all rows where affordable, or only those with the label on a shortlist of 100",
        choices=NEGATIVES,
    )
    scoring: str = param(
        CHOSEN,
        "p^a q^b and the tree's weight chosen on held-out rows; product: p q, with the tree T + p q",
        choices=SCORINGS,
    )
    rare_power: float = param(0.25, "ranker: a label with n rows gets the cost C (20 / n)^rare_power", low=0, high=2)
    candidates: int | None = param(
        None,
        "ranker: labels that it finds by itself and adds to the shortlist, if it learned from all rows, for which it "
        "looks at every label; None: 50, none from 50,000 labels on",
        low=0,
        kind=int,
    )
    ranker_loss: str = param(SQUARED_HINGE, "ranker: what an error costs; logistic: q is its sigmoid", choices=LOSSES)
    ranker_top: int | None = param(
        None,
        "ranker: the most likely labels of a shortlist that it judges, beside those that trees name; the rest is "
        "dropped; None: all, 200 from 50,000 labels on",
        low=1,
        kind=int,
    )
    trees: int | None = param(
        None,
        "linear trees that vote beside the ranker if held-out rows want them; None: as many as indexes, three at least "
        "from 50,000 labels on; 0: none",
        low=0,
        high=1000,
        kind=int,
    )
    device: str = param("auto", "where index and text encoder learn: auto takes CUDA if there is one", choices=DEVICES)
    prune: float = param(0.01, "ranker: weights smaller than this are dropped", low=0)
    validation: float = param(0.05, "share of the rows held out to choose the scoring", low=0, high=0.5)
    most_held_out: int = param(4000, "rows that are held out at most", low=1)


def has_own_encoders(settings: ELIASParams) -> bool:
    """Whether the indexes after the first one read texts by encoders of their own."""
    learns = settings.encoder != BOW and settings.text_training == END_TO_END
    return settings.own_encoders and learns and settings.n_models > 1


def with_encoder(settings: ELIASParams, has_texts: bool) -> ELIASParams:
    """The settings with the encoder that "auto" stands for: both where the rows have texts, else the features."""
    return settings if settings.encoder != AUTO else replace(settings, encoder=BOTH if has_texts else BOW)


# Gupta et al., NeurIPS 2022: three models, each with its own encoder (section 4, "Implementation details"), C ~ L /
# 100, K = 2000, b = 20, lambda = 0.05, edges from U(0, 1) (section 3.4), AdamW with decay on weights alone, label
# classifiers updated every 10 steps (section 4), "the final layer's CLS token vector" (section 3, text
# representation), one rate for all layers of the text encoder, ranker with a logistic loss on the top 100, 5,000 rows
# for T, and T + p q (section D.2). How the epochs of table 4 fall on both stages is not printed: a third on the first
# one, as in the released configurations. alpha and beta follow the number of labels here; those of table 4 suit the
# data sets named below.
_METHOD: Mapping[str, Any] = {
    "ranker": True,
    "calibration": True,
    "n_models": 3,
    "encoder": AUTO,
    "text_training": END_TO_END,
    "own_encoders": True,
    "pooling": CLS,
    "layer_decay": 1.0,
    "optimizer": ADAM,
    "stage1_epochs": 20,
    "stage2_epochs": 40,
    "edge_start": UNIFORM,
    "weight_decay": 0.01,
    "label_decay": 0.01,
    "bias_decay": False,
    "label_every": 10,
    "shortlist_loss": 0.05,
    "stage1_lambda": 0.05,
    "max_parents": 0,
    "keep_labels": True,
    "shortlist": 2000,
    "beam": 20,
    "C": 1.0,
    "negatives": SHORTLIST,
    "scoring": PRODUCT,
    "rare_power": 0.0,
    "ranker_loss": LOGISTIC,
    "ranker_top": 100,
    "most_held_out": 5000,
    "candidates": 0,
    "trees": 0,
}


def _table_4(
    clusters: int, alpha: float, epochs: int, rate: float, text_rate: float, batch: int, tokens: int
) -> Mapping[str, Any]:
    """A row of table 4 (section C.1); beta, kappa, lambda, K and b are the same in all of them."""
    return {
        **_METHOD,
        "max_tokens": tokens,
        "n_clusters": clusters,
        "alpha": alpha,
        "beta": 150.0,
        "kappa": 1000,
        "stage1_epochs": epochs // 3,
        "stage2_epochs": epochs - epochs // 3,
        "lr": rate,
        "label_lr": rate,
        "edge_lr": rate,
        "text_lr": text_rate,
        "batch_size": batch,
    }


PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": _METHOD,
    "lf-amazontitles-131k": _table_4(2048, 10.0, 60, 0.02, 1e-4, 512, 32),
    "amazon-670k": _table_4(8192, 10.0, 60, 0.01, 1e-4, 256, 128),
    "wikipedia-500k": _table_4(8192, 10.0, 45, 0.005, 5e-5, 256, 128),
    "amazon-3m": _table_4(32768, 20.0, 45, 0.002, 2e-5, 64, 128),
}
