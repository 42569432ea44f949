"""The journal of corrections beside a tagger's folder: JSON lines that wait until `labelwood learn` applies them."""

from __future__ import annotations

import datetime
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labelwood.errors import DataError
from labelwood.tagger.learning import Lesson


@dataclass(frozen=True)
class Journal:
    """The corrections that a journal held when it was read; n_bytes: how much of the file they are."""

    path: Path
    lesson: Lesson
    n_bytes: int

    def set_aside(self) -> Path:
        """The file that the corrections are in from now on; what came after they were read stays in the journal."""
        stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%S.%fZ")
        applied = self.path.with_name(f"{self.path.name}.applied-{stamp}")
        # Renamed first: whoever appends from now on begins a new journal, and nothing is lost in between.
        self.path.rename(applied)
        with applied.open("rb+") as stream:
            stream.seek(self.n_bytes)
            late = stream.read()
            if late:
                with self.path.open("ab") as journal:
                    journal.write(late)
                    journal.flush()
                    os.fsync(journal.fileno())
                stream.truncate(self.n_bytes)
        return applied


def journal_path(folder: Path) -> Path:
    """Where the corrections of a tagger's folder are collected: DIR.corrections.jsonl, beside DIR."""
    real = Path(os.path.realpath(folder))
    return real.with_name(f"{real.name}.corrections.jsonl")


def read_journal(folder: Path) -> Journal | None:
    """The corrections that wait beside a folder, whole lines only; None if there are none. DataError names bad lines.

    A line is a JSON object: "text", "labels" (a list of names), and perhaps "id".
    """
    path = journal_path(folder)
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error})") from error
    n_bytes = raw.rfind(b"\n") + 1  # the rest is still being written
    rows = [
        _parsed(line, f"{path}, line {number}")
        for number, line in enumerate(raw[:n_bytes].split(b"\n")[:-1], start=1)
        if line.strip()
    ]
    if not rows:
        return None
    texts, labels, ids = zip(*rows, strict=True)
    return Journal(path, Lesson(texts, labels, ids), n_bytes)


def _parsed(line: bytes, where: str) -> tuple[str, list[str], str]:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: no JSON ({error})") from None
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        raise DataError(f'{where}: a correction is an object with "text" and "labels", but here is {value!r:.60}')
    labels, row_id = value.get("labels"), value.get("id")
    if not isinstance(labels, list) or not all(isinstance(name, str) and name.strip() for name in labels):
        raise DataError(f'{where}: "labels" must be a list of names, but is {labels!r:.60}')
    if row_id is not None and (isinstance(row_id, bool) or not isinstance(row_id, (str, int))):
        raise DataError(f'{where}: "id" must be a string or a whole number, but is {row_id!r:.60}')
    return value["text"], labels, "" if row_id is None else str(row_id)
