"""What a TfidfVectorizer has learnt: tokens and document frequencies, and how texts become rows with them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import ModelFileError, ParamError
from labelwood.features.languages import AUTO
from labelwood.features.stems import Stemming, known_stems
from labelwood.features.tfidf_params import TfidfParams
from labelwood.features.tokens import (
    TOKEN_FORMAT,
    Rows,
    Texts,
    TokenList,
    count_tokens,
    hash_tokens,
    look_up_tokens,
    merged_counts,
    token_rules,
    weighed,
)
from labelwood.features.vectorizer import FittedVectorizer
from labelwood.features.vocabulary_arrays import check_facts, checked_words, hashed_words, word_arrays, word_at
from labelwood.storage.schema import ArrayRule, Arrays, Schema, check_arrays, whole_number

OWNER = "TfidfVectorizer"
FREQUENCIES: Schema = {"document_frequencies": ArrayRule("int64", ("n_columns",), low=0)}
# The words of the training texts that have a column by their stems.
FORMS: Schema = {
    "forms_bytes": ArrayRule("uint8", ("n_form_bytes",)),
    "forms_offsets": ArrayRule("int64", ("n_forms+1",), low=0),
    "forms_columns": ArrayRule("int32", ("n_forms",), low=0, below="n_columns"),
}
FACTS = ("parameters", "n_rows", "token_format")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, eq=False)
class Forms:
    """The inflected words that training saw, and the column of each: known ones need no stemmer."""

    words: TokenList
    columns: npt.NDArray[np.int32]

    @cached_property
    def lookup(self) -> _native.Vocabulary:
        """The words as a table for look-up."""
        return _native.Vocabulary(self.words.bytes, self.words.offsets)

    def find(self, words: TokenList) -> npt.NDArray[np.int32]:
        """The column of each word; -1 for those that training did not see."""
        places = self.lookup.find(words.bytes, words.offsets)
        return np.where(places >= 0, self.columns[np.maximum(places, 0)], np.int32(-1)).astype(np.int32)


@dataclass(frozen=True, eq=False)
class FittedTfidf(FittedVectorizer):
    """Parameters, number of texts, document frequencies and (unless hashing) the tokens; with stems, the words too."""

    parameters: TfidfParams
    n_rows: int
    frequencies: npt.NDArray[np.int64]
    tokens: TokenList | None
    forms: Forms | None = None

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
        if self.forms is not None:
            counted = count_tokens(texts, rules, n_threads=n_threads)
            columns = self.columns_of(counted.tokens)
            return self.matrix(merged_counts(counted.rows, columns, self.n_features, n_threads), n_threads)
        return self.matrix(look_up_tokens(texts, rules, self.lookup, n_threads), n_threads)

    def columns_of(self, words: TokenList) -> npt.NDArray[np.int32]:
        """The column of each word, -1 for none; with stems, a word that training did not see goes by its stem."""
        if self.forms is None:
            return np.asarray(self.lookup.find(words.bytes, words.offsets), np.int32)
        columns = self.forms.find(words)
        new = np.flatnonzero(columns < 0)
        if len(new):
            columns[new] = known_stems(words.strings_at(new), self.stemming, self.lookup.find_words)
        return columns

    @property
    def stemming(self) -> Stemming:
        """How words become stems."""
        return Stemming(self.parameters.languages(), self.parameters.lemmas)

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

    def in_column_names(self, texts: Sequence[str]) -> list[str]:
        """The texts with each word under the name of its column, if it has one: its stem, where there are stems."""
        if self.forms is None:
            return list(texts)
        small = [text.lower() for text in texts]
        words = list(dict.fromkeys(word for text in small for word in _WORD.findall(text)))
        names = self.word_list()
        columns = self.columns_of(TokenList.of(words)).tolist()
        name_of = {word: word_at(names, c) if c >= 0 else word for word, c in zip(words, columns, strict=True)}
        return [_WORD.sub(lambda found: name_of[found.group()], text) for text in small]

    def words_behind(self, text: str, columns: Iterable[int]) -> dict[int, str]:
        """Column -> its token; with hashing or stems the tokens of this text that fall into it."""
        if self.forms is not None:
            return self._forms_in(text, columns)
        if self.parameters.hashing is None:
            words = self.word_list()
            return {column: word_at(words, column) for column in columns}
        tokens = _native.split_text(text, rules_of(self.parameters))
        in_text = hashed_words(tokens, self.parameters.hashing)
        return {column: in_text.get(column, f"bucket {column}") for column in columns}

    def _forms_in(self, text: str, columns: Iterable[int]) -> dict[int, str]:
        in_text = list(dict.fromkeys(_native.split_text(text, rules_of(self.parameters))))
        shared: dict[int, list[str]] = {}
        for form, column in zip(in_text, self.columns_of(TokenList.of(in_text)).tolist(), strict=True):
            shared.setdefault(column, []).append(form)
        stems = self.word_list()
        return {c: " / ".join(shared[c]) if c in shared else word_at(stems, c) for c in columns}

    # storage

    def arrays(self) -> Arrays:
        """The state as named arrays."""
        arrays: Arrays = {"document_frequencies": self.frequencies}
        if self.tokens is not None:
            arrays["vocabulary_bytes"] = self.tokens.bytes
            arrays["vocabulary_offsets"] = self.tokens.offsets
        if self.forms is not None:
            arrays["forms_bytes"] = self.forms.words.bytes
            arrays["forms_offsets"] = self.forms.words.offsets
            arrays["forms_columns"] = self.forms.columns
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
        check_arrays(_schema(parameters), arrays, {}, OWNER)
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
        forms = None
        if parameters.languages():
            words, form_lookup = checked_words(arrays, "forms", OWNER)
            forms = Forms(words, np.ascontiguousarray(arrays["forms_columns"]))
            forms.__dict__["lookup"] = form_lookup
        state = cls(parameters, n_rows, frequencies, tokens, forms)
        state.__dict__["lookup"] = lookup  # made for the check; making it again would double the time to load
        return state


def admitted(
    n_rows: npt.NDArray[np.int64],
    totals: npt.NDArray[np.int64],
    new: npt.NDArray[np.bool_],
    state: FittedTfidf,
    n_texts: int,
) -> npt.NDArray[np.int64]:
    """The places of the new tokens that get a column: within min_df..max_df, the most frequent ones that have room.

    n_rows, totals: in how many of the n_texts new texts, and how often, each token comes.
    """
    parameters = state.parameters
    low, high = parameters.row_limit("min_df", n_texts), parameters.row_limit("max_df", n_texts)
    places = np.flatnonzero(new & (n_rows >= low) & (n_rows <= high))
    if parameters.max_features is not None:
        room = max(0, parameters.max_features - len(state.frequencies))
        order = np.argsort(-totals[places], kind="stable")
        places = np.sort(places[order[:room]])
    return places


def _schema(parameters: TfidfParams) -> Schema:
    if parameters.hashing is not None:
        return FREQUENCIES
    return {**FREQUENCIES, **word_arrays("vocabulary"), **(FORMS if parameters.languages() else {})}


def rules_of(parameters: TfidfParams) -> _native.TokenRules:
    """How texts are cut into tokens."""
    low, high = parameters.ngram_range
    return token_rules(
        analyzer=parameters.analyzer,
        min_n=low,
        max_n=high,
        lowercase=parameters.lowercase,
        min_length=parameters.min_token_length,
        stop_words=parameters.words_left_out(),
    )


def _parameters(values: Any) -> TfidfParams:
    if not isinstance(values, Mapping):
        raise ModelFileError(f"{OWNER}: the parameters must be a JSON object, but are {type(values).__name__}")
    try:
        parameters = TfidfParams.from_saved(values, OWNER)
        parameters.check_together(OWNER)
        if parameters.stems == AUTO:
            raise ModelFileError(f"{OWNER}: saved stems name their language, but here it is {AUTO!r}")
    except ParamError as error:
        raise ModelFileError(f"saved parameters: {error}") from None
    return parameters
