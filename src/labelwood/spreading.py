"""Spread: who does work that is cut into pieces: this process alone, or the machines of a cluster.

Training asks `current_spread()` how many pieces it should make and lets it do them. Every piece is a pure function of
its arguments, so that it may be done anywhere, and twice: what comes out is the same, byte for byte. Who starts a run
chooses with `spread_over`; labelwood.cluster has the one that goes to other machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from labelwood.progress import SILENT, Progress


class Spread(Protocol):
    """Does pieces of work.

    n_parts: how many pieces to make of work that can be cut anywhere; 1: do not cut it.
    """

    @property
    def n_parts(self) -> int:
        """How many pieces to make."""

    def share(self, value: Any) -> Any:
        """What to hand to `map` for a value that many pieces read: it goes to a machine once. Nobody may change it."""

    def map(
        self,
        function: Callable[..., Any],
        shared: Sequence[Any],
        jobs: Sequence[tuple[Any, ...]],
        *,
        costs: Sequence[float] | None = None,
        keep: bool = False,
        what: str = "",
        progress: Progress = SILENT,
    ) -> list[Any]:
        """function(*shared, *job) of every job, in the order of the jobs.

        function: pure, of a module that the others can import. shared: values given to `share`. costs: how long each
        job takes, in any unit; the longest begin first. keep: what comes out stays where it is made, and the list
        holds what `share` would give.
        """


class Here:
    """The spread of one machine: one piece, done by the caller."""

    n_parts = 1

    def share(self, value: Any) -> Any:
        """The value itself."""
        return value

    def map(
        self,
        function: Callable[..., Any],
        shared: Sequence[Any],
        jobs: Sequence[tuple[Any, ...]],
        *,
        costs: Sequence[float] | None = None,
        keep: bool = False,
        what: str = "",
        progress: Progress = SILENT,
    ) -> list[Any]:
        """function(*shared, *job) of every job, one after the other."""
        results = []
        for done, job in enumerate(jobs):
            progress.step(what, done, len(jobs))
            results.append(function(*shared, *job))
        return results


_SPREAD: ContextVar[Spread | None] = ContextVar("labelwood_spread", default=None)
_HERE = Here()


def current_spread() -> Spread:
    """The spread that work of this context goes to."""
    return _SPREAD.get() or _HERE


@contextmanager
def spread_over(spread: Spread) -> Iterator[None]:
    """Work begun in the block goes to this spread."""
    token = _SPREAD.set(spread)
    try:
        yield
    finally:
        _SPREAD.reset(token)


def even_ranges(costs: Sequence[float], n_parts: int) -> list[tuple[int, int]]:
    """Neighbouring items 0..n-1 as (first, last + 1) ranges of about the same cost, n_parts of them or fewer.

    Every range has an item that costs something; items without cost go with those before them.
    """
    total = float(sum(costs))
    if not total > 0 or n_parts < 2:
        return [(0, len(costs))]
    ranges: list[tuple[int, int]] = []
    begin, within, before = 0, 0.0, 0.0
    for place, cost in enumerate(costs):
        # A new range begins where the share of this one is reached, so that a large item does not push all others on.
        if within > 0 and cost > 0 and within + cost / 2 > (total - before) / (n_parts - len(ranges)):
            if len(ranges) + 1 == n_parts:
                break
            ranges.append((begin, place))
            before += within
            begin, within = place, 0.0
        within += float(cost)
    ranges.append((begin, len(costs)))
    return ranges
