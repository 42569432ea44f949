"""Thresholds: from which probability on a label is given, chosen on answers whose truth is known."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from labelwood.calibration.rule import Assignment

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
GRID = 200  # thresholds that are tried where a goal is no sum over answers
N_BANDS = 3
LEAST_ANSWERS = 10  # fewer say nothing about a precision
FEW_ANSWERS = 100  # a precision of 0.9 is then uncertain by 0.03
LEAST_POSITIVES = 5  # rows that a label needs for a threshold of its own
# Rows at which a label's own threshold counts as much as that of its band.
HALF_TRUSTED = 20.0
NEVER = 2.0  # above every probability


@dataclass(frozen=True, eq=False)
class Judged:
    """Answers with probabilities beside the truth: labels, probabilities and hits (n_rows, width), n_true (n_rows,).

    Padding has probability -1. bands: the band of every label. truth: the rows that have each label.
    """

    labels: npt.NDArray[np.int32]
    probabilities: Floats
    hit: npt.NDArray[np.bool_]
    n_true: npt.NDArray[np.int64]
    bands: npt.NDArray[np.int64]
    truth: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Thresholds:
    """The threshold of each band, and of labels that have their own; note: what could not be reached, if anything."""

    of_bands: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int32]
    of_labels: npt.NDArray[np.float32]
    note: str = ""


NO_THRESHOLDS = Thresholds(np.zeros(N_BANDS, np.float32), np.zeros(0, np.int32), np.zeros(0, np.float32))


def chosen_thresholds(rule: Assignment, judged: Judged) -> Thresholds:
    """The thresholds that come nearest to what the rule asks for, on these answers."""
    if rule.goal == "f1-macro":
        return _macro(judged)
    if rule.goal == "f1-sample":
        return _for_all(_best_for_rows(judged))
    if rule.goal == "threshold":
        return _for_all(rule.number or 0.0)
    threshold, note = _on_the_curve(rule, judged)
    return _for_all(threshold, note)


def _for_all(threshold: float, note: str = "") -> Thresholds:
    return replace(NO_THRESHOLDS, of_bands=np.full(N_BANDS, threshold, np.float32), note=note)


def _on_the_curve(rule: Assignment, judged: Judged) -> tuple[float, str]:
    """(threshold, note) of goals that depend on the best n answers of all rows together."""
    real = judged.probabilities >= 0
    order = np.argsort(-judged.probabilities[real], kind="stable")
    falling = judged.probabilities[real][order]
    if not len(falling):
        return NEVER, "held-out rows get no answers at all: nothing is assigned"
    hits = np.cumsum(judged.hit[real][order], dtype=np.int64)
    given = np.arange(1, len(falling) + 1)
    # Equal probabilities are given together or not at all.
    ends = np.flatnonzero(np.append(falling[1:] < falling[:-1], True))
    falling, hits, given = falling[ends], hits[ends], given[ends]
    n_true, number = int(judged.n_true.sum()), rule.number or 0.0
    if hits[-1] == 0:
        return NEVER, "no answer to a held-out row is right: nothing is assigned"
    if rule.goal == "f1":
        return _between(falling, int(np.argmax(2 * hits / (given + n_true)))), ""
    if rule.goal == "precision":
        return _for_precision(number, falling, np.diff(given, prepend=0), given)
    if rule.goal == "recall":
        recall = hits / n_true
        if recall[-1] >= number:
            return _between(falling, int(np.argmax(recall >= number))), ""
        return 0.0, f"the recall {number:g} is not reached; all answers together reach {recall[-1]:.2f}"
    wanted = number * len(judged.n_true)
    if given[-1] < wanted:
        return 0.0, f"{number:g} labels a row are more than the {given[-1] / len(judged.n_true):.1f} that it looks at"
    return _between(falling, int(np.argmin(np.abs(given - wanted)))), ""


def _for_precision(number: float, falling: Floats, sizes: Ints, given: Ints) -> tuple[float, str]:
    """(threshold, note): the lowest threshold at which answers are right so often, by their own probabilities.

    Of many thresholds near the goal the last one whose hits reach it would do so by luck; probabilities are smoother.
    """
    expected = np.cumsum(falling * sizes) / given
    enough = np.flatnonzero(given >= min(LEAST_ANSWERS, int(given[-1])))
    fine = enough[expected[enough] >= number]
    if not len(fine):
        first = int(enough[0])
        note = (
            f"the precision {number:g} is not reached: the surest answers are right in {expected[first]:.0%} of cases; "
            "only such answers are given"
        )
        return _between(falling, first), note
    last = int(fine[-1])
    few = f"only {given[last]} answers to held-out rows reach the precision {number:g}, so it is not sure"
    return _between(falling, last), few if given[last] < FEW_ANSWERS else ""


def _between(falling: Floats, last: int) -> float:
    """A threshold that lets the answers up to place `last` through and no more."""
    below = falling[last + 1] if last + 1 < len(falling) else 0.0
    return float((falling[last] + below) / 2)


def _grid(probabilities: Floats) -> Floats:
    real = probabilities[probabilities >= 0]
    return np.unique(np.quantile(real, np.linspace(0, 1, GRID))) if len(real) else np.array([NEVER])


def _best_for_rows(judged: Judged) -> float:
    """The threshold with the best mean F1 of the rows."""
    best, best_mean = NEVER, -1.0
    for threshold in _grid(judged.probabilities):
        kept = judged.probabilities >= threshold
        hits, given = (judged.hit & kept).sum(axis=1), kept.sum(axis=1)
        mean = float(np.mean(2 * hits / np.maximum(1, given + judged.n_true)))
        if mean > best_mean:
            best, best_mean = float(threshold), mean
    return best


def _macro(judged: Judged) -> Thresholds:
    """The thresholds with the best mean F1 of the labels: one a band; frequent labels have their own, drawn to it."""
    real = judged.probabilities >= 0
    labels, probabilities, hit = judged.labels[real], judged.probabilities[real], judged.hit[real]
    of_bands = np.full(N_BANDS, NEVER)
    best_mean = np.full(N_BANDS, -1.0)
    n_labels = len(judged.bands)
    present = judged.truth > 0
    for threshold in _grid(judged.probabilities):
        kept = probabilities >= threshold
        hits = np.bincount(labels[kept & hit], minlength=n_labels)
        given = np.bincount(labels[kept], minlength=n_labels)
        scores = 2 * hits / np.maximum(1, given + judged.truth)
        for band in range(N_BANDS):
            counted = (judged.bands == band) & (present | (given > 0))
            mean = float(scores[counted].mean()) if counted.any() else -1.0
            if mean > best_mean[band]:
                of_bands[band], best_mean[band] = threshold, mean
    order = np.lexsort((-probabilities, labels))
    starts = np.searchsorted(labels[order], np.arange(n_labels + 1))
    special, values = [], []
    for label in np.flatnonzero(judged.truth >= LEAST_POSITIVES).tolist():
        answers = order[starts[label] : starts[label + 1]]
        if not hit[answers].any():
            continue
        falling = probabilities[answers]
        scores = 2 * np.cumsum(hit[answers]) / (np.arange(1, len(answers) + 1) + judged.truth[label])
        alone = _between(falling, int(np.argmax(scores)))
        trust = judged.truth[label] / (judged.truth[label] + HALF_TRUSTED)
        special.append(label)
        values.append(trust * alone + (1 - trust) * of_bands[judged.bands[label]])
    return Thresholds(of_bands.astype(np.float32), np.array(special, np.int32), np.array(values, np.float32))
