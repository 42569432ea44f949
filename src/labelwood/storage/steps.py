"""Steps: finished parts of a long run, kept in a folder so that a run that was killed goes on where it was.

A step is known by a hash of all that goes into it, data included. Training is a pure function, so a step that is found
is exactly what would be computed again: a run that goes on ends with the bytes of one that was never stopped. Who does
long work asks `current_steps()`; who starts a run opens them with `keeping`.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from scipy import sparse

from labelwood import __version__
from labelwood.errors import LabelwoodError, ModelFileError, ParamError
from labelwood.matrices import column_ids, row_pointers
from labelwood.scratch import Scratch
from labelwood.storage.arrays_file import Array, pieces
from labelwood.storage.load import load_folder
from labelwood.storage.save import save_folder

KIND = "step"
_STEP = re.compile(r"\.?[a-z]+-[0-9a-f]{32}")  # a step, or one that was being saved
# Keeping a step takes some milliseconds of waiting for the disk.
LEAST_SECONDS = 0.2


class Key:
    """What a step depends on, taken in piece by piece; `name()` is the step's name."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._digest = xxhash.xxh3_128()
        self.add([__version__, what])

    def add(self, *parts: Any) -> Key:
        """The key itself, with more that the step depends on: arrays, sparse matrices, and anything that JSON holds."""
        for part in parts:
            if sparse.issparse(part):
                rows = part.tocsr()
                self.add(list(rows.shape), row_pointers(rows), column_ids(rows), rows.data)
            elif isinstance(part, np.ndarray):
                whole = np.ascontiguousarray(part)
                self._digest.update(f"array {whole.dtype.str} {whole.shape}".encode())
                for piece in pieces(whole):
                    self._digest.update(piece)
            else:
                text = json.dumps(part, sort_keys=True).encode()
                self._digest.update(f"json {len(text)} ".encode())
                self._digest.update(text)
        return self

    def copy(self) -> Key:
        """Another key that begins with the same."""
        other = object.__new__(Key)
        other._what, other._digest = self._what, self._digest.copy()
        return other

    def name(self) -> str:
        """The name of the step: what it is, then 32 hexadecimal digits."""
        return f"{self._what}-{self._digest.hexdigest()}"


class Steps:
    """The finished steps in one folder, which is made with the first of them.

    Steps that took less than LEAST_SECONDS are not worth a file, nor is anything before the run has lasted `patience`
    seconds. kept and reused count steps; seconds is what keeping and finding them has cost; fault: why no more are
    kept, such as a full disk. The run itself goes on then.
    """

    def __init__(self, folder: Path, patience: float = 0.0) -> None:
        self.folder = folder
        self.kept, self.reused, self.seconds = 0, 0, 0.0
        self.fault: str | None = None
        self._keep_from = time.monotonic() + patience

    def arrays(self, key: Key, make: Callable[[], Mapping[str, Array]]) -> Mapping[str, Array]:
        """The arrays of a step: those that were kept, or those that `make` gives, which are kept from now on.

        What is found damaged is made again. Kept arrays are read-only and memory-mapped.
        """
        begin = time.monotonic()
        found = self._found(key)
        self.seconds += time.monotonic() - begin
        if found is not None:
            self.reused += 1
            return found
        begin = time.monotonic()
        made = make()
        now = time.monotonic()
        if self.keeps_now() and now - begin >= LEAST_SECONDS:
            self._keep(key, made)
            self.seconds += time.monotonic() - now
        return made

    def holds_only_steps(self) -> bool:
        """Whether the folder is one, and holds nothing but steps."""
        return self.folder.is_dir() and all(_STEP.match(entry.name) for entry in self.folder.iterdir())

    def prepare(self) -> None:
        """Make the folder; ModelFileError if that is not possible."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ModelFileError(f"{self.folder}: cannot be written ({error})") from error

    def keeps_now(self) -> bool:
        """Whether steps that are finished now are kept."""
        return self.fault is None and time.monotonic() >= self._keep_from

    def keep(self, save: Callable[[], None]) -> None:
        """Call `save`, which writes a step; if it cannot, the run goes on and no more steps are kept."""
        try:
            self.prepare()
            save()
            self.kept += 1
        except LabelwoodError as error:
            self.fault = str(error)

    def _keep(self, key: Key, made: Mapping[str, Array]) -> None:
        fields = {"kind": KIND, "name": KIND}
        self.keep(lambda: save_folder(self.folder / key.name(), fields, made, timestamp=False))

    def folder_of(self, key: Key) -> Path:
        """The folder for the state of a step that keeps itself, such as a training loop with epochs."""
        return self.folder / key.name()

    def _found(self, key: Key) -> Mapping[str, Array] | None:
        path = self.folder / key.name()
        if not path.is_dir():
            return None
        try:
            return load_folder(path)[1]
        except ModelFileError:
            shutil.rmtree(path, ignore_errors=True)
            return None


_CURRENT: ContextVar[Steps | None] = ContextVar("steps", default=None)


def current_steps() -> Steps | None:
    """The steps of the run that is going on; None if nobody keeps them."""
    return _CURRENT.get()


@contextmanager
def keeping(steps: Steps | None) -> Iterator[None]:
    """Long work in the block keeps its steps there (None: nowhere)."""
    token = _CURRENT.set(steps)
    try:
        yield
    finally:
        _CURRENT.reset(token)


@contextmanager
def resumable(folder: str | Path) -> Iterator[Steps]:
    """Fits in the block keep their finished steps in a folder: after a kill, the same program goes on where it was.

    The folder is removed when the block ends well, and left when it does not. What is fitted is the same to the bit.
    ParamError if there is a folder with something else in it.
    """
    steps = Steps(Path(folder))
    if steps.folder.exists() and not steps.holds_only_steps():
        raise ParamError(f"{folder}: holds something else than steps of a run; choose an empty or new folder")
    with keeping(steps):
        yield steps
    shutil.rmtree(steps.folder, ignore_errors=True)


def scratch_of_run() -> Scratch:
    """Room for large arrays on the disk that the run writes to, else where the system keeps temporary files."""
    steps = current_steps()
    return Scratch(Path(tempfile.gettempdir()) if steps is None else steps.folder.parent)
