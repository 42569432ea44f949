"""A file that appears whole or not at all: written beside its place, synced, renamed, compressed."""

from __future__ import annotations

import contextlib
import gzip
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from labelwood.data.arrow import require_pyarrow
from labelwood.errors import DataError


@contextmanager
def atomic_output(path: str | Path) -> Iterator[IO[bytes]]:
    """A binary stream whose content becomes `path` when the block ends well (.gz and .zst are compressed)."""
    path = Path(path)
    temporary = path.parent / f".{path.name}.{secrets.token_hex(4)}.tmp"
    try:
        with _opened(temporary, path) as stream:
            yield stream
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise DataError(f"{path}: cannot be written ({error.strerror or error})") from None
        raise


@contextmanager
def _opened(temporary: Path, path: Path) -> Iterator[IO[bytes]]:
    suffix = path.suffix.lower()
    if suffix == ".zst":
        require_pyarrow(path, ".zst")
        import pyarrow

        with temporary.open("xb"):  # gives Python's own error when the place cannot be written
            pass
        with pyarrow.output_stream(str(temporary), compression="zstd") as stream:
            yield stream
        return
    with temporary.open("xb", buffering=1 << 20) as raw:
        if suffix == ".gz":
            # No name and no time inside: the same content gives the same bytes.
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as packed:
                yield cast(IO[bytes], packed)
        else:
            yield raw
