"""How the scores of index and ranker become one: a weighted product, corrected by a small regression tree.

    base  = p^a q^b            p: probability of the index, q = exp(-max(0, 1 - margin)^3) of the ranker
    final = w T(p, q, base, log(1 + rows of the label), t) + (1 - w) base

t is what linear trees that vote say of the label (0 without them). a, b, the tree T and w are chosen on rows that
training did not see; w = 0 leaves the product alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.data.groups import turns
from labelwood.errors import ModelFileError
from labelwood.metrics.hits import hit_matrix
from labelwood.metrics.ranking import precision, recall
from labelwood.models.neural.elias.index import Floats, Int32
from labelwood.models.neural.elias.search import top_of
from labelwood.storage.schema import ArrayRule, Arrays, Schema
from labelwood.topk import TopK

Doubles = npt.NDArray[np.float64]
DEPTH = 5
MIN_LEAF = 50
N_BINS = 64  # candidate thresholds of a feature
LOWEST_LOG = -80.0
POWERS = (0.0, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0)
TREE_WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
N_FEATURES = 5
_TREE = ("feature", "threshold", "left", "value")
SCORING: Schema = {
    "powers": ArrayRule("float64", (3,)),  # of p and q, weight of the tree
    "tree.feature": ArrayRule("int32", ("n_nodes",), low=-1, below=N_FEATURES, optional=True),
    "tree.threshold": ArrayRule("float64", ("n_nodes",), optional=True),
    "tree.left": ArrayRule("int32", ("n_nodes",), optional=True),
    "tree.value": ArrayRule("float64", ("n_nodes",), optional=True),
}


@dataclass(frozen=True)
class RegressionTree:
    """A binary tree as arrays: node n asks whether feature[n] <= threshold[n] and goes to left[n] or left[n] + 1.

    Leaves have feature -1 and answer value[n].
    """

    feature: npt.NDArray[np.int32]
    threshold: Doubles
    left: npt.NDArray[np.int32]
    value: Doubles

    def predict(self, features: Doubles) -> Doubles:
        """The answers (n,) for features (n, n_features)."""
        node = np.zeros(len(features), np.int64)
        rows = np.arange(len(features))
        for _ in range(DEPTH):
            asked = np.maximum(self.feature[node], 0)
            right = features[rows, asked] > self.threshold[node]
            node = np.where(self.feature[node] < 0, node, self.left[node] + right)
        return self.value[node]


NO_TREE = RegressionTree(np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.int32), np.zeros(0))


def fit_tree(features: Doubles, target: Doubles, depth: int = DEPTH, min_leaf: int = MIN_LEAF) -> RegressionTree:
    """The regression tree of least squares over features (n, m); thresholds are quantiles of the node's rows."""
    feature, threshold, left, value = [-1], [0.0], [0], [float(target.mean()) if len(target) else 0.0]
    open_nodes = [(0, np.arange(len(target)))]
    for _ in range(depth):
        coming = []
        for node, rows in open_nodes:
            split = _best_split(features, target, rows, min_leaf)
            if split is None:
                continue
            which, where = split
            right = features[rows, which] > where
            feature[node], threshold[node], left[node] = which, where, len(feature)
            for part in (rows[~right], rows[right]):
                coming.append((len(feature), part))
                feature.append(-1)
                threshold.append(0.0)
                left.append(0)
                value.append(float(target[part].mean()))
        open_nodes = coming
    return RegressionTree(
        np.array(feature, np.int32),
        np.array(threshold, np.float64),
        np.array(left, np.int32),
        np.array(value, np.float64),
    )


def _best_split(
    features: Doubles, target: Doubles, rows: npt.NDArray[np.int64], min_leaf: int
) -> tuple[int, float] | None:
    """(feature, threshold) with the largest fall of the squared error; None if no split leaves min_leaf rows a side."""
    n = len(rows)
    if n < 2 * min_leaf:
        return None
    wanted = target[rows]
    total = wanted.sum()
    best, split = total * total / n + 1e-9 * n, None
    for which in range(features.shape[1]):
        values = features[rows, which]
        cuts = np.unique(np.quantile(values, np.linspace(0, 1, N_BINS + 1)[1:-1], method="lower"))
        side = np.searchsorted(cuts, values, side="left")  # cuts below the value: it is on the right of these
        counts = np.cumsum(np.bincount(side, minlength=len(cuts) + 1))[:-1]
        sums = np.cumsum(np.bincount(side, weights=wanted, minlength=len(cuts) + 1))[:-1]
        fine = (counts >= min_leaf) & (n - counts >= min_leaf)
        if not fine.any():
            continue
        gain = np.full(len(cuts), -np.inf)
        gain[fine] = sums[fine] ** 2 / counts[fine] + (total - sums[fine]) ** 2 / (n - counts[fine])
        at = int(gain.argmax())
        if gain[at] > best:
            best, split = gain[at], (which, float(cuts[at]))
    return split


def log_q(margins: Floats) -> Doubles:
    """Log q = -max(0, 1 - margin)^3 of the ranker's margins."""
    lack = np.maximum(0.0, 1.0 - margins.astype(np.float64))
    return -(lack * lack * lack)


@dataclass(frozen=True)
class Scoring:
    """How log p and log q become a score; `figures` tells what the choice was worth on the held-out rows."""

    power_p: float = 1.0
    power_q: float = 1.0
    tree: RegressionTree | None = None
    weight: float = 0.0

    def base(self, log_p: npt.NDArray[Any], log_q_: npt.NDArray[Any] | None) -> Doubles:
        """Log of p^a q^b; padding (log p of -inf) stays -inf."""
        real = np.isfinite(log_p)
        logs = self.power_p * np.where(real, log_p, 0.0).astype(np.float64)
        if log_q_ is not None:
            logs = logs + self.power_q * log_q_
        return np.where(real, np.maximum(LOWEST_LOG, logs), -np.inf)

    def scores(
        self,
        log_p: npt.NDArray[Any],
        log_q_: npt.NDArray[Any] | None,
        counts: npt.NDArray[Any],
        voted: Doubles | None = None,
    ) -> Doubles:
        """The final scores, in 0..1, of pairs of any shape; counts: training rows of the label; voted: by others."""
        given = np.ascontiguousarray(log_p, dtype=np.float32)
        q = None if log_q_ is None else np.ascontiguousarray(log_q_, dtype=np.float64).reshape(1, -1)
        rows = np.ascontiguousarray(counts, dtype=np.int64).reshape(1, -1)
        others = None if voted is None else np.ascontiguousarray(voted, dtype=np.float64).reshape(1, -1)
        scores = np.empty((1, given.size), np.float64)
        self._native_blend.scores(given.reshape(1, -1), q, rows, scores, others)
        return scores.reshape(given.shape)

    def fill_top(
        self,
        shortlist: tuple[Int32, Floats],
        margins: Floats | None,
        counts: npt.NDArray[np.int64],
        labels: Int32,
        scores: Floats,
        votes: tuple[float, Int32, Floats] | None = None,
    ) -> None:
        """Fill labels and scores (n, k) with the best of the shortlist (labels and log p, each (n, room)), best first.

        margins (n, room): of the ranker, if there is one. counts: the training rows of every label. votes: if others
        vote, the weight, labels and scores (n, m) of what they say.
        """
        self._native_blend.top(*shortlist, margins, counts, labels, scores, *(votes or (0.0, None, None)))

    @cached_property
    def _native_blend(self) -> Any:
        tree = self.tree if self.tree is not None and self.weight else NO_TREE
        return _native.ScoreBlend(
            self.power_p, self.power_q, self.weight, tree.feature, tree.threshold, tree.left, tree.value, LOWEST_LOG
        )

    def to_arrays(self) -> Arrays:
        """The arrays, as SCORING tells them."""
        arrays: Arrays = {"powers": np.array([self.power_p, self.power_q, self.weight], np.float64)}
        if self.tree is not None:
            arrays |= {f"tree.{name}": getattr(self.tree, name) for name in _TREE}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Scoring:
        """The scoring of saved arrays, which keep their schema; ModelFileError if its tree leads outside itself."""
        power_p, power_q, weight = arrays["powers"].tolist()
        if "tree.feature" not in arrays:
            return cls(power_p, power_q, None, weight)
        tree = RegressionTree(*(arrays[f"tree.{name}"] for name in _TREE))
        inner = np.flatnonzero(tree.feature >= 0)
        left = tree.left[inner]
        if not len(tree.feature) or np.any(left <= inner) or np.any(left + 1 >= len(tree.feature)):
            raise ModelFileError("elias: the calibration tree is damaged")
        return cls(power_p, power_q, tree, weight)


def pair_features(
    log_p: npt.NDArray[Any],
    log_q_: npt.NDArray[Any] | None,
    base: Doubles,
    counts: npt.NDArray[Any],
    voted: Doubles | None = None,
) -> Doubles:
    """(p, q, base, log(1 + count), what others vote) of every pair, (n_pairs, N_FEATURES)."""
    p = np.exp(np.asarray(log_p, np.float64))
    q = np.ones_like(p) if log_q_ is None else np.exp(np.maximum(LOWEST_LOG, log_q_))
    t = np.zeros_like(p) if voted is None else voted
    return np.stack([part.ravel() for part in (p, q, base, np.log1p(counts.astype(np.float64)), t)], axis=1)


def voted_scores(labels: Int32, voted: TopK) -> Doubles:
    """What others vote for the labels (n, room) of some rows; 0 for a label that they do not name, and at padding."""
    rows = np.arange(len(labels), dtype=np.int64)[:, None]
    n_labels = 1 + max(int(labels.max(initial=0)), int(voted.labels.max(initial=0)))
    keys = np.where(voted.labels < 0, -1, rows * n_labels + voted.labels).ravel()
    order = np.argsort(keys, kind="stable")
    keys, scores = keys[order], voted.scores.ravel()[order].astype(np.float64)
    wanted = np.where(labels < 0, -2, rows * n_labels + labels)
    at = np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))
    found: Doubles = np.where(keys[at] == wanted, scores[at], 0.0) if len(keys) else np.zeros(labels.shape)
    return found


@dataclass(frozen=True)
class HeldOut:
    """Shortlisted pairs of rows that training did not see, each array (n, room): labels, log p, log q or None.

    y: the labels of the rows, CSR (n, n_labels). truth: which pairs are true. voted: what linear trees say of the
    pairs, if they always do. groups: of each row, whose rows are in the same half.
    """

    labels: Int32
    log_p: Floats
    log_q: Doubles | None
    truth: npt.NDArray[np.bool_]
    y: sparse.csr_matrix
    voted: Doubles | None = None
    groups: npt.NDArray[np.int64] | None = None

    @property
    def n_true(self) -> npt.NDArray[np.int64]:
        """The number of labels of each row."""
        return np.asarray(np.diff(self.y.indptr), np.int64)


def held_out(labels: Int32, log_p: Floats, log_q_: Doubles | None, y: sparse.csr_matrix) -> HeldOut:
    """The pairs with their truth from the labels y of the rows."""
    truth = hit_matrix(TopK(labels, log_p), y).hit.astype(bool)
    return HeldOut(labels, log_p, log_q_, truth, y)


def choose_scoring(pairs: HeldOut, counts: npt.NDArray[np.int64], *, calibrate: bool) -> Scoring:
    """The scoring that ranks held-out rows best; calibrate: also fit the tree on one half, weigh it on the other."""
    best = Scoring()
    if pairs.log_q is not None:
        choices = [Scoring(power, 1.0) for power in POWERS]
        best = max(choices, key=lambda s: quality(pairs, s.base(pairs.log_p, pairs.log_q)))
    if not calibrate:
        return best
    of_label = counts[np.maximum(pairs.labels, 0)]
    halves = turns(len(pairs.labels), pairs.groups) % 2 == 0
    real = pairs.labels >= 0
    base = np.exp(best.base(pairs.log_p, pairs.log_q))
    features = pair_features(pairs.log_p, pairs.log_q, base, of_label, pairs.voted).reshape(*base.shape, N_FEATURES)
    used = real & halves[:, None]
    tree = fit_tree(features[used], pairs.truth[used].astype(np.float64))
    answers = tree.predict(features.reshape(-1, N_FEATURES)).reshape(base.shape)
    other = _part(pairs, ~halves)
    weight = max(
        TREE_WEIGHTS, key=lambda w: quality(other, np.where(real, w * answers + (1 - w) * base, -np.inf)[~halves])
    )
    return Scoring(best.power_p, best.power_q, tree, weight)


def product_scoring(pairs: HeldOut, counts: npt.NDArray[np.int64], *, calibrate: bool) -> Scoring:
    """The scoring of the paper: p q; calibrate: (T + p q) / 2, with the tree T fitted on all held-out rows."""
    plain = Scoring()
    real = pairs.labels >= 0
    if not calibrate or not real.any():
        return plain
    base = np.exp(plain.base(pairs.log_p, pairs.log_q))
    features = pair_features(pairs.log_p, pairs.log_q, base, counts[np.maximum(pairs.labels, 0)])
    tree = fit_tree(features[real.ravel()], pairs.truth[real].astype(np.float64))
    return Scoring(1.0, 1.0, tree, 0.5)


def quality(pairs: HeldOut, scores: npt.NDArray[Any]) -> float:
    """The sum of P@1, P@3 and P@5 and a fifth of R@100, per cent: what a scoring is chosen by."""
    if not len(pairs.labels):
        return 0.0
    hits = hit_matrix(TopK(*top_of(pairs.labels, scores, 100)), pairs.y)
    return sum(precision(hits, k) for k in (1, 3, 5)) + recall(hits, 100) / 5


def hits_of(pairs: HeldOut, labels: Int32) -> npt.NDArray[np.bool_]:
    """Which of the ranked labels (n, k) are true."""
    scores = np.zeros(labels.shape, np.float32)  # a hit does not depend on them
    return hit_matrix(TopK(labels, scores), pairs.y).hit.astype(bool)


def _part(pairs: HeldOut, rows: npt.NDArray[np.bool_]) -> HeldOut:
    log_q_ = None if pairs.log_q is None else pairs.log_q[rows]
    voted = None if pairs.voted is None else pairs.voted[rows]
    return HeldOut(pairs.labels[rows], pairs.log_p[rows], log_q_, pairs.truth[rows], pairs.y[rows], voted)
