"""Sizes that a file declares, against what it holds: memory goes by them, so that a slip must not claim all of it."""

from __future__ import annotations

from labelwood.errors import DataError

# Twice the widest public data set; a number for each of so many columns still takes no more than half a gigabyte.
UNQUESTIONED = 1 << 26


def check_declared(number: int, what: str, n_bytes: int, where: str) -> None:
    """Refuse more rows or columns than a file of `n_bytes` can be meant to have."""
    if number > max(UNQUESTIONED, n_bytes):
        raise DataError(
            f"{where}: {number} {what} for {n_bytes} bytes of data; "
            f"more than {UNQUESTIONED} are allowed only where there are as many bytes"
        )
