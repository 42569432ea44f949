"""What a writer gives back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Written:
    """What `write` did: the files, and notes on what the format could not hold."""

    paths: tuple[Path, ...]
    notes: tuple[str, ...] = ()
