"""The code of a linear autoencoder in closed form: coordinates in the subspace that rebuilds the rows best."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import svds

from labelwood.matrices import with_fixed_signs

Floats = npt.NDArray[np.float32]


def linear_encoding(x: sparse.csr_matrix, dim: int, seed: int) -> Floats:
    """The encoder (n_features, at most dim) whose decoder is its transpose: the leading right singular vectors of x.

    No linear autoencoder of that width rebuilds the rows with a smaller squared error (Baldi and Hornik 1989), so
    nothing is left for gradient steps to find. Signs are fixed: the largest entry of a column is positive.
    """
    most = min(x.shape) - 1
    if x.nnz == 0 or most < 1:
        return np.eye(x.shape[1], min(dim, x.shape[1]), dtype=np.float32)
    start = np.random.default_rng(seed).standard_normal(min(x.shape))
    _, values, rows = svds(x.astype(np.float64), k=min(dim, most), v0=start)
    kept: Any = rows[np.argsort(-values, kind="stable")].T
    return np.ascontiguousarray(with_fixed_signs(kept), np.float32)


def encoded(x: sparse.csr_matrix, encoder: Floats) -> sparse.csr_matrix:
    """The rows in the encoder's coordinates; a row's result does not depend on the others."""
    return sparse.csr_matrix(np.asarray((x @ encoder), np.float32))
