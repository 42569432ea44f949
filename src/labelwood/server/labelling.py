"""What the routes do with a model: choose it, check the rows, label them, keep corrections."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any

from labelwood.server.batching import TEXTS
from labelwood.server.journal import Correction
from labelwood.server.problems import Problem
from labelwood.server.schemas import GivenLabel, PredictRequest, Reason, RowAnswer
from labelwood.server.served import Answers, ServedModel
from labelwood.tagger.tagger import Tagger
from labelwood.topk import PAD, USUAL_K

if TYPE_CHECKING:
    from labelwood.server.app import App
    from labelwood.server.requests import Request

# An allowed label is looked for among so many of the best; beyond that, a ranking of millions would hold up others.
DEEPEST = 10_000


def chosen_model(app: App, name: str | None) -> ServedModel:
    """The model that a request names, or the usual one; Problem 404 if there is none of that name."""
    served = app.models.get(name)
    if served is None:
        raise Problem(404, f"there is no model {name!r:.200} (there are: {', '.join(m.name for m in app.models)})")
    return served


def check_rows(app: App, kind: str, rows: Sequence[Any], most: int) -> None:
    """Problem 413 if there are too many rows or a text is too long."""
    if len(rows) > most:
        raise Problem(413, f"{len(rows)} rows came; at most {most} are taken at once")
    longest = app.settings.limits.text_characters
    if kind == TEXTS:
        for number, text in enumerate(rows):
            if len(text) > longest:
                raise Problem(413, f"texts, row {number}: {len(text)} characters; at most {longest} are taken")


@dataclass(slots=True)
class _Candidate:
    """A label that may be given to a row; probability and assigned are None where nothing was learnt about them."""

    number: int
    score: float
    probability: float | None = None
    assigned: bool | None = None


class Labeller:
    """Answers one request: asks for as many labels as its conditions need and leaves out what they forbid."""

    def __init__(self, app: App, served: ServedModel, asked: PredictRequest) -> None:
        self._app = app
        self._served = served
        self._calibration = served.calibration
        self._threshold = asked.threshold
        self._assign = asked.assign or asked.threshold is not None
        if self._assign and self._calibration is None:
            raise Problem(400, f"the model {served.name!r} has no rule that assigns labels: train it with one (assign)")
        widest = self._calibration.width if self._calibration is not None and self._assign else USUAL_K
        self._k = asked.k if asked.k is not None else widest
        self._min_score = asked.min_score
        self._allow = None if asked.allow is None else served.label_numbers(asked.allow)
        self._deny = served.label_numbers(asked.deny or ())
        self._reasons = asked.reasons
        served.check_language(asked.lang)
        self._lang = asked.lang

    def check_reasons(self, rows: Sequence[Any]) -> None:
        """Problem 400 if more labels would have to be explained than one request may have."""
        most = self._app.settings.limits.reasons
        if self._reasons and len(rows) * self._k > most:
            raise Problem(400, f"reasons for {len(rows)} rows of {self._k} labels; at most {most} labels are explained")

    async def answers(self, kind: str, rows: Sequence[Any], *, patient: bool = False) -> list[RowAnswer]:
        """The labels of each row; patient: wait for room in the queue, as a stream can."""
        width = self._k + len(self._deny)
        if self._allow is not None:
            width = max(4 * self._k, len(self._allow))
        if self._assign and self._calibration is not None:
            width = self._calibration.width  # as `Tagger.predict(assign=True)`: labels are assigned among so many
        while True:
            width = min(width, self._served.n_labels, max(DEEPEST, self._k))
            parts = await self._ask(kind, rows, width, patient)
            kept = [self._kept(row) for part in parts for row in self._candidates(part)]
            all_seen = self._assign or width in (self._served.n_labels, DEEPEST)
            if self._allow is None or all_seen or all(self._enough(row) for row in kept):
                break
            width *= 8
        answers = [RowAnswer([self._label(candidate) for candidate in row]) for row in kept]
        if self._reasons and kind == TEXTS:
            for text, answer in zip(rows, answers, strict=True):
                await self._give_reasons(text, answer)
        return answers

    async def _ask(self, kind: str, rows: Sequence[Any], width: int, patient: bool) -> list[Answers]:
        while True:
            try:
                return await self._app.batcher.ask(self._served, kind, rows, width)
            except Problem as problem:
                if not patient or problem.status != 503:
                    raise
                await asyncio.sleep(0.05)

    def _candidates(self, part: Answers) -> list[list[_Candidate]]:
        if self._calibration is None or part.known is None:
            return [[_Candidate(number, score) for number, score in row] for row in part.top]
        top = part.top
        probabilities = self._calibration.probabilities(top)
        assigned = (probabilities >= self._calibration.thresholds_of(top.labels, self._threshold)) & part.known[:, None]
        assigned[:, self._calibration.width :] = False
        if part.certain is not None:
            probabilities[part.certain], assigned[part.certain] = 1.0, True
        columns = (top.labels.tolist(), top.scores.tolist(), probabilities.tolist(), assigned.tolist())
        return [
            [_Candidate(*values) for values in zip(*row, strict=True) if values[0] != PAD]
            for row in zip(*columns, strict=True)
        ]

    def _kept(self, row: list[_Candidate]) -> list[_Candidate]:
        if self._assign:
            row = sorted((one for one in row if one.assigned), key=lambda one: -(one.probability or 0.0))
        if self._allow is not None or self._deny or self._min_score is not None:
            low = self._min_score if self._min_score is not None else float("-inf")
            row = [
                one
                for one in row
                if one.score >= low
                and one.number not in self._deny
                and (self._allow is None or one.number in self._allow)
            ]
        return row[: self._k]

    def _enough(self, row: list[_Candidate]) -> bool:
        return len(row) >= min(self._k, len((self._allow or frozenset()) - self._deny))

    def _label(self, given: _Candidate) -> GivenLabel:
        name = self._served.label_names[given.number]
        label = GivenLabel(given.number, name, round(given.score, 6), self._served.title(name, self._lang))
        if given.probability is not None and given.assigned is not None:
            label.probability, label.assigned = round(given.probability, 6), given.assigned
        return label

    async def _give_reasons(self, text: str, answer: RowAnswer) -> None:
        tagger = self._served.loaded
        if not isinstance(tagger, Tagger):
            return
        for label in answer.labels:
            why = await self._app.batcher.run(partial(tagger.fitted_.explain, text, label.name, 1))
            label.reasons = [Reason(word, round(push, 6)) for word, push in why.words[: self._reasons]]


async def keep_corrections(
    app: App, request: Request, served: ServedModel, texts: Sequence[str], labels: Sequence[Sequence[str]]
) -> None:
    """Append corrections to the model's journal; they are on the disk when this returns."""
    check_rows(app, TEXTS, texts, app.settings.limits.rows)
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    lines = [
        Correction(text, list(dict.fromkeys(names)), f"{request.id}/{row}", now, served.name)
        for row, (text, names) in enumerate(zip(texts, labels, strict=True))
    ]
    if not lines:
        return
    try:
        await asyncio.wrap_future(app.journals[served.name].append(lines))
    except OSError as error:
        raise Problem(503, f"the correction cannot be written ({error.strerror})", retry_after=10) from None
    app.meters.count("corrections", len(lines))
