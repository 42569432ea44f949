"""What a TfidfVectorizer has learned, and the same as arrays and JSON facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood import _native
from labelwood.errors import ModelFileError, ParamError
from labelwood.features.tfidf_params import TfidfParams
from labelwood.features.tokens import TOKEN_FORMAT, TokenList, checked_tokens

VOCABULARY = {"vocabulary_bytes": np.uint8, "vocabulary_offsets": np.int64}
FREQUENCIES = {"document_frequencies": np.int64}
FACTS = ("parameters", "n_rows", "token_format")


class FittedTfidf:
    """Parameters, number of texts, document frequencies and (unless hashing) the tokens; never changed once made."""

    def __init__(
        self,
        parameters: TfidfParams,
        n_rows: int,
        frequencies: npt.NDArray[np.int64],
        tokens: TokenList | None,
        lookup: _native.Vocabulary | None = None,
    ) -> None:
        self.parameters = parameters
        self.n_rows = n_rows
        self.frequencies = frequencies
        self.tokens = tokens
        self._lookup = lookup
        self._idf = self._weights() if parameters.use_idf else None

    def word_list(self) -> TokenList:
        """The tokens in column order; ParamError in hashing mode."""
        if self.tokens is None:
            raise ParamError(
                "hashing mode keeps no tokens, so columns have no names; fit with hashing=None to have them"
            )
        return self.tokens

    def lookup(self) -> _native.Vocabulary:
        """The tokens as a table for look-up, made when it is first asked for: fit_transform alone needs none."""
        if self._lookup is None:
            words = self.word_list()
            self._lookup = _native.Vocabulary(words.bytes, words.offsets)
        return self._lookup

    def idf(self) -> npt.NDArray[np.float64] | None:
        """ln(n / df) + 1 for each column (n + 1 and df + 1 if smooth); None if use_idf is False."""
        return self._idf

    def _weights(self) -> npt.NDArray[np.float64]:
        if self.parameters.smooth_idf:
            return np.asarray(np.log((self.n_rows + 1) / (self.frequencies + 1.0)) + 1.0)
        # A bucket that no text has used yet counts as used once: its weight must stay finite.
        return np.asarray(np.log(self.n_rows / np.maximum(self.frequencies, 1)) + 1.0)

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """The state as named arrays."""
        found: dict[str, np.ndarray[Any, Any]] = {"document_frequencies": self.frequencies}
        if self.tokens is not None:
            found["vocabulary_bytes"] = self.tokens.bytes
            found["vocabulary_offsets"] = self.tokens.offsets
        return found


def facts_of(state: FittedTfidf) -> dict[str, Any]:
    """The state beside the arrays: JSON values only."""
    return {"parameters": state.parameters.as_dict(), "n_rows": state.n_rows, "token_format": TOKEN_FORMAT}


def state_from(arrays: Mapping[str, Any], facts: Mapping[str, Any], owner: str) -> FittedTfidf:
    """The state of saved arrays and facts; ModelFileError says what does not fit."""
    if set(facts) != set(FACTS):
        raise ModelFileError(
            f"{owner}: expected the facts {', '.join(FACTS)}, but found {', '.join(sorted(facts)) or 'none'}"
        )
    if facts["token_format"] != TOKEN_FORMAT:
        raise ModelFileError(
            f"{owner}: token format {facts['token_format']!r} is unknown; this version reads {TOKEN_FORMAT}"
        )
    parameters = _parameters(facts["parameters"], owner)
    n_rows = facts["n_rows"]
    if isinstance(n_rows, bool) or not isinstance(n_rows, int) or not 1 <= n_rows < 2**62:
        raise ModelFileError(f"{owner}: n_rows must be a whole number from 1 up, but is {n_rows!r}")
    expected = FREQUENCIES if parameters.hashing is not None else {**FREQUENCIES, **VOCABULARY}
    _check_kinds(arrays, expected, owner)
    frequencies = np.ascontiguousarray(arrays["document_frequencies"])
    if len(frequencies) == 0 or int(frequencies.min()) < 0 or int(frequencies.max()) > n_rows:
        raise ModelFileError(f"{owner}: document frequencies must lie in 0..{n_rows} (the number of texts)")
    if parameters.hashing is not None:
        if len(frequencies) != parameters.hashing:
            raise ModelFileError(f"{owner}: {len(frequencies)} document frequencies for {parameters.hashing} buckets")
        return FittedTfidf(parameters, n_rows, frequencies, None)
    tokens, lookup = checked_tokens(arrays["vocabulary_bytes"], arrays["vocabulary_offsets"], owner)
    if len(tokens) != len(frequencies):
        raise ModelFileError(f"{owner}: {len(tokens)} tokens but {len(frequencies)} document frequencies")
    return FittedTfidf(parameters, n_rows, frequencies, tokens, lookup)


def _parameters(values: Any, owner: str) -> TfidfParams:
    if not isinstance(values, Mapping):
        raise ModelFileError(f"{owner}: the parameters must be a JSON object, but are {type(values).__name__}")
    try:
        parameters = TfidfParams.checked(values, owner)
        parameters.check_together(owner)
    except ParamError as error:
        raise ModelFileError(f"saved parameters: {error}") from None
    return parameters


def _check_kinds(arrays: Mapping[str, Any], expected: Mapping[str, Any], owner: str) -> None:
    if set(arrays) != set(expected):
        raise ModelFileError(
            f"{owner}: expected the arrays {', '.join(sorted(expected))}, "
            f"but found {', '.join(sorted(arrays)) or 'none'}"
        )
    for name, dtype in expected.items():
        array = arrays[name]
        if array.dtype != dtype or array.ndim != 1:
            raise ModelFileError(
                f"{owner}: array {name} must be one-dimensional {np.dtype(dtype)}, "
                f"but is {array.ndim}-dimensional {array.dtype}"
            )
