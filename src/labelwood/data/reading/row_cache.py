"""RowCache: files of text rows, parsed once and kept in binary, so that the next run maps them instead of reading.

An entry is a saved folder (manifest and arrays with checksums, see docs/reference/matrix-formats.md). Its name is a
hash of the file's place, size, time of change and some of its bytes, and of how it was read: a file that changed has
another entry. Entries come into being whole or not at all.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from labelwood import __version__
from labelwood.data.reading.csr_rows import RowFormat, SparseRows, canonical_csr
from labelwood.errors import ModelFileError
from labelwood.scratch import release
from labelwood.storage.load import load_folder, read_manifest
from labelwood.storage.save import save_folder

KIND = "rows"
_PIECE = 1 << 16
LEAST_BYTES = 16 << 20  # smaller files are read in no time


@dataclass(frozen=True)
class CachedFile:
    """An entry of the cache: the file that it was made from, and its bytes. current: the file is still the same."""

    folder: Path
    source: str
    n_rows: int
    n_bytes: int
    current: bool


class RowCache:
    """The parsed files in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, path: Path, how: RowFormat, policy: str) -> SparseRows | None:
        """The rows of a file as they were read before; None if it was not, or has changed, or the entry is damaged."""
        entry = self.folder / _name(path, how, policy)
        if not entry.is_dir():
            return None
        try:
            manifest, arrays = load_folder(entry)
            facts = manifest["facts"]
            rows = SparseRows(
                x=canonical_csr(arrays["x.values"], arrays["x.columns"], arrays["x.starts"], facts["n_features"]),
                y=canonical_csr(
                    np.ones(len(arrays["y.columns"]), np.float32),
                    arrays["y.columns"],
                    arrays["y.starts"],
                    facts["n_labels"],
                ),
                bad_rows=np.zeros(0, np.int64),
                lowest_feature=facts["lowest_feature"],
                highest_feature=facts["highest_feature"],
                notes=list(facts["notes"]),
            )
        except (ModelFileError, KeyError, ValueError):
            shutil.rmtree(entry, ignore_errors=True)
            return None
        release(*arrays.values())  # the checksums have brought all of it into memory
        return rows

    def takes(self, path: Path) -> bool:
        """Whether a file is worth an entry."""
        return path.is_file() and path.stat().st_size >= LEAST_BYTES

    def keep(self, name: str, path: Path, how: RowFormat, policy: str, rows: SparseRows) -> None:
        """Keep rows that were read; nothing if the file is no longer the one with this `name`, or there is no room."""
        if len(rows.bad_rows) or name != _name(path, how, policy):
            return
        facts = {
            "source": str(path.absolute()),
            "status": list(_status(path)),
            "n_features": rows.x.shape[1],
            "n_labels": rows.y.shape[1],
            "lowest_feature": rows.lowest_feature,
            "highest_feature": rows.highest_feature,
            "notes": list(rows.notes),
        }
        arrays = {
            "x.starts": rows.x.indptr,
            "x.columns": rows.x.indices,
            "x.values": rows.x.data,
            "y.starts": rows.y.indptr,
            "y.columns": rows.y.indices,
        }
        try:
            save_folder(self.folder / name, {"kind": KIND, "name": KIND, "facts": facts}, arrays, timestamp=False)
        except ModelFileError as error:
            rows.notes.append(f"{path}: not kept in the cache: {error}")

    def name(self, path: Path, how: RowFormat, policy: str) -> str:
        """The name that the entry of a file has as it is now."""
        return _name(path, how, policy)

    def entries(self) -> list[CachedFile]:
        """What is in the cache, by source."""
        found = []
        for folder in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            try:
                facts = read_manifest(folder)["facts"]
                source, status = facts["source"], facts["status"]
                n_rows = int(read_manifest(folder)["arrays"]["x.starts"]["shape"][0]) - 1
            except (ModelFileError, KeyError, TypeError):
                continue  # no entry: it is left alone
            n_bytes = sum(file.stat().st_size for file in folder.iterdir())
            here = Path(source)
            current = here.exists() and list(_status(here)) == status
            found.append(CachedFile(folder, source, n_rows, n_bytes, current))
        return sorted(found, key=lambda entry: (entry.source, entry.folder.name))

    def clear(self) -> int:
        """Remove all entries; the bytes that were freed."""
        entries = self.entries()
        for entry in entries:
            shutil.rmtree(entry.folder, ignore_errors=True)
        return sum(entry.n_bytes for entry in entries)


_CURRENT: ContextVar[RowCache | None] = ContextVar("row_cache", default=None)


def current_cache() -> RowCache | None:
    """The cache of the files that are read; None: none."""
    return _CURRENT.get()


@contextmanager
def caching(cache: RowCache | None) -> Iterator[None]:
    """Files of text rows that are read in the block are kept there (None: nowhere)."""
    token = _CURRENT.set(cache)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def _name(path: Path, how: RowFormat, policy: str) -> str:
    """The file's own name for people, then 32 digits of everything that decides what its entry holds."""
    digest = xxhash.xxh3_128()
    told: Any = [__version__, str(path.absolute()), *_status(path), asdict(how), policy]
    digest.update(json.dumps(told, sort_keys=True).encode())
    with path.open("rb") as stream:
        size = _status(path)[0]
        for place in (0, size // 2, max(0, size - _PIECE)):
            stream.seek(place)
            digest.update(stream.read(_PIECE))
    return f"{path.name[:60]}-{digest.hexdigest()}"


def _status(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns
