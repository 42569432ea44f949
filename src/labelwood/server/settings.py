"""What a service is told before it starts: models, address, limits, tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from labelwood.errors import DataError, ParamError
from labelwood.server.access import Tokens


@dataclass(frozen=True)
class Limits:
    """What one client may ask for, and what all of them together may hold; beyond it they are refused, not slowed."""

    body_bytes: int = 16 << 20
    buffered_bytes: int = 256 << 20  # of all bodies that are being read or answered
    rows: int = 1_000
    streamed_rows: int = 100_000
    text_characters: int = 1_000_000
    header_bytes: int = 16 << 10
    connections: int = 1_000
    waiting_rows: int = 1_000  # rows that wait for a free processor
    reasons: int = 200  # labels that one request may have explained
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    idle_seconds: float = 75.0
    answer_seconds: float = 30.0  # waiting and answering, and for a client to take its answer
    rate: float | None = None  # requests a second of one client; None: as many as it likes


@dataclass(frozen=True)
class Settings:
    """A service: the folders of its models by name, where it listens, and what is allowed."""

    models: dict[str, Path]
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    threads: int | None = None  # batches at once in each worker; None: the processors shared among the workers
    learn: bool = False
    change_labels: bool = False
    verify: bool = False
    access_log: bool = False
    watch_seconds: float = 1.0  # how often the folders are looked at for a new model; 0: never
    tokens: Tokens = field(default_factory=Tokens)
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if not self.models:
            raise ParamError("serve needs at least one model folder")
        if self.learn and not self.tokens.write:
            raise ParamError("corrections (--learn) need a token for writing: give --tokens FILE with a `write` line")
        if self.change_labels and not self.tokens.write:
            raise ParamError("label changes (--change-labels) need a token for writing: --tokens FILE with `write`")


def named_folders(given: list[str]) -> dict[str, Path]:
    """Name -> folder of arguments like "recipes-model" (which has its own name) or "recipes=models/2026-11"."""
    folders: dict[str, Path] = {}
    for argument in given:
        name, equals, folder = argument.partition("=")
        if not equals or "/" in name:  # a path with "=" in it is a path
            name, folder = Path(argument).resolve().name, argument
        if not name or not all(letter.isalnum() or letter in "._-" for letter in name):
            raise ParamError(f"model name {name!r}: letters, digits, '.', '_' and '-' are allowed; write NAME=DIR")
        if name in folders:
            raise DataError(f"two models are named {name!r}: write NAME=DIR for one of them")
        folders[name] = Path(folder)
    return folders
