"""Memory as people write it: '8G' <-> bytes."""

from __future__ import annotations

import re

from labelwood.errors import ParamError
from labelwood.wording import Argument, Message

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def parse_memory(text: str, argument: str = "memory") -> int:
    """The bytes that '8G', '512M', '1.5g' or a plain number stand for; units are powers of 1024.

    argument: what the text was given as, for the message of a ParamError.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", text, re.IGNORECASE)
    if match is None or float(match[1]) == 0:
        raise ParamError(Message(Argument(argument), f" must be a size such as 8G or 512M, but is {text!r}"))
    return int(float(match[1]) * _UNITS[match[2].lower()])


def memory_text(n_bytes: int) -> str:
    """A size in the unit that reads best: '1.5 GB', '640 MB'."""
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}" if n_bytes < 1000 * size else f"{n_bytes / size:.0f} {unit}"
    return f"{n_bytes} bytes"
