"""Progress of long work: the library reports, the caller decides how to show it."""

from __future__ import annotations

from collections.abc import Callable
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


def named_progress(progress: Progress, what: str) -> Progress:
    """The same progress whose steps begin with a name."""
    return Callback(lambda step, done, total: progress.step(f"{what}: {step}", done, total))
