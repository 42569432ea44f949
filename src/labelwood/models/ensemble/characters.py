"""Characters: a second view of texts: runs of characters inside their words, which know parts and forms of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from labelwood.features.tfidf import TfidfVectorizer
from labelwood.features.tfidf_state import FittedTfidf
from labelwood.features.tokens import as_texts
from labelwood.storage.schema import Arrays

LENGTHS = (3, 5)
LEAST_ROWS = 3  # of a run of characters that gets a column
MOST_COLUMNS = 300_000
MOST_OF_ROW = 300  # runs of one text, those that weigh most: long texts would multiply the cost


@dataclass(frozen=True, eq=False)
class Characters:
    """The runs of characters that have columns."""

    runs: FittedTfidf

    @classmethod
    def of(cls, texts: Sequence[str], n_threads: int | None) -> tuple[Characters, sparse.csr_matrix]:
        """(the view, its rows) of training texts."""
        vectorizer = TfidfVectorizer(
            analyzer="char_wb", ngram_range=LENGTHS, min_df=min(LEAST_ROWS, len(texts)), max_features=MOST_COLUMNS,
            sublinear_tf=True, n_threads=n_threads,
        )  # fmt: skip
        rows = vectorizer.fit_transform(texts)
        return cls(vectorizer.fitted_), largest_of_rows(rows, MOST_OF_ROW)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.runs.n_features

    def rows(self, texts: Sequence[str], n_threads: int | None) -> sparse.csr_matrix:
        """The rows of texts, float32 CSR (n_texts, n_columns)."""
        return largest_of_rows(self.runs.rows(as_texts(texts), n_threads), MOST_OF_ROW)

    def arrays(self) -> Arrays:
        """The runs as named arrays, which they check themselves."""
        return self.runs.arrays()

    def facts(self) -> dict[str, Any]:
        """The state beside the arrays: JSON values only."""
        return self.runs.facts()

    @classmethod
    def restore(cls, arrays: Arrays, facts: Mapping[str, Any]) -> Characters:
        """The view of saved arrays and facts; ModelFileError if they do not fit together."""
        return cls(FittedTfidf.restore(arrays, facts))


def largest_of_rows(matrix: sparse.csr_matrix, n: int) -> sparse.csr_matrix:
    """The same rows with the n largest values of each; equal ones to the smaller column."""
    starts = matrix.indptr
    long = np.flatnonzero(np.diff(starts) > n)
    if not len(long):
        return matrix
    kept = np.ones(matrix.nnz, bool)
    for row in long:
        begin, end = starts[row], starts[row + 1]
        kept[begin + np.argsort(-matrix.data[begin:end], kind="stable")[n:]] = False
    sizes = np.diff(starts)
    sizes[long] = n
    pointers = np.concatenate([[0], np.cumsum(sizes)]).astype(starts.dtype)
    return sparse.csr_matrix((matrix.data[kept], matrix.indices[kept], pointers), shape=matrix.shape)
