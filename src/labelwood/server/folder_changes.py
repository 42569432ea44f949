"""Label changes on request: the folder is loaded, changed and saved as `labelwood labels` does it, one at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from labelwood.changing import Changing, FolderChangedError
from labelwood.server.problems import Problem


def changed_folder(folder: Path, action: str, names: Sequence[str], text: str | None) -> str:
    """What was done to the labels of the tagger in a folder; it is on the disk. Problem 409 if another program was."""
    with _alone(folder):
        changing = Changing(folder, 1)
        message = changing.tagger.change_labels(action, *names, text=text)
        try:
            changing.save()
        except FolderChangedError:
            raise Problem(409, "another program changed the model meanwhile; nothing was changed, ask again") from None
    return message


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep the other workers of this machine from changing folders in the same place at the same time."""
    if os.name != "posix":
        yield
        return
    import fcntl

    descriptor = os.open(folder.resolve().parent, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)  # lets go of the lock
