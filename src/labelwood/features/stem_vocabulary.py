"""The columns of stems: which there are, how often they come, and the words that lead to them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from labelwood.features.stems import Stemming, stems_of
from labelwood.features.tfidf_params import TfidfParams
from labelwood.features.tfidf_state import FittedTfidf, Forms, admitted, rules_of
from labelwood.features.tokens import Rows, Texts, TokenList, count_tokens, merged_counts

Int32 = npt.NDArray[np.int32]


def learn_stems(parameters: TfidfParams, texts: Texts, low: float, high: float) -> tuple[FittedTfidf, Rows, int]:
    """(what was learnt, the counts of the texts, different stems before any limit); low, high: rows of a stem."""
    counted = count_tokens(texts, rules_of(parameters), n_threads=parameters.n_threads)
    stemming = Stemming(parameters.languages(), parameters.lemmas)
    stems = stems_of(counted.tokens, counted.rows, texts, stemming)
    names, column_of = TokenList.of(stems).distinct()
    rows = merged_counts(counted.rows, column_of, len(names), parameters.n_threads)
    frequencies, totals = _tally(rows, len(names))
    kept = np.flatnonzero((frequencies >= low) & (frequencies <= high))
    if parameters.max_features is not None:
        order = np.argsort(-totals[kept], kind="stable")
        kept = np.sort(kept[order[: parameters.max_features]])
    n_seen = len(names)
    if len(kept) < len(names):
        new_column = np.full(len(names), -1, np.int32)
        new_column[kept] = np.arange(len(kept), dtype=np.int32)
        rows = merged_counts(rows, new_column, len(kept), parameters.n_threads)
        column_of = new_column[column_of] if len(names) else column_of
        names = names.take(kept)
    forms = _with_columns(counted.tokens, column_of)
    return FittedTfidf(parameters, len(texts), frequencies[kept], names, forms), rows, n_seen


def with_more_stems(state: FittedTfidf, texts: Texts, n_threads: int | None) -> FittedTfidf:
    """The state with more texts counted; new stems get columns behind the old ones, which stay."""
    assert state.forms is not None
    counted = count_tokens(texts, rules_of(state.parameters), n_threads=n_threads)
    column_of = state.columns_of(counted.tokens)
    new = np.flatnonzero(column_of < 0)
    all_stems = stems_of(counted.tokens, counted.rows, texts, state.stemming)
    names, places = TokenList.of([all_stems[place] for place in new.tolist()]).distinct()
    n_old = state.n_features
    column_of[new] = n_old + places
    n_columns = n_old + len(names)
    frequencies, totals = _tally(merged_counts(counted.rows, column_of, n_columns, n_threads), n_columns)
    is_new = np.arange(n_columns) >= n_old
    kept = admitted(frequencies, totals, is_new, state, len(texts))
    final = np.concatenate([np.arange(n_old), np.full(len(names), -1)]).astype(np.int32)
    final[kept] = n_old + np.arange(len(kept), dtype=np.int32)
    unseen = np.flatnonzero(state.forms.find(counted.tokens) < 0)
    more = _with_columns(counted.tokens.take(unseen), final[column_of[unseen]])
    forms = Forms(state.forms.words.joined(more.words), np.concatenate([state.forms.columns, more.columns]))
    old = state.frequencies + frequencies[:n_old]
    vocabulary = state.word_list().joined(names.take(kept - n_old))
    return FittedTfidf(
        state.parameters, state.n_rows + len(texts), np.concatenate([old, frequencies[kept]]), vocabulary, forms
    )


def _tally(rows: Rows, n_columns: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(rows that hold each column, how often it comes)."""
    _, columns, counts = rows
    totals = np.bincount(columns, weights=counts, minlength=n_columns).astype(np.int64)
    return np.bincount(columns, minlength=n_columns).astype(np.int64), totals


def _with_columns(words: TokenList, column_of: Int32) -> Forms:
    """The words that have a column."""
    kept = np.flatnonzero(column_of >= 0)
    return Forms(words if len(kept) == len(words) else words.take(kept), np.ascontiguousarray(column_of[kept]))
