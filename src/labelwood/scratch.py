"""Scratch: large arrays in files instead of memory, for runs that must spare memory.

The files have no name: they are gone when the program ends, however it ends. Their pages are the system's to write out
and read again, so what is not in use takes no memory that others need. Who makes large arrays asks `room`.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

from labelwood.errors import BudgetError
from labelwood.memory import memory_text

Array = np.ndarray[Any, Any]

LEAST_BYTES = 1 << 20  # smaller arrays stay in memory


class Scratch:
    """Room for arrays in files of one folder, which must be on a disk with enough space."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def empty(self, size: int, dtype: Any) -> Array:
        """An array of `size` numbers that may be written; BudgetError if the disk has no room for it."""
        kind = np.dtype(dtype)
        n_bytes = size * kind.itemsize
        if not n_bytes:
            return np.empty(0, kind)
        with self._file(n_bytes) as stream:
            try:
                _reserve(stream.fileno(), n_bytes)
            except OSError as error:
                raise self._no_room(n_bytes, error) from error
            return np.frombuffer(mmap.mmap(stream.fileno(), n_bytes), kind)

    def growing(self, dtype: Any) -> GrowingArray:
        """An array that grows at its end."""
        return GrowingArray(self, np.dtype(dtype))

    def _file(self, n_bytes: int) -> Any:
        try:
            return tempfile.TemporaryFile(dir=self.folder, prefix=".labelwood-")
        except OSError as error:
            raise self._no_room(n_bytes, error) from error

    def _no_room(self, n_bytes: int, error: OSError) -> BudgetError:
        what = f"{memory_text(n_bytes)} more" if n_bytes else "a file"
        return BudgetError(f"{self.folder}: the disk has no room for {what}, which this run needs there ({error})")


class GrowingArray:
    """Numbers that are written one piece after the other and are then an array, read-only and mapped."""

    def __init__(self, scratch: Scratch, dtype: np.dtype[Any]) -> None:
        self._scratch, self._dtype = scratch, dtype
        self._stream = scratch._file(0)
        self.size = 0

    def add(self, piece: Array) -> None:
        """Put numbers at the end; BudgetError if the disk is full."""
        raw = np.ascontiguousarray(piece, self._dtype)
        try:
            self._stream.write(raw.data)
        except OSError as error:
            raise self._scratch._no_room(raw.nbytes, error) from error
        self.size += len(raw)

    def __del__(self) -> None:
        self._stream.close()  # of a file that turned out to be damaged half-way

    def finished(self) -> Array:
        """The whole array; nothing can be added any more."""
        try:
            self._stream.flush()
        except OSError as error:
            raise self._scratch._no_room(0, error) from error
        with self._stream as stream:
            if not self.size:
                return np.empty(0, self._dtype)
            return np.frombuffer(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), self._dtype)


_CURRENT: ContextVar[Scratch | None] = ContextVar("scratch", default=None)


def current_scratch() -> Scratch | None:
    """Where large arrays go; None: into memory."""
    return _CURRENT.get()


@contextmanager
def sparing(scratch: Scratch | None) -> Iterator[None]:
    """Work in the block puts its large arrays there (None: into memory)."""
    token = _CURRENT.set(scratch)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def room(size: int, dtype: Any) -> Array:
    """An array to be filled: in memory, or in a file where memory is to be spared and it is large."""
    scratch = current_scratch()
    if scratch is None or size * np.dtype(dtype).itemsize < LEAST_BYTES:
        return np.empty(size, dtype)
    return scratch.empty(size, dtype)


def put_away(array: Array) -> Array:
    """The same numbers, in a file where memory is to be spared and there are many."""
    if current_scratch() is None or array.nbytes < LEAST_BYTES or _map_of(array) is not None:
        return array
    away = room(array.size, array.dtype)
    away[:] = array.reshape(-1)
    release(away)
    return away.reshape(array.shape)


def release(*arrays: Array) -> None:
    """Let go of the memory behind mapped arrays for now; the next use brings it back. Others are left as they are."""
    if not hasattr(mmap, "MADV_DONTNEED"):
        return
    for array in arrays:
        mapped = _map_of(array)
        if mapped is not None:
            mapped.madvise(mmap.MADV_DONTNEED)


def give_back() -> None:
    """Where memory is to be spared, return to the system what was freed: the C library would keep it for later."""
    if current_scratch() is None or not sys.platform.startswith("linux"):
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc
    if trim is not None:
        trim(0)


def in_memory(*arrays: Array) -> int:
    """The bytes of those arrays that are not mapped from a file."""
    return sum(array.nbytes for array in arrays if _map_of(array) is None)


def _map_of(array: Any) -> mmap.mmap | None:
    """The memory map that an array is a view of; None if it is in memory."""
    while isinstance(array, np.ndarray):
        array = array.base
    if isinstance(array, memoryview):
        array = array.obj
    return array if isinstance(array, mmap.mmap) else None


def _reserve(descriptor: int, n_bytes: int) -> None:
    """Make a file that long with real room on the disk: a hole that cannot be filled later would kill the program."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, n_bytes)
    else:
        zeros = bytes(1 << 20)
        for start in range(0, n_bytes, len(zeros)):
            os.write(descriptor, zeros[: n_bytes - start])
