"""Sharing: what several trainings on the same rows have in common is made once, such as by the trials of a search."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from labelwood.storage.steps import Key

T = TypeVar("T")


class Shared:
    """What has been made, by the hash of all that it depends on; in memory.

    seconds: how long it would have taken to make all that was taken from here.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.seconds = 0.0
        self._now = now
        self._made: dict[str, tuple[Any, float]] = {}

    def taken(self, key: Key, make: Callable[[], T], *, adds: bool) -> T:
        """What was made for an equal key, or what `make` gives; adds: keep that from now on."""
        name = key.name()
        if name in self._made:
            found, seconds = self._made[name]
            self.seconds += seconds
            return found  # type: ignore[no-any-return]
        begin, before = self._now(), self.seconds
        made = make()
        if adds:
            # What it took from here itself would have had to be made, too.
            self._made[name] = made, self._now() - begin + self.seconds - before
        return made


_CURRENT: ContextVar[tuple[Shared, bool] | None] = ContextVar("shared", default=None)


@contextmanager
def sharing(shared: Shared | None, *, adds: bool) -> Iterator[None]:
    """Trainings in the block take what is shared from there (None: nowhere); adds: they keep what they make."""
    token = _CURRENT.set(None if shared is None else (shared, adds))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def shared(what: str, depends_on: Callable[[], Sequence[Any]], make: Callable[[], T]) -> T:
    """What `make` gives, made once for all who share and name the same things that it depends on.

    depends_on: arrays, sparse matrices, and anything that JSON holds; asked for only where somebody shares.
    """
    current = _CURRENT.get()
    if current is None:
        return make()
    place, adds = current
    return place.taken(Key(what).add(*depends_on()), make, adds=adds)
