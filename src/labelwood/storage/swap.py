"""Put a finished folder in the place of another one, so that the place always holds a whole model."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from contextlib import AbstractContextManager
from pathlib import Path

from labelwood.storage.format import ARRAYS_FILE, MANIFEST
from labelwood.storage.leftovers import held, hidden_name, remove_leftovers, unfinished

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_OCCUPIED = (errno.ENOTEMPTY, errno.EEXIST)
_TRIES = 100  # other programs may put folders there or take them away in between, but not for ever


def new_folder(target: Path) -> AbstractContextManager[Path]:
    """A new hidden folder beside the target, on the same disk so that it can be renamed; removed at the end."""
    return unfinished(target.parent, f".{target.name}.saving-", make=Path.mkdir, remove=remove_saved)


def previous_folders(folder: Path) -> list[Path]:
    """What an interrupted replacement may have left beside the folder."""
    try:
        return sorted(entry for entry in folder.parent.iterdir() if entry.name.startswith(_previous(folder)))
    except (OSError, ValueError):
        return []


def identity(folder: Path) -> tuple[int, int] | None:
    """What tells a folder from another one that took its place; None if there is none."""
    try:
        status = folder.stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def put_in_place(new: Path, target: Path, *, replace: bool) -> bool:
    """True when `new` has become `target`; False if there is a folder with something in it that may not be replaced.

    Where the system can exchange two folders in one step (Linux), the target is there at every moment.
    Elsewhere it is renamed aside first; if the program is killed between the two steps, the old folder is
    left beside the target.
    """
    for _ in range(_TRIES):
        try:
            new.rename(target)  # one step, and it takes only a free name or (not on Windows) an empty folder
            break
        except OSError as error:
            if error.errno not in _OCCUPIED:
                raise
        with contextlib.suppress(FileNotFoundError):  # the target is away again
            if not replace and any(target.iterdir()):
                return False
            if _exchange(new, target) or _rename_aside(new, target):
                break
    else:
        raise OSError(errno.EBUSY, "other programs replace it all the time", str(target))
    sync_folder(target.parent)
    remove_leftovers(target.parent, _previous(target), "", remove_saved)
    return True


def remove_saved(folder: Path) -> None:
    """Remove a folder as far as it is ours: the two files that a save writes. Anything else in it stays, with it."""
    for name in (MANIFEST, ARRAYS_FILE):
        with contextlib.suppress(OSError):  # also a folder of that name: it is not ours
            (folder / name).unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _previous(target: Path) -> str:
    return f".{target.name}.previous-"


def _rename_aside(new: Path, target: Path) -> bool:
    """Replace the target in two steps; False if another program put its own there in between."""
    with held(target) as still_there:  # while it is away it is no leftover
        if not still_there:
            return False
        old = target.with_name(hidden_name(_previous(target)))
        target.rename(old)
        try:
            new.rename(target)
        except OSError as error:
            if error.errno in _OCCUPIED:
                remove_saved(old)  # replaced, if not by ours
                return False
            old.rename(target)
            raise
        remove_saved(old)  # the save has succeeded whatever happens to the old one
    return True


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; False if the system or the file system has no such thing."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM):
        return False
    raise OSError(code, os.strerror(code), str(other))
