"""Meters: counters and histograms that all workers share, as Prometheus text."""

from __future__ import annotations

import ctypes
from bisect import bisect_left
from collections.abc import Callable, Sequence
from multiprocessing.sharedctypes import RawArray
from typing import Any

STATUSES = (200, 202, 204, 304, 400, 401, 403, 404, 405, 406, 408, 413, 422, 429, 431, 500, 503)
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
BATCH_ROWS = (1, 2, 4, 8, 16, 32, 64)
REJECTS = ("queue_full", "too_late", "bodies", "connections", "rate", "slow_client", "bad_http")
COUNTS = ("rows", "corrections", "reloads", "refused_reloads")


def shared_numbers(routes: Sequence[str], workers: int) -> Any:
    """Memory for the meters of all workers, to be made before they start."""
    return RawArray(ctypes.c_double, _size(routes) * workers)


def _size(routes: Sequence[str]) -> int:
    histograms = len(routes) * (len(SECONDS) + 2) + len(BATCH_ROWS) + 2
    return len(routes) * len(STATUSES) + histograms + len(REJECTS) + len(COUNTS) + 1


class Meters:
    """What one worker counts, in its part of the shared memory; `text` sums over all workers.

    A worker that is started again goes on where its place stood, so counters never fall.
    """

    def __init__(self, routes: Sequence[str], numbers: Any = None, worker: int = 0) -> None:
        self._routes = tuple(routes)
        self._numbers = shared_numbers(routes, 1) if numbers is None else numbers
        self._width = _size(routes)
        self._at = worker * self._width
        self._route_at = {route: place for place, route in enumerate(routes)}
        self._status_at = {status: place for place, status in enumerate(STATUSES)}
        self._seconds_from = len(routes) * len(STATUSES)
        self._batches_from = self._seconds_from + len(routes) * (len(SECONDS) + 2)
        self._rejects_from = self._batches_from + len(BATCH_ROWS) + 2
        self._counts_from = self._rejects_from + len(REJECTS)
        self._connections_at = self._counts_from + len(COUNTS)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answer and its time."""
        place = self._route_at[route]
        self._numbers[self._at + place * len(STATUSES) + self._status_at[status]] += 1
        self._observe(self._seconds_from + place * (len(SECONDS) + 2), SECONDS, seconds)

    def batch(self, rows: int) -> None:
        """Count a batch that was answered together."""
        self._observe(self._batches_from, BATCH_ROWS, rows)
        self._numbers[self._at + self._counts_from] += rows

    def reject(self, reason: str) -> None:
        """Count a request or connection that was turned away for one of REJECTS."""
        self._numbers[self._at + self._rejects_from + REJECTS.index(reason)] += 1

    def count(self, name: str, n: int = 1) -> None:
        """Add to one of COUNTS."""
        self._numbers[self._at + self._counts_from + COUNTS.index(name)] += n

    def connections(self, n: int) -> None:
        """Note how many connections are open."""
        self._numbers[self._at + self._connections_at] = n

    def _observe(self, start: int, bounds: Sequence[float], value: float) -> None:
        numbers, at = self._numbers, self._at + start
        place = bisect_left(bounds, value)
        if place < len(bounds):
            numbers[at + place] += 1
        numbers[at + len(bounds)] += value
        numbers[at + len(bounds) + 1] += 1

    def text(self, waiting_rows: int) -> str:
        """All meters in Prometheus' text format; the queue is that of the worker that answers."""
        total = [sum(self._numbers[place :: self._width]) for place in range(self._width)]
        lines = ["# HELP labelwood_requests_total Answered requests.", "# TYPE labelwood_requests_total counter"]
        for place, route in enumerate(self._routes):
            for offset, status in enumerate(STATUSES):
                n = total[place * len(STATUSES) + offset]
                if n:
                    lines.append(f'labelwood_requests_total{{route="{route}",status="{status}"}} {n:.0f}')
        lines += ["# HELP labelwood_request_seconds Time from the head of a request to its answer."]
        lines += ["# TYPE labelwood_request_seconds histogram"]
        for place, route in enumerate(self._routes):
            start = self._seconds_from + place * (len(SECONDS) + 2)
            lines += _histogram("labelwood_request_seconds", f'route="{route}"', SECONDS, total[start:].__getitem__)
        lines += ["# HELP labelwood_batch_rows Rows answered together.", "# TYPE labelwood_batch_rows histogram"]
        lines += _histogram("labelwood_batch_rows", "", BATCH_ROWS, total[self._batches_from :].__getitem__)
        lines += ["# HELP labelwood_rejects_total Turned away.", "# TYPE labelwood_rejects_total counter"]
        for offset, reason in enumerate(REJECTS):
            lines.append(f'labelwood_rejects_total{{reason="{reason}"}} {total[self._rejects_from + offset]:.0f}')
        for offset, name in enumerate(COUNTS):
            lines.append(f"# TYPE labelwood_{name}_total counter")
            lines.append(f"labelwood_{name}_total {total[self._counts_from + offset]:.0f}")
        lines += ["# TYPE labelwood_connections gauge", f"labelwood_connections {total[self._connections_at]:.0f}"]
        lines += ["# TYPE labelwood_waiting_rows gauge", f"labelwood_waiting_rows {waiting_rows}"]
        return "\n".join(lines) + "\n"


def _histogram(name: str, labels: str, bounds: Sequence[float], number: Callable[[int], float]) -> list[str]:
    n = number(len(bounds) + 1)
    if not n:
        return []
    comma, braces = ("," if labels else ""), (f"{{{labels}}}" if labels else "")
    lines, below = [], 0.0
    for place, bound in enumerate(bounds):
        below += number(place)
        lines.append(f'{name}_bucket{{{labels}{comma}le="{bound:g}"}} {below:.0f}')
    lines.append(f'{name}_bucket{{{labels}{comma}le="+Inf"}} {n:.0f}')
    return [*lines, f"{name}_sum{braces} {number(len(bounds)):.6f}", f"{name}_count{braces} {n:.0f}"]
