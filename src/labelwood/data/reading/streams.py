"""Bytes and lines of a file, plain or compressed (.gz, .zst), with errors that name file and line."""

from __future__ import annotations

import io
import mmap
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from labelwood.data.arrow import require_pyarrow
from labelwood.data.reading.gunzip import Gunzip
from labelwood.errors import DataError

COMPRESSED = (".gz", ".zst")
# A line longer than this is not data but a damaged file: better an error than all memory gone.
MAX_LINE_BYTES = 256 * 1024 * 1024


def plain_name(path: str | Path) -> str:
    """The file's name without a compression suffix: 'train.txt.gz' -> 'train.txt'."""
    name = Path(path).name
    for suffix in COMPRESSED:
        if name.lower().endswith(suffix):
            return name[: -len(suffix)]
    return name


@contextmanager
def open_bytes(path: str | Path) -> Iterator[IO[bytes]]:
    """A readable binary stream of the uncompressed content; any reading fault becomes a DataError naming the file."""
    path = Path(path)
    try:
        with _opener(path) as stream:
            yield stream
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise DataError(f"{path}: is a folder, not a file") from None
    except PermissionError:
        raise DataError(f"{path}: may not be read (permission denied)") from None
    except EOFError:
        raise DataError(f"{path}: the compressed data ends too early (truncated file)") from None
    except zlib.error as error:
        raise DataError(f"{path}: damaged gzip data ({error})") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error})") from None


def read_all(path: str | Path) -> bytes | mmap.mmap:
    """The whole uncompressed content: memory-mapped when the file is plain, in memory when it is compressed."""
    path = Path(path)
    with open_bytes(path) as stream:
        if path.suffix.lower() in COMPRESSED:
            return stream.read()
        try:
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except (ValueError, OSError, io.UnsupportedOperation):  # empty file, or a pipe: nothing to map
            return stream.read()


def lines(path: str | Path) -> Generator[tuple[int, str], None, None]:
    """(line number from 1, text without line end) of a UTF-8 file; a byte-order mark is dropped."""
    with open_bytes(path) as stream:
        number = 0
        while True:
            raw = stream.readline(MAX_LINE_BYTES + 1)
            if not raw:
                return
            number += 1
            if len(raw) > MAX_LINE_BYTES:
                raise DataError(
                    f"{path}, line {number}: longer than {MAX_LINE_BYTES >> 20} MB; is this the right file?"
                )
            if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
                raw = raw[3:]
            try:
                text = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{path}, line {number}: byte {error.start + 1} is not valid UTF-8; convert the file to UTF-8 first"
                ) from None
            yield number, text.rstrip("\r\n")


def _opener(path: Path) -> IO[bytes]:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return io.BufferedReader(Gunzip(path), 1 << 20)
    if suffix == ".zst":
        with path.open("rb"):  # gives Python's own error for a missing file
            pass
        require_pyarrow(path, ".zst")
        import pyarrow

        return io.BufferedReader(pyarrow.input_stream(str(path), compression="zstd"), 1 << 20)
    return path.open("rb")
