"""What the commands read: data files, with notes for the person on stderr."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelwood.cli.console import say
from labelwood.progress import SILENT, Progress
from labelwood.wording import spelled

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset


def read_data(path: Path, *, progress: Progress = SILENT, quiet: bool = False, **choices: Any) -> Dataset:
    """The data set of a file; what the reader noticed (index base, rows skipped, ...) is told on stderr."""
    from labelwood.data.reading.read import read

    data = read(path, progress=progress, **choices)
    if not quiet:
        for note in data.notes:
            say(f"note: {spelled(note, option_name)}")
    return data


def option_name(argument: str) -> str:
    """The option of the command line that gives a Python argument: 'index_base' -> '--index-base'."""
    return "--" + argument.replace("_", "-")
