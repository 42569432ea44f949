"""
labelwood's C++ kernels: plain arrays in and out; the Python modules around it hold the policy.
"""

from typing import Annotated

import numpy
from numpy.typing import NDArray


def max_threads() -> int:
    """The number of processors that OpenMP may use."""

class RowParser:
    """Parses sparse text rows, block by block; see native/parse.hpp."""

    def __init__(self, labels: bool, svmlight: bool = False, n_features: int = -1, n_labels: int = -1, index_base: int = 0, keep_going: bool = False, item: str = 'feature') -> None: ...

    def feed(self, text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], last: bool, n_threads: int) -> int:
        """
        Parse the whole lines of a block and give the number of bytes used; with `last` the rest is a line too.
        """

    def assemble(self, x_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], x_columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], x_values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], y_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], y_columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], bad_rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], n_threads: int) -> None:
        """
        Write all rows into arrays of the sizes n_rows + 1, x_size, y_size and n_bad, and forget them.
        """

    @property
    def faults(self) -> list[tuple[int, str]]:
        """(line, message) of the first bad rows."""

    @property
    def stopped(self) -> bool:
        """True after a fault, unless keep_going."""

    @property
    def n_lines(self) -> int: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def n_bad(self) -> int:
        """Bad rows met; they are kept as empty rows."""

    @property
    def last_filled_row(self) -> int:
        """The last row that is not a blank line; -1: none."""

    @property
    def x_size(self) -> int: ...

    @property
    def y_size(self) -> int: ...

    @property
    def duplicate_features(self) -> int: ...

    @property
    def duplicate_labels(self) -> int: ...

    @property
    def lowest_feature(self) -> int: ...

    @property
    def highest_feature(self) -> int:
        """-1: there is no feature."""

    @property
    def highest_label(self) -> int:
        """-1: there is no label."""

def format_rows(x_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], x_columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], x_values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], y_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], y_columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], first: int, last: int, labels: bool, svmlight: bool, index_base: int, n_threads: int) -> bytes:
    """The text of the rows first..last, one a line."""
