"""tf-idf in two passes over slices of the texts, for runs that must spare memory: first the words, then the rows.

One pass holds the counts of all rows until the vocabulary is known. Here only the vocabulary is held, and the rows go
to files as they are made; the texts are cut into tokens twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import DataError
from labelwood.features.tfidf_state import FittedTfidf
from labelwood.features.tokens import Counted, Rows, Texts, TokenList, blamed, count_tokens
from labelwood.scratch import Scratch

SLICE = 1 << 25  # characters that are looked at at a time


def counted_in_slices(
    texts: Texts,
    rules: _native.TokenRules,
    *,
    min_rows: float,
    max_rows: float,
    max_tokens: int | None,
    n_threads: int | None,
) -> Counted:
    """What `count_tokens` gives of all texts, but for the rows: those are empty."""
    tokens = TokenList(np.zeros(0, np.uint8), np.zeros(1, np.int64))
    n_rows, totals = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for first, last in _slices(texts):
        try:
            part = count_tokens(texts[first:last], rules, want_totals=True, want_rows=False, n_threads=n_threads)
        except DataError as error:
            raise blamed(texts) or error from None  # the row is counted over all texts
        places = _native.Vocabulary(tokens.bytes, tokens.offsets).find(part.tokens.bytes, part.tokens.offsets)
        old, new = np.flatnonzero(places >= 0), np.flatnonzero(places < 0)
        n_rows[places[old]] += part.n_rows[old]
        totals[places[old]] += part.totals[old]
        tokens = tokens.joined(part.tokens.take(new))
        n_rows, totals = np.concatenate([n_rows, part.n_rows[new]]), np.concatenate([totals, part.totals[new]])
    kept = np.flatnonzero((n_rows >= min_rows) & (n_rows <= max_rows))
    words = _raw(tokens.take(kept))
    order = sorted(range(len(kept)), key=words.__getitem__)  # bytes of UTF-8 are in the order of the code points
    if max_tokens is not None and len(order) > max_tokens:
        counts = totals[kept[order]]
        # The most frequent ones; of equally frequent ones the first in order.
        chosen = np.sort(np.argsort(-counts, kind="stable")[:max_tokens])
        order = [order[place] for place in chosen.tolist()]
    places = kept[np.array(order, np.int64)]
    return Counted(tokens.take(places), n_rows[places], totals[places], len(tokens), _no_rows())


def rows_in_slices(state: FittedTfidf, texts: Texts, n_threads: int | None, scratch: Scratch) -> sparse.csr_matrix:
    """The tf-idf rows of all texts, in files."""
    columns, values = scratch.growing(np.int32), scratch.growing(np.float32)
    starts = [np.zeros(1, np.int64)]
    for first, last in _slices(texts):
        rows = state.rows(texts[first:last], n_threads)
        starts.append(rows.indptr[1:].astype(np.int64) + columns.size)
        columns.add(rows.indices)
        values.add(rows.data)
    shape = (len(texts), state.n_features)
    matrix = sparse.csr_matrix((values.finished(), columns.finished(), np.concatenate(starts)), shape=shape, copy=False)
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    return matrix


def _slices(texts: Texts) -> Iterator[tuple[int, int]]:
    """(first, last) of slices of about SLICE characters."""
    lengths = [len(text) if isinstance(text, str) else 0 for text in texts]
    numbers = np.cumsum(lengths) // SLICE
    ends = [*(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(texts)]
    yield from pairwise([0, *ends])


def _raw(tokens: TokenList) -> list[bytes]:
    whole, ends = tokens.bytes.tobytes(), tokens.offsets.tolist()
    return [whole[start:end] for start, end in pairwise(ends)]


def _no_rows() -> Rows:
    none: npt.NDArray[np.int32] = np.zeros(0, np.int32)
    return np.zeros(1, np.int64), none, none
