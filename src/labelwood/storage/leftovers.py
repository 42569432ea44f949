"""Hidden names for unfinished work, and how the next program finds those that a killed one has left.

Whoever works on a hidden file or folder holds a lock on it. The system takes the lock back when the program ends,
however it ends: what nobody holds is left over. Process numbers would not tell, they come again.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

SECONDS_UNTIL_OLD = 24 * 3600  # where nothing can be locked, age must tell
_TOKEN_BYTES = 6


def hidden_name(before: str, after: str = "") -> str:
    """A new name: `before`, some random digits, `after`."""
    return f"{before}{secrets.token_hex(_TOKEN_BYTES)}{after}"


@contextmanager
def unfinished(
    folder: Path, before: str, after: str = "", *, make: Callable[[Path], None], remove: Callable[[Path], None]
) -> Iterator[Path]:
    """A new path with such a name, made and locked for the block and removed (if it is still there) at its end.

    What killed programs left under such names is removed first.
    """
    remove_leftovers(folder, before, after, remove)
    while True:
        path = folder / hidden_name(before, after)
        make(path)
        with held(path) as still_there:
            if not still_there:  # another program took it for a leftover before it was locked
                continue
            try:
                yield path
            finally:
                with contextlib.suppress(OSError):
                    remove(path)
        return


@contextmanager
def held(path: Path) -> Iterator[bool]:
    """Lock a file or folder for the block; False if it was removed before the lock was there."""
    descriptor = _opened(path)
    try:
        if descriptor is not None:
            _lock(descriptor, wait=True)
        yield path.exists() if descriptor is None else _is_still(path, descriptor)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def remove_leftovers(folder: Path, before: str, after: str, remove: Callable[[Path], None]) -> None:
    """Call `remove` for everything in a folder that has such a name and that no living program holds.

    What cannot be looked at or removed is left: it is in nobody's way.
    """
    pattern = re.compile(re.escape(before) + f"[0-9a-f]{{{2 * _TOKEN_BYTES}}}" + re.escape(after))
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if pattern.fullmatch(path.name):
                with contextlib.suppress(OSError):
                    _remove_if_left(path, remove)


def _remove_if_left(path: Path, remove: Callable[[Path], None]) -> None:
    descriptor = _opened(path)
    try:
        locked = None if descriptor is None else _lock(descriptor, wait=False)
        # The lock is kept while removing: a program that has just made the path and waits for it then sees it gone.
        if locked or (locked is None and time.time() - _last_change(path) > SECONDS_UNTIL_OLD):
            remove(path)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _last_change(path: Path) -> float:
    inside = list(path.iterdir()) if path.is_dir() else []
    return max(entry.lstat().st_mtime for entry in (path, *inside))


# Windows has no lock on folders, and an open file there cannot be renamed.
if sys.platform == "win32":

    def _opened(path: Path) -> int | None:
        return None

    def _lock(descriptor: int, *, wait: bool) -> bool | None:
        return None

else:
    import fcntl

    def _opened(path: Path) -> int | None:
        """A descriptor to lock; None if the path is away. Links and pipes are not followed and not waited for."""
        try:
            return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None

    def _lock(descriptor: int, *, wait: bool) -> bool | None:
        """True when it is locked, False if another program holds it, None where the file system has no locks."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        except OSError:
            return None
        return True


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
