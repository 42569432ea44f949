"""The numbers of a comparison, from the answers of each model: metrics, curves, bands, reliability, hard labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.keyed_random import keyed_order
from labelwood.labelspace.names import padded_counts
from labelwood.metrics.bands import BANDS, band_report
from labelwood.metrics.evaluate import DEFAULT_KS, evaluate
from labelwood.metrics.filters import without_pairs
from labelwood.metrics.hits import Hits, Ints, hit_matrix
from labelwood.metrics.per_label import per_label
from labelwood.metrics.propensity import inverse_propensity, label_counts
from labelwood.metrics.ranking import recall
from labelwood.report.compare_data import Parts
from labelwood.report.compare_statistics import compared, row_scores
from labelwood.topk import PAD, TopK

WIDTH = 100  # answers a row: recall is drawn up to here
K = DEFAULT_KS[-1]
BINS = 10
HARD_LABELS = 15
HARD_LABEL_ROWS = 5  # test rows that make a label's figure worth showing
CONFUSIONS = 12
SAMPLES_OF_A_KIND = 2


@dataclass(frozen=True, eq=False)
class Answered:
    """The answers of one model to the test rows, and the chances (0 to 1) of the first ones."""

    title: str
    top: TopK
    chances: npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Judged:
    """Answers beside the truth, both without the filter pairs of the data."""

    title: str
    hits: Hits
    chances: npt.NDArray[np.float32]


def spare_places(parts: Parts) -> int:
    """How many answers of a row the filter pairs of the data may take away at most."""
    pairs = parts.test.filter_pairs
    return 0 if pairs is None or not len(pairs) else int(np.bincount(pairs[:, 0]).max())


def judged(answered: Answered, parts: Parts) -> Judged:
    """The answers beside the truth, WIDTH places a row."""
    top, y = answered.top, parts.test.y
    chances = answered.chances
    if parts.test.filter_pairs is not None and len(parts.test.filter_pairs):
        both = TopK(top.labels[:, : chances.shape[1]], chances)
        chances = without_pairs(both, y, parts.test.filter_pairs)[0].scores
        top, y, _ = without_pairs(top, y, parts.test.filter_pairs)
    return Judged(answered.title, hit_matrix(top.cut(WIDTH), y), chances)


def figures(models: Sequence[Judged], parts: Parts, *, seed: int = 0) -> dict[str, Any]:
    """Everything that is measured from answers, made of JSON's own kinds; models by title, all metrics in per cent."""
    counts, n_train = label_counts(parts.train.y)
    counts = padded_counts(counts, parts.test.n_labels)
    weights = inverse_propensity(counts, n_train=n_train)
    groups = None if parts.test.groups is None else np.asarray(parts.test.groups, np.int64)
    scores = [row_scores(model.hits, weights, DEFAULT_KS).of_groups(groups) for model in models]
    comparison = compared(scores, seed=seed)
    by_title = {}
    for place, model in enumerate(models):
        by_title[model.title] = {
            "metrics": evaluate(model.hits.top, model.hits.y, train_y=counts, n_train=n_train, per_band=True),
            "compared": {
                name: {
                    "value": float(comparison.value[place, metric]),
                    "low": float(comparison.low[place, metric]),
                    "high": float(comparison.high[place, metric]),
                    "behind": float(comparison.difference[place, metric]),
                    "behind_low": float(comparison.difference_low[place, metric]),
                    "behind_high": float(comparison.difference_high[place, metric]),
                    "p": float(comparison.p[place, metric]),
                }
                for metric, name in enumerate(comparison.names)
            },
            "recall_curve": [recall(model.hits, k) for k in range(1, WIDTH + 1)],
            "bands": _bands(model.hits, counts, n_train),
            "reliability": reliability(model.hits, model.chances),
            "confusions": [
                {"missed": parts.name(missed), "given": parts.name(given), "rows": rows}
                for missed, given, rows in confusions(model.hits)
            ],
        }
    return {
        "best": {name: models[comparison.best[metric]].title for metric, name in enumerate(comparison.names)},
        "n_resamples": comparison.n_resamples,
        "models": by_title,
        "hardest_labels": _hardest(models, parts, counts),
    }


def reliability(hits: Hits, chances: npt.NDArray[np.float32]) -> dict[str, Any]:
    """How far scores can be taken as chances: answers in bins of equal width, and the mean gap in per cent."""
    real = hits.top.labels[:, : chances.shape[1]] != PAD
    said = chances[real].astype(np.float64)
    right = hits.hit[:, : chances.shape[1]][real].astype(np.float64)
    places = np.minimum((said * BINS).astype(np.int64), BINS - 1)
    n = np.bincount(places, minlength=BINS)
    filled = np.flatnonzero(n)
    mean_said = np.bincount(places, said, BINS)[filled] / n[filled]
    mean_right = np.bincount(places, right, BINS)[filled] / n[filled]
    gap = float((n[filled] * np.abs(mean_said - mean_right)).sum() / max(1, n.sum()))
    bins = zip(mean_said.tolist(), mean_right.tolist(), n[filled].tolist(), strict=True)
    return {"gap": 100 * gap, "bins": [{"said": s, "right": r, "answers": count} for s, r, count in bins]}


def confusions(hits: Hits) -> list[tuple[int, int, int]]:
    """(missed label, label given in its place, rows), most frequent first.

    A row's answers are as many as it has labels, five at most; each wrong one is counted with each label they lack.
    """
    places = np.arange(min(K, hits.top.k))
    asked = places[None, :] < np.minimum(hits.n_true, K)[:, None]
    labels, right = hits.top.labels[:, : len(places)], hits.hit[:, : len(places)].astype(bool)
    given = asked & (labels != PAD)
    wrong = _indicator(given & ~right, labels, hits.y.shape)
    found = _indicator(given & right, labels, hits.y.shape)
    missed = sparse.csr_matrix(hits.y - found)
    missed.eliminate_zeros()
    pairs = sparse.coo_matrix(missed.T @ wrong)
    order = np.lexsort((pairs.col, pairs.row, -pairs.data))[:CONFUSIONS]
    return [(int(pairs.row[i]), int(pairs.col[i]), int(pairs.data[i])) for i in order]


def sample_rows(models: Sequence[Judged]) -> list[tuple[int, str]]:
    """(test row, why it is shown): rows on which the models differ, that all get right, that none gets right."""
    first = np.stack([model.hits.upto(1) for model in models])
    any_of_five = np.stack([model.hits.upto(K) for model in models])
    has_labels = models[0].hits.n_true > 0
    spread = any_of_five.max(axis=0) - any_of_five.min(axis=0)
    order = keyed_order(models[0].hits.n_rows, 0)
    by_spread = order[np.argsort(-spread[order], kind="stable")]
    kinds = (
        (by_spread, spread > 0, "the models differ"),
        (order, first.min(axis=0) > 0, "every first answer is right"),
        (order, has_labels & (any_of_five.max(axis=0) == 0), f"no right label among the first {K} of any model"),
    )
    chosen: dict[int, str] = {}
    for candidates, fits, why in kinds:
        rows = [int(row) for row in candidates[fits[candidates]] if int(row) not in chosen][:SAMPLES_OF_A_KIND]
        chosen.update(dict.fromkeys(rows, why))
    return list(chosen.items())


def _indicator(kept: npt.NDArray[np.bool_], labels: npt.NDArray[np.int32], shape: tuple[int, int]) -> sparse.csr_matrix:
    rows, places = np.nonzero(kept)
    ones = np.ones(len(rows), np.float32)
    return sparse.csr_matrix((ones, (rows, labels[rows, places])), shape=shape)


def _bands(hits: Hits, counts: Ints, n_train: int) -> list[dict[str, Any]]:
    report = band_report(hits.top, hits.y, counts, k=K, n_bands=len(BANDS), n_train=n_train)
    return [
        {"band": band, **{name: column[place].item() for name, column in report.items()}}
        for place, band in enumerate(BANDS)
    ]


def _hardest(models: Sequence[Judged], parts: Parts, counts: Ints) -> list[dict[str, Any]]:
    """The labels of several test rows that are found least, by the mean over the models."""
    truth = np.bincount(models[0].hits.y.indices, minlength=parts.test.n_labels)
    found = np.stack([per_label(model.hits.top, model.hits.y, K)["recall"] for model in models])
    enough = np.flatnonzero(truth >= min(HARD_LABEL_ROWS, int(truth.max())))
    order = enough[np.lexsort((enough, -truth[enough], found[:, enough].mean(axis=0)))][:HARD_LABELS]
    return [
        {
            "label": parts.name(int(label)),
            "train_rows": int(counts[label]),
            "test_rows": int(truth[label]),
            "found": {model.title: float(found[place, label]) for place, model in enumerate(models)},
        }
        for label in order
    ]
