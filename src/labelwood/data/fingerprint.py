"""Short names for data: two models with the same fingerprint were trained on the same rows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from labelwood.matrices import as_features, as_labels


def data_fingerprint(x: Any, y: Any) -> str:
    """A name for features and labels, "sha256:...": the same for any matrix type of the same values."""
    digest = hashlib.sha256()
    for matrix in (as_features(x), as_labels(y)):
        _update(digest, matrix)
    return f"sha256:{digest.hexdigest()}"


def texts_fingerprint(texts: Sequence[str], y: sparse.csr_matrix, names: Sequence[str]) -> str:
    """A name for texts with labels, "texts-sha256:...": the same in whatever order the rows and the labels come.

    Rows without labels do not count: training may leave them out.
    """
    digests = []
    columns, starts = y.indices.tolist(), y.indptr.tolist()
    for row, text in enumerate(texts):
        if starts[row] == starts[row + 1]:
            continue
        labels = sorted(names[column] for column in columns[starts[row] : starts[row + 1]])
        digests.append(hashlib.sha256("\0".join([text, *labels]).encode("utf-8", "surrogatepass")).digest())
    return f"texts-sha256:{hashlib.sha256(b''.join(sorted(digests))).hexdigest()}"


def label_names_sha256(names: Sequence[str]) -> str:
    """The hash of label names in their order, 64 hexadecimal digits."""
    digest = hashlib.sha256()
    for name in names:
        raw = name.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "little"))  # lengths keep ["ab", "c"] and ["a", "bc"] apart
        digest.update(raw)
    return digest.hexdigest()


def _update(digest: Any, matrix: sparse.csr_matrix) -> None:
    if matrix.nnz and not np.all(matrix.data):  # a stored zero is no different from none
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    digest.update(np.array(matrix.shape, "<i8").tobytes())
    for part, dtype in ((matrix.indptr, "<i8"), (matrix.indices, "<i4"), (matrix.data, "<f4")):
        digest.update(np.ascontiguousarray(part, dtype=dtype).data)
