"""The parameters of LinearTree, and what its answers to a search are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelwood.errors import ParamError
from labelwood.labelspace.weighting import WEIGHTINGS
from labelwood.memory import parse_memory
from labelwood.models.linear.weight_blocks import LOSSES, WEIGHTS
from labelwood.params import Params, param
from labelwood.topk import TopK

LINKS = ("hinge2", "hinge3", "log-sigmoid")
NEGATIVES = ("tfn", "man", "tfn+man")


@dataclass(frozen=True)
class LinearTreeParams(Params):
    """Parameters of the linear tree."""

    balance: float = param(0.0, "from 0: similar labels together, to 2: popular labels near the root", low=0, high=2)
    balance_ratio: float | None = param(None, "the same knob from 0 up: balance = 2 r / (1 + r)", low=0, kind=float)
    cover: str = param(
        "marginal", "which of its labels a row counts for, where frequency rules", choices=("marginal", "greedy")
    )
    path: str = param(
        "waypoint",
        "from similarity to frequency by way of weighted 2-means, or directly",
        choices=("waypoint", "direct"),
    )
    tree: str | None = param(None, "a file with your own label hierarchy, in place of the tree made here", kind=str)
    label_features: float = param(0.0, "weight of the words of label names in the label vectors; 0: off", low=0)
    n_trees: int = param(
        1, "trees to average, each with its own seed; every third has wide clusters of any size", low=1, high=1000
    )
    arity: int = param(256, "children of a node, at most", low=2, high=1024)
    max_leaf: int = param(256, "labels in a leaf, at most; half as many more after updates", low=1)
    C: float | None = param(
        None,
        "cost of an error: larger fits the training rows closer; None: 1, on small data what held-out rows want",
        low=0,
        low_open=True,
        kind=float,
    )
    C_pos: float = param(1.0, "factor of C for positive rows", low=0, low_open=True)
    C_neg: float = param(1.0, "factor of C for negative rows", low=0, low_open=True)
    weighting: str = param("none", "which labels' positive rows cost more: rare ones, or none", choices=WEIGHTINGS)
    C_cluster: float = param(
        0.7, "factor of the cost for the classifiers of clusters (children with several labels)", low=0, low_open=True
    )
    rare_power: float = param(
        0.15, "a label with n rows gets the cost C (20 / n)^rare_power; 0: all labels the same", low=0, high=2
    )
    negatives: str = param(
        "tfn",
        "rows a node learns from: with a label below it (tfn), those the search leads there (man), both",
        choices=NEGATIVES,
    )
    match_beam: int = param(5, "nodes per level that the search for man negatives keeps", low=1, high=1024)
    loss: str = param("squared-hinge", "what an error costs", choices=LOSSES)
    eps: float = param(0.25, "stop when no dual gradient is larger", low=0, low_open=True)
    max_passes: int = param(20, "stop after this many passes over a node's rows", low=1)
    bias: float = param(1.0, "value of the constant feature; 0: no bias", low=0)
    prune: float = param(0.1, "weights smaller than this are dropped", low=0)
    size_budget: str | None = param(
        None, "the saved model is at most so large, such as 100M; the smallest weights go", kind=str
    )
    weights: str = param("half", "two bytes a weight, or one with a scale for each classifier", choices=WEIGHTS)
    normalize: bool = param(True, "scale rows to length 1 first")
    link: str = param("hinge3", "how a margin becomes a log score", choices=LINKS)
    beam: int = param(0, "nodes kept per level; 0: exact best-first search", low=0)
    keep_rows: bool = param(False, "keep the training rows in the model, so that partial_fit needs only new ones")

    def budget_bytes(self) -> int | None:
        """The size budget in bytes, or None; ParamError if it is no size."""
        if self.size_budget is None:
            return None
        try:
            return parse_memory(self.size_budget)
        except ParamError:
            raise ParamError(
                f"LinearTree: size_budget must be a size such as '100M', but is {self.size_budget!r}"
            ) from None


@dataclass(frozen=True)
class SearchResult:
    """What a search found and what it cost: blocks evaluated and the depth of the deepest answer, for every row."""

    top: TopK
    n_blocks: npt.NDArray[np.int32]
    depth: npt.NDArray[np.float64]
