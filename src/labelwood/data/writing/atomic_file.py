"""A file that appears whole or not at all: written beside its place, synced, renamed, compressed."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from labelwood.data.arrow import require_pyarrow
from labelwood.errors import DataError
from labelwood.storage.leftovers import unfinished


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A hidden path beside `path` that takes its place when the block ends well, and vanishes when it does not.

    Parts of the same file that killed programs left are removed first. DataError names `path` whatever cannot be
    written, a full disk included.
    """
    path = Path(path)
    after = f"-{path.name}"  # the full name stays at the end: writers choose the format by it, compression included
    try:
        with unfinished(path.parent, ".part-", after, make=_make, remove=Path.unlink) as part:
            yield part
            with part.open("rb+") as written:
                os.fsync(written.fileno())
            part.replace(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror or error})") from None


def _make(part: Path) -> None:
    part.open("xb").close()


@contextmanager
def atomic_output(path: str | Path) -> Iterator[IO[bytes]]:
    """A binary stream whose content becomes `path` when the block ends well (.gz and .zst are compressed)."""
    path = Path(path)
    with whole_file(path) as part, _opened(part, path) as stream:
        yield stream


@contextmanager
def _opened(part: Path, path: Path) -> Iterator[IO[bytes]]:
    suffix = path.suffix.lower()
    if suffix == ".zst":
        require_pyarrow(path, ".zst")
        import pyarrow

        with pyarrow.output_stream(str(part), compression="zstd") as stream:
            yield stream
        return
    with part.open("wb", buffering=1 << 20) as raw:
        if suffix == ".gz":
            # No name and no time inside: the same content gives the same bytes.
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as packed:
                yield cast(IO[bytes], packed)
        else:
            yield raw
