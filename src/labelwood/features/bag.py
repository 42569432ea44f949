"""BagVectorizer: texts -> counts of words and hashed word n-grams, the input of fastText's supervised model."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from labelwood import _native
from labelwood.errors import DataError, ModelFileError, NotFittedError
from labelwood.features.tokens import (
    TOKEN_FORMAT,
    Rows,
    Texts,
    TokenList,
    as_texts,
    checked_tokens,
    count_tokens,
    hash_tokens,
    look_up_tokens,
    token_rules,
)
from labelwood.params import Declared, param

Arrays = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class BagParams(Declared):
    """Parameters of BagVectorizer."""

    word_ngrams: int = param(2, "longest run of words that counts as a token; 1: single words only", low=1, high=10)
    buckets: int = param(200_000, "columns that runs of two and more words share by their hash", low=1, high=2**30)
    min_count: int = param(1, "words that come less often in the training texts are left out", low=1)
    lowercase: bool = param(True, "words are the same in capitals and small letters")
    min_token_length: int = param(1, "shorter words are left out", low=1, high=1000)
    n_threads: int | None = param(None, "threads to use; None: all processors", low=1, high=4096, kind=int)


class BagVectorizer:
    """Turns texts into rows of token counts, float32 CSR (n_texts, n_features) with sorted columns.

    The first columns are the words of the training texts in the order of their code points, then come `buckets` columns
    for runs of 2 to word_ngrams words. A mean of vectors over these counts is fastText's input layer. The constructor
    only stores; `fit` validates.
    """

    Parameters = BagParams
    __signature__ = inspect.Signature(
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            for name, default in BagParams.defaults().items()
        ]
    )

    def __init__(self, **parameters: Any) -> None:
        self.Parameters.check_names(parameters, type(self).__name__)
        for name, default in self.Parameters.defaults().items():
            setattr(self, name, parameters.get(name, default))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as given to the constructor."""
        return {name: getattr(self, name) for name in self.Parameters.ranges()}

    def fit(self, texts: Iterable[str]) -> BagVectorizer:
        """The vectorizer itself, with the words of the texts."""
        self.fit_transform(texts)
        return self

    def fit_transform(self, texts: Iterable[str]) -> sparse.csr_matrix:
        """The counts of the texts whose words it learns."""
        parameters = self.Parameters.checked(self.get_params(), type(self).__name__)
        rows = as_texts(texts)
        if not rows:
            raise DataError("fit needs at least one text")
        counted = count_tokens(rows, _rules(parameters, 1, 1), want_totals=True, n_threads=parameters.n_threads)
        kept = np.flatnonzero(counted.totals >= parameters.min_count)
        if len(kept) == 0:
            raise DataError(
                f"no words left: {counted.n_seen} different ones in {len(rows)} texts, none with min_count="
                f"{parameters.min_count} and {parameters.min_token_length} or more characters"
            )
        words = _counts(counted.rows, len(counted.tokens))
        tokens = counted.tokens.take(kept)
        self._take(parameters, tokens, _native.Vocabulary(tokens.bytes, tokens.offsets))
        return self._with_runs(words if len(kept) == words.shape[1] else words[:, kept], rows)

    def transform(self, texts: Iterable[str]) -> sparse.csr_matrix:
        """The counts of texts; words that training did not see are left out, but not the runs they are in."""
        self._check_fitted()
        rows = as_texts(texts)
        found = look_up_tokens(rows, _rules(self.parameters_, 1, 1), self._lookup, self.parameters_.n_threads)
        return self._with_runs(_counts(found, len(self.words_)), rows)

    @property
    def n_features_(self) -> int:
        """The number of columns."""
        self._check_fitted()
        return len(self.words_) + (self.parameters_.buckets if self.parameters_.word_ngrams > 1 else 0)

    @property
    def feature_names(self) -> list[str]:
        """The words in the order of the columns, then the numbers of the buckets."""
        self._check_fitted()
        runs = self.n_features_ - len(self.words_)
        return [*self.words_.strings(), *(f"bucket {number}" for number in range(runs))]

    # saving: named arrays and JSON facts, kept by whoever saves the whole

    def _arrays(self) -> Arrays:
        self._check_fitted()
        return {"words_bytes": self.words_.bytes, "words_offsets": self.words_.offsets}

    def _facts(self) -> dict[str, Any]:
        self._check_fitted()
        return {"parameters": self.parameters_.as_dict(), "token_format": TOKEN_FORMAT}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray[Any, Any]], facts: Mapping[str, Any]) -> BagVectorizer:
        """The fitted vectorizer of saved `_arrays()` and `_facts()`; ModelFileError if they do not fit together."""
        if set(facts) != {"parameters", "token_format"} or set(arrays) != {"words_bytes", "words_offsets"}:
            raise ModelFileError(f"{cls.__name__}: unexpected parts {sorted(facts)!r:.80} and {sorted(arrays)!r:.80}")
        if facts["token_format"] != TOKEN_FORMAT:
            raise ModelFileError(
                f"{cls.__name__}: its tokens are of format {facts['token_format']!r:.40}, but this is {TOKEN_FORMAT}"
            )
        words, lookup = checked_tokens(arrays["words_bytes"], arrays["words_offsets"], cls.__name__)
        parameters = cls.Parameters.checked(facts["parameters"], cls.__name__)
        made = cls(**parameters.as_dict())
        made._take(parameters, words, lookup)
        return made

    # inside

    def _take(self, parameters: BagParams, words: TokenList, lookup: _native.Vocabulary) -> None:
        self._lookup = lookup
        self.parameters_ = parameters
        self.words_ = words

    def _with_runs(self, words: sparse.csr_matrix, texts: Texts) -> sparse.csr_matrix:
        p = self.parameters_
        if p.word_ngrams == 1:
            return words
        runs = _counts(hash_tokens(texts, _rules(p, 2, p.word_ngrams), p.buckets, p.n_threads), p.buckets)
        return sparse.hstack([words, runs], format="csr", dtype=np.float32)

    def _check_fitted(self) -> None:
        if not hasattr(self, "words_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit with some texts")


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
