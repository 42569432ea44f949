"""Are two models really different? Bootstrap intervals and paired sign-flip tests from the scores of every row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labelwood import _native
from labelwood.data.groups import Ints, summed
from labelwood.matrices import column_ids, row_pointers
from labelwood.metrics.hits import Floats, Hits
from labelwood.metrics.ranking import discounts, ideal_dcg

KINDS = ("P", "nDCG", "PSP", "R", "sample-F1")
RESAMPLES = 2000
# Resamples times rows: above it fewer are drawn (2 x 10^8 take about five seconds), but never fewer than LEAST.
MOST_DRAWS = 2e8
LEAST = 200
_CELLS = 1 << 23  # draws held at once


@dataclass(frozen=True, eq=False)
class RowScores:
    """What each row adds to each metric: metric = 100 * sum(gained) / sum(possible), both (n_rows, n_metrics).

    For means `possible` is 1 in every row; PSP is a ratio of sums. `possible` is the same for every model.
    """

    names: tuple[str, ...]
    gained: Floats
    possible: Floats

    def of_groups(self, groups: Ints | None) -> RowScores:
        """What each group adds; resampling then draws whole groups, and signs flip for whole groups.

        The rows themselves without groups, or if all are of one.
        """
        return RowScores(self.names, summed(self.gained, groups), summed(self.possible, groups))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Each metric of each model with its interval, and how it stands against the best model in that metric.

    All arrays (n_models, n_metrics), per cent; differences are best minus model; p: two-sided, after Holm.
    best: (n_metrics,) places of the best models.
    """

    names: tuple[str, ...]
    value: Floats
    low: Floats
    high: Floats
    best: np.ndarray[tuple[int], np.dtype[np.int64]]
    difference: Floats
    difference_low: Floats
    difference_high: Floats
    p: Floats
    n_resamples: int


def row_scores(hits: Hits, weights: Floats, ks: Sequence[int]) -> RowScores:
    """P, nDCG, PSP, R and sample-F1 at each k, row by row; weights: inverse propensities of the labels."""
    n_rows, width = hits.n_rows, max(ks)
    best = np.empty((n_rows, width))
    _native.best_weights(row_pointers(hits.y), column_ids(hits.y), np.ascontiguousarray(weights), best, 0)
    hit = hits.hit[:, :width]
    earned = np.cumsum(weights[hits.top.labels[:, :width]] * hit, axis=1)
    earnable = np.cumsum(best, axis=1)
    gains = np.cumsum(hit * discounts(width), axis=1)
    ones = np.ones(n_rows)
    columns: dict[str, tuple[Floats, Floats]] = {}
    for k in ks:
        n_hits = hits.upto(k)
        columns[f"P@{k}"] = n_hits / k, ones
        columns[f"nDCG@{k}"] = gains[:, k - 1] / ideal_dcg(hits.n_true, k), ones
        columns[f"PSP@{k}"] = earned[:, k - 1], earnable[:, k - 1]
        columns[f"R@{k}"] = n_hits / np.maximum(1, hits.n_true), ones
        columns[f"sample-F1@{k}"] = 2.0 * n_hits / np.maximum(1, hits.answered(k) + hits.n_true), ones
    names = tuple(f"{kind}@{k}" for kind in KINDS for k in ks)
    gained, possible = (np.column_stack([columns[name][side] for name in names]) for side in (0, 1))
    return RowScores(names, gained, possible)


def compared(models: Sequence[RowScores], *, seed: int = 0, n_resamples: int = RESAMPLES) -> Comparison:
    """The comparison of several models on the same rows.

    Intervals: 95 per cent, from resampled rows, the same resamples for all models. p: the share of random sign flips of
    the per-row differences that give a difference as large, corrected for the number of models (Holm).
    """
    names, possible = models[0].names, models[0].possible
    n_rows, n_metrics = possible.shape
    gained = np.stack([model.gained for model in models], axis=1)  # (n_rows, n_models, n_metrics)
    n_resamples = int(min(n_resamples, max(LEAST, MOST_DRAWS // n_rows)))
    value = _per_cent(gained.sum(axis=0), possible.sum(axis=0))
    best = np.argmax(value, axis=0)
    behind = gained[:, best, np.arange(n_metrics)][:, None, :] - gained  # (n_rows, n_models, n_metrics)
    random = np.random.default_rng(seed)
    sums = _resampled(np.concatenate([gained.reshape(n_rows, -1), possible], axis=1), n_resamples, random)
    resampled = _per_cent(sums[:, :-n_metrics].reshape(n_resamples, len(models), n_metrics), sums[:, None, -n_metrics:])
    differences = resampled[:, best, np.arange(n_metrics)][:, None, :] - resampled
    low, high = np.quantile(resampled, (0.025, 0.975), axis=0)
    difference_low, difference_high = np.quantile(differences, (0.025, 0.975), axis=0)
    p = _sign_flip_p(behind.reshape(n_rows, -1), n_resamples, random).reshape(len(models), n_metrics)
    for metric in range(n_metrics):
        others = np.flatnonzero(np.arange(len(models)) != best[metric])
        p[others, metric] = holm(p[others, metric])
    return Comparison(
        names, value, low, high, best, value[best, np.arange(n_metrics)] - value, difference_low, difference_high, p,
        n_resamples,
    )  # fmt: skip


def holm(p: Floats) -> Floats:
    """The p values of one family of tests, corrected by Holm's method."""
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(1.0, stepped)
    return corrected


def _per_cent(gained: Floats, possible: Floats) -> Floats:
    return np.asarray(100.0 * gained / np.where(possible > 0, possible, 1.0))


def _resampled(columns: Floats, n_resamples: int, random: np.random.Generator) -> Floats:
    """The column sums of rows drawn with replacement, (n_resamples, n_columns)."""
    n_rows = len(columns)
    sums = np.empty((n_resamples, columns.shape[1]))
    step = max(1, _CELLS // n_rows)
    for start in range(0, n_resamples, step):
        n = min(step, n_resamples - start)
        drawn = random.integers(0, n_rows, (n, n_rows)) + np.arange(n)[:, None] * n_rows
        counts = np.bincount(drawn.ravel(), minlength=n * n_rows).reshape(n, n_rows)
        sums[start : start + n] = counts.astype(np.float64) @ columns
    return sums


def _sign_flip_p(differences: Floats, n_flips: int, random: np.random.Generator) -> Floats:
    """The two-sided p of each column (n_columns,): how often random signs give a sum at least as far from 0."""
    n_rows = len(differences)
    observed = np.abs(differences.sum(axis=0)) * (1 - 1e-9)  # rounding must not make a tie a win
    as_far = np.zeros(differences.shape[1])
    step = max(1, _CELLS // n_rows)
    for start in range(0, n_flips, step):
        n = min(step, n_flips - start)
        signs = 2.0 * random.integers(0, 2, (n, n_rows), dtype=np.int8) - 1.0
        as_far += (np.abs(signs @ differences) >= observed).sum(axis=0)
    return np.asarray((1 + as_far) / (1 + n_flips))
