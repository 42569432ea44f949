"""Load a folder: everything is checked before an array is touched; arrays are read-only views."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labelwood.errors import ModelFileError
from labelwood.storage.arrays_file import Array, check_content, map_arrays, open_regular
from labelwood.storage.format import MANIFEST, MAX_MANIFEST_BYTES, check_manifest, parse_json
from labelwood.storage.swap import identity, previous_folders

_TRIES = 100


def load_folder(folder: str | Path, *, verify: bool = False) -> tuple[dict[str, Any], dict[str, Array]]:
    """(manifest, arrays) of a saved folder; ModelFileError if anything is missing, damaged or not allowed.

    The arrays are read-only and memory-mapped: processes that load the same folder share one copy. Their xxh3 is
    compared, which costs about 4 ms per 100 MB once the system has the file in memory. `verify` compares their
    SHA-256 instead, at about 60 ms per 100 MB; for folders of format 1 it is the only check of their content.
    """
    folder = Path(folder)
    for _ in range(_TRIES):
        before = identity(folder)
        try:
            return _load(folder, verify)
        except ModelFileError:
            # A save may have put a new folder here between our reading of two files: only then look again.
            if before is None or identity(folder) == before:
                raise
    raise ModelFileError(f"{folder}: is replaced faster than it can be read")


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
    if not os.path.lexists(path):
        raise ModelFileError(f"{folder}: holds no saved model ({MANIFEST} is missing)")
    descriptor = open_regular(path)
    try:
        with os.fdopen(descriptor, "rb") as stream:
            raw = stream.read(MAX_MANIFEST_BYTES + 1)
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read ({error})") from None
    if len(raw) > MAX_MANIFEST_BYTES:
        raise ModelFileError(f"{path}: larger than {MAX_MANIFEST_BYTES >> 20} MB")
    return check_manifest(parse_json(raw, str(path)), str(path))


def training_rows(manifest: Mapping[str, Any]) -> int:
    """The rows that a saved model was trained on; names of labels, which a tagger may learn from, are no rows."""
    names = manifest["facts"].get("name_rows", 0) if isinstance(manifest["facts"], dict) else 0
    return int(manifest["shape"]["n_rows"]) - (names if isinstance(names, int) else 0)


def _load(folder: Path, verify: bool) -> tuple[dict[str, Any], dict[str, Array]]:
    manifest = read_manifest(folder)
    table: dict[str, dict[str, Any]] = manifest["arrays"]
    files: dict[str, dict[str, dict[str, Any]]] = {}
    for name, entry in table.items():
        files.setdefault(entry["file"], {})[name] = entry
    arrays: dict[str, Array] = {}
    for file_name, part in files.items():
        arrays.update(map_arrays(folder / file_name, part))
    for name, array in arrays.items():
        entry = table[name]
        checksum = "sha256" if verify else "xxh3"
        if checksum in entry:  # format 1 has no xxh3
            check_content(array, entry[checksum], checksum, f"{folder / entry['file']}: array {name!r}")
    return manifest, arrays
