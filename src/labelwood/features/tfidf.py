"""TfidfVectorizer: texts -> tf-idf rows, the numbers of scikit-learn's vectorizer from a native tokenizer."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import DataError, NotFittedError, ParamError
from labelwood.features.tfidf_params import TfidfParams
from labelwood.features.tfidf_state import FittedTfidf, facts_of, state_from
from labelwood.features.tokens import (
    Counted,
    Rows,
    Texts,
    as_texts,
    count_tokens,
    hash_tokens,
    look_up_tokens,
    token_rules,
    weighed,
)

Arrays = dict[str, np.ndarray[Any, Any]]


class TfidfVectorizer:
    """Turns texts into rows of tf-idf values, float32 CSR (n_texts, n_features) with sorted columns.

    Parameters, their meanings and defaults are scikit-learn's, and so are the tokens and the values; columns are in
    the order of the tokens' code points. Beyond it: `hashing` (a number of buckets) needs no vocabulary, `partial_fit`
    takes more texts, `min_token_length` is a number in place of a pattern, and `n_threads` changes nothing but time.
    One difference: where equally frequent tokens compete for the last places of `max_features`, the first in order win.

    The constructor only stores; `fit` validates. Fitted attributes: n_rows_ (texts seen), n_features_, idf_,
    document_frequencies_, vocabulary_ (token -> column).
    """

    Parameters = TfidfParams
    __signature__ = inspect.Signature(
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            for name, default in TfidfParams.defaults().items()
        ]
    )

    def __init__(self, **parameters: Any) -> None:
        self.Parameters.check_names(parameters, type(self).__name__)
        for name, default in self.Parameters.defaults().items():
            setattr(self, name, parameters.get(name, default))
        self._state: FittedTfidf | None = None

    # scikit-learn's conventions

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as given to the constructor."""
        return {name: getattr(self, name) for name in self.Parameters.ranges()}

    def set_params(self, **parameters: Any) -> TfidfVectorizer:
        """The vectorizer itself with some parameters changed; takes effect at the next fit."""
        self.Parameters.check_names(parameters, type(self).__name__)
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = self.Parameters.defaults()
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name]]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        return self._state is not None

    # learning

    def fit(self, texts: Iterable[str], y: Any = None) -> TfidfVectorizer:
        """The vectorizer itself, with the vocabulary and document frequencies of the texts."""
        self._learn(texts, want_rows=False)
        return self

    def fit_transform(self, texts: Iterable[str], y: Any = None) -> sparse.csr_matrix:
        """The tf-idf rows of the texts that it is fitted to; the texts are read once."""
        return self._matrix(self._learn(texts, want_rows=True))

    def partial_fit(self, texts: Iterable[str], y: Any = None) -> TfidfVectorizer:
        """The vectorizer itself with more texts counted; new tokens get columns behind the old ones, which stay.

        min_df and max_df decide about new tokens by the rows of this call alone: a token that was left out earlier is
        not remembered. max_features bounds the whole vocabulary.
        """
        if self._state is None:
            return self.fit(texts)
        state = self._state
        more = as_texts(texts)
        if not more:
            return self
        n_rows = state.n_rows + len(more)
        frequencies = state.frequencies.copy()
        if state.parameters.hashing is not None:
            _, columns, _ = self._hashed(more, state.parameters)
            frequencies += np.bincount(columns, minlength=len(frequencies))
            self._state = FittedTfidf(state.parameters, n_rows, frequencies, None)
            return self
        counted = count_tokens(
            more, _rules(state.parameters), want_totals=True, want_rows=False, n_threads=state.parameters.n_threads
        )
        known = state.lookup().find(counted.tokens.bytes, counted.tokens.offsets)
        old = known >= 0
        frequencies[known[old]] += counted.n_rows[old]
        new = _admitted(counted, ~old, state, len(more))
        if len(new) == 0:
            self._state = FittedTfidf(state.parameters, n_rows, frequencies, state.tokens, state.lookup())
            return self
        frequencies = np.concatenate([frequencies, counted.n_rows[new]])
        self._state = FittedTfidf(
            state.parameters, n_rows, frequencies, state.word_list().joined(counted.tokens.take(new))
        )
        return self

    # answering

    def transform(self, texts: Iterable[str]) -> sparse.csr_matrix:
        """The tf-idf rows of texts; tokens that the vocabulary does not know are left out."""
        state = self._fitted()
        rows = as_texts(texts)
        if state.parameters.hashing is not None:
            return self._matrix(self._hashed(rows, state.parameters))
        return self._matrix(look_up_tokens(rows, _rules(state.parameters), state.lookup(), state.parameters.n_threads))

    def tokens(self, text: str) -> list[str]:
        """The tokens of one text, in the order in which n-grams are made; needs no fit."""
        (one,) = as_texts([text])
        if not isinstance(one, str):
            raise DataError(f"a text must be a str, but is {type(one).__name__}")
        return list(_native.split_text(one, _rules(self._checked())))

    @property
    def feature_names(self) -> list[str]:
        """The tokens in the order of the columns; ParamError in hashing mode, which keeps none."""
        return self._fitted().word_list().strings()

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """The tokens in the order of the columns, as an array of objects."""
        return np.array(self.feature_names, dtype=object)

    @property
    def vocabulary_(self) -> dict[str, int]:
        """Token -> column."""
        return {name: column for column, name in enumerate(self.feature_names)}

    @property
    def n_rows_(self) -> int:
        """The number of texts that the document frequencies come from."""
        return self._fitted().n_rows

    @property
    def n_features_(self) -> int:
        """The number of columns."""
        return len(self._fitted().frequencies)

    @property
    def document_frequencies_(self) -> npt.NDArray[np.int64]:
        """The number of texts that hold the token of each column."""
        return self._fitted().frequencies

    @property
    def idf_(self) -> npt.NDArray[np.float64]:
        """The inverse document frequency of each column; ones if use_idf is False."""
        state = self._fitted()
        idf = state.idf()
        return np.ones(len(state.frequencies)) if idf is None else idf

    # saving: named arrays and JSON facts, kept by whoever saves the whole

    def _arrays(self) -> Arrays:
        return self._fitted().arrays()

    def _facts(self) -> dict[str, Any]:
        return facts_of(self._fitted())

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray[Any, Any]], facts: Mapping[str, Any]) -> TfidfVectorizer:
        """The fitted vectorizer of saved `_arrays()` and `_facts()`; ModelFileError if they do not fit together."""
        state = state_from(arrays, facts, cls.__name__)
        made = cls(**{**state.parameters.as_dict(), "ngram_range": tuple(state.parameters.ngram_range)})
        made._state = state
        return made

    # inside

    def _checked(self) -> TfidfParams:
        parameters = self.Parameters.checked(self.get_params(), type(self).__name__)
        parameters.check_together(type(self).__name__)
        return parameters

    def _fitted(self) -> FittedTfidf:
        if self._state is None:
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit with some texts")
        return self._state

    def _hashed(self, texts: Texts, parameters: TfidfParams) -> Rows:
        if parameters.hashing is None:
            raise ParamError("hashing is not set")
        return hash_tokens(texts, _rules(parameters), parameters.hashing, parameters.n_threads)

    def _learn(self, texts: Iterable[str], want_rows: bool) -> Rows:
        parameters = self._checked()
        rows_in = as_texts(texts)
        n_rows = len(rows_in)
        if n_rows == 0:
            raise DataError("fit needs at least one text")
        if parameters.hashing is not None:
            rows = self._hashed(rows_in, parameters)
            if len(rows[1]) == 0:
                raise _no_tokens(parameters, n_rows, 0)
            frequencies = np.bincount(rows[1], minlength=parameters.hashing).astype(np.int64)
            self._state = FittedTfidf(parameters, n_rows, frequencies, None)
            return rows
        low, high = parameters.row_limit("min_df", n_rows), parameters.row_limit("max_df", n_rows)
        if high < low:
            raise ParamError(
                f"{type(self).__name__}: max_df={parameters.max_df!r} allows fewer rows ({high:g} of {n_rows}) than "
                f"min_df={parameters.min_df!r} asks for ({low:g})"
            )
        counted = count_tokens(
            rows_in,
            _rules(parameters),
            min_rows=low,
            max_rows=high,
            max_tokens=parameters.max_features,
            want_rows=want_rows,
            n_threads=parameters.n_threads,
        )
        if len(counted.tokens) == 0:
            raise _no_tokens(parameters, n_rows, counted.n_seen)
        self._state = FittedTfidf(parameters, n_rows, counted.n_rows, counted.tokens)
        return counted.rows

    def _matrix(self, rows: Rows) -> sparse.csr_matrix:
        state = self._fitted()
        parameters = state.parameters
        values = weighed(
            rows, state.idf(), sublinear=parameters.sublinear_tf, norm=parameters.norm, n_threads=parameters.n_threads
        )
        pointers, columns, _ = rows
        shape = (len(pointers) - 1, len(state.frequencies))
        matrix = sparse.csr_matrix((values, columns, pointers), shape=shape, copy=False)
        matrix.has_sorted_indices = True
        matrix.has_canonical_format = True
        return matrix


def _rules(parameters: TfidfParams) -> _native.TokenRules:
    low, high = parameters.ngram_range
    return token_rules(
        analyzer=parameters.analyzer,
        min_n=low,
        max_n=high,
        lowercase=parameters.lowercase,
        min_length=parameters.min_token_length,
        stop_words=list(parameters.stop_words or ()),
    )


def _admitted(counted: Counted, new: npt.NDArray[np.bool_], state: FittedTfidf, n_texts: int) -> npt.NDArray[np.int64]:
    """The places of the new tokens that get a column: within min_df..max_df, the most frequent ones that have room."""
    parameters = state.parameters
    low, high = parameters.row_limit("min_df", n_texts), parameters.row_limit("max_df", n_texts)
    places = np.flatnonzero(new & (counted.n_rows >= low) & (counted.n_rows <= high))
    if parameters.max_features is not None:
        room = max(0, parameters.max_features - len(state.frequencies))
        order = np.argsort(-counted.totals[places], kind="stable")
        places = np.sort(places[order[:room]])
    return places


def _no_tokens(parameters: TfidfParams, n_rows: int, n_seen: int) -> DataError:
    if n_seen:
        return DataError(
            f"no tokens left: {n_seen} different ones in {n_rows} texts, none of them within "
            f"min_df={parameters.min_df!r} and max_df={parameters.max_df!r}; lower min_df or raise max_df"
        )
    return DataError(
        f"no tokens in {n_rows} texts: they are empty, or hold only stop words, or words shorter than "
        f"{parameters.min_token_length} characters, or fewer words than the shortest n-gram "
        f"({parameters.ngram_range[0]})"
    )
