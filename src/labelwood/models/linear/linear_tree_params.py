"""The parameters of LinearTree, and what its answers to a search are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood.errors import ParamError
from labelwood.labelindex.interpolated import ROUNDINGS
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
    smoothing: float = param(0.1, "gamma: what every label weighs in a split besides its frequency", low=0)
    rounding: str = param(
        "nearest", "where the one label goes that a split would cut: to its nearer side, or left", choices=ROUNDINGS
    )
    round_each: bool = param(True, "that label is placed in every iteration of a split; False: after the last")
    tree: str | None = param(None, "a file with your own label hierarchy, in place of the tree made here", kind=str)
    label_features: float = param(0.0, "weight of the words of label names in the label vectors; 0: off", low=0)
    n_trees: int = param(
        1, "trees to average, each with its own seed; every third has wide clusters of any size", low=1, high=1000
    )
    wide_trees: bool = param(True, "that third kind of tree; False: all trees are built alike")
    arity: int = param(256, "children of a node, at most", low=2, high=1024)
    root_arity: int | None = param(
        None,
        "children of the root, at most; None: arity, and 16 times as many where that is at least 256",
        low=2,
        high=65536,
        kind=int,
    )
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
    weights: str = param("int8", "one byte a weight with a scale for each classifier, or two (half)", choices=WEIGHTS)
    normalize: bool = param(True, "scale rows to length 1 first")
    link: str = param("hinge3", "how a margin becomes a log score", choices=LINKS)
    beam: int = param(0, "nodes kept per level; 0: best-first search", low=0)
    exact: bool = param(
        False, "search until no label can be missed; False: until few can, from 10,000 labels on and in forests"
    )
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


# XR-Linear set up as Parabel: Baharav et al., CIKM 2021, sections 5.4.2 and 5.4.3. Its parts that the text does not
# name are Parabel's (Prabhu et al., WWW 2018): squared hinge along the path, solved to 0.1 in 20 passes, weights below
# 0.1 dropped. The paper varies balance_ratio (lambda'); 0 is Parabel.
_ONE_PARABEL_TREE: Mapping[str, Any] = {
    "balance_ratio": 0.0,
    "cover": "marginal",
    "path": "waypoint",
    "smoothing": 0.1,
    "round_each": True,
    "n_trees": 1,
    "wide_trees": False,
    "arity": 2,
    "max_leaf": 100,
    "C": 1.0,
    "C_cluster": 1.0,
    "rare_power": 0.0,
    "negatives": "tfn",
    "loss": "squared-hinge",
    "eps": 0.1,
    "max_passes": 20,
    "prune": 0.1,
    "link": "hinge2",
    "beam": 10,
    "exact": True,
}
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": _ONE_PARABEL_TREE,
    # Parabel itself: three trees (Prabhu et al., WWW 2018, section 5).
    "parabel": {**_ONE_PARABEL_TREE, "n_trees": 3},
}


@dataclass(frozen=True)
class SearchResult:
    """What a search found and what it cost: blocks evaluated and the depth of the deepest answer, for every row."""

    top: TopK
    n_blocks: npt.NDArray[np.int32]
    depth: npt.NDArray[np.float64]
