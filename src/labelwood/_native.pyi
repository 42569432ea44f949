"""
labelwood's C++ kernels: plain arrays in and out; the Python modules around it hold the policy.
"""

from typing import Annotated

import numpy
from numpy.typing import NDArray


def max_threads() -> int:
    """The number of processors that OpenMP may use."""

def hit_matrix(labels: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_labels: int, hits: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 0) -> int:
    """
    Fill hits (n, k) with 1 where a predicted label is true; gives back the first row with a label twice or outside 0..n_labels-1, or -1.
    """

def best_weights(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], best: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 0) -> None:
    """
    Fill best (n, k) with the k largest weights among each row's labels, largest first, 0 where there are fewer.
    """
