"""Journal: corrections appended to a file of JSON lines, on the disk before the client hears that they are taken.

A line is one corrected text: {"text": ..., "labels": [all its right labels, by name], "id": ..., "time": ...,
"model": ...}. `labelwood.read` takes the file as it is. Several processes may append to one journal.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue

import msgspec

SUFFIX = ".corrections.jsonl"
_MOST_AT_ONCE = 1_000
_BLOCK = 1 << 16


class Correction(msgspec.Struct):
    """One line of the journal."""

    text: str
    labels: list[str]
    id: str  # of the request, with the row's number: a client that repeats a request can be recognised
    time: str  # when it was taken, UTC
    model: str


def journal_path(folder: Path) -> Path:
    """Where the corrections of a model go: beside its folder, so that a new model in that place keeps them."""
    place = folder.resolve()
    return place.with_name(place.name + SUFFIX)


class Journal:
    """Appends lines; a thread of its own writes what has gathered and syncs once for all of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._pending: SimpleQueue[tuple[bytes, Future[None]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def append(self, corrections: Sequence[Correction]) -> Future[None]:
        """A future that is done when the lines are on the disk; its exception is the OSError that prevented it."""
        lines = b"".join(msgspec.json.encode(correction) + b"\n" for correction in corrections)
        done: Future[None] = Future()
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._write_all, name="journal", daemon=True)
                self._thread.start()
        self._pending.put((lines, done))
        return done

    def close(self) -> None:
        """Write what is pending and end the thread."""
        if self._thread is not None:
            self._pending.put(None)
            self._thread.join()
            self._thread = None

    def _write_all(self) -> None:
        while (first := self._pending.get()) is not None:
            gathered = [first]
            last = False
            while len(gathered) < _MOST_AT_ONCE and not self._pending.empty():
                following = self._pending.get()
                if following is None:
                    last = True
                    break
                gathered.append(following)
            try:
                append_durably(self.path, b"".join(lines for lines, _ in gathered))
            except OSError as error:
                for _, done in gathered:
                    done.set_exception(error)
            else:
                for _, done in gathered:
                    done.set_result(None)
            if last:
                return


def append_durably(path: Path, lines: bytes) -> None:
    """Append whole lines and sync; other processes wait. A half line that a crash left, never promised, is cut off."""
    is_new = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)  # texts of people: for the owner only
    try:
        _lock_file(descriptor)
        _cut_half_line(descriptor)
        rest = memoryview(lines)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if is_new:
        from labelwood.storage.swap import sync_folder

        sync_folder(path.parent)


def _cut_half_line(descriptor: int) -> None:
    size = end = os.fstat(descriptor).st_size
    while end > 0:
        start = max(0, end - _BLOCK)
        os.lseek(descriptor, start, os.SEEK_SET)
        newline = os.read(descriptor, end - start).rfind(b"\n")
        if newline >= 0:
            end = start + newline + 1
            break
        end = start
    if end < size:
        os.ftruncate(descriptor, end)


def _lock_file(descriptor: int) -> None:
    if os.name == "posix":
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX)  # closing the descriptor lets go
