"""FittedCalibration: how sure an answer is, and which labels are given; immutable, a few knots a band of labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood.calibration.isotonic import Curve
from labelwood.calibration.label_odds import with_odds
from labelwood.calibration.row_context import N_NEAR, N_WEIGHTS, RowContext
from labelwood.calibration.rule import Assignment
from labelwood.calibration.thresholds import N_BANDS, NEVER, Thresholds
from labelwood.errors import LabelwoodError, ModelFileError
from labelwood.storage.schema import ArrayRule, Arrays, Schema, check_arrays, whole_number
from labelwood.topk import MOST_PADDED, PAD, TopK

_SCHEMA: Schema = {
    "scores": ArrayRule("float32", ("n_knots",), finite=True),
    "probabilities": ArrayRule("float32", ("n_knots",), low=0, below=1.0001),
    "starts": ArrayRule("int64", (N_BANDS + 1,), low=0),
    "cuts": ArrayRule("int64", (N_BANDS - 1,), low=0),
    "thresholds": ArrayRule("float32", (N_BANDS,), low=0, below=NEVER + 1),
    "labels": ArrayRule("int32", ("n_special",), low=0, below="n_labels"),
    "label_thresholds": ArrayRule("float32", ("n_special",), low=0, below=NEVER + 1),
    # Folders of earlier versions have neither: no label has odds of its own.
    "odds_labels": ArrayRule("int32", ("n_odds",), low=0, below="n_labels", optional=True),
    "odds": ArrayRule("float32", ("n_odds",), low=1e-30, finite=True, optional=True),
    # Nor have they these: the curves of the bands then read the scores themselves.
    "context_scores": ArrayRule("float32", ("n_context",), finite=True, optional=True),
    "context_chances": ArrayRule("float32", ("n_context",), low=0, below=1.0001, optional=True),
    "context_weights": ArrayRule("float64", (N_WEIGHTS,), finite=True, optional=True),
    # Models that do not tell how near a row is have none, nor have folders of earlier versions.
    "context_near": ArrayRule("float64", (N_NEAR,), finite=True, optional=True),
}
_FACTS = {"assign", "width", "held_out", "note", "n_judged"}
# Labels that came later were in no held-out row, and are right less often than others with their score. Probabilities
# of new labels and how often they were right, held-out training rows, 300 and 1,000 rows learnt by a linear
# tree: CookingStackExchange 0.13: 0.05, 0.26: 0.16, 0.60: 0.52; EURLEX57K 0.14: 0.04, 0.38: 0.16, 0.58: 0.38.
NEW_POWER = 1.5


@dataclass(frozen=True, eq=False)
class FittedCalibration:
    """Scores -> probabilities by band of labels (head, torso, tail), and the thresholds of a rule.

    cuts: training rows from which on a label belongs to the head, and to the torso. counts: training rows of every
    label. width: how many answers of a row are looked at when labels are assigned. held_out: what the rule reached on
    held-out rows, by name. n_judged: the labels that held-out rows could have; those behind came later, and their
    probabilities are shrunk. odds: the factor of each label's odds, 1 for those that are like others of their band;
    labels that came later have none. context: what a score is worth beside the other answers of its row, which the
    curves read in place of the score; None in folders of earlier versions.
    """

    rule: Assignment
    curves: tuple[Curve, ...]
    thresholds: Thresholds
    cuts: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    width: int
    held_out: Mapping[str, float]
    n_judged: int
    odds: npt.NDArray[np.float32]
    context: RowContext | None = None
    bands: npt.NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bands", bands_of(self.counts, self.cuts))

    @property
    def note(self) -> str:
        """What the rule asked for and held-out rows did not reach; empty if all was reached."""
        return self.thresholds.note

    # answering

    def probabilities(self, top: TopK, among: TopK | None = None) -> npt.NDArray[np.float32]:
        """How probable each answer is, float32 (n, k); 0 for padding.

        among: the first LOOKED answers of each row, of all labels, where `top` lacks some of them (row_context.py).
        """
        real = top.labels != PAD
        scores = top.scores if self.context is None else self.context.refined(top, among)
        known = np.zeros(top.labels.shape, np.float32)
        bands = np.where(real, self.bands[np.where(real, top.labels, 0)], -1)
        for band, curve in enumerate(self.curves):
            of_band = bands == band
            known[of_band] = curve(scores[of_band])
        own = top.labels < len(self.odds)  # padding gets some label's factor, and stays 0
        known[own] = with_odds(known[own], self.odds[top.labels[own]])
        came_later = top.labels >= self.n_judged
        known[came_later] **= NEW_POWER
        return known

    def ranked(self, top: TopK, among: TopK | None = None) -> TopK:
        """The same answers with probabilities in place of scores, most probable first; among: as in `probabilities`."""
        return _ordered(top, np.where(top.labels != PAD, self.probabilities(top, among), -np.inf))

    def assigned(self, top: TopK, among: TopK | None = None, threshold: float | None = None) -> TopK:
        """The answers that the rule gives, with probabilities in place of scores; a row may keep none.

        threshold: the least probability of an answer, in place of the rule.
        """
        probabilities = self.probabilities(top, among)
        kept = (top.labels != PAD) & (probabilities >= self.thresholds_of(top.labels, threshold))
        chosen = _ordered(top, np.where(kept, probabilities, -np.inf))
        most = int(kept.sum(axis=1).max()) if kept.size else 0
        return TopK(np.where(np.isfinite(chosen.scores), chosen.labels, PAD), chosen.scores).cut(max(1, most))

    def thresholds_of(self, labels: npt.NDArray[np.int32], asked: float | None = None) -> npt.NDArray[np.float32]:
        """The threshold of each of some labels, in their shape: what is asked for, else what the rule has chosen."""
        if asked is not None:
            return np.full(labels.shape, asked, np.float32)
        numbers = np.where(labels != PAD, labels, 0)
        values = self.thresholds.of_bands[self.bands[numbers]]
        special = self.thresholds.labels
        if len(special):
            places = np.minimum(np.searchsorted(special, numbers), len(special) - 1)
            values = np.where(special[places] == numbers, self.thresholds.of_labels[places], values)
        return values

    # storage

    @classmethod
    def schema(cls) -> Schema:
        """The arrays of a calibration."""
        return _SCHEMA

    def arrays(self) -> Arrays:
        """The calibration as named arrays, as the schema declares them."""
        special = np.flatnonzero(self.odds != 1)
        context: Arrays = {}
        if self.context is not None:
            context = {
                "context_scores": self.context.curve.scores,
                "context_chances": self.context.curve.probabilities,
                "context_weights": self.context.weights,
            }
            if self.context.near is not None:
                context["context_near"] = self.context.near
        return {
            "scores": np.concatenate([curve.scores for curve in self.curves]),
            "probabilities": np.concatenate([curve.probabilities for curve in self.curves]),
            "starts": np.cumsum([0, *(len(curve.scores) for curve in self.curves)], dtype=np.int64),
            "cuts": self.cuts,
            "thresholds": self.thresholds.of_bands,
            "labels": self.thresholds.labels,
            "label_thresholds": self.thresholds.of_labels,
            "odds_labels": special.astype(np.int32),
            "odds": self.odds[special],
            **context,
        }

    def facts(self) -> dict[str, Any]:
        """The calibration beside the arrays: JSON values only."""
        return {
            "assign": str(self.rule),
            "width": self.width,
            "held_out": dict(self.held_out),
            "note": self.thresholds.note,
            "n_judged": self.n_judged,
        }

    @classmethod
    def restore(cls, arrays: Arrays, facts: Mapping[str, Any], counts: npt.NDArray[np.int64]) -> FittedCalibration:
        """The calibration of saved arrays and facts; ModelFileError if they do not fit together."""
        where = "calibration"
        if not isinstance(facts, Mapping) or set(facts) != _FACTS:
            raise ModelFileError(f"{where}: its facts must be {', '.join(sorted(_FACTS))}, but are {facts!r:.80}")
        check_arrays(_SCHEMA, arrays, {"n_labels": len(counts)}, where)
        starts = arrays["starts"]
        if starts[0] != 0 or np.any(np.diff(starts) < 1) or starts[-1] != len(arrays["scores"]):
            raise ModelFileError(f"{where}: every band needs a knot, but the bands begin at {starts.tolist()}")
        if np.any(np.diff(arrays["labels"]) <= 0):
            raise ModelFileError(f"{where}: the labels with thresholds of their own do not ascend")
        curves = [
            _rising(arrays["scores"][start:end], arrays["probabilities"][start:end], where)
            for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        ]
        held_out, note = facts["held_out"], facts["note"]
        if not isinstance(held_out, dict) or not all(isinstance(value, (int, float)) for value in held_out.values()):
            raise ModelFileError(f"{where}: held_out must hold numbers by name, but is {held_out!r:.80}")
        if not isinstance(note, str):
            raise ModelFileError(f"{where}: note must be a text, but is {note!r:.80}")
        try:
            rule = Assignment.parse(facts["assign"])
        except LabelwoodError as error:
            raise ModelFileError(f"{where}: {error}") from error
        thresholds = Thresholds(arrays["thresholds"], arrays["labels"], arrays["label_thresholds"], note)
        width = whole_number(facts, "width", 1, MOST_PADDED, where)
        n_judged = whole_number(facts, "n_judged", 0, len(counts), where)
        odds = np.ones(n_judged, np.float32)
        if "odds" in arrays or "odds_labels" in arrays:
            labels = arrays.get("odds_labels", np.zeros(0, np.int32))
            if "odds" not in arrays or len(labels) != len(arrays["odds"]) or np.any(np.diff(labels) <= 0):
                raise ModelFileError(f"{where}: odds and the labels that have them do not fit together")
            if len(labels) and labels[-1] >= n_judged:
                raise ModelFileError(f"{where}: label {labels[-1]} has odds, but only {n_judged} were judged")
            odds[labels] = arrays["odds"]
        context = _context(arrays, where)
        return cls(rule, tuple(curves), thresholds, arrays["cuts"], counts, width, held_out, n_judged, odds, context)


def _context(arrays: Arrays, where: str) -> RowContext | None:
    """The context of saved arrays, if they have one."""
    present = [name for name in ("context_scores", "context_chances", "context_weights") if name in arrays]
    if not present and "context_near" not in arrays:
        return None
    if len(present) < 3 or len(arrays["context_scores"]) == 0:
        raise ModelFileError(f"{where}: the context of rows needs a curve and weights, but has {', '.join(present)}")
    curve = _rising(arrays["context_scores"], arrays["context_chances"], where)
    return RowContext(curve, arrays["context_weights"], arrays.get("context_near"))


def _rising(scores: npt.NDArray[np.float32], probabilities: npt.NDArray[np.float32], where: str) -> Curve:
    """The curve of saved knots; ModelFileError if it falls."""
    if len(scores) != len(probabilities) or np.any(np.diff(scores) <= 0) or np.any(np.diff(probabilities) < 0):
        raise ModelFileError(f"{where}: a curve falls")
    return Curve(scores, probabilities)


def bands_of(counts: npt.NDArray[Any], cuts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The band of labels with so many training rows: 0 from the first cut on, 1 from the second on, else 2."""
    return np.asarray((counts[..., None] < cuts).sum(axis=-1), np.int64)


def _ordered(top: TopK, values: npt.NDArray[Any]) -> TopK:
    """The answers by falling value; equal values go to the better score, as they came."""
    order = np.argsort(-values, axis=1, kind="stable")
    return TopK(
        np.take_along_axis(top.labels, order, axis=1), np.take_along_axis(values, order, axis=1).astype(np.float32)
    )
