"""What a TfidfVectorizer has learnt: tokens and document frequencies, and how texts become rows with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import ModelFileError, ParamError
from labelwood.features.tfidf_params import TfidfParams
from labelwood.features.tokens import (
    TOKEN_FORMAT,
    Rows,
    Texts,
    TokenList,
    hash_tokens,
    look_up_tokens,
    token_rules,
    weighed,
)
from labelwood.features.vectorizer import FittedVectorizer
from labelwood.features.vocabulary_arrays import check_facts, checked_words, hashed_words, word_arrays, word_at
from labelwood.storage.schema import ArrayRule, Arrays, Schema, check_arrays, whole_number

OWNER = "TfidfVectorizer"
FREQUENCIES: Schema = {"document_frequencies": ArrayRule("int64", ("n_columns",), low=0)}
FACTS = ("parameters", "n_rows", "token_format")


@dataclass(frozen=True, eq=False)
class FittedTfidf(FittedVectorizer):
    """Parameters, number of texts, document frequencies and (unless hashing) the tokens."""

    parameters: TfidfParams
    n_rows: int
    frequencies: npt.NDArray[np.int64]
    tokens: TokenList | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", replace(self.parameters, n_threads=None))

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return len(self.frequencies)

    def word_list(self) -> TokenList:
        """The tokens in column order; ParamError in hashing mode."""
        if self.tokens is None:
            raise ParamError(
                "hashing mode keeps no tokens, so columns have no names; fit with hashing=None to have them"
            )
        return self.tokens

    def feature_names(self) -> list[str]:
        """The tokens in the order of the columns; ParamError in hashing mode, which keeps none."""
        return self.word_list().strings()

    @cached_property
    def lookup(self) -> _native.Vocabulary:
        """The tokens as a table for look-up, made when it is first asked for: fit_transform alone needs none."""
        words = self.word_list()
        return _native.Vocabulary(words.bytes, words.offsets)

    @cached_property
    def idf(self) -> npt.NDArray[np.float64] | None:
        """ln(n / df) + 1 for each column (n + 1 and df + 1 if smooth); None if use_idf is False."""
        if not self.parameters.use_idf:
            return None
        if self.parameters.smooth_idf:
            return np.asarray(np.log((self.n_rows + 1) / (self.frequencies + 1.0)) + 1.0)
        # A bucket that no text has used yet counts as used once: its weight must stay finite.
        return np.asarray(np.log(self.n_rows / np.maximum(self.frequencies, 1)) + 1.0)

    # texts -> rows

    def rows(self, texts: Texts, n_threads: int | None) -> sparse.csr_matrix:
        """The tf-idf rows of texts; tokens that the vocabulary does not know are left out."""
        rules = rules_of(self.parameters)
        if self.parameters.hashing is not None:
            return self.matrix(hash_tokens(texts, rules, self.parameters.hashing, n_threads), n_threads)
        return self.matrix(look_up_tokens(texts, rules, self.lookup, n_threads), n_threads)

    def matrix(self, counted: Rows, n_threads: int | None) -> sparse.csr_matrix:
        """The tf-idf rows of counted tokens."""
        parameters = self.parameters
        values = weighed(
            counted, self.idf, sublinear=parameters.sublinear_tf, norm=parameters.norm, n_threads=n_threads
        )
        pointers, columns, _ = counted
        shape = (len(pointers) - 1, self.n_features)
        matrix = sparse.csr_matrix((values, columns, pointers), shape=shape, copy=False)
        matrix.has_sorted_indices = True
        matrix.has_canonical_format = True
        return matrix

    def words_behind(self, text: str, columns: Iterable[int]) -> dict[int, str]:
        """Column -> its token; with hashing the tokens of this text that fall into it."""
        if self.parameters.hashing is None:
            words = self.word_list()
            return {column: word_at(words, column) for column in columns}
        tokens = _native.split_text(text, rules_of(self.parameters))
        in_text = hashed_words(tokens, self.parameters.hashing)
        return {column: in_text.get(column, f"bucket {column}") for column in columns}

    # storage

    def arrays(self) -> Arrays:
        """The state as named arrays."""
        arrays: Arrays = {"document_frequencies": self.frequencies}
        if self.tokens is not None:
            arrays["vocabulary_bytes"] = self.tokens.bytes
            arrays["vocabulary_offsets"] = self.tokens.offsets
        return arrays

    def facts(self) -> dict[str, Any]:
        """The state beside the arrays: JSON values only."""
        return {"parameters": self.parameters.saved(), "n_rows": self.n_rows, "token_format": TOKEN_FORMAT}

    @classmethod
    def restore(cls, arrays: Mapping[str, npt.NDArray[Any]], facts: Mapping[str, Any]) -> FittedTfidf:
        """The state of saved arrays and facts; ModelFileError says what does not fit."""
        check_facts(facts, FACTS, OWNER)
        parameters = _parameters(facts["parameters"])
        n_rows = whole_number(facts, "n_rows", 1, 2**62 - 1, OWNER)
        schema = FREQUENCIES if parameters.hashing is not None else {**FREQUENCIES, **word_arrays("vocabulary")}
        check_arrays(schema, arrays, {}, OWNER)
        frequencies = np.ascontiguousarray(arrays["document_frequencies"])
        if len(frequencies) == 0 or int(frequencies.max()) > n_rows:
            raise ModelFileError(f"{OWNER}: document frequencies must lie in 0..{n_rows} (the number of texts)")
        if parameters.hashing is not None:
            if len(frequencies) != parameters.hashing:
                raise ModelFileError(
                    f"{OWNER}: {len(frequencies)} document frequencies for {parameters.hashing} buckets"
                )
            return cls(parameters, n_rows, frequencies, None)
        tokens, lookup = checked_words(arrays, "vocabulary", OWNER)
        if len(tokens) != len(frequencies):
            raise ModelFileError(f"{OWNER}: {len(tokens)} tokens but {len(frequencies)} document frequencies")
        state = cls(parameters, n_rows, frequencies, tokens)
        state.__dict__["lookup"] = lookup  # made for the check; making it again would double the time to load
        return state


def rules_of(parameters: TfidfParams) -> _native.TokenRules:
    """How texts are cut into tokens."""
    low, high = parameters.ngram_range
    return token_rules(
        analyzer=parameters.analyzer,
        min_n=low,
        max_n=high,
        lowercase=parameters.lowercase,
        min_length=parameters.min_token_length,
        stop_words=list(parameters.stop_words or ()),
    )


def _parameters(values: Any) -> TfidfParams:
    if not isinstance(values, Mapping):
        raise ModelFileError(f"{OWNER}: the parameters must be a JSON object, but are {type(values).__name__}")
    try:
        parameters = TfidfParams.from_saved(values, OWNER)
        parameters.check_together(OWNER)
    except ParamError as error:
        raise ModelFileError(f"saved parameters: {error}") from None
    return parameters
