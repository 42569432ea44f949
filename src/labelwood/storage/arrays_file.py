"""One safetensors file: written in a stream, memory-mapped without a copy, checked before an array is used.

The library's own writer copies every array first and cannot hash on the way; its reader copies into memory.
The format is simple (8 bytes of header length, a JSON header, the arrays back to back), so both are here;
other programs read the files with `safetensors` as usual.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import stat
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import xxhash

from labelwood.errors import ModelFileError
from labelwood.storage.format import (
    DTYPES,
    MAX_DIMENSIONS,
    MAX_HEADER_BYTES,
    arrays_digest,
    check_array_name,
    check_shape,
    parse_json,
)

Array = np.ndarray[Any, Any]
ALIGNMENT = 64  # of the first array; a cache line
METADATA = "__metadata__"
_DIGEST = "labelwood"  # the header's metadata key
_NUMPY = {safe: np.dtype(name).newbyteorder("<") for name, safe in DTYPES.items()}
_PIECE = 64 << 20


def write_arrays(stream: BinaryIO, arrays: Mapping[str, Array], file_name: str) -> dict[str, dict[str, Any]]:
    """Write all arrays; gives back the manifest's table: name -> file, dtype, shape, sha256, xxh3."""
    plain = {name: _writable(name, array) for name, array in arrays.items()}
    # The widest elements first: then every array lies at a multiple of its element size without any padding.
    order = sorted(plain, key=lambda name: (-plain[name].itemsize, name))
    stream.write(_header(plain, order, "0" * 64))
    table: dict[str, dict[str, Any]] = {}
    for name in order:
        array = plain[name]
        sha256, xxh3 = hashlib.sha256(), xxhash.xxh3_64()
        for piece in pieces(array):
            sha256.update(piece)
            xxh3.update(piece)
            stream.write(piece)
        table[name] = {
            "file": file_name,
            "dtype": array.dtype.name,
            "shape": list(array.shape),
            "sha256": sha256.hexdigest(),
            "xxh3": xxh3.hexdigest(),
        }
    stream.seek(0)  # the hashes are known only now; the header keeps its length
    stream.write(_header(plain, order, arrays_digest(table)))
    return table


def check_content(array: Array, expected: str, checksum: str, where: str) -> None:
    """Read an array once and compare its checksum ("xxh3" or "sha256"); ModelFileError if it differs."""
    digest = hashlib.sha256() if checksum == "sha256" else xxhash.xxh3_64()
    for piece in pieces(array):
        digest.update(piece)
    if digest.hexdigest() != expected:
        raise ModelFileError(f"{where} was changed after it was saved ({checksum} differs)")


def pieces(array: Array) -> Iterator[memoryview]:
    """The bytes of a contiguous array in pieces, so that a Ctrl-C is heard between them."""
    flat = array.reshape(-1).view(np.uint8)
    for start in range(0, len(flat), _PIECE):
        yield flat[start : start + _PIECE].data


def map_arrays(path: Path, table: Mapping[str, Mapping[str, Any]]) -> dict[str, Array]:
    """The arrays of one file as read-only views of its memory map; `table`: the manifest's part for it.

    ModelFileError if the header does not describe exactly these arrays and exactly this many bytes.
    """
    buffer = _map(path)
    header, start = _read_header(buffer, path)
    _check_metadata(header, table, path)
    expected_names = sorted(table)
    if sorted(header) != expected_names:
        raise ModelFileError(
            f"{path}: holds the arrays {_some(sorted(header))}, but the manifest lists {_some(expected_names)}"
        )
    places = {name: _place(name, entry, path) for name, entry in header.items()}
    _check_cover(places, len(buffer) - start, path)
    return {name: _view(buffer, start, name, places[name], table[name], path) for name in table}


def _writable(name: str, array: Array) -> Array:
    check_array_name(name, "arrays")
    array = np.asarray(array)
    if array.dtype.name not in DTYPES:
        raise ModelFileError(
            f"array {name!r} has dtype {array.dtype}, which cannot be saved (known: {', '.join(DTYPES)})"
        )
    if array.ndim > MAX_DIMENSIONS:
        raise ModelFileError(f"array {name!r} has {array.ndim} dimensions; at most {MAX_DIMENSIONS} can be saved")
    shape = array.shape
    # ascontiguousarray makes a 0-d array 1-d
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(shape)


def _header(arrays: Mapping[str, Array], order: list[str], digest: str) -> bytes:
    entries: dict[str, Any] = {METADATA: {_DIGEST: digest}}
    end = 0
    for name in order:
        begin, end = end, end + arrays[name].nbytes
        entries[name] = {
            "dtype": DTYPES[arrays[name].dtype.name],
            "shape": list(arrays[name].shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    if len(text) > MAX_HEADER_BYTES:
        raise ModelFileError(
            f"too many arrays: their header takes {len(text)} bytes, at most {MAX_HEADER_BYTES} are allowed"
        )
    return struct.pack("<Q", len(text)) + text


def open_regular(path: Path) -> int:
    """A file descriptor of a regular file in its folder; ModelFileError for links out of it and the like."""
    try:
        real = Path(os.path.realpath(path))
        if real.parent != Path(os.path.realpath(path.parent)):
            raise ModelFileError(f"{path}: is a link that leads out of the folder")
        if not stat.S_ISREG(real.stat().st_mode):  # opening a pipe would wait for ever
            raise ModelFileError(f"{path}: is not a regular file")
        return os.open(real, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        raise ModelFileError(f"{path}: is missing") from None
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{path}: cannot be read ({error})") from None


def _map(path: Path) -> mmap.mmap:
    descriptor = open_regular(path)
    try:
        size = os.fstat(descriptor).st_size
        if size < 8:
            raise ModelFileError(f"{path}: has only {size} bytes (truncated)")
        return mmap.mmap(descriptor, size, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{path}: cannot be mapped into memory ({error})") from None
    finally:
        os.close(descriptor)


def _read_header(buffer: mmap.mmap, path: Path) -> tuple[dict[str, Any], int]:
    (length,) = struct.unpack("<Q", buffer[:8])
    if length > MAX_HEADER_BYTES:
        raise ModelFileError(f"{path}: the header claims {length} bytes; at most {MAX_HEADER_BYTES} are allowed")
    if 8 + length > len(buffer):
        raise ModelFileError(f"{path}: the header claims {length} bytes, but the file has {len(buffer)} (truncated)")
    header = parse_json(buffer[8 : 8 + length], f"{path}, header")
    if not isinstance(header, dict):
        raise ModelFileError(f"{path}: the header must be a JSON object, but is {type(header).__name__}")
    return header, 8 + length


def _check_metadata(header: dict[str, Any], table: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    metadata = header.pop(METADATA, None)
    if not isinstance(metadata, dict) or set(metadata) != {_DIGEST} or not isinstance(metadata[_DIGEST], str):
        raise ModelFileError(f"{path}: the header does not say which model it belongs to")
    if metadata[_DIGEST] != arrays_digest(table):
        raise ModelFileError(f"{path}: belongs to another model than the manifest beside it")


def _place(name: str, entry: Any, path: Path) -> tuple[np.dtype[Any], tuple[int, ...], int, int]:
    """(dtype, shape, begin, end) of one header entry, checked by itself."""
    where = f"{path}: array {name!r:.80}"
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise ModelFileError(f"{where} must have exactly dtype, shape and data_offsets")
    if not isinstance(entry["dtype"], str) or entry["dtype"] not in _NUMPY:
        raise ModelFileError(f"{where} has the unknown dtype {entry['dtype']!r:.80}")
    dtype = _NUMPY[entry["dtype"]]
    shape = check_shape(entry["shape"], where)
    offsets = entry["data_offsets"]
    if (
        not isinstance(offsets, list)
        or len(offsets) != 2
        or not all(type(one) is int and 0 <= one < 2**63 for one in offsets)
    ):
        raise ModelFileError(f"{where}: data_offsets must be two whole numbers 0..2^63-1")
    begin, end = offsets
    size = dtype.itemsize
    for one in shape:
        size *= one  # Python's whole numbers do not overflow
    if end - begin != size:
        raise ModelFileError(f"{where}: shape and dtype take {size:.6g} bytes, but the offsets {end - begin:.6g}")
    return dtype, shape, begin, end


def _check_cover(places: Mapping[str, tuple[Any, Any, int, int]], n_bytes: int, path: Path) -> None:
    """Refuse arrays that overlap, leave holes, or do not end where the file ends."""
    reached = 0
    for name, (_, _, begin, end) in sorted(places.items(), key=lambda item: (item[1][2], item[1][3])):
        if begin != reached:
            what = "overlaps the one before" if begin < reached else "leaves a hole before it"
            raise ModelFileError(
                f"{path}: array {name!r} begins at byte {begin:.6g} and {what}, which ends at {reached}"
            )
        reached = end
    if reached != n_bytes:
        what = "truncated" if reached > n_bytes else "bytes left over"
        raise ModelFileError(f"{path}: the arrays take {reached} bytes, but the file holds {n_bytes} ({what})")


def _view(
    buffer: mmap.mmap,
    start: int,
    name: str,
    place: tuple[np.dtype[Any], tuple[int, ...], int, int],
    expected: Mapping[str, Any],
    path: Path,
) -> Array:
    dtype, shape, begin, end = place
    if dtype.name != expected["dtype"] or list(shape) != expected["shape"]:
        raise ModelFileError(
            f"{path}: array {name!r} is {dtype.name} {list(shape)}, but the manifest says "
            f"{expected['dtype']} {expected['shape']}"
        )
    if (start + begin) % dtype.itemsize:
        raise ModelFileError(f"{path}: array {name!r} is not aligned to its {dtype.itemsize}-byte elements")
    try:
        count = (end - begin) // dtype.itemsize
        array = np.frombuffer(buffer, dtype, count, start + begin) if count else _nothing(dtype)
        array = array.reshape(shape)
    except (ValueError, OverflowError, MemoryError) as error:
        raise ModelFileError(f"{path}: array {name!r} cannot have the shape {list(shape)} ({error})") from None
    # Other bytes than 0 and 1 in a bool array make NumPy and C++ disagree about what is true.
    if dtype == np.bool_ and array.size and int(array.view(np.uint8).max()) > 1:
        raise ModelFileError(f"{path}: array {name!r} is bool, but holds bytes that are neither 0 nor 1")
    return array


def _nothing(dtype: np.dtype[Any]) -> Array:
    array = np.empty(0, dtype)
    array.flags.writeable = False
    return array


def _some(names: list[str]) -> str:
    return ", ".join(repr(name)[:60] for name in names[:6]) + (", ..." if len(names) > 6 else "") or "none"
