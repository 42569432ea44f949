"""What the commands read: data files, with notes for the person on stderr."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelwood.cli.console import say
from labelwood.errors import DataError, ParamError
from labelwood.progress import SILENT, Progress

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset

# The reader's arguments that are options here; its messages name them as Python does ("text=...").
_OPTIONS = re.compile(r"\b(text|labels|separator|format|index_base)=(?:\.\.\.)?")
_BASE = re.compile(r"features are numbered from ([01])")


def read_data(path: Path, *, progress: Progress = SILENT, quiet: bool = False, **choices: Any) -> Dataset:
    """The data set of a file; what the reader noticed (index base, rows skipped, ...) is told on stderr."""
    from labelwood.data.reading.read import read

    try:
        data = read(path, progress=progress, **choices)
    except (DataError, ParamError) as error:
        raise type(error)(in_words_of_the_command_line(str(error))) from error
    if not quiet:
        for note in data.notes:
            say(f"note: {in_words_of_the_command_line(note)}")
    return data


def in_words_of_the_command_line(message: str) -> str:
    """The message with Python's arguments named as the options they are: 'text=...' becomes '--text'."""
    return _OPTIONS.sub(lambda found: "--" + found[1].replace("_", "-"), message)


def index_base(data: Dataset) -> int | None:
    """The number of the first feature, if the reader found it out (svmlight files)."""
    for note in data.notes:
        found = _BASE.search(note)
        if found:
            return int(found[1])
    return None
