"""Where results go: checked before the long work begins, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labelwood.errors import DataError

MANIFEST = "manifest.json"


def check_file(path: Path, *, force: bool) -> None:
    """Refuse an output file that cannot be written, or that exists and may not be replaced."""
    if path.is_dir():
        raise DataError(f"{path}: is a folder; give the name of a file to write")
    _check_parent(path)
    if path.exists() and not force:
        raise DataError(f"{path}: exists already; give another name, or --force to replace it")


def check_folder(path: Path, *, force: bool) -> None:
    """Refuse an output folder that cannot be made, or that holds something that may not be replaced."""
    _check_parent(path)
    if not path.exists() and not path.is_symlink():
        return
    if not path.is_dir():
        raise DataError(f"{path}: is a file; give the name of a folder to write")
    if not any(path.iterdir()):
        return
    if not (path / MANIFEST).is_file():
        raise DataError(f"{path}: holds other files, not a saved model; give another name")
    if not force:
        raise DataError(f"{path}: holds a saved model already; give another name, or --force to replace it")


def _check_parent(path: Path) -> None:
    parent = path.absolute().parent
    if not parent.is_dir():
        raise DataError(f"{path}: the folder {parent} does not exist")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise DataError(f"{path}: the folder {parent} may not be written (permission denied)")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well, and vanishes when it does not."""
    # The full name stays at the end: writers choose the format by it, compression included.
    handle, name = tempfile.mkstemp(prefix=".part-", suffix="-" + path.name, dir=path.absolute().parent)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        mask = os.umask(0)
        os.umask(mask)
        part.chmod(0o666 & ~mask)  # as any other new file, not private as temporary files are
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
