"""UnfinishedRun: the steps of one run beside what it will write, with a note of whose they are."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labelwood import __version__
from labelwood.errors import ModelFileError, ParamError
from labelwood.storage.leftovers import hidden_name, remove_leftovers
from labelwood.storage.steps import Steps

NOTE = "run.json"
_KIND = "labelwood unfinished run"
# A run that nobody wants to resume leaves its first seconds without a trace on the disk.
PATIENCE = 20.0


def unfinished_folder(out: Path) -> Path:
    """Where the steps of the run that writes `out` are kept: `out` with ".unfinished" behind its name."""
    return out.absolute().with_name(out.name + ".unfinished")


class UnfinishedRun(Steps):
    """The steps of a run that will write `out`; identity: what makes two runs the same one, by name, for people.

    resume: go on with what is there, and keep steps from the first second. ParamError in one line if what is there
    belongs to another run, or if the run is going on right now. Without resume, steps of another run are removed; those
    of the same run only with force, for they may be the work of hours. `begins_anew` says what was removed.
    """

    def __init__(self, out: Path, identity: Mapping[str, Any], *, resume: bool, force: bool = False) -> None:
        super().__init__(unfinished_folder(out), 0.0 if resume else PATIENCE)
        self._note: dict[str, Any] = {"kind": _KIND, "labelwood": __version__, **identity}
        self._lock: int | None = None
        self.begins_anew: str | None = None
        self._gone = f".{self.folder.name}.gone-"
        remove_leftovers(self.folder.parent, self._gone, "", shutil.rmtree)
        found = self._found_note()
        if found is None:
            return
        self._take_lock()
        try:
            self._check(found, resume=resume, force=force)
        except ParamError:
            self.close()
            raise

    def _check(self, found: Mapping[str, Any], *, resume: bool, force: bool) -> None:
        """Refuse what was found, leave it, or remove it."""
        other = _difference(found, self._note)
        if resume:
            if other is not None:
                raise ParamError(
                    f"{self.folder}: holds a run with another {other}; remove it, or leave --resume out to begin anew"
                )
            return
        if other is None and not force and self.has_steps():
            raise ParamError(
                f"{self.folder}: holds an unfinished run of this command; add --resume to go on with it, or --force to "
                "begin anew"
            )
        if self.has_steps():
            self.begins_anew = f"removed the unfinished run in {self.folder}" + (f" (another {other})" if other else "")
        self.remove()

    def has_steps(self) -> bool:
        """Whether anything was kept."""
        return self.folder.is_dir() and any(entry.is_dir() for entry in self.folder.iterdir())

    def prepare(self) -> None:
        """Make the folder with the note of whose it is."""
        super().prepare()
        note = self.folder / NOTE
        if note.exists():
            return
        try:
            new = self.folder / f".{NOTE}.{os.getpid()}"
            new.write_text(json.dumps(self._note, indent=1, sort_keys=True) + "\n", encoding="utf-8")
            new.replace(note)
        except OSError as error:
            raise ModelFileError(f"{note}: cannot be written ({error})") from error
        self._take_lock()

    def remove(self) -> None:
        """Remove all steps: the run is finished, or begins anew. What cannot be removed stays."""
        with contextlib.suppress(OSError):
            # Under another name first: a kill in the middle of removing must not leave half a run under this one.
            gone = self.folder.with_name(hidden_name(self._gone))
            self.folder.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)
        self.close()

    def close(self) -> None:
        """Let others have the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _found_note(self) -> dict[str, Any] | None:
        """The note in the folder; None if there is no folder, or an empty one. ParamError if it is someone else's."""
        if not self.folder.exists():
            return None
        try:
            found = json.loads((self.folder / NOTE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found = None
        if isinstance(found, dict) and found.get("kind") == _KIND:
            return found
        with contextlib.suppress(OSError):  # a run that was killed before it had written its note
            if self.folder.is_dir() and all(entry.name.startswith(f".{NOTE}.") for entry in self.folder.iterdir()):
                return {"kind": _KIND}
        raise ParamError(f"{self.folder}: is no folder of an unfinished run; it is left alone. Move it away first")

    def _take_lock(self) -> None:
        """Hold the folder; ParamError if another program does. Where nothing can be locked, nobody is kept out."""
        if self._lock is not None or sys.platform == "win32":
            return
        import fcntl

        self._lock = os.open(self.folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise ParamError(f"{self.folder}: another labelwood is working on this run right now") from None
        except OSError:
            pass


def _difference(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str | None:
    """The first thing that differs, with both values; None if it is the same run."""
    if set(found) == {"kind"}:
        return None
    for name in (*wanted, *found):
        before, now = found.get(name), wanted.get(name)
        if before != now:
            return f"{name} ({_short(before)}, now {_short(now)})"
    return None


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
