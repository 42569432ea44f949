"""The saved folder, format 2: manifest.json, arrays.safetensors, and every rule that a manifest must keep.

Format 1 had no xxh3 of the arrays; such folders are still read.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from labelwood.errors import ModelFileError

FORMAT = "labelwood"
FORMAT_VERSION = 2
OLDEST_VERSION = 1
MANIFEST = "manifest.json"
ARRAYS_FILE = "arrays.safetensors"
MAX_MANIFEST_BYTES = 16 << 20
MAX_HEADER_BYTES = 100 << 20
MAX_DIMENSIONS = 8
MAX_DIGITS = 40

# NumPy's name -> safetensors' name. Always little-endian.
DTYPES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "uint16": "U16",
    "int16": "I16",
    "uint32": "U32",
    "int32": "I32",
    "uint64": "U64",
    "int64": "I64",
    "float16": "F16",
    "float32": "F32",
    "float64": "F64",
}

# What the caller of save_folder gives: field -> (allowed types, default).
_FIELDS: dict[str, tuple[tuple[type, ...], Any]] = {
    "kind": ((str,), None),  # "model" or "tagger"
    "name": ((str,), None),  # the model's registry name
    "parameters": ((dict,), {}),
    "shape": ((dict,), {}),  # n_features, n_labels, n_rows of the training data
    "facts": ((dict,), {}),  # fitted state beside the arrays
    "seed": ((int, type(None)), None),
    "label_names_sha256": ((str, type(None)), None),
    "data_fingerprint": ((str, type(None)), None),
    "metrics": ((dict,), {}),
    "extra": ((dict,), {}),  # whatever the user wants to keep
}
# What save_folder itself adds.
_ADDED: dict[str, tuple[type, ...]] = {
    "format": (str,),
    "format_version": (int,),
    "labelwood_version": (str,),
    "created": (str, type(None)),
    "arrays": (dict,),
    "manifest_sha256": (str,),
}
_REQUIRED = ("kind", "name")
_PLAIN_NAME = re.compile(r"(?!__)[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")  # safetensors keeps "__metadata__" for itself
_SHA256 = re.compile(r"[0-9a-f]{64}")
_XXH3 = re.compile(r"[0-9a-f]{16}")
_ARRAY_KEYS = {1: {"file", "dtype", "shape", "sha256"}, 2: {"file", "dtype", "shape", "sha256", "xxh3"}}


def complete_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The caller's manifest fields with defaults filled in; ModelFileError for unknown or missing ones."""
    for name in fields:
        if name not in _FIELDS:
            raise ModelFileError(f"unknown manifest field {name!r} (known: {', '.join(_FIELDS)})")
    for name in _REQUIRED:
        if name not in fields:
            raise ModelFileError(f"the manifest field {name!r} is missing")
    full = {name: fields.get(name, default) for name, (_, default) in _FIELDS.items()}
    for name, (kinds, _) in _FIELDS.items():
        _check_type(name, full[name], kinds, "manifest")
    return full


def dump_json(value: Any, what: str) -> str:
    """Compact JSON with sorted keys; ModelFileError if the value is not plain, finite JSON data."""
    try:
        text = json.dumps(value, sort_keys=True, allow_nan=False, separators=(",", ":"))
        if _loads(text) != value:
            raise ValueError("it would come back different (tuples and keys that are not strings do)")
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{what} cannot be written as JSON: {error}") from None
    return text


def parse_json(raw: bytes, where: str) -> Any:
    """The value of JSON bytes; ModelFileError for anything but plain finite data with unique keys."""
    try:
        return _loads(raw.decode("utf-8"))
    except RecursionError:
        raise ModelFileError(f"{where}: the JSON is nested too deeply") from None
    except (ValueError, MemoryError) as error:  # also bad UTF-8
        raise ModelFileError(f"{where}: not valid JSON ({_short(error)})") from None


def manifest_sha256(manifest: Mapping[str, Any]) -> str:
    """The hash of everything in the manifest but itself."""
    rest = {key: value for key, value in manifest.items() if key != "manifest_sha256"}
    return hashlib.sha256(dump_json(rest, "manifest").encode()).hexdigest()


def arrays_digest(table: Mapping[str, Mapping[str, Any]]) -> str:
    """The hash over names, types, shapes and contents of all arrays.

    It is also in the arrays file's header, so that a file of another model is noticed without reading it.
    """
    lines = [f"{name} {entry['dtype']} {entry['shape']} {entry['sha256']}" for name, entry in sorted(table.items())]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def check_array_name(name: object, where: str) -> None:
    """Refuse array names that are not plain words."""
    if not isinstance(name, str) or not _PLAIN_NAME.fullmatch(name):
        raise ModelFileError(f"{where}: the array name {name!r:.80} is not made of letters, digits, '_', '-' and '.'")


def check_manifest(manifest: Any, where: str) -> dict[str, Any]:
    """The manifest itself if it keeps every rule of its format and is as it was saved, else ModelFileError."""
    if not isinstance(manifest, dict):
        raise ModelFileError(f"{where}: must be a JSON object, but is {type(manifest).__name__}")
    if manifest.get("format") != FORMAT:
        raise ModelFileError(
            f"{where}: is not the manifest of a labelwood model (format {manifest.get('format')!r:.80})"
        )
    version = manifest.get("format_version")
    if not isinstance(version, int) or isinstance(version, bool):
        raise ModelFileError(f"{where}: format_version must be a whole number, but is {version!r:.80}")
    if not OLDEST_VERSION <= version <= FORMAT_VERSION:
        age = "a newer" if version > FORMAT_VERSION else "an unknown"
        known_versions = f"{OLDEST_VERSION} to {FORMAT_VERSION}"
        raise ModelFileError(
            f"{where}: written by {age} labelwood: format {version!r:.20}, this one reads {known_versions}"
        )
    known = {**{name: kinds for name, (kinds, _) in _FIELDS.items()}, **_ADDED}
    for key in manifest:
        if key not in known:
            raise ModelFileError(f"{where}: unknown key {key!r:.80} (known: {', '.join(known)})")
    for key, kinds in known.items():
        if key not in manifest:
            raise ModelFileError(f"{where}: the key {key!r} is missing")
        _check_type(key, manifest[key], kinds, where)
    for key in ("label_names_sha256", "manifest_sha256"):
        if manifest[key] is not None and not _SHA256.fullmatch(manifest[key]):
            raise ModelFileError(f"{where}: {key} must be 64 hexadecimal digits, but is {manifest[key]!r:.80}")
    for name, entry in manifest["arrays"].items():
        _check_entry(name, entry, _ARRAY_KEYS[version], where)
    if manifest_sha256(manifest) != manifest["manifest_sha256"]:
        raise ModelFileError(f"{where}: was edited or damaged after it was saved (manifest_sha256 differs)")
    return manifest


def _check_entry(name: str, entry: Any, keys: set[str], where: str) -> None:
    check_array_name(name, where)
    if not isinstance(entry, dict) or set(entry) != keys:
        raise ModelFileError(f"{where}: array {name!r} must have exactly the keys {', '.join(sorted(keys))}")
    if not isinstance(entry["file"], str) or not _PLAIN_NAME.fullmatch(entry["file"]):
        raise ModelFileError(f"{where}: array {name!r} is in {entry['file']!r:.80}, which is not a plain file name")
    if not isinstance(entry["dtype"], str) or entry["dtype"] not in DTYPES:
        raise ModelFileError(f"{where}: array {name!r} has dtype {entry['dtype']!r:.80} (known: {', '.join(DTYPES)})")
    check_shape(entry["shape"], f"{where}: array {name!r}")
    if not isinstance(entry["sha256"], str) or not _SHA256.fullmatch(entry["sha256"]):
        raise ModelFileError(f"{where}: array {name!r} has no valid sha256")
    if "xxh3" in keys and (not isinstance(entry["xxh3"], str) or not _XXH3.fullmatch(entry["xxh3"])):
        raise ModelFileError(f"{where}: array {name!r} has no valid xxh3")


def check_shape(shape: Any, where: str) -> tuple[int, ...]:
    """The shape as a tuple if it is a list of a few whole numbers that an array can have."""
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS:
        raise ModelFileError(f"{where}: the shape must be a list of at most {MAX_DIMENSIONS} whole numbers")
    for size in shape:
        if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size < 2**63:
            raise ModelFileError(f"{where}: a size in the shape must be 0..2^63-1, but is {size!r:.80}")
    return tuple(shape)


def _check_type(key: str, value: Any, kinds: tuple[type, ...], where: str) -> None:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        allowed = " or ".join("null" if kind is type(None) else kind.__name__ for kind in kinds)
        raise ModelFileError(f"{where}: {key} must be {allowed}, but is {type(value).__name__}")


def _loads(text: str) -> Any:
    return json.loads(
        text, parse_constant=_refuse, parse_float=_finite, parse_int=_whole, object_pairs_hook=_unique_keys
    )


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not allowed")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:40]} is too large")
    return value


def _whole(text: str) -> int:
    if len(text) > MAX_DIGITS:  # reading a number of a million digits would take minutes
        raise ValueError(f"the number {text[:40]}... has {len(text)} digits")
    return int(text)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found


def _short(error: BaseException) -> str:
    return str(error)[:200] or type(error).__name__
