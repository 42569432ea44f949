"""Arrays <-> one array of compressed bytes, for what is read whole when a model is loaded and never mapped.

The bytes: the length of a JSON table (8 bytes, little-endian), the table, and for each of its lines a zlib stream. The
bytes of an array's numbers are sorted by their place in the number (all lowest bytes first, and so on): alike ones then
stand together. Whole numbers that rise or hardly change are kept as differences.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood.errors import ModelFileError
from labelwood.storage.format import DTYPES, check_array_name, check_shape, parse_json

Array = np.ndarray[Any, Any]
Bytes = npt.NDArray[np.uint8]
_LEVEL = 6
_TRIED = 1 << 16  # numbers that decide whether differences are shorter
_LARGEST_RATIO = 1040  # of zlib: a stream that claims to hold more is damaged
_LINE = {"name", "dtype", "shape", "differences", "n_bytes"}


def compressed(arrays: Mapping[str, Array]) -> Bytes:
    """All arrays as one array of bytes, the same in whatever order they come; `expanded` takes it back."""
    table, streams = [], []
    for name, array in sorted(arrays.items()):
        flat = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(-1)
        middle = flat[max(0, (len(flat) - _TRIED) // 2) :][:_TRIED]
        whole = flat.dtype.kind in "iu" and flat.itemsize > 1
        differences = whole and len(_stream(_differences(middle))) < len(_stream(middle))
        stream = _stream(_differences(flat) if differences else flat)
        line = {"name": name, "dtype": array.dtype.name, "shape": list(array.shape), "differences": differences}
        table.append({**line, "n_bytes": len(stream)})
        streams.append(stream)
    head = json.dumps(table, separators=(",", ":")).encode()
    return np.frombuffer(b"".join([struct.pack("<Q", len(head)), head, *streams]), np.uint8)


def expanded(data: Bytes, where: str) -> dict[str, Array]:
    """The arrays by name, read-only; ModelFileError if the bytes are damaged."""
    raw = data.tobytes()
    begin = 8 + (struct.unpack("<Q", raw[:8])[0] if len(raw) >= 8 else 0)
    if len(raw) < begin:
        raise ModelFileError(f"{where}: the compressed arrays are cut off")
    table = parse_json(raw[8:begin], f"{where}, compressed arrays")
    arrays: dict[str, Array] = {}
    for line in table if isinstance(table, list) else [None]:
        if not isinstance(line, dict) or set(line) != _LINE or str(line["dtype"]) not in DTYPES:
            raise ModelFileError(f"{where}: a compressed array has no such line as {line!r:.80}")
        name, n_bytes = line["name"], line["n_bytes"]
        check_array_name(name, where)
        shape = check_shape(line["shape"], f"{where}: array {name!r}")
        if type(n_bytes) is not int or not 0 <= n_bytes <= len(raw) - begin or name in arrays:
            raise ModelFileError(f"{where}: the compressed array {name!r} is cut off or comes twice")
        dtype = np.dtype(line["dtype"]).newbyteorder("<")
        flat = _numbers(raw[begin : begin + n_bytes], dtype, math.prod(shape), f"{where}: array {name!r}")
        arrays[name] = (_added_up(flat) if line["differences"] is True else flat).reshape(shape)
        arrays[name].flags.writeable = False
        begin += n_bytes
    if begin != len(raw):
        raise ModelFileError(f"{where}: {len(raw) - begin} bytes are left over behind the compressed arrays")
    return arrays


def _stream(flat: Array) -> bytes:
    by_place = np.ascontiguousarray(flat.view(np.uint8).reshape(len(flat), flat.itemsize).T)
    # Small numbers that are like chance are shorter if zlib looks for no repetitions: those that it finds say nothing.
    both = (_deflated(by_place, strategy) for strategy in (zlib.Z_DEFAULT_STRATEGY, zlib.Z_HUFFMAN_ONLY))
    return min(both, key=len)


def _deflated(raw: Array, strategy: int) -> bytes:
    encoder = zlib.compressobj(_LEVEL, strategy=strategy)
    return encoder.compress(raw.data) + encoder.flush()


def _numbers(stream: bytes, dtype: np.dtype[Any], n: int, where: str) -> Array:
    size = n * dtype.itemsize
    if size > _LARGEST_RATIO * len(stream):
        raise ModelFileError(f"{where}: {len(stream)} compressed bytes cannot hold {size:.6g}")
    decoder = zlib.decompressobj()
    try:
        raw = decoder.decompress(stream, size + 1)
    except zlib.error as error:
        raise ModelFileError(f"{where}: cannot be expanded ({error})") from None
    if len(raw) != size or not decoder.eof or decoder.unused_data:
        raise ModelFileError(f"{where}: does not hold {size} bytes")
    by_place = np.frombuffer(raw, np.uint8).reshape(dtype.itemsize, n)
    return np.ascontiguousarray(by_place.T).reshape(-1).view(dtype)


def _differences(flat: Array) -> Array:
    """Each number minus the one before it, the sign in the lowest bit; sums and differences may wrap around."""
    signed = np.dtype(f"<i{flat.itemsize}")
    steps = flat.view(signed).copy()
    steps[1:] -= flat.view(signed)[:-1]
    return (steps << 1) ^ (steps >> (8 * flat.itemsize - 1))


def _added_up(steps: Array) -> Array:
    unsigned = steps.view(f"<u{steps.itemsize}")
    signed = (unsigned >> 1).view(f"<i{steps.itemsize}") ^ -(unsigned & 1).view(f"<i{steps.itemsize}")
    return np.cumsum(signed, dtype=signed.dtype).view(steps.dtype)
