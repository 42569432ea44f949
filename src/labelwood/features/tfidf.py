"""TfidfVectorizer: texts -> tf-idf rows, the numbers of scikit-learn's vectorizer from a native tokenizer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import DataError, ParamError
from labelwood.features.languages import AUTO, languages_of
from labelwood.features.stem_vocabulary import learn_stems, with_more_stems
from labelwood.features.stems import check_lemmas
from labelwood.features.tfidf_params import TfidfParams
from labelwood.features.tfidf_state import FittedTfidf, admitted, rules_of
from labelwood.features.tokens import Texts, as_read, as_texts, count_tokens, hash_tokens
from labelwood.features.two_passes import counted_in_slices, rows_in_slices
from labelwood.features.vectorizer import Vectorizer
from labelwood.scratch import current_scratch


class TfidfVectorizer(Vectorizer[FittedTfidf]):
    """Turns texts into rows of tf-idf values, float32 CSR (n_texts, n_features) with sorted columns.

    Parameters, their meanings and defaults are scikit-learn's, and so are the tokens and the values; columns are in
    the order of the tokens' code points. Beyond it: `hashing` (a number of buckets) needs no vocabulary, `partial_fit`
    takes more texts, `stems` makes inflected words of a language one column, `markup` takes of HTML what a reader sees,
    `min_token_length` is a number in place of a pattern, and `n_threads` changes nothing but time.
    One difference: where equally frequent tokens compete for the last places of `max_features`, the first in order win.

    The constructor only stores; `fit` validates. Fitted attributes: n_rows_ (texts seen), n_features_, idf_,
    document_frequencies_, vocabulary_ (token -> column).
    """

    Parameters = TfidfParams
    FittedState = FittedTfidf

    # learning

    def partial_fit(self, texts: Iterable[str], y: Any = None) -> TfidfVectorizer:
        """The vectorizer itself with more texts counted; new tokens get columns behind the old ones, which stay.

        min_df and max_df decide about new tokens by the rows of this call alone: a token that was left out earlier is
        not remembered. max_features bounds the whole vocabulary.
        """
        if self._fitted is None:
            return self.fit(texts)
        state = self.fitted_
        more = state.given(texts)
        if not more:
            return self
        n_rows = state.n_rows + len(more)
        frequencies = state.frequencies.copy()
        rules = rules_of(state.parameters)
        if state.parameters.hashing is not None:
            _, columns, _ = hash_tokens(more, rules, state.parameters.hashing, self.n_threads)
            frequencies += np.bincount(columns, minlength=len(frequencies))
            self._fitted = replace(state, n_rows=n_rows, frequencies=frequencies)
            return self
        if state.forms is not None:
            self._fitted = with_more_stems(state, more, self.n_threads)
            return self
        counted = count_tokens(more, rules, want_totals=True, want_rows=False, n_threads=self.n_threads)
        known = state.lookup.find(counted.tokens.bytes, counted.tokens.offsets)
        old = known >= 0
        frequencies[known[old]] += counted.n_rows[old]
        new = admitted(counted.n_rows, counted.totals, ~old, state, len(more))
        tokens = state.word_list()
        if len(new):
            frequencies = np.concatenate([frequencies, counted.n_rows[new]])
            tokens = tokens.joined(counted.tokens.take(new))
        self._fitted = FittedTfidf(state.parameters, n_rows, frequencies, tokens)
        return self

    def _learn(self, texts: Texts, want_rows: bool) -> tuple[FittedTfidf, sparse.csr_matrix | None]:
        parameters = self._checked()
        threads = parameters.n_threads
        texts = as_read(texts, True) if parameters.markup else texts
        n_rows = len(texts)
        if n_rows == 0:
            raise DataError("fit needs at least one text")
        if parameters.hashing is not None:
            rows = hash_tokens(texts, rules_of(parameters), parameters.hashing, threads)
            if len(rows[1]) == 0:
                raise _no_tokens(parameters, n_rows, 0)
            frequencies = np.bincount(rows[1], minlength=parameters.hashing).astype(np.int64)
            state = FittedTfidf(parameters, n_rows, frequencies, None)
            return state, state.matrix(rows, threads) if want_rows else None
        low, high = parameters.row_limit("min_df", n_rows), parameters.row_limit("max_df", n_rows)
        if high < low:
            raise ParamError(
                f"{type(self).__name__}: max_df={parameters.max_df!r} allows fewer rows ({high:g} of {n_rows}) than "
                f"min_df={parameters.min_df!r} asks for ({low:g})"
            )
        parameters = _with_languages(parameters, texts)
        if parameters.languages():
            state, counts, n_seen = learn_stems(parameters, texts, low, high)
            if state.n_features == 0:
                raise _no_tokens(parameters, n_rows, n_seen)
            return state, state.matrix(counts, threads) if want_rows else None
        rules, scratch = rules_of(parameters), current_scratch()
        limits: dict[str, Any] = {"min_rows": low, "max_rows": high, "max_tokens": parameters.max_features}
        if scratch is None:
            counted = count_tokens(texts, rules, **limits, want_rows=want_rows, n_threads=threads)
        else:
            counted = counted_in_slices(texts, rules, **limits, n_threads=threads)
        if len(counted.tokens) == 0:
            raise _no_tokens(parameters, n_rows, counted.n_seen)
        state = FittedTfidf(parameters, n_rows, counted.n_rows, counted.tokens)
        if not want_rows:
            return state, None
        if scratch is not None:
            return state, rows_in_slices(state, texts, threads, scratch)
        return state, state.matrix(counted.rows, threads)

    # what was learnt

    def tokens(self, text: str) -> list[str]:
        """The tokens of one text, in the order in which n-grams are made; needs no fit."""
        (one_text,) = as_texts([text])
        if not isinstance(one_text, str):
            raise DataError(f"a text must be a str, but is {type(one_text).__name__}")
        parameters = self._checked()
        if parameters.markup:
            (one_text,) = as_read([one_text], True)
        return list(_native.split_text(one_text, rules_of(parameters)))

    @property
    def vocabulary_(self) -> dict[str, int]:
        """Token -> column."""
        return {name: column for column, name in enumerate(self.feature_names)}

    @property
    def n_rows_(self) -> int:
        """The number of texts that the document frequencies come from."""
        return self.fitted_.n_rows

    @property
    def document_frequencies_(self) -> npt.NDArray[np.int64]:
        """The number of texts that hold the token of each column."""
        return self.fitted_.frequencies

    @property
    def idf_(self) -> npt.NDArray[np.float64]:
        """The inverse document frequency of each column; ones if use_idf is False."""
        idf = self.fitted_.idf
        return np.ones(self.n_features_) if idf is None else idf

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray[Any, Any]], facts: Mapping[str, Any]) -> TfidfVectorizer:
        """The fitted vectorizer of saved arrays and facts; ModelFileError if they do not fit together."""
        state = FittedTfidf.restore(arrays, facts)
        return cls.from_fitted(state, state.parameters.as_given())

    # inside

    def _checked(self) -> TfidfParams:
        parameters = self.Parameters.checked(self.get_params(), type(self).__name__)
        parameters.check_together(type(self).__name__)
        if parameters.lemmas:
            check_lemmas()
        return parameters


def _with_languages(parameters: TfidfParams, texts: Texts) -> TfidfParams:
    """The parameters with the languages of the texts in place of "auto"; plain words where none shows."""
    if parameters.stems != AUTO:
        return parameters
    detected = "+".join(languages_of(texts))
    return replace(parameters, stems=detected or None, lemmas=parameters.lemmas and bool(detected))


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
