"""BagVectorizer: texts -> counts of words and hashed word n-grams, the input of fastText's supervised model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import DataError, ModelFileError, ParamError
from labelwood.features.tfidf_params import MARKUP
from labelwood.features.tokens import (
    TOKEN_FORMAT,
    Rows,
    Texts,
    TokenList,
    as_read,
    count_tokens,
    hash_tokens,
    look_up_tokens,
    token_rules,
)
from labelwood.features.vectorizer import FittedVectorizer, Vectorizer
from labelwood.features.vocabulary_arrays import check_facts, checked_words, hashed_words, word_arrays, word_at
from labelwood.params import Declared, param
from labelwood.storage.schema import Arrays, check_arrays

OWNER = "BagVectorizer"


@dataclass(frozen=True)
class BagParams(Declared):
    """Parameters of BagVectorizer."""

    word_ngrams: int = param(2, "longest run of words that counts as a token; 1: single words only", low=1, high=10)
    buckets: int = param(200_000, "columns that runs of two and more words share by their hash", low=1, high=2**30)
    min_count: int = param(1, "words that come less often in the training texts are left out", low=1)
    lowercase: bool = param(True, "words are the same in capitals and small letters")
    min_token_length: int = param(1, "shorter words are left out", low=1, high=1000)
    markup: bool = param(False, MARKUP)
    n_threads: int | None = param(None, "threads to use; None: all processors", low=1, high=4096, kind=int)


@dataclass(frozen=True, eq=False)
class FittedBag(FittedVectorizer):
    """The words of the training texts; runs of words are hashed and need none."""

    parameters: BagParams
    words: TokenList

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", replace(self.parameters, n_threads=None))

    @property
    def n_features(self) -> int:
        """The number of columns: words, then buckets."""
        return len(self.words) + (self.parameters.buckets if self.parameters.word_ngrams > 1 else 0)

    @cached_property
    def lookup(self) -> _native.Vocabulary:
        """The words as a table for look-up."""
        return _native.Vocabulary(self.words.bytes, self.words.offsets)

    def feature_names(self) -> list[str]:
        """The words in the order of the columns, then the numbers of the buckets."""
        n_runs = self.n_features - len(self.words)
        return [*self.words.strings(), *(f"bucket {number}" for number in range(n_runs))]

    def rows(self, texts: Texts, n_threads: int | None) -> sparse.csr_matrix:
        """The counts of texts; words that training did not see are left out, but not the runs they are in."""
        counted = look_up_tokens(texts, _rules(self.parameters, 1, 1), self.lookup, n_threads)
        return self.with_runs(_counts(counted, len(self.words)), texts, n_threads)

    def with_runs(self, words: sparse.csr_matrix, texts: Texts, n_threads: int | None) -> sparse.csr_matrix:
        """The counts of words with those of runs of words beside them."""
        p = self.parameters
        if p.word_ngrams == 1:
            return words
        runs = _counts(hash_tokens(texts, _rules(p, 2, p.word_ngrams), p.buckets, n_threads), p.buckets)
        return sparse.hstack([words, runs], format="csr", dtype=np.float32)

    def words_behind(self, text: str, columns: Iterable[int]) -> dict[int, str]:
        """Column -> its word, or the runs of words of this text that fall into it."""
        p = self.parameters
        runs: dict[int, str] = {}
        if p.word_ngrams > 1:
            tokens = _native.split_text(text, _rules(p, 2, p.word_ngrams))
            runs = hashed_words(tokens, p.buckets, first_column=len(self.words))
        return {
            column: word_at(self.words, column)
            if column < len(self.words)
            else runs.get(column, f"bucket {column - len(self.words)}")
            for column in columns
        }

    def arrays(self) -> Arrays:
        """The words."""
        return {"words_bytes": self.words.bytes, "words_offsets": self.words.offsets}

    def facts(self) -> dict[str, Any]:
        """The parameters, and what tokens mean."""
        return {"parameters": self.parameters.saved(), "token_format": TOKEN_FORMAT}

    @classmethod
    def restore(cls, arrays: Mapping[str, npt.NDArray[Any]], facts: Mapping[str, Any]) -> FittedBag:
        """The state of saved words; ModelFileError if they are damaged."""
        check_facts(facts, ("parameters", "token_format"), OWNER)
        try:
            parameters = BagParams.from_saved(facts["parameters"], OWNER)
        except (ParamError, TypeError, AttributeError) as error:
            raise ModelFileError(f"saved parameters: {error}") from None
        check_arrays(word_arrays("words"), arrays, {}, OWNER)
        words, lookup = checked_words(arrays, "words", OWNER)
        state = cls(parameters, words)
        state.__dict__["lookup"] = lookup  # made for the check already
        return state


class BagVectorizer(Vectorizer[FittedBag]):
    """Turns texts into rows of token counts, float32 CSR (n_texts, n_features) with sorted columns.

    The first columns are the words of the training texts in the order of their code points, then come `buckets` columns
    for runs of 2 to word_ngrams words. A mean of vectors over these counts is fastText's input layer. The constructor
    only stores; `fit` validates.
    """

    Parameters = BagParams
    FittedState = FittedBag

    def _learn(self, texts: Texts, want_rows: bool) -> tuple[FittedBag, sparse.csr_matrix | None]:
        parameters = self.Parameters.checked(self.get_params(), type(self).__name__)
        threads = parameters.n_threads
        texts = as_read(texts, True) if parameters.markup else texts
        if not texts:
            raise DataError("fit needs at least one text")
        counted = count_tokens(texts, _rules(parameters, 1, 1), want_totals=True, n_threads=threads)
        kept = np.flatnonzero(counted.totals >= parameters.min_count)
        if len(kept) == 0:
            raise DataError(
                f"no words left: {counted.n_seen} different ones in {len(texts)} texts, none with min_count="
                f"{parameters.min_count} and {parameters.min_token_length} or more characters"
            )
        state = FittedBag(parameters, counted.tokens.take(kept))
        if not want_rows:
            return state, None
        words = _counts(counted.rows, len(counted.tokens))
        return state, state.with_runs(words if len(kept) == words.shape[1] else words[:, kept], texts, threads)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray[Any, Any]], facts: Mapping[str, Any]) -> BagVectorizer:
        """The fitted vectorizer of saved arrays and facts; ModelFileError if they do not fit together."""
        state = FittedBag.restore(arrays, facts)
        return cls.from_fitted(state, state.parameters.as_given())


def _rules(parameters: BagParams, low: int, high: int) -> _native.TokenRules:
    return token_rules(
        analyzer="word",
        min_n=low,
        max_n=high,
        lowercase=parameters.lowercase,
        min_length=parameters.min_token_length,
        stop_words=(),
    )


def _counts(rows: Rows, n_columns: int) -> sparse.csr_matrix:
    pointers, columns, counts = rows
    shape = (len(pointers) - 1, n_columns)
    return sparse.csr_matrix((counts.astype(np.float32), columns, pointers), shape=shape, copy=False)
