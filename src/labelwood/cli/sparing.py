"""What `--memory` does to reading: large files are parsed in pieces, into a cache of mapped files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

TEXT_BYTES = 60  # what Python keeps of a text beside its characters

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset
    from labelwood.data.reading.row_cache import RowCache


def row_cache() -> RowCache:
    """The cache of parsed files, below the folder of fetched data sets (LABELWOOD_CACHE)."""
    from labelwood.data.download import cache_folder
    from labelwood.data.reading.row_cache import RowCache

    return RowCache(cache_folder() / "rows")


@contextmanager
def reading_in_pieces(memory: int | None, beside: Path) -> Iterator[None]:
    """With a limit of memory, files read in the block are kept in the cache, and large arrays are files of a folder."""
    if memory is None:
        yield
        return
    from labelwood.data.reading.row_cache import caching
    from labelwood.scratch import Scratch, sparing

    with sparing(Scratch(beside.absolute().parent)), caching(row_cache()):
        yield


def left_for_training(memory: int | None, data: Dataset) -> int | None:
    """The bytes that are left when the data is in memory; at least one, which no training can do with."""
    if memory is None:
        return None
    from labelwood.scratch import in_memory

    matrices = [matrix for matrix in (data.x, data.y) if matrix is not None]
    texts = 0 if data.texts is None else sum(map(len, data.texts)) + TEXT_BYTES * data.n_rows
    held = texts + in_memory(*(array for matrix in matrices for array in (matrix.data, matrix.indices, matrix.indptr)))
    return max(1, memory - held)
