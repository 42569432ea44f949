"""RowContext: a score beside the other answers of its row. An answer whose rivals look good too is right less often.

Refined scores are what the curves of the bands read. A logistic regression on three numbers of an answer makes them:
its chance by its score alone, the chance that the other first answers of its row have together, and its place. Over
random splits of the training rows of five data sets, log-loss and F1 were better than with the score alone or as good
(docs/measurements/calibration.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelwood.calibration.isotonic import Curve, learnt_curve
from labelwood.topk import PAD, TopK

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
LOOKED = 10  # first answers of a row that count as rivals
N_WEIGHTS = 4
PLAIN = np.array([1.0, 0.0, 0.0, 0.0])  # the score alone
_FLOOR = 0.1  # rivals that have less chance together are no rivals
_EDGE = 1e-4  # no chance is surer than this
_DRAWN = 1.0  # how strongly weights are drawn to PLAIN: as by about so many answers
_STEPS = 20
_MOST_ANSWERS = 200_000  # four weights need no more


@dataclass(frozen=True, eq=False)
class RowContext:
    """Scores -> refined scores; curve: the chance of a score alone; weights: of chance, rivals, place, and a shift."""

    curve: Curve
    weights: npt.NDArray[np.float64]

    def refined(self, top: TopK, among: TopK | None = None) -> npt.NDArray[np.float32]:
        """The refined score of each answer, float32 (n, k); 0 for padding.

        among: the first LOOKED answers of each row without any restriction, where `top` has not all of them.
        """
        values = sum(weight * part for weight, part in zip(self.weights, self._numbers(top, among or top), strict=True))
        return np.where(top.labels != PAD, values, 0).astype(np.float32)

    def _numbers(self, top: TopK, among: TopK) -> tuple[Floats, Floats, Floats, Floats]:
        """(logit of the chance, logarithm of the rivals' chances, logarithm of the place, 1), each (n, k)."""
        first = among.cut(LOOKED)
        others = np.where(first.labels != PAD, self.curve(first.scores), 0.0)
        # Equal scores share a place, so that the answers of a row may come in any order.
        place = np.zeros(top.labels.shape, np.int64)
        for column in range(first.k):
            place += first.scores[:, column : column + 1] > top.scores
        chance = self.curve(top.scores)
        rivals = others.sum(axis=1, keepdims=True) - np.where(place < LOOKED, chance, 0.0)
        sure = np.clip(chance, _EDGE, 1 - _EDGE)
        return (
            np.log(sure / (1 - sure)),
            np.log(np.maximum(rivals, 0.0) + _FLOOR),
            np.log1p(place.astype(np.float64)),
            np.ones(top.labels.shape),
        )


def learnt_context(top: TopK, hit: Bools) -> RowContext:
    """The context that tells right answers from wrong ones best; at least one answer must be real."""
    real = top.labels != PAD
    curve = learnt_curve(top.scores[real], hit[real])
    step = max(1, int(real.sum()) // _MOST_ANSWERS)
    part, right = TopK(top.labels[::step], top.scores[::step]), hit[::step]
    kept = part.labels != PAD
    numbers = [column[kept] for column in RowContext(curve, PLAIN)._numbers(part, part)]
    return RowContext(curve, _logistic(numbers, right[kept].astype(np.float64)))


def _logistic(columns: list[Floats], right: Floats) -> Floats:
    """The weights of a logistic regression, drawn to PLAIN; PLAIN itself where a better score would count less."""
    weights = PLAIN.copy()
    for _ in range(_STEPS):  # Newton's method; sums by column, so that no library's threads decide the last bit
        margin = sum(weight * column for weight, column in zip(weights, columns, strict=True))
        said = 1 / (1 + np.exp(-np.clip(margin, -30, 30)))
        miss, spread = right - said, said * (1 - said)
        slope = np.array([np.sum(column * miss) for column in columns]) - _DRAWN * (weights - PLAIN)
        weighted = [column * spread for column in columns]
        bend = np.array([[np.sum(one * other) for other in columns] for one in weighted]) + _DRAWN * np.eye(N_WEIGHTS)
        step = np.linalg.solve(bend, slope)
        weights = weights + np.clip(step, -1, 1)
        if np.max(np.abs(step)) < 1e-9:
            break
    return weights if weights[0] > 0 else PLAIN.copy()
