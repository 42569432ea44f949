"""Save a folder so that it is either the old one or the new one, whole, at every moment."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labelwood import __version__
from labelwood.errors import ModelFileError
from labelwood.storage.arrays_file import Array, write_arrays
from labelwood.storage.format import (
    ARRAYS_FILE,
    FORMAT,
    FORMAT_VERSION,
    MANIFEST,
    MAX_MANIFEST_BYTES,
    complete_fields,
    dump_json,
    manifest_sha256,
    parse_json,
)
from labelwood.storage.swap import identity, new_folder, put_in_place, sync_folder

_EXISTS = "exists already; it is not replaced"


def save_folder(
    folder: str | Path,
    manifest_fields: Mapping[str, Any],
    arrays: Mapping[str, Array],
    *,
    overwrite: bool = True,
    timestamp: bool = True,
) -> None:
    """Write manifest.json and arrays.safetensors into a folder, atomically; parents are made.

    A model that is there already is replaced; anything else that is there is left alone and refused. Without
    overwrite a model is refused too, also one that another program puts there while this one writes.
    The same content gives the same bytes but for the manifest's "created", which is taken from SOURCE_DATE_EPOCH
    if that is set, and null without timestamp.
    """
    fields = complete_fields(manifest_fields)
    for name, value in fields.items():
        dump_json(value, f"{folder}: {name}")
    created = _now() if timestamp else None
    try:
        target = check_target(folder, overwrite=overwrite)
        target.parent.mkdir(parents=True, exist_ok=True)
        with new_folder(target) as new:
            _write(new, fields, arrays, created)
            check_target(folder, overwrite=overwrite)  # writing took its time: files may have come
            if not put_in_place(new, target, replace=overwrite):
                raise ModelFileError(f"{target}: {_EXISTS}")
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        raise ModelFileError(f"{str(folder)!r}: cannot be written ({error})") from error


def _write(folder: Path, fields: dict[str, Any], arrays: Mapping[str, Array], created: str | None) -> None:
    table: dict[str, dict[str, Any]] = {}
    if arrays:
        with (folder / ARRAYS_FILE).open("wb") as stream:
            table = write_arrays(stream, arrays, ARRAYS_FILE)
            stream.flush()
            os.fsync(stream.fileno())
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        **fields,
        "labelwood_version": __version__,
        "created": created,
        "arrays": dict(sorted(table.items())),
    }
    manifest["manifest_sha256"] = manifest_sha256(manifest)
    # Sorted and indented: people read it, and diffs of two models are short.
    text = _pretty(manifest)
    if len(text) > MAX_MANIFEST_BYTES:
        raise ModelFileError(
            f"the manifest takes {len(text)} bytes, at most {MAX_MANIFEST_BYTES} are allowed: keep large data in arrays"
        )
    with (folder / MANIFEST).open("wb") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    sync_folder(folder)


def _pretty(manifest: dict[str, Any]) -> bytes:
    return (json.dumps(manifest, indent=1, sort_keys=True, allow_nan=False) + "\n").encode()


def check_target(folder: str | Path, *, overwrite: bool) -> Path:
    """Where a save into this folder goes, links followed; ModelFileError if something else would be lost.

    Free are: a new name, an empty folder, and (to overwrite) a folder with one of our models and nothing else.
    """
    target = Path(os.path.realpath(folder))  # a link to a folder stays a link
    while True:
        before = identity(target)
        fault = _fault(target, overwrite)
        if fault is None:
            return target
        if identity(target) == before:  # else another program replaced it while we looked
            raise ModelFileError(f"{target}: {fault}")


def _fault(target: Path, overwrite: bool) -> str | None:
    """Why a folder may not be replaced; None if it may."""
    if not target.exists():
        return None
    if not target.is_dir():
        return "is a file; a model is saved as a folder"
    try:
        inside = list(target.iterdir())
    except FileNotFoundError:
        return None
    if not inside:
        return None
    if not overwrite:
        return _EXISTS
    if not _holds_model(target):
        return "holds files but no labelwood model; it is not replaced. Remove it or choose another name"
    foreign = sorted(entry.name for entry in inside if entry.name not in (MANIFEST, ARRAYS_FILE) or not _is_file(entry))
    if foreign:
        return f"holds {foreign[0]!r} beside the model; it is not replaced, that would be lost. Move it away first"
    return None


def _is_file(path: Path) -> bool:
    return path.is_symlink() or not path.is_dir()


def _holds_model(target: Path) -> bool:
    """Whether there is a manifest of ours, of whatever version, damaged arrays or not."""
    path = target / MANIFEST
    try:
        raw = path.read_bytes() if path.is_file() and path.stat().st_size <= MAX_MANIFEST_BYTES else b""
        manifest = parse_json(raw, str(path))
    except (ModelFileError, OSError):
        return False
    return isinstance(manifest, dict) and manifest.get("format") == FORMAT


def _now() -> str:
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is None:
        moment = datetime.datetime.now(datetime.timezone.utc)
    else:
        try:
            moment = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc)
        except (ValueError, OverflowError, OSError):
            raise ModelFileError(f"SOURCE_DATE_EPOCH must be seconds since 1970, but is {epoch!r}") from None
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
