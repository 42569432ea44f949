"""Put a finished folder in the place of another one, so that the place always holds a whole model."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sys
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_PREVIOUS = "previous"


def sibling(folder: Path, purpose: str) -> Path:
    """A new hidden name beside the folder: on the same disk, so that it can be renamed."""
    return folder.with_name(f".{folder.name}.{purpose}-{secrets.token_hex(6)}")


def previous_folders(folder: Path) -> list[Path]:
    """What an interrupted replacement may have left beside the folder."""
    try:
        return sorted(folder.parent.glob(f".{folder.name}.{_PREVIOUS}-*"))
    except (OSError, ValueError):
        return []


def put_in_place(new: Path, target: Path) -> None:
    """Rename `new` to `target`; an existing target folder is replaced, then removed.

    Where the system can exchange two folders in one step (Linux), the target is there at every moment.
    Elsewhere it is renamed aside first; if the program is killed between the two steps, the old folder is
    left beside the target.
    """
    if not target.exists():
        new.rename(target)
        sync_folder(target.parent)
        return
    if _exchange(new, target):
        old = new
    else:
        old = sibling(target, _PREVIOUS)
        target.rename(old)
        try:
            new.rename(target)
        except OSError:
            old.rename(target)
            raise
    sync_folder(target.parent)
    shutil.rmtree(old, ignore_errors=True)  # the save has succeeded whatever happens to the old one


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
