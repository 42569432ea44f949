"""TextView: a second look at texts beside the features: pairs of words, or runs of characters inside words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from labelwood import _native
from labelwood.errors import DataError, ModelFileError
from labelwood.features.tfidf import TfidfVectorizer
from labelwood.features.tfidf_state import FittedTfidf, rules_of
from labelwood.features.tokens import as_texts
from labelwood.storage.schema import Arrays

PAIRS, CHARACTERS = "pairs", "characters"
# In the order of their columns: the model of pairs sees the features too, which stand right before.
KINDS: Mapping[str, Mapping[str, Any]] = {
    PAIRS: {"analyzer": "word", "ngram_range": (2, 2)},
    CHARACTERS: {"analyzer": "char_wb", "ngram_range": (3, 5)},
}
LEAST_ROWS = 3  # of a token that gets a column
MOST_COLUMNS = 300_000
MOST_OF_ROW = 300  # tokens of one text, those that weigh most: long texts would multiply the cost


@dataclass(frozen=True, eq=False)
class TextView:
    """The tokens of one kind that have columns."""

    kind: str
    tokens: FittedTfidf

    @classmethod
    def of(cls, kind: str, texts: Sequence[str], n_threads: int | None) -> tuple[TextView, sparse.csr_matrix] | None:
        """(the view, its rows) of training texts; None if no token stands in enough of them."""
        vectorizer = TfidfVectorizer(
            **KINDS[kind], min_df=LEAST_ROWS, max_features=MOST_COLUMNS, sublinear_tf=True, n_threads=n_threads
        )
        try:
            rows = vectorizer.fit_transform(texts)
        except DataError:  # no token stands in so many texts
            return None
        return cls(kind, vectorizer.fitted_), largest_of_rows(rows, MOST_OF_ROW)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.tokens.n_features

    def rows(self, texts: Sequence[str], n_threads: int | None) -> sparse.csr_matrix:
        """The rows of texts, float32 CSR (n_texts, n_columns)."""
        return largest_of_rows(self.tokens.rows(as_texts(texts), n_threads), MOST_OF_ROW)

    def look_for(self, rows: _native.TextRows) -> None:
        """Let rows of texts have the columns of this view."""
        tokens = self.tokens
        idf = np.ones(tokens.n_features) if tokens.idf is None else tokens.idf
        rows.view(rules_of(tokens.parameters), tokens.lookup, idf, MOST_OF_ROW)

    def arrays(self) -> Arrays:
        """The tokens and their frequencies."""
        return self.tokens.arrays()

    def facts(self) -> dict[str, Any]:
        """The state beside the arrays: JSON values only."""
        return {"kind": self.kind, "tokens": self.tokens.facts()}

    @classmethod
    def restore(cls, arrays: Arrays, facts: Mapping[str, Any]) -> TextView:
        """The view of saved arrays and facts; ModelFileError if they do not fit together."""
        if facts["kind"] not in KINDS:
            raise ModelFileError(f"ensemble: a view is one of {', '.join(KINDS)}, but is {facts['kind']!r:.40}")
        # Earlier versions kept whole numbers in four bytes.
        wide = {name: array.astype(np.int64) if array.dtype == np.int32 else array for name, array in arrays.items()}
        tokens = FittedTfidf.restore(wide, facts["tokens"])
        given = tokens.parameters
        if given.hashing is not None or tokens.forms is not None or not given.sublinear_tf or given.norm != "l2":
            raise ModelFileError(f"ensemble: the {facts['kind']} of texts are weighed in a way that no version knows")
        return cls(facts["kind"], tokens)


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
