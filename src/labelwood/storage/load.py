"""Load a folder: everything is checked before an array is touched; arrays are read-only views."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labelwood.errors import ModelFileError
from labelwood.storage.arrays_file import Array, map_arrays, open_regular
from labelwood.storage.format import MANIFEST, MAX_MANIFEST_BYTES, check_manifest, manifest_sha256, parse_json
from labelwood.storage.swap import previous_folders

_PIECE = 64 << 20


def load_folder(folder: str | Path, *, verify: bool = False) -> tuple[dict[str, Any], dict[str, Array]]:
    """(manifest, arrays) of a saved folder; ModelFileError if anything is missing, damaged or not allowed.

    The arrays are read-only and memory-mapped: loading costs milliseconds whatever their size, and processes
    that load the same folder share one copy. `verify` reads everything once and compares all hashes.
    """
    folder = Path(folder)
    before = _identity(folder)
    try:
        return _load(folder, verify)
    except ModelFileError:
        # A save may have put a new folder here between our reading of two files: only then look again.
        if before is None or _identity(folder) == before:
            raise
        return _load(folder, verify)


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """The checked manifest of a saved folder, without opening its arrays."""
    folder = Path(folder)
    try:
        if not folder.is_dir():
            if folder.exists():
                raise ModelFileError(f"{folder}: is a file; a model is a folder with {MANIFEST}")
            kept = previous_folders(folder)
            hint = f"; an interrupted save left the model in {kept[0]}: rename it back" if kept else ""
            raise ModelFileError(f"{folder}: no such folder{hint}")
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{str(folder)!r}: cannot be read ({error})") from None
    path = folder / MANIFEST
    descriptor = open_regular(path)
    try:
        with os.fdopen(descriptor, "rb") as stream:
            raw = stream.read(MAX_MANIFEST_BYTES + 1)
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read ({error})") from None
    if len(raw) > MAX_MANIFEST_BYTES:
        raise ModelFileError(f"{path}: larger than {MAX_MANIFEST_BYTES >> 20} MB")
    return check_manifest(parse_json(raw, str(path)), str(path))


def _load(folder: Path, verify: bool) -> tuple[dict[str, Any], dict[str, Array]]:
    manifest = read_manifest(folder)
    table: dict[str, dict[str, Any]] = manifest["arrays"]
    files: dict[str, dict[str, dict[str, Any]]] = {}
    for name, entry in table.items():
        files.setdefault(entry["file"], {})[name] = entry
    arrays: dict[str, Array] = {}
    for file_name, part in files.items():
        arrays.update(map_arrays(folder / file_name, part))
    if verify:
        _verify(folder, manifest, arrays)
    return manifest, arrays


def _verify(folder: Path, manifest: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    if manifest_sha256(manifest) != manifest["manifest_sha256"]:
        raise ModelFileError(f"{folder / MANIFEST}: was edited after it was saved (manifest_sha256 differs)")
    for name, array in arrays.items():
        digest = hashlib.sha256()
        flat = array.reshape(-1).view("u1")
        for start in range(0, len(flat), _PIECE):
            digest.update(flat[start : start + _PIECE].data)
        entry = manifest["arrays"][name]
        if digest.hexdigest() != entry["sha256"]:
            raise ModelFileError(
                f"{folder / entry['file']}: array {name!r} was changed after it was saved (sha256 differs)"
            )


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        found = folder.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino
