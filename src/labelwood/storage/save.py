"""Save a folder so that it is either the old one or the new one, whole, at every moment."""

from __future__ import annotations

import datetime
import json
import os
import shutil
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
from labelwood.storage.swap import put_in_place, sibling, sync_folder


def save_folder(
    folder: str | Path,
    manifest_fields: Mapping[str, Any],
    arrays: Mapping[str, Array],
    *,
    overwrite: bool = True,
    timestamp: bool = True,
) -> None:
    """Write manifest.json and arrays.safetensors into a folder, atomically; parents are made.

    A model that is there already is replaced (unless overwrite is False); anything else that is there is
    left alone and refused. The same content gives the same bytes but for the manifest's "created", which is
    taken from SOURCE_DATE_EPOCH if that is set, and null without timestamp.
    """
    fields = complete_fields(manifest_fields)
    for name, value in fields.items():
        dump_json(value, f"{folder}: {name}")
    created = _now() if timestamp else None
    try:
        target = Path(os.path.realpath(folder))  # a link to a folder stays a link
        _check_target(target, overwrite)
        target.parent.mkdir(parents=True, exist_ok=True)
        new = sibling(target, "saving")
        new.mkdir()
        try:
            _write(new, fields, arrays, created)
            put_in_place(new, target)
        finally:
            shutil.rmtree(new, ignore_errors=True)  # nothing is there after success
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


def _check_target(target: Path, overwrite: bool) -> None:
    """Refuse all but a free place, an empty folder, and a folder with one of our models and nothing else."""
    if not target.exists():
        return
    if not target.is_dir():
        raise ModelFileError(f"{target}: is a file; a model is saved as a folder")
    inside = {entry.name for entry in target.iterdir()}
    if not inside:
        return
    if not overwrite:
        raise ModelFileError(f"{target}: exists already")
    ours = _own_files(target)
    if ours is None:
        raise ModelFileError(
            f"{target}: holds files but no labelwood model; it is not replaced. Remove it or choose another name"
        )
    foreign = sorted(inside - ours)
    if foreign:
        raise ModelFileError(
            f"{target}: holds {foreign[0]!r} beside the model; it is not replaced, that would be lost. "
            "Move it away first"
        )


def _own_files(target: Path) -> set[str] | None:
    """The names that belong to the model in a folder; None if there is no model that we know."""
    path = target / MANIFEST
    try:
        raw = path.read_bytes() if path.is_file() and path.stat().st_size <= MAX_MANIFEST_BYTES else b""
        manifest = parse_json(raw, str(path))
    except (ModelFileError, OSError):
        return None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        return None
    return {MANIFEST, ARRAYS_FILE}


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
