"""Labels without training rows, found by the text of their names.

Row vectors v and label-name vectors u come from the same text encoder, so v'u tells something by itself. A bilinear map
v' M u is learned beside it on the labels that do have rows (Romera-Paredes and Torr, ICML 2015, closed form), and a
logistic curve turns both into a probability. Map and curve are chosen on trained labels that the map does not see,
because that is what it will be asked about. Scores of the trained labels are no probabilities: a second curve, fitted
on held-out rows, says how likely a label with some score is true, and an untrained label gets the score that a trained
one of the same probability has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.keyed_random import keyed_order
from labelwood.errors import ModelFileError
from labelwood.models.neural.elias.index import Int32
from labelwood.models.neural.forward import dense_product
from labelwood.storage.schema import ArrayRule, Arrays, Schema

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
N_FOUND = 100  # untrained labels that enter the ranking of a row
RIDGES = (0.01, 0.1, 1.0, 10.0)  # of rows and of labels, in units of the mean eigenvalue
N_JUDGED = 4000  # rows on which map and curve are chosen
LEFT_OUT = 5  # one trained label in so many is kept from the map while it is chosen
N_COMPARED = 20  # best labels of a held-out row that tell what a score means
LOWEST = 1e-30  # of a score before its logarithm
MIN_LABELS = 20  # at least LEFT_OUT; fewer trained labels teach no map


@dataclass(frozen=True)
class ZeroShot:
    """The untrained labels (ascending) and their logits z for a row vector v: v table + shift, table (width, n).

    A trained label with score s is true with the logit slope log(s) + level; a slope of 0 says that this is not known,
    then the probability itself is the score.
    """

    labels: Int32
    table: Floats
    shift: float
    slope: float = 0.0
    level: float = 0.0

    def on_the_scale_of(self, scores: Doubles, truth: npt.NDArray[np.bool_]) -> ZeroShot:
        """The same with scores like those of trained labels: scores (n, m) of held-out pairs and whether they are true.

        Only the best of every row count: the many hopeless ones would decide about the curve.
        """
        best = np.argsort(-scores, axis=1, kind="stable")[:, :N_COMPARED]
        logs = np.log(np.maximum(np.take_along_axis(scores, best, axis=1), LOWEST))
        slope, level = _logistic(logs.reshape(-1, 1), np.take_along_axis(truth, best, axis=1).ravel()).tolist()
        return replace(self, slope=slope, level=level) if slope > 0 else self

    def added(
        self, labels: Int32, scores: Doubles, vectors: Floats, n_threads: int | None = None
    ) -> tuple[Int32, Doubles]:
        """(labels ascending with -1 last, scores) with the best untrained labels of every row among them."""
        if not len(self.labels):
            return labels, scores
        z = dense_product(vectors, self.table, n_threads).astype(np.float64)
        order = np.argsort(-z, axis=1, kind="stable")[:, :N_FOUND]
        z = np.take_along_axis(z, order, axis=1) + self.shift
        of_untrained = self.scores(z)
        known = np.where(np.isin(labels, self.labels), np.int32(-1), labels)  # what the index says of them is a guess
        both = np.concatenate([known, self.labels[order]], axis=1)
        all_scores = np.concatenate([np.where(known < 0, 0.0, scores), of_untrained], axis=1)
        place = np.argsort(np.where(both < 0, np.iinfo(np.int32).max, both), axis=1, kind="stable")
        return np.take_along_axis(both, place, axis=1), np.take_along_axis(all_scores, place, axis=1)

    def scores(self, logits: Doubles) -> Doubles:
        """The scores of untrained labels with these logits."""
        if not self.slope:
            return np.asarray(1 / (1 + np.exp(-logits)), np.float64)
        return np.asarray(np.exp(np.minimum(0.0, (logits - self.level) / self.slope)), np.float64)

    def to_arrays(self) -> Arrays:
        """The arrays, as `zero_shot_schema` tells them."""
        curve = np.array([self.shift, self.slope, self.level], np.float64)
        return {"labels": self.labels, "table": self.table, "curve": curve}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> ZeroShot:
        """The part of a saved model, whose arrays keep their schema; ModelFileError if they do not fit together."""
        labels = arrays["labels"]
        shift, slope, level = arrays["curve"].tolist()
        if not slope >= 0:
            raise ModelFileError(f"elias: the curve of untrained labels falls ({slope})")
        if np.any(np.diff(labels) <= 0):
            raise ModelFileError("elias: the untrained labels are not in order")
        return cls(labels, arrays["table"], shift, slope, level)


def zero_shot_schema(width: int) -> Schema:
    """The arrays of what finds untrained labels by text vectors of this width."""
    return {
        "labels": ArrayRule("int32", ("n_untrained",), low=0, below="n_labels"),
        "table": ArrayRule("float32", (width, "n_untrained")),
        "curve": ArrayRule("float64", (3,), finite=True),  # shift, slope, level
    }


def spoken(names: Sequence[str]) -> list[str]:
    """Label names as a person would write them: words with spaces in between."""
    return [name.replace("-", " ").replace("_", " ") for name in names]


def fit_zero_shot(vectors: Floats, y: sparse.csr_matrix, names: Floats, seed: int) -> ZeroShot | None:
    """What finds the labels of y without rows; vectors (n, width) of the rows, names (n_labels, width) of the labels.

    None if every label has rows, or too few have rows to learn from.
    """
    counts = np.bincount(y.indices, minlength=y.shape[1])
    trained, untrained = np.flatnonzero(counts > 0), np.flatnonzero(counts == 0)
    if not len(untrained) or len(trained) < MIN_LABELS:
        return None
    v, u = vectors.astype(np.float64), names.astype(np.float64)
    centred = u - u[trained].mean(axis=0)
    order = trained[keyed_order(len(trained), seed, 0x7A65726F)]
    asked, taught = np.sort(order[: len(order) // LEFT_OUT]), np.sort(order[len(order) // LEFT_OUT :])
    judged = np.sort(keyed_order(len(v), seed, 1)[:N_JUDGED])
    truth = np.asarray(y[judged][:, asked].todense()) > 0
    plain = v[judged] @ u[asked].T
    tried = {}
    for ridges in [(r, s) for r in RIDGES for s in RIDGES]:
        mapped = v[judged] @ _bilinear(v, y, centred, taught, *ridges) @ centred[asked].T
        weights = _logistic(np.stack([mapped.ravel(), plain.ravel()], axis=1), truth.ravel())
        tried[ridges] = _precision(weights[0] * mapped + weights[1] * plain, truth), weights
    best = max(tried, key=lambda ridges: tried[ridges][0])
    of_map, of_plain, shift = tried[best][1]
    final = _bilinear(v, y, centred, trained, *best)
    table = of_map * (final @ centred[untrained].T) + of_plain * u[untrained].T
    return ZeroShot(untrained.astype(np.int32), np.ascontiguousarray(table.astype(np.float32)), float(shift))


def _bilinear(
    v: Doubles, y: sparse.csr_matrix, u: Doubles, labels: npt.NDArray[np.int64], rows: float, names: float
) -> Doubles:
    """M = (V'V + a I)^-1 V' Y U (U'U + b I)^-1 over some labels, with a and b given in mean eigenvalues."""
    names_taught = u[labels]
    left, right = v.T @ v, names_taught.T @ names_taught
    width = v.shape[1]
    left[np.diag_indices(width)] += rows * np.trace(left) / width
    right[np.diag_indices(width)] += names * np.trace(right) / width + 1e-12
    middle = v.T @ (y[:, labels].astype(np.float64) @ names_taught)
    bilinear: Doubles = np.linalg.solve(right, np.linalg.solve(left, middle).T).T.astype(np.float64)
    return bilinear


def _precision(z: Doubles, truth: npt.NDArray[np.bool_]) -> float:
    """The mean over rows with a true label of the reciprocal rank of its best one."""
    rows = truth.any(axis=1)
    if not rows.any():
        return 0.0
    best = np.where(truth, z, -np.inf).max(axis=1)[rows]
    return float(np.mean(1 / (1 + (z[rows] > best[:, None]).sum(axis=1))))


def _logistic(features: Doubles, truth: npt.NDArray[np.bool_]) -> Doubles:
    """(weight of every feature, shift) of the logistic regression of truth, by Newton's method with a small ridge."""
    scale: Doubles = features.std(axis=0).astype(np.float64)
    scale[scale == 0] = 1
    x = np.concatenate([features / scale, np.ones((len(features), 1))], axis=1)
    share = np.clip(truth.mean(), 1e-6, 1 - 1e-6)
    beta = np.zeros(x.shape[1])
    beta[-1] = np.log(share / (1 - share))
    for _ in range(30):
        p = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
        gradient = x.T @ (truth - p) - 1e-3 * beta
        curvature = (x * (p * (1 - p))[:, None]).T @ x + 1e-3 * np.eye(len(beta))
        step = np.linalg.solve(curvature, gradient)
        beta = beta + np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-8:
            break
    return np.append(beta[:-1] / scale, beta[-1])
