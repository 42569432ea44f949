"""Vectors of label names in the vocabulary of the features."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from labelwood.matrices import normalized_rows

_WORD = re.compile(r"[^\W_]+")


def name_vectors(label_names: Sequence[str], feature_names: Sequence[str], x: sparse.csr_matrix) -> sparse.csr_matrix:
    """The tf-idf vector of every label name, CSR float32 (n_labels, n_features), to length 1; idf from the rows x.

    A word of a name that is no feature is left out; a name without any known word has an empty vector.
    """
    column_of = {name.lower(): column for column, name in enumerate(feature_names)}
    columns: list[int] = []
    starts = [0]
    for name in label_names:
        columns.extend(column_of[word] for word in _WORD.findall(name.lower()) if word in column_of)
        starts.append(len(columns))
    counts = sparse.csr_matrix(
        (np.ones(len(columns), np.float32), np.array(columns, np.int32), np.array(starts, np.int64)),
        shape=(len(label_names), x.shape[1]),
    )
    counts.sum_duplicates()
    rows_with = np.bincount(x.indices, minlength=x.shape[1])
    idf = np.log((1 + x.shape[0]) / (1 + rows_with)) + 1
    counts.data = (counts.data * idf[counts.indices]).astype(np.float32)
    return normalized_rows(counts)
