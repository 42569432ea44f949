"""Files over HTTP(S): resumed where a connection broke, checked against a sum, in place when complete."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import sys
import time
import urllib.error
import urllib.request
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from labelwood.data.archives import unpack
from labelwood.data.catalogue import find
from labelwood.errors import DataError
from labelwood.progress import SILENT, Progress

CHUNK_BYTES = 1 << 18
TIMEOUT_SECONDS = 60
# A connection may break again and again while the file grows; this many tries in a row without a new byte end
# it.
FRUITLESS_TRIES = 3
PAUSE_SECONDS = 0.1

MIRROR_VARIABLE = "LABELWOOD_MIRROR"
CACHE_VARIABLE = "LABELWOOD_CACHE"


def fetch(url: str, path: str | Path, *, sha256: str | None = None, progress: Progress = SILENT) -> Path:
    """The path of the downloaded file; a broken download goes on from `<path>.part` if the file is unchanged.

    A file already there is kept when it has the given sum, and replaced otherwise.
    """
    path = Path(path)
    if urlsplit(url).scheme not in ("http", "https"):
        raise DataError(f"{url}: only http and https addresses can be fetched")
    if sha256 is not None and path.is_file() and _sha256(path) == sha256.lower():
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = _Part(path)
        _fill(url, part, progress)
        if sha256 is not None:
            checksum = _sha256(part.body)
            if checksum != sha256.lower():
                part.remove()
                raise DataError(f"{url}: wrong checksum: expected sha256 {sha256.lower()}, got {checksum}; discarded")
        part.body.replace(path)
        part.remove()
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror or error})") from None
    return path


def cache_folder() -> Path:
    """Where fetched data sets live: LABELWOOD_CACHE, else the platform's usual place."""
    if named := os.environ.get(CACHE_VARIABLE):
        return Path(named).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "labelwood" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "labelwood"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "labelwood"


def cached(name: str, *, mirror: str | None = None, progress: Progress = SILENT) -> Path:
    """The folder of a known data set in the cache; fetched and unpacked when it is not there yet.

    mirror: an address under which `<name>.zip` lies; else LABELWOOD_MIRROR, else the data set's own address.
    """
    entry = find(name)
    folder = cache_folder() / entry.name
    if folder.is_dir():
        return folder
    base = mirror or os.environ.get(MIRROR_VARIABLE)
    url = f"{base.rstrip('/')}/{entry.archive}" if base else entry.url
    if url is None:
        raise DataError(
            f"{entry.title} is not in the cache and has no address to fetch; download it by hand from "
            f"{entry.homepage} into {folder}, or set {MIRROR_VARIABLE} to an address that has {entry.archive}"
        )
    archive = fetch(url, cache_folder() / entry.archive, sha256=entry.sha256, progress=progress)
    unpack(archive, folder)
    archive.unlink()
    return folder


@dataclass(frozen=True)
class _Version:
    """What tells one state of the server's file from another; empty texts are unknown."""

    url: str
    etag: str
    last_modified: str

    @property
    def validator(self) -> str:
        """The value for If-Range: a strong ETag, else the date; empty if the server gives neither."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.last_modified


class _Part:
    """The unfinished download and the note beside it that says of which version it is a part."""

    def __init__(self, path: Path) -> None:
        self.body = path.with_name(path.name + ".part")
        self.note = path.with_name(path.name + ".part.json")

    def size(self) -> int:
        return self.body.stat().st_size if self.body.is_file() else 0

    def version(self) -> _Version | None:
        try:
            stored = json.loads(self.note.read_text("utf-8"))
            return _Version(str(stored["url"]), str(stored["etag"]), str(stored["last_modified"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def begin(self, version: _Version) -> None:
        self.body.write_bytes(b"")
        self.note.write_text(json.dumps(asdict(version)), "utf-8")

    def remove(self) -> None:
        self.body.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)


def _fill(url: str, part: _Part, progress: Progress) -> None:
    """Request until the part is complete, resuming after each break; DataError when nothing more comes."""
    fruitless = 0
    while True:
        before = part.size()
        try:
            if _request(url, part, progress):
                return
            reason = "the connection was closed too early"
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 416 and part.size():  # the stored part is not a part of this file: start again
                part.remove()
                continue
            raise DataError(f"{url}: the server answers {error.code} {error.reason}") from None
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError) as error:
            reason = str(getattr(error, "reason", None) or error or type(error).__name__)
        fruitless = fruitless + 1 if part.size() <= before else 0
        time.sleep(PAUSE_SECONDS * fruitless)
        if fruitless >= FRUITLESS_TRIES:
            have = (
                f" after {part.size()} bytes (kept in {part.body.name}, a new try goes on from there)"
                if part.size()
                else ""
            )
            raise DataError(f"{url}: cannot be fetched: {reason}{have}")


def _request(url: str, part: _Part, progress: Progress) -> bool:
    """Take what one connection gives; True when the file is complete."""
    version, start = part.version(), part.size()
    request = urllib.request.Request(url, headers={"Accept-Encoding": "identity", "User-Agent": "labelwood"})
    resume = start > 0 and version is not None and version.url == url and bool(version.validator)
    if resume and version is not None:
        request.add_header("Range", f"bytes={start}-")
        request.add_header("If-Range", version.validator)
    with _opener().open(request, timeout=TIMEOUT_SECONDS) as response:
        offered = _Version(url, response.headers.get("ETag") or "", response.headers.get("Last-Modified") or "")
        place = _content_range(response) if response.status == 206 else None
        if not (resume and place is not None and place[0] == start and offered == version):
            if response.status == 206:  # a piece of something else than what we have: ask again, from the start
                part.remove()
                return False
            part.begin(offered)
            start = 0
        length = response.headers.get("Content-Length")
        total = start + int(length) if length and length.isdecimal() else (place[1] if place else 0)
        done = start
        with part.body.open("ab") as body:
            while chunk := _read(response):
                body.write(chunk)
                done += len(chunk)
                progress.step("fetching bytes", done, total)
            body.flush()
            os.fsync(body.fileno())
    return done >= total if total else True


def _read(response: Any) -> bytes:
    """The next bytes; a fault of the network is a ConnectionError, so that it is not taken for the disk."""
    try:
        chunk: bytes = response.read(CHUNK_BYTES)
    except OSError as error:
        raise ConnectionError(str(error)) from error
    return chunk


def _content_range(response: Any) -> tuple[int, int] | None:
    """(first byte, size of the whole file) that a 206 answer tells."""
    match = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", response.headers.get("Content-Range") or "")
    return (int(match[1]), int(match[2])) if match else None


def _opener() -> urllib.request.OpenerDirector:
    """An opener for HTTP(S) alone, so that a redirect cannot lead to a local file."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
