"""Time as people write it: '10m' <-> seconds."""

from __future__ import annotations

import math
import re

from labelwood.errors import ParamError

_UNITS = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|min|s|m|h|)\s*", re.IGNORECASE)


def parse_duration(text: str | float, what: str = "budget") -> float:
    """The seconds that '10m', '90s', '1.5h', '1h30m', '0.5ms' or a plain number stand for; ParamError otherwise."""
    rest = str(text).strip()
    seconds = 0.0
    parts = 0
    while rest:
        match = _PART.match(rest)
        if match is None or (match[2] == "" and (parts or match.end() != len(rest))):
            parts = 0
            break
        seconds += float(match[1]) * _UNITS[match[2].lower()]
        parts += 1
        rest = rest[match.end() :]
    if not parts or not 0 < seconds < math.inf:
        raise ParamError(f"{what} must be a time such as 10m, 90s or 1.5h, but is {text!r}")
    return seconds


def duration_text(seconds: float) -> str:
    """A time in the unit that reads best: '0.4 ms', '8.1 s', '12 min 5 s', '1 h 30 min'."""
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    if seconds < 100:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")
    return f"{whole // 3600} h" + (f" {whole % 3600 // 60} min" if whole % 3600 // 60 else "")
