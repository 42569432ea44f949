"""RowContext: a score beside the other answers of its row. An answer whose rivals look good too is right less often.

Refined scores are what the curves of the bands read. A logistic regression on a few numbers of an answer makes them:
its chance by its score alone, the chance that the other first answers of its row have together, and its place. Over
random splits of the training rows of five data sets, log-loss and F1 were better than with the score alone or as good.
Where the model tells how near the row is to its most similar training row, that and its product with the chance count
too: held-out rows have siblings in training that the rows of tomorrow may lack (docs/measurements/calibration.md).
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
N_NEAR = 3  # what is kept of nearness: its weight, that of its product with the chance, and the mean
_FLOOR = 0.1  # rivals that have less chance together are no rivals
_EDGE = 1e-4  # no chance is surer than this
_DRAWN = 1.0  # how strongly weights are drawn to the score alone: as by about so many answers
_STEPS = 20
_MOST_ANSWERS = 200_000  # six weights need no more
_MOST_COMPARED = 4_000_000  # scores that are compared at once, to spare memory


@dataclass(frozen=True, eq=False)
class RowContext:
    """Scores -> refined scores; curve: the chance of a score alone; weights: of chance, rivals, place, and a shift.

    near: weights of nearness and of its product with the chance, and the mean nearness of held-out rows; None if the
    model did not tell it, and in folders of earlier versions. Rows that come without nearness count as the mean.
    """

    curve: Curve
    weights: Floats
    near: Floats | None = None

    def refined(self, top: TopK, among: TopK | None = None) -> npt.NDArray[np.float32]:
        """The refined score of each answer, float32 (n, k); 0 for padding.

        among: the first LOOKED answers of each row without any restriction, where `top` has not all of them.
        """
        numbers = _numbers(self.curve, top, among or top)
        values = _weighted(self.weights, numbers)
        if self.near is not None and top.nearness is not None:
            values = values + _weighted(self.near[:2], _of_nearness(numbers[0], top.nearness, self.near[2]))
        return np.where(top.labels != PAD, values, 0).astype(np.float32)


def learnt_context(top: TopK, hit: Bools) -> RowContext:
    """The context that tells right answers from wrong ones best; at least one answer must be real."""
    real = top.labels != PAD
    curve = learnt_curve(top.scores[real], hit[real])
    step = max(1, int(real.sum()) // _MOST_ANSWERS)
    part, right = top[::step], hit[::step]
    kept = part.labels != PAD
    numbers, mean = _numbers(curve, part, part), 0.0
    if part.nearness is not None:
        mean = float(part.nearness.mean(dtype=np.float64))
        numbers += _of_nearness(numbers[0], part.nearness, mean)
    weights = _logistic([column[kept] for column in numbers], right[kept].astype(np.float64))
    if part.nearness is None:
        return RowContext(curve, weights)
    return RowContext(curve, weights[:N_WEIGHTS], np.append(weights[N_WEIGHTS:], mean))


def _numbers(curve: Curve, top: TopK, among: TopK) -> list[Floats]:
    """[logit of the chance, logarithm of the rivals' chances, logarithm of the place, 1], each (n, k)."""
    first = among.cut(LOOKED)
    others = np.where(first.labels != PAD, curve(first.scores), 0.0)
    # Equal scores share a place, so that the answers of a row may come in any order.
    step = max(1, _MOST_COMPARED // (top.k * LOOKED))
    parts = [slice(at, at + step) for at in range(0, max(1, len(top)), step)]
    place = np.concatenate([(first.scores[at, None, :] > top.scores[at, :, None]).sum(axis=2) for at in parts])
    chance = curve(top.scores)
    rivals = others.sum(axis=1, keepdims=True) - np.where(place < LOOKED, chance, 0.0)
    sure = np.clip(chance, _EDGE, 1 - _EDGE)
    return [
        np.log(sure / (1 - sure)),
        np.log(np.maximum(rivals, 0.0) + _FLOOR),
        np.log1p(place.astype(np.float64)),
        np.ones(top.labels.shape),
    ]


def _of_nearness(logits: Floats, nearness: npt.NDArray[np.float32], mean: float) -> list[Floats]:
    """[nearness beyond the mean, the same times the logit of the chance], each (n, k)."""
    beyond = np.broadcast_to(nearness.astype(np.float64)[:, None] - mean, logits.shape)
    return [beyond, beyond * logits]


def _weighted(weights: Floats, columns: list[Floats]) -> Floats:
    """The weighted sum of columns; by column, so that no library's threads decide the last bit."""
    total: Floats = weights[0] * columns[0]
    for weight, column in zip(weights[1:], columns[1:], strict=True):
        total = total + weight * column
    return total


def _logistic(columns: list[Floats], right: Floats) -> Floats:
    """The weights of a logistic regression, drawn to the first column alone, which stays where it would count less."""
    plain = np.eye(len(columns))[0]
    weights = plain.copy()
    for _ in range(_STEPS):  # Newton's method
        margin = _weighted(weights, columns)
        said = 1 / (1 + np.exp(-np.clip(margin, -30, 30)))
        miss, spread = right - said, said * (1 - said)
        slope = np.array([np.sum(column * miss) for column in columns]) - _DRAWN * (weights - plain)
        weighted = [column * spread for column in columns]
        bend = np.array([[np.sum(one * other) for other in columns] for one in weighted])
        step = np.linalg.solve(bend + _DRAWN * np.eye(len(columns)), slope)
        weights = weights + np.clip(step, -1, 1)
        if np.max(np.abs(step)) < 1e-9:
            break
    return weights if weights[0] > 0 else np.asarray(plain, np.float64)
