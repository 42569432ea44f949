"""calibrated: how sure a model's answers are, learnt from training rows that were held out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood.calibration.fitted import FittedCalibration, bands_of
from labelwood.calibration.held_out import SMALLEST_ROWS, HeldOut, held_out, parts_of, places
from labelwood.calibration.isotonic import Curve, learnt_curve
from labelwood.calibration.label_odds import learnt_odds, with_odds
from labelwood.calibration.row_context import RowContext, learnt_context
from labelwood.calibration.rule import Assignment
from labelwood.calibration.thresholds import N_BANDS, NO_THRESHOLDS, Judged, chosen_thresholds
from labelwood.data.groups import turns
from labelwood.errors import DataError
from labelwood.metrics.bands import mass_bands
from labelwood.metrics.hits import hit_matrix
from labelwood.models.base import Model
from labelwood.models.fit_input import FitInput, checked_input
from labelwood.progress import SILENT, Outlined, Progress
from labelwood.topk import PAD, TopK

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
FOLDS = 5  # of the held-out rows, for thresholds


def calibrated(
    model: Model[Any, Any],
    x: Any,
    y: Any = None,
    assign: str = "f1",
    *,
    groups: Any = None,
    progress: Progress = SILENT,
) -> FittedCalibration:
    """How sure the answers of a model with these settings are, and which labels the rule `assign` gives.

    x, y, groups: the training rows, as in `model.fit`, or a Dataset. Fit the model first: what it chose (weights,
    costs) is then taken over. The model itself is not changed; others like it are trained on parts of the rows.
    `calibration.assigned(model.predict(x, calibration.width))` are the labels given.
    """
    data = checked_input(x, y, groups=groups, progress=progress, what="calibrated")
    if not enough_rows(data):
        raise DataError(f"probabilities need at least {SMALLEST_ROWS} rows with labels")
    return calibration_of(model, data, Assignment.parse(assign))


def enough_rows(data: FitInput) -> bool:
    """True if there are enough labelled rows to hold some out."""
    return int(np.count_nonzero(np.diff(data.y.indptr))) >= SMALLEST_ROWS


def outlined(
    model: Model[Any, Any], data: FitInput, rule: Assignment | None, texts: Bools | None, progress: Progress
) -> Progress:
    """The progress of a model's training and, with a rule, of its calibration: with the time left where it is known.

    texts: as in `calibration_of`.
    """
    settings = model._settings()
    stages = [] if progress is SILENT else model._stages(settings, data)
    if not stages:
        return progress
    if rule is not None and enough_rows(data if texts is None else data.take(np.flatnonzero(texts))):
        stages += model._stages_without(settings, data, parts_of(type(model), settings, data, texts))
    return Outlined(progress, stages)


def calibration_of(
    model: Model[Any, Any], data: FitInput, rule: Assignment, texts: Bools | None = None
) -> FittedCalibration:
    """The calibration of a model, from answers of others like it to rows that they have not seen.

    texts: which rows are texts, where others are names of labels; None for all.
    """
    settings, like = model._settings(), None
    if model.__sklearn_is_fitted__():
        like = model.fitted_
        settings = replace(like.repeated_settings(), n_threads=settings.n_threads)
    width = places(data.y if texts is None else data.y[texts], rule)
    answers = held_out(type(model), settings, data, width, like, texts)
    return learnt(answers, data.trained_on().label_counts, rule)


def learnt(answers: HeldOut, counts: npt.NDArray[np.int64], rule: Assignment) -> FittedCalibration:
    """The calibration of answers to held-out rows; counts: the training rows of every label.

    Thresholds are chosen on probabilities that each row has from the curves and odds of other rows: a row would else
    judge itself, and an asked precision would come out too low.
    """
    cuts, n_labels = _cuts(counts), len(counts)
    top, hit = answers.top, hit_matrix(answers.top, answers.y).hit.astype(bool)
    # By all training rows, not by those that the answering model saw: a rare label of which it saw all has no held-out
    # row, so such answers are never right. But a group takes many rows of a label with it: there what was seen counts.
    bands = bands_of(counts, cuts)[top.labels] if answers.seen is None else bands_of(answers.seen, cuts)
    scale = _scale(top, hit, bands, n_labels)
    draft = FittedCalibration(
        rule, scale.curves, NO_THRESHOLDS, cuts, counts, top.k, {}, n_labels, scale.odds, scale.context
    )
    judged = Judged(
        top.labels,
        np.where(top.labels == PAD, -1.0, _by_others(top, hit, bands, n_labels, answers.groups)),
        hit,
        np.diff(answers.y.indptr).astype(np.int64),
        draft.bands,
        np.bincount(answers.y.indices, minlength=n_labels).astype(np.int64),
    )
    calibration = replace(draft, thresholds=chosen_thresholds(rule, judged))
    return replace(calibration, held_out=_reached(calibration, judged, answers.n_models))


def _by_others(
    top: TopK, hit: Bools, bands: Ints, n_labels: int, groups: Ints | None = None
) -> npt.NDArray[np.float64]:
    """The probabilities of answers by what the rows of the other folds say; rows of a group are in one fold."""
    fold = turns(len(top), groups) % FOLDS
    probabilities = np.zeros(top.labels.shape)
    for number in range(FOLDS):
        mine, others = fold == number, fold != number
        if not mine.any():
            continue
        scale = _scale(top[others], hit[others], bands[others], n_labels)
        asked = top[mine]
        said = _said(scale.curves, scale.refined(asked), bands[mine])
        probabilities[mine] = with_odds(said, scale.odds[asked.labels])
    return probabilities


@dataclass(frozen=True, eq=False)
class _Scale:
    """How scores become probabilities: by the context of a row, the curve of a band, the odds of a label."""

    context: RowContext | None
    curves: tuple[Curve, ...]
    odds: npt.NDArray[np.float32]

    def refined(self, top: TopK) -> npt.NDArray[np.float32]:
        return top.scores if self.context is None else self.context.refined(top)


def _scale(top: TopK, hit: Bools, bands: Ints, n_labels: int) -> _Scale:
    """The scale of answers, of which `hit` were right; a band without answers has the curve of all labels."""
    real = top.labels != PAD
    if not real.any():
        flat = Curve(np.zeros(1, np.float32), np.zeros(1, np.float32))
        return _Scale(None, (flat,) * N_BANDS, np.ones(n_labels, np.float32))
    context = learnt_context(top, hit)
    scores, right, band_of = context.refined(top)[real], hit[real], bands[real]
    base = learnt_curve(scores, right)
    parts = [band_of == band for band in range(N_BANDS)]
    curves = tuple(learnt_curve(scores[part], right[part], base) if part.any() else base for part in parts)
    odds = learnt_odds(_said(curves, scores, band_of), right, top.labels[real], n_labels)
    return _Scale(context, curves, odds.astype(np.float32))


def _said(curves: tuple[Curve, ...], scores: npt.NDArray[Any], bands: Ints) -> npt.NDArray[np.float64]:
    """The probabilities of refined scores by the curve of their band."""
    said = np.zeros(scores.shape)
    for band, curve in enumerate(curves):
        said[bands == band] = curve(scores[bands == band])
    return said


def _cuts(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Training rows from which on a label is in the head, and in the torso: bands of equal mass."""
    bands = mass_bands(counts, N_BANDS)
    upto = [counts[bands <= band] for band in range(N_BANDS - 1)]
    return np.array([part.min() if len(part) else counts.max() + 1 for part in upto], np.int64)


def _reached(calibration: FittedCalibration, judged: Judged, n_models: int) -> dict[str, float]:
    """What the thresholds reach on the held-out rows: shares, and labels a row."""
    given = (judged.probabilities >= calibration.thresholds_of(judged.labels)) & (judged.labels != PAD)
    hits, n_given, n_true = int((judged.hit & given).sum()), int(given.sum()), int(judged.n_true.sum())
    return {
        "rows": len(judged.n_true),
        "models": n_models,
        "precision": round(hits / max(1, n_given), 4),
        "recall": round(hits / max(1, n_true), 4),
        "f1": round(2 * hits / max(1, n_given + n_true), 4),
        "labels_a_row": round(n_given / len(judged.n_true), 4),
    }
