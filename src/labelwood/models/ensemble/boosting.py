"""BoostedTrees: a learned ranker of candidates: boosted decision trees with the logistic loss, trained natively."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from labelwood import _native
from labelwood.errors import ModelFileError
from labelwood.storage.schema import ArrayRule, Arrays, Schema

N_TREES, N_LEAVES, MIN_ITEMS, RIDGE = 300, 31, 40, 5.0
_STEP = 7.5  # what the rates of all trees add up to: more trees go the same way in smaller steps
N_BINS = 128
NEGATIVES = 0.35  # share of the candidates that are not right and that are learnt from
# Shares of the items that a tree learns from and of the features that it may ask, drawn anew for every tree: trees that
# differ make smaller mistakes together, and are grown in 40% of the time.
ITEMS, FEATURES = 0.5, 0.4
# What is stored is short: answers are whole numbers of such steps (300 of them are wrong by 0.005 together), thresholds
# have 12 digits of two.
VALUE_STEP = 2.0**-10
_SPARE_BITS = 12
_BINNING_ITEMS = 200_000  # items that bin edges are taken from

Floats = npt.NDArray[np.float32]

SCHEMA: Schema = {
    "feature": ArrayRule("int32", ("n_trees", "n_nodes"), low=-1),
    "threshold": ArrayRule("float32", ("n_trees", "n_nodes"), finite=True),
    "left": ArrayRule("int32", ("n_trees", "n_nodes"), low=0),
    "value": ArrayRule("float32", ("n_trees", "n_nodes"), finite=True),
    "base": ArrayRule("float64", (1,), finite=True),
}


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """Trees as arrays (n_trees, n_nodes): node 0 is the root, feature -1 marks a leaf, right is left + 1.

    An item goes left if its feature is at most the threshold. value: what the tree answers at a leaf, and would answer
    at an inner node. base: the margin before the first tree.
    """

    feature: npt.NDArray[np.int32]
    threshold: Floats
    left: npt.NDArray[np.int32]
    value: Floats
    base: float
    n_features: int
    native: _native.BoostedTrees = field(init=False, repr=False)

    def __post_init__(self) -> None:
        quick = _native.BoostedTrees(self.feature, self.threshold, self.left, self.value, self.base, self.n_features)
        object.__setattr__(self, "native", quick)

    @classmethod
    def fit(
        cls,
        features: Floats,
        hits: npt.NDArray[np.bool_],
        seed: int,
        n_threads: int | None,
        n_trees: int = N_TREES,
    ) -> BoostedTrees:
        """Trees that tell the items that are right (hits) from the others by their features (n_items, n_features)."""
        share = np.clip(hits.mean(), 1e-6, 1 - 1e-6)
        base = float(np.log(share / (1 - share)))
        # Most candidates are wrong, and plainly so: a part of these stands for all, by its weight.
        kept = hits | (np.random.default_rng(seed + 1).random(len(hits)) < NEGATIVES)
        features, hits = features[kept], hits[kept]
        n_items, n_features = features.shape
        sample = np.sort(np.random.default_rng(seed).permutation(n_items)[:_BINNING_ITEMS])
        edges = [_edges(features[sample, f]) for f in range(n_features)]
        bins = np.empty((n_features, n_items), np.uint8)
        for f in range(n_features):
            bins[f] = np.searchsorted(edges[f], features[:, f], side="left")
        shape = (n_trees, 2 * N_LEAVES - 1)
        feature, bin_, left = np.full(shape, -1, np.int32), np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        value = np.zeros(shape, np.float32)
        n_bins = np.array([len(cuts) + 1 for cuts in edges], np.int32)
        _native.train_boosting(
            bins, n_bins, hits.astype(np.uint8), MIN_ITEMS, _STEP / n_trees, RIDGE, base, 1 / NEGATIVES, ITEMS,
            FEATURES, seed, n_threads or 0, feature, bin_, left, value,
        )  # fmt: skip
        value = np.rint(value / VALUE_STEP) * np.float32(VALUE_STEP)
        threshold = np.zeros(shape, np.float32)
        inner = feature >= 0
        threshold[inner] = [edges[f][b] for f, b in zip(feature[inner], bin_[inner], strict=True)]
        return cls(feature, threshold, left, value, base, n_features)

    def margins(self, features: Floats, n_threads: int | None) -> Floats:
        """The margin of every item; above 0: more likely right than not."""
        margins = np.empty(len(features), np.float32)
        self.native.margins(features, n_threads or 0, margins)
        return margins

    def contributions(self, item: Floats) -> tuple[npt.NDArray[np.float64], float]:
        """(what each feature adds, the rest): together the margin of one item.

        At every node the step from the node's value to that of the child counts for the feature that was asked.
        """
        added = np.zeros(len(item))
        rest = self.base
        for tree in range(len(self.feature)):
            node = 0
            rest += float(self.value[tree, 0])
            while (asked := self.feature[tree, node]) >= 0:
                child = self.left[tree, node] + (0 if item[asked] <= self.threshold[tree, node] else 1)
                added[asked] += float(self.value[tree, child]) - float(self.value[tree, node])
                node = child
        return added, rest

    def arrays(self) -> Arrays:
        """The trees as the schema declares them."""
        return {
            "feature": self.feature, "threshold": self.threshold, "left": self.left, "value": self.value,
            "base": np.array([self.base]),
        }  # fmt: skip

    @classmethod
    def restore(cls, arrays: Arrays, n_features: int) -> BoostedTrees:
        """The trees of saved arrays; ModelFileError if a node leads nowhere."""
        feature, left = arrays["feature"], arrays["left"]
        inner = feature >= 0
        behind = left > np.arange(feature.shape[1])
        if np.any(feature >= n_features) or np.any(inner & ~(behind & (left + 1 < feature.shape[1]))):
            raise ModelFileError("ranker: a node of its trees leads nowhere")
        return cls(feature, arrays["threshold"], left, arrays["value"], float(arrays["base"][0]), n_features)


def _edges(values: Floats) -> Floats:
    """Rising upper edges of all bins but the last."""
    different = np.unique(values)
    if len(different) > N_BINS:
        edges = np.unique(np.quantile(values, np.linspace(0, 1, N_BINS + 1)[1:-1], method="lower"))
    else:
        edges = different[:-1]
    return np.unique(rounded_up(edges.astype(np.float32)))


def rounded_up(values: Floats) -> Floats:
    """The smallest numbers of few digits that are not below the values; an item at an edge stays on its side."""
    spare = np.uint32((1 << _SPARE_BITS) - 1)
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    up = np.where(values > 0, bits + spare, bits) & ~spare
    return up.view(np.float32)
