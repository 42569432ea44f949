"""Files that appear whole or not at all: written under another name, then renamed."""

from __future__ import annotations

import gzip
import io
import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from labelwood.errors import DataError


@contextmanager
def written(*paths: Path) -> Iterator[list[IO[bytes]]]:
    """Binary streams for new files, compressed by suffix (.gz, .zst); the files appear together at the end.

    After any fault nothing is left behind, and files that were there before are as they were.
    """
    temporary = [path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp") for path in paths]
    current = paths[0]
    try:
        with ExitStack() as stack:
            streams = []
            for current, place in zip(paths, temporary, strict=True):
                raw = stack.enter_context(place.open("xb"))
                stack.callback(_sync, raw)
                streams.append(stack.enter_context(_compressing(raw, current)))
            yield streams
        for current, place in zip(paths, temporary, strict=True):
            place.replace(current)
    except OSError as error:
        raise DataError(f"{current}: cannot be written ({error.strerror or error})") from error
    finally:
        for place in temporary:
            place.unlink(missing_ok=True)


def _sync(raw: IO[bytes]) -> None:
    raw.flush()
    os.fsync(raw.fileno())


@contextmanager
def _compressing(raw: IO[bytes], path: Path) -> Iterator[IO[bytes]]:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        # No name and no time inside: the same data gives the same bytes.
        with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0) as packed:
            yield packed  # type: ignore[misc]
    elif suffix == ".zst":
        import pyarrow

        with pyarrow.CompressedOutputStream(_Unclosed(raw), "zstd") as packed:
            yield packed
    else:
        yield raw


class _Unclosed(io.RawIOBase):
    """A stream that passes writes on but leaves closing to its owner; pyarrow closes what it is given."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, data: object) -> int:
        """The number of bytes passed on."""
        return self._raw.write(memoryview(data))  # type: ignore[arg-type]
