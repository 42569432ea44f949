"""calibrated: how sure a model's answers are, learnt from training rows that were held out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood.calibration.fitted import FittedCalibration, bands_of
from labelwood.calibration.held_out import SMALLEST_ROWS, HeldOut, held_out, places
from labelwood.calibration.isotonic import Curve, learnt_curve
from labelwood.calibration.rule import Assignment
from labelwood.calibration.thresholds import N_BANDS, Judged, Thresholds, chosen_thresholds
from labelwood.errors import DataError
from labelwood.metrics.bands import mass_bands
from labelwood.metrics.hits import hit_matrix
from labelwood.models.base import Model
from labelwood.models.fit_input import FitInput, checked_input
from labelwood.params import Params
from labelwood.progress import SILENT, Progress
from labelwood.topk import PAD, TopK

Bools = npt.NDArray[np.bool_]


def calibrated(
    model: Model[Any, Any], x: Any, y: Any = None, assign: str = "f1", *, progress: Progress = SILENT
) -> FittedCalibration:
    """How sure the answers of a model with these settings are, and which labels the rule `assign` gives.

    x, y: the training rows, as in `model.fit`, or a Dataset. The model itself is not changed; others like it are
    trained on parts of the rows. `calibration.assigned(model.predict(x, calibration.width))` are the labels given.
    """
    data = checked_input(x, y, progress=progress, what="calibrated")
    if not enough_rows(data):
        raise DataError(f"probabilities need at least {SMALLEST_ROWS} rows with labels")
    return calibration_of(type(model), model._settings(), data, Assignment.parse(assign))


def enough_rows(data: FitInput) -> bool:
    """True if there are enough labelled rows to hold some out."""
    return int(np.count_nonzero(np.diff(data.y.indptr))) >= SMALLEST_ROWS


def calibration_of(
    model: type[Model[Any, Any]], settings: Params, data: FitInput, rule: Assignment
) -> FittedCalibration:
    """The calibration of a model with these settings, from rows that it has not seen."""
    return learnt(held_out(model, settings, data, places(data.y, rule)), data.trained_on().label_counts, rule)


def learnt(answers: HeldOut, counts: npt.NDArray[np.int64], rule: Assignment) -> FittedCalibration:
    """The calibration of answers to held-out rows; counts: the training rows of every label.

    Thresholds are chosen with probabilities that the other half of the rows gave: no row judges itself.
    """
    cuts = _cuts(counts)
    bands = bands_of(counts, cuts)
    hit = hit_matrix(answers.top, answers.y).hit.astype(bool)
    even = np.arange(len(answers.top)) % 2 == 0
    probabilities = np.full(hit.shape, -1.0)
    for teaching, asked in ((even, ~even), (~even, even)):
        curves = _curves(answers.top[teaching], hit[teaching], bands)
        probabilities[asked] = FittedCalibration(
            rule, curves, _NO_THRESHOLDS, cuts, counts, answers.top.k, {}
        ).probabilities(answers.top[asked])
    probabilities[answers.top.labels == PAD] = -1.0
    n_true = np.diff(answers.y.indptr).astype(np.int64)
    truth = np.bincount(answers.y.indices, minlength=len(counts)).astype(np.int64)
    judged = Judged(answers.top.labels, probabilities, hit, n_true, bands, truth)
    thresholds = chosen_thresholds(rule, judged)
    calibration = FittedCalibration(rule, _curves(answers.top, hit, bands), thresholds, cuts, counts, answers.top.k, {})
    reached = _reached(calibration, judged, answers.n_models)
    return FittedCalibration(rule, calibration.curves, thresholds, cuts, counts, answers.top.k, reached)


_NO_THRESHOLDS = Thresholds(np.zeros(N_BANDS, np.float32), np.zeros(0, np.int32), np.zeros(0, np.float32))


def _curves(top: TopK, hit: Bools, bands: npt.NDArray[np.int64]) -> tuple[Curve, ...]:
    """The curve of each band; a band without answers has that of all labels."""
    real = top.labels != PAD
    scores, right, band_of = top.scores[real], hit[real], bands[top.labels[real]]
    if not len(scores):
        flat = Curve(np.zeros(1, np.float32), np.zeros(1, np.float32))
        return (flat,) * N_BANDS
    base = learnt_curve(scores, right)
    parts = [band_of == band for band in range(N_BANDS)]
    return tuple(learnt_curve(scores[part], right[part], base) if part.any() else base for part in parts)


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
