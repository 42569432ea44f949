"""What the commands read: data files, with notes for the person on stderr."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelwood.cli.console import say_note
from labelwood.progress import SILENT, Progress
from labelwood.wording import spelled

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset


def read_data(path: Path, *, progress: Progress = SILENT, quiet: bool = False, **choices: Any) -> Dataset:
    """The data set of a file; what the reader noticed (index base, rows skipped, ...) is told on stderr."""
    from labelwood.data.reading.read import read

    data = read(path, progress=progress, **choices)
    tell(data.notes, quiet=quiet)
    return data


def tell(notes: Sequence[str], *, quiet: bool) -> None:
    """Write notes on stderr, with the options that they name spelled as the command line does."""
    if not quiet:
        for note in notes:
            say_note(f"note: {spelled(note, option_name)}")


def split_choices(data: Path, split: Path | None, column: int | None, part: str) -> dict[str, Any]:
    """The `split` and `split_column` for `read`; a column alone takes the split file beside the data ("tr", "tst")."""
    if split is None and column is None:
        return {}
    from labelwood.data.reading.split_rows import split_beside

    return {"split": split if split is not None else split_beside(data, part), "split_column": column or 1}


def option_name(argument: str) -> str:
    """The option of the command line that gives a Python argument: 'index_base' -> '--index-base'."""
    return "--" + argument.replace("_", "-")
