"""Zip and tar archives unpacked safely: nothing outside the folder, no links, no bombs, all or nothing."""

from __future__ import annotations

import lzma
import re
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from labelwood.errors import DataError
from labelwood.storage.leftovers import unfinished

MAX_BYTES = 64 << 30
MAX_FILES = 10_000
CHUNK_BYTES = 1 << 20

Member = tuple[str, IO[bytes]]


def unpack(archive: str | Path, folder: str | Path, *, max_bytes: int = MAX_BYTES) -> Path:
    """The folder with the archive's files; it appears only when everything was unpacked.

    .zip, .tar, .tar.gz, .tgz. DataError for entries that point outside, links and devices, names twice, a
    damaged archive, an existing folder, or content above `max_bytes` (counted while unpacking: the sizes an
    archive claims may lie).
    """
    archive, folder = Path(archive), Path(folder)
    if folder.exists():
        raise DataError(f"{folder}: exists already; nothing is unpacked over it")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with unfinished(folder.parent, f".{folder.name}.unpacking-", make=Path.mkdir, remove=shutil.rmtree) as working:
        _unpack_into(archive, working, max_bytes)
        working.rename(folder)
    return folder


def _unpack_into(archive: Path, working: Path, max_bytes: int) -> None:
    left = max_bytes
    seen: set[str] = set()
    try:
        for name, stream in _members(archive):
            relative = _safe_name(archive, name)
            if str(relative).casefold() in seen:
                raise DataError(f"{archive}: holds {name!r} twice")
            seen.add(str(relative).casefold())
            if len(seen) > MAX_FILES:
                raise DataError(f"{archive}: holds more than {MAX_FILES} files")
            target = working / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            with stream, target.open("xb") as output:
                while chunk := stream.read(min(CHUNK_BYTES, left + 1)):
                    left -= len(chunk)
                    if left < 0:
                        raise DataError(f"{archive}: unpacks to more than the allowed {max_bytes} bytes")
                    output.write(chunk)
    except (
        zipfile.BadZipFile,
        tarfile.TarError,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise DataError(f"{archive}: damaged or unsupported archive ({error})") from None
    except OSError as error:
        raise DataError(f"{archive}: cannot be unpacked ({error.strerror or error})") from None
    if not seen:
        raise DataError(f"{archive}: holds no files")


def _members(archive: Path) -> Iterator[Member]:
    """(name, stream) of each file in the archive, folders left out."""
    lower = archive.name.lower()
    if lower.endswith(".zip"):
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist():
                kind = (info.external_attr >> 16) & 0o170000
                if kind not in (0, 0o100000, 0o040000):
                    raise DataError(f"{archive}: {info.filename!r} is a link or device; only files are unpacked")
                if not info.is_dir():
                    yield info.filename, packed.open(info)
    elif lower.endswith((".tar", ".tar.gz", ".tgz")):
        with tarfile.open(archive, "r:*") as packed_tar:
            for member in packed_tar:
                if member.isdir():
                    continue
                stream = packed_tar.extractfile(member) if member.isreg() else None
                if stream is None:
                    raise DataError(f"{archive}: {member.name!r} is a link or device; only files are unpacked")
                yield member.name, stream
    else:
        raise DataError(f"{archive}: unknown kind of archive (known: .tar, .tar.gz, .tgz, .zip)")


def _safe_name(archive: Path, name: str) -> PurePosixPath:
    path = PurePosixPath(name.replace("\\", "/"))
    odd = "\x00" in name or re.match(r"[A-Za-z]:", name) is not None
    if odd or path.is_absolute() or ".." in path.parts or not path.parts:
        raise DataError(f"{archive}: the entry {name!r} points outside the folder; nothing was unpacked")
    return path
