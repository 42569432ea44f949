"""Where results go, checked before the long work begins."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from labelwood.errors import DataError
from labelwood.storage.save import check_target


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
    target = check_target(path, overwrite=True)  # the rule that the save itself keeps at the end
    if not force and target.is_dir() and any(target.iterdir()):
        raise DataError(f"{path}: holds a saved model already; give another name, or --force to replace it")


def _check_parent(path: Path) -> None:
    parent = path.absolute().parent
    if not parent.is_dir():
        raise DataError(f"{path}: the folder {parent} does not exist")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise DataError(f"{path}: the folder {parent} may not be written (permission denied)")
    try:  # what permissions do not tell: read-only file systems, and those that take no files
        with tempfile.TemporaryFile(dir=parent):
            pass
    except OSError as error:
        raise DataError(f"{path}: the folder {parent} takes no files ({error.strerror})") from None
