"""Progress for people: a bar on a terminal, a plain line now and then elsewhere, nothing when quiet; on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from labelwood.cli.console import say
from labelwood.progress import SILENT, WHOLE, Progress

if TYPE_CHECKING:
    from rich.progress import TaskID

SECONDS_BETWEEN_LINES = 10.0
SECONDS_BEFORE_GUESS = 5.0  # of a step; before that a guess of the time left would be one


class Lines:
    """A Progress that writes at most one line in ten seconds: quick work stays silent."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, write: Callable[[str], None] = say) -> None:
        self._clock = clock
        self._write = write
        self._last = clock()
        self._left = TimeLeft(clock)
        self._whole = ""

    def step(self, what: str, done: int, total: int) -> None:
        """Write a line if the last one is long ago."""
        if what == WHOLE:
            self._whole = f"; in all {about(total - done)}"
            return
        now = self._clock()
        left = self._left.text(what, done, total)
        if now - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last = now
        share = f"{what}: {done:,} of {total:,} ({done / total:.0%}{left})" if total else f"{what}: {done:,}"
        self._write((share if done or total else what) + self._whole)


class TimeLeft:
    """How long a step will still take, as it went so far; silent until there is something to go by."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begins: dict[str, tuple[float, int]] = {}

    def text(self, what: str, done: int, total: int) -> str:
        """Such as ", about 3 min left"; or nothing."""
        began, first = self._begins.setdefault(what, (self._clock(), done))
        seconds = self._clock() - began
        if not total or done <= first or done >= total or seconds < SECONDS_BEFORE_GUESS:
            return ""
        return f", {about(seconds * (total - done) / (done - first))}"


def about(seconds: float) -> str:
    """Such as "about 3 min left"."""
    return f"about {seconds / 60:.0f} min left" if seconds > 90 else f"about {seconds:.0f} s left"


class Bar:
    """A Progress that moves one bar of rich for each kind of work that is going on.

    What is done, or has no known end, makes room when other work begins: calibration alone has ten parts, and their
    bars would fill a small terminal.
    """

    def __init__(self, display: Any) -> None:
        self._display = display
        self._tasks: dict[str, TaskID] = {}
        self._going: set[str] = set()  # the tasks that have an end and have not reached it

    def step(self, what: str, done: int, total: int) -> None:
        """Move the bar of this work."""
        if what not in self._tasks:
            for name in [name for name in self._tasks if name not in self._going]:
                self._display.remove_task(self._tasks.pop(name))
            self._tasks[what] = self._display.add_task(what, total=total or None)
        told = {"description": f"in all {about(total - done)}"} if what == WHOLE else {}
        self._display.update(self._tasks[what], completed=done, total=total or None, **told)
        (self._going.add if done < total else self._going.discard)(what)


@contextmanager
def shown(quiet: bool = False) -> Iterator[Progress]:
    """A Progress that suits where stderr goes; the bar is gone when the work is done."""
    if quiet:
        yield SILENT
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Display

        left = TimeRemainingColumn(elapsed_when_finished=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), left)
        with Display(*columns, console=Console(stderr=True), transient=True) as display:
            yield Bar(display)
    else:
        yield Lines()
