"""What the commands read: data files and saved models, with notes for the person on stderr."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelwood.cli.console import say
from labelwood.progress import SILENT, Progress

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset


def read_data(path: Path, *, progress: Progress = SILENT, quiet: bool = False, **choices: Any) -> Dataset:
    """The data set of a file; what the reader noticed (index base, rows skipped, ...) is told on stderr."""
    from labelwood.data.read import read

    data = read(path, progress=progress, **choices)
    if not quiet:
        for note in data.notes:
            say(f"note: {note}")
    return data
