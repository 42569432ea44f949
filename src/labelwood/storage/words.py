"""Texts <-> two arrays: their bytes one behind the other, and where each ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from labelwood.errors import DataError


def packed(names: Sequence[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """(utf8, ends): the names as one array of bytes and the end of each, ready to be saved."""
    encoded = [name.encode("utf-8") for name in names]
    ends = np.cumsum([len(part) for part in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), ends


def unpacked(utf8: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> tuple[str, ...]:
    """The names that `packed` packed; DataError if the arrays do not fit together."""
    starts = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
    if np.any(ends < starts) or (int(ends[-1]) if len(ends) else 0) != len(utf8):
        raise DataError("the label names are damaged: their ends do not fit their bytes")
    raw = utf8.tobytes()
    try:
        return tuple(raw[a:b].decode("utf-8") for a, b in zip(starts.tolist(), ends.tolist(), strict=True))
    except UnicodeDecodeError as error:
        raise DataError(f"the label names are damaged: {error}") from None
