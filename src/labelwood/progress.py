"""Progress of long work: the library reports, the caller decides how to show it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


class Progress(Protocol):
    """Receives what long work is doing: `step(what, done, total)`, where total is 0 when it is unknown."""

    def step(self, what: str, done: int, total: int) -> None:
        """Take note that `done` of `total` units of `what` are finished."""


class Silent:
    """A Progress that shows nothing: the default of the library."""

    def step(self, what: str, done: int, total: int) -> None:
        """Do nothing."""


class Callback:
    """A Progress that calls a function, for notebooks and other programs."""

    def __init__(self, function: Callable[[str, int, int], None]) -> None:
        self._function = function

    def step(self, what: str, done: int, total: int) -> None:
        """Pass the report on to the function."""
        self._function(what, done, total)


SILENT: Progress = Silent()


class Named:
    """A Progress whose steps begin with a name."""

    def __init__(self, progress: Progress, what: str) -> None:
        self._progress = progress
        self._what = what

    def step(self, what: str, done: int, total: int) -> None:
        """Pass the report on, under the name."""
        self._progress.step(f"{self._what}: {what}", done, total)

    def begin(self, kind: str) -> None:
        """Pass it on that a stage begins."""
        begin_stage(self._progress, kind)


def named_progress(progress: Progress, what: str) -> Progress:
    """The same progress whose steps begin with a name."""
    return progress if progress is SILENT else Named(progress, what)


# A stage that took less than this share of the time of another of its kind was done already, by a run that was killed.
_NO_WORK = 0.2
# What an Outlined progress calls all stages together; done and total of its steps are seconds.
WHOLE = "in all, seconds"


@dataclass(frozen=True)
class Stage:
    """A stage of long work: those of a kind take as long as their sizes say.

    guess: the seconds for each unit of size as long as no stage of the kind is over; None: nobody could say.
    """

    kind: str
    size: float
    guess: float | None = None


class Outlined:
    """A Progress of work whose stages are known beforehand: between the steps it tells how long all of it will take.

    `step(WHOLE, seconds gone, seconds in all)`, by what the stages that are over took. Nothing is told before there is
    something to go by for every kind of stage. Stages begin with `begin_stage`; those left out do not count.
    """

    def __init__(
        self, progress: Progress, stages: Sequence[Stage], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._progress = progress
        self._clock = clock
        self._ahead = list(stages)
        self._now: Stage | None = None
        self._first = self._since = clock()
        self._rates: dict[str, list[float]] = {}

    def begin(self, kind: str) -> None:
        """Take note that the next stage of a kind begins, and that the one before is over."""
        now = self._clock()
        if self._now is not None and self._now.size > 0:
            self._rates.setdefault(self._now.kind, []).append((now - self._since) / self._now.size)
        place = next((place for place, stage in enumerate(self._ahead) if stage.kind == kind), None)
        self._now = None if place is None else self._ahead[place]
        self._ahead = self._ahead if place is None else self._ahead[place + 1 :]
        self._since = now

    def step(self, what: str, done: int, total: int) -> None:
        """Pass the report on, with the time of all stages before it."""
        now = self._clock()
        ahead = [self._seconds(stage) for stage in self._ahead]
        current = None if self._now is None else self._seconds(self._now)
        if current is not None and None not in ahead:
            left = max(current - (now - self._since), 0.0) + sum(seconds or 0.0 for seconds in ahead)
            gone = now - self._first
            self._progress.step(WHOLE, int(gone), max(round(gone + left), int(gone) + 1))
        self._progress.step(what, done, total)

    def _seconds(self, stage: Stage) -> float | None:
        rates = self._rates.get(stage.kind)
        if not rates:
            return None if stage.guess is None else stage.guess * stage.size
        worked = [rate for rate in rates if rate >= _NO_WORK * max(rates)]
        return stage.size * sum(worked) / len(worked)


def begin_stage(progress: Progress, kind: str) -> None:
    """Tell a progress, if it has an outline, that the next stage of a kind begins."""
    begin = getattr(progress, "begin", None)
    if begin is not None:
        begin(kind)
