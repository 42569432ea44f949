"""Precision, recall, F1 of label sets (the first k answers, or all above a threshold), in three averages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelwood.errors import ParamError
from labelwood.metrics.hits import Floats, Hits, Ints
from labelwood.topk import PAD


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """For each label (n_labels,): hits, rows that were answered with it, rows that truly have it."""

    hit: Ints
    predicted: Ints
    truth: Ints

    def scores(self) -> tuple[Floats, Floats, Floats]:
        """(precision, recall, F1) of each label as fractions; 0 where the divisor is 0."""
        return _scores(self.hit, self.predicted, self.truth)

    @property
    def present(self) -> npt.NDArray[np.bool_]:
        """The labels that occur in the truth or in the prediction."""
        return np.asarray((self.predicted > 0) | (self.truth > 0))


def _truth_counts(hits: Hits) -> Ints:
    """The number of rows that truly have each label, int64 (n_labels,)."""
    return np.bincount(hits.y.indices, minlength=hits.n_labels).astype(np.int64)


def counts_at(hits: Hits, ks: list[int]) -> dict[int, LabelCounts]:
    """The per-label counts of the first k answers, for each k."""
    truth = _truth_counts(hits)
    hit, predicted = np.zeros(hits.n_labels, np.int64), np.zeros(hits.n_labels, np.int64)
    by_k: dict[int, LabelCounts] = {}
    done = 0
    for k in sorted(ks):
        places = slice(done, k)  # each place is counted once, however many k follow
        more_hit, more_predicted = _tally(hits, hits.top.labels[:, places], hits.hit[:, places])
        hit, predicted, done = hit + more_hit, predicted + more_predicted, k
        by_k[k] = LabelCounts(hit, predicted, truth)
    return by_k


def classification_at(hits: Hits, k: int, counts: LabelCounts) -> dict[str, float]:
    """micro-, macro- and sample-P, -R and -F1 @k in per cent, of the first k answers."""
    return _summary(f"@{k}", counts, hits.upto(k), hits.answered(k), hits.n_true)


def classification_above(hits: Hits, threshold: float) -> dict[str, float]:
    """micro-, macro- and sample-P, -R and -F1 in per cent, of all answers scoring at least the threshold."""
    number = isinstance(threshold, (int, float, np.integer, np.floating)) and not isinstance(threshold, bool)
    if not number or not np.isfinite(threshold):
        raise ParamError(f"threshold must be a finite number, but is {threshold!r}")
    # float32 on both sides: a score that was stored as 0.7 is then not below a threshold of 0.7.
    kept = (hits.top.scores >= np.float32(threshold)) & (hits.top.labels != PAD)
    hit = hits.hit * kept
    counts = LabelCounts(*_tally(hits, np.where(kept, hits.top.labels, PAD), hit), _truth_counts(hits))
    row_hits = hit.sum(axis=1, dtype=np.int64)
    return _summary(f"@t={threshold:g}", counts, row_hits, kept.sum(axis=1, dtype=np.int64), hits.n_true)


def _tally(hits: Hits, labels: npt.NDArray[np.int32], hit: npt.NDArray[np.uint8]) -> tuple[Ints, Ints]:
    """(hits, answers) of each label among some answers; padding is left out."""
    # One place more, in front, takes the padding: faster than cutting it out.
    predicted = np.bincount(labels.ravel() + 1, minlength=hits.n_labels + 1)[1:]
    hit_counts = np.bincount(labels[hit.astype(bool)], minlength=hits.n_labels)
    return hit_counts.astype(np.int64), predicted.astype(np.int64)


def _summary(suffix: str, counts: LabelCounts, hit: Ints, answered: Ints, n_true: Ints) -> dict[str, float]:
    totals = [np.array([part.sum()]) for part in (counts.hit, counts.predicted, counts.truth)]
    present = counts.present
    averages = {
        "micro": _scores(*totals),
        "macro": tuple(scores[present] for scores in counts.scores()),
        "sample": _scores(hit, answered, n_true),
    }
    return {
        f"{average}-{letter}{suffix}": 100.0 * float(values.mean()) if values.size else 0.0
        for average, scores in averages.items()
        for letter, values in zip(("P", "R", "F1"), scores, strict=True)
    }


def _scores(hit: Ints, predicted: Ints, truth: Ints) -> tuple[Floats, Floats, Floats]:
    """Precision, recall and F1 as fractions; a divisor of 0 gives 0."""
    return (
        hit / np.maximum(1, predicted),
        hit / np.maximum(1, truth),
        2.0 * hit / np.maximum(1, predicted + truth),
    )
