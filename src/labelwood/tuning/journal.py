"""The journal of a search: one line a finished trial, so that a killed search goes on where it was."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood.errors import DataError
from labelwood.tuning.recipe import Setting, setting_key

VERSION = 1
Scores = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Trial:
    """One setting trained on some rows and judged on others: scores are nDCG@5 of each validation row, 0 to 1.

    rows: how many it was trained on. fold: which validation rows. scores: None if it was stopped before its end.
    spared: the seconds that it would have taken beside its own if no other trial had made things for it.
    """

    setting: Setting
    rows: int
    fold: int
    seconds: float
    scores: Scores | None
    spared: float = 0.0

    @property
    def alone(self) -> float:
        """The seconds that it would have taken by itself."""
        return self.seconds + self.spared

    @property
    def place(self) -> tuple[str, int, int]:
        """What makes it the same trial as another."""
        return setting_key(self.setting), self.rows, self.fold

    def saved(self) -> dict[str, Any]:
        """The trial as a line of the journal holds it."""
        packed = None if self.scores is None else base64.b64encode(self.scores.astype("<f4").tobytes()).decode()
        return {
            "setting": dict(self.setting),
            "rows": self.rows,
            "fold": self.fold,
            "seconds": round(self.seconds, 3),
            "spared": round(self.spared, 3),
            "nDCG@5": None if self.scores is None else round(100 * float(self.scores.mean()), 3),
            "scores": packed,
        }


class Journal:
    """The finished trials of one search, in memory and, with a path, as lines of a file."""

    def __init__(self, path: Path | None, purpose: Mapping[str, Any], *, restart: bool = False) -> None:
        """The journal at a path, with what an earlier run of the same purpose wrote; DataError if it is another's.

        purpose: what the trials depend on, such as data and seed. restart: a journal of another purpose is replaced.
        """
        self.path = path
        self.trials: list[Trial] = []
        self.spent = 0.0  # seconds of trials since the search last came to its end
        self.resumed = 0  # trials that an earlier run had finished
        header = json.loads(json.dumps({"labelwood search": VERSION, **purpose}))  # as it is read back
        if path is None:
            return
        if path.exists():
            lines = _whole_lines(path)
            if lines and lines[0] == header:
                self._take_over(lines[1:])
                return
            if lines and not restart:
                raise DataError(
                    f"{path}: is the journal of a search with other data, settings or another version; remove it, "
                    "choose another --out, or --force to start anew"
                )
        _write(path, header, "wb")

    def _take_over(self, lines: list[Any]) -> None:
        for number, line in enumerate(lines, start=2):
            if line == {"finished": True}:
                self.spent = 0.0
                continue
            try:
                packed = line["scores"]
                scores = None if packed is None else np.frombuffer(base64.b64decode(packed, validate=True), "<f4")
                setting = {name: tuple(v) if isinstance(v, list) else v for name, v in line["setting"].items()}
                seconds, spared = float(line["seconds"]), float(line.get("spared", 0))
                trial = Trial(setting, int(line["rows"]), int(line["fold"]), seconds, scores, spared)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise DataError(f"{self.path}, line {number}: no trial of a search ({error!r:.80})") from None
            self.trials.append(trial)
            self.spent += trial.seconds
        self.resumed = len(self.trials)

    def known(self, setting: Setting, rows: int, fold: int) -> Trial | None:
        """The trial if it was finished before."""
        place = setting_key(setting), rows, fold
        return next((trial for trial in self.trials if trial.place == place), None)

    def add(self, trial: Trial) -> None:
        """Keep a trial; it is on the disk when this returns."""
        self.trials.append(trial)
        if self.path is not None:
            _write(self.path, trial.saved(), "ab")

    def finish(self) -> None:
        """Note that the search came to its end: the time of a later one counts from here."""
        if self.path is not None:
            _write(self.path, {"finished": True}, "ab")


def journal_path(out: str | Path) -> Path:
    """Where the trials for a folder are kept: DIR.search.jsonl, beside DIR."""
    real = Path(os.path.realpath(out))
    return real.with_name(f"{real.name}.search.jsonl")


def _whole_lines(path: Path) -> list[Any]:
    """The JSON values of all whole lines; a last line that was cut off is taken out of the file."""
    try:
        raw = path.read_bytes()
        n_whole = raw.rfind(b"\n") + 1
        if n_whole < len(raw):
            with path.open("rb+") as stream:
                stream.truncate(n_whole)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None
    values = []
    for number, line in enumerate(raw[:n_whole].splitlines(), start=1):
        try:
            values.append(json.loads(line))
        except ValueError as error:
            raise DataError(f"{path}, line {number}: no JSON ({error})") from None
    return values


def _write(path: Path, value: Mapping[str, Any], mode: str) -> None:
    try:
        with path.open(mode) as stream:
            stream.write(json.dumps(value, default=list).encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror or error})") from None
