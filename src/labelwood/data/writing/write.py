"""`write`: a Dataset -> a file of any writable format; reading it back gives the same numbers exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labelwood.data.dataset import Dataset
from labelwood.data.formats import FORMATS, taken_by
from labelwood.data.reading.streams import plain_name
from labelwood.data.writing.written import Written
from labelwood.errors import ParamError, unknown_name
from labelwood.progress import SILENT, Progress
from labelwood.wording import Argument, Message


def write(
    data: Dataset,
    path: str | Path,
    *,
    format: str | None = None,
    index_base: int | None = None,
    n_threads: int | None = None,
    progress: Progress = SILENT,
) -> Written:
    """The files written (two for the formats that are pairs: give either name) and what they could not hold.

    format: a name of a format that can be written; None takes it from the file name; `.gz` and `.zst` compress.
    index_base: the first feature's number in svmlight text; 1 unless given, as most tools expect.
    The files replace old ones only when they are complete.
    """
    path = Path(path)
    kind = format or format_of_name(path)
    if kind not in FORMATS:
        raise ParamError(unknown_name("format", kind, FORMATS))
    if not FORMATS[kind].write:
        raise ParamError(f"{kind} is read but not written; write one of {', '.join(written_names())} instead")
    writer = FORMATS[kind].writer()
    taken = taken_by(writer)
    if index_base is not None and "index_base" not in taken:
        raise ParamError(Message(Argument("index_base"), f" has no meaning for format {kind!r}"))
    options: dict[str, Any] = {"index_base": index_base, "n_threads": n_threads, "progress": progress}
    done: Written = writer(data, path, **{name: value for name, value in options.items() if name in taken})
    return done


def format_of_name(path: Path) -> str:
    """The format that a file name asks for; ParamError if it asks for none."""
    name = plain_name(path)
    # The names that say a format alone come before endings that are only usual: trn_X_Xf.txt is no plain .txt.
    asked = [format for format in FORMATS.values() if format.is_asked_by(name)]
    if not asked:
        fault = f"{path}: the name tells no format; give "
        raise ParamError(Message(fault, Argument("format"), f" one of {', '.join(written_names())}"))
    return max(asked, key=lambda format: format.has_name(name)).name


def written_names() -> list[str]:
    """The names of the formats that can be written."""
    return [format.name for format in FORMATS.values() if format.write]
