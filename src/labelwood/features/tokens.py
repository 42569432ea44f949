"""Texts -> counts of tokens: the border to the native tokenizer, with errors that name the row."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood import _native
from labelwood.data.markup import without_markup
from labelwood.errors import DataError

# The meaning of saved tokens: the Unicode tables, the cutting rules and the hash. A change of any needs a new number.
TOKEN_FORMAT = 1
MAX_TEXT_BYTES = 1_400_000_000
_BREAK = 10  # the byte of a line break, which words never hold (runs of letters may)

Texts = tuple[str, ...]
Rows = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]


@dataclass(frozen=True)
class TokenList:
    """Tokens in a fixed order, as one UTF-8 byte array: token i is bytes[offsets[i]:offsets[i + 1]]."""

    bytes: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def strings(self) -> list[str]:
        """The tokens as strings."""
        return self.strings_at(np.arange(len(self)))

    @classmethod
    def of(cls, words: Sequence[str]) -> TokenList:
        """The words as one array of bytes."""
        lines = np.frombuffer("\n".join(words).encode(), np.uint8)
        breaks = np.flatnonzero(lines == _BREAK)
        if words and len(breaks) == len(words) - 1:  # one call for all: a tenth of the time of one for each
            ends = np.append(breaks, len(lines)) - np.arange(len(words))
            return cls(lines[lines != _BREAK], np.concatenate([[0], ends]))
        encoded = [word.encode() for word in words]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(part) for part in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    def take(self, places: npt.NDArray[np.int64]) -> TokenList:
        """The tokens at some places, in that order."""
        starts, lengths = self.offsets[places], np.diff(self.offsets)[places]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        return TokenList(self.bytes[np.repeat(starts, lengths) + within], offsets)

    def strings_at(self, places: npt.NDArray[np.int64]) -> list[str]:
        """The tokens at some places as strings."""
        return _native.token_strings(self.bytes, self.offsets, places)

    def distinct(self) -> tuple[TokenList, npt.NDArray[np.int32]]:
        """(the different tokens in the order of their code points, the place of every token among them)."""
        places, place_of = _native.distinct_tokens(self.bytes, self.offsets)
        return self.take(places), place_of

    def joined(self, more: TokenList) -> TokenList:
        """These tokens, then more."""
        offsets = np.concatenate([self.offsets, more.offsets[1:] + self.offsets[-1]])
        return TokenList(np.concatenate([self.bytes, more.bytes]), offsets)


@dataclass(frozen=True)
class Counted:
    """What the tokens of some texts are: `n_rows` and `totals` say in how many rows and how often each one comes.

    totals are zeros if they were neither asked for nor needed. n_seen: different tokens before any limit.
    rows: (row pointers, columns, counts); empty if it was not asked for.
    """

    tokens: TokenList
    n_rows: npt.NDArray[np.int64]
    totals: npt.NDArray[np.int64]
    n_seen: int
    rows: Rows


def merged_counts(rows: Rows, column_of: npt.NDArray[np.int32], n_columns: int, n_threads: int | None = None) -> Rows:
    """The counts with every column moved to column_of[column] (-1: left out) and those that meet added up."""
    return _native.merge_counts(*rows, column_of, n_columns, n_threads or 0)


def as_texts(texts: Iterable[str]) -> Texts:
    """The texts as a tuple; DataError if it is one string, or no collection at all."""
    if isinstance(texts, (str, bytes)):
        raise DataError(f"expected a list of texts, but got one {type(texts).__name__}; put it in a list")
    try:
        return tuple(texts)
    except TypeError:
        raise DataError(f"expected a list of texts, but got {type(texts).__name__}") from None


def composed(texts: Iterable[str]) -> Texts:
    """The texts with letters and their accents in one character (NFC), as most are written.

    PDFs and file names often hold them in two, and an accent of its own would cut its word in two.
    """
    return tuple(
        text if not isinstance(text, str) or text.isascii() else unicodedata.normalize("NFC", text)
        for text in as_texts(texts)
    )


def as_read(texts: Iterable[str], markup: bool) -> Texts:
    """The texts as a reader sees them: `composed`, and without tags and entities if they are HTML (markup)."""
    if markup:
        texts = [without_markup(text) if isinstance(text, str) else text for text in as_texts(texts)]
    return composed(texts)


def token_rules(
    *, analyzer: str, min_n: int, max_n: int, lowercase: bool, min_length: int, stop_words: Sequence[str]
) -> _native.TokenRules:
    """The native form of the cutting rules."""
    return _native.TokenRules(
        analyzer=analyzer,
        min_n=min_n,
        max_n=max_n,
        lowercase=lowercase,
        min_length=min_length,
        stop_words=list(stop_words),
    )


def count_tokens(
    texts: Texts,
    rules: _native.TokenRules,
    *,
    min_rows: float = 1,
    max_rows: float = np.inf,
    max_tokens: int | None = None,
    want_totals: bool = False,
    want_rows: bool = True,
    n_threads: int | None = None,
) -> Counted:
    """The tokens of the texts within the limits, in the order of their code points, and the counts of every row."""
    try:
        data, offsets, n_rows, totals, n_seen, rows = _native.count_tokens(
            texts,
            rules,
            min_rows=min_rows,
            max_rows=max_rows,
            max_tokens=max_tokens or 0,
            want_totals=want_totals,
            want_rows=want_rows,
            n_threads=n_threads or 0,
        )
    except (TypeError, ValueError) as error:
        raise blamed(texts) or error from None
    return Counted(TokenList(data, offsets), n_rows, totals, n_seen, rows)


def look_up_tokens(
    texts: Texts, rules: _native.TokenRules, vocabulary: _native.Vocabulary, n_threads: int | None = None
) -> Rows:
    """The counts of the tokens that the vocabulary knows: row pointers, columns, counts."""
    try:
        return _rows(_native.look_up_tokens(texts, rules, vocabulary, n_threads or 0))
    except (TypeError, ValueError) as error:
        raise blamed(texts) or error from None


def hash_tokens(texts: Texts, rules: _native.TokenRules, n_buckets: int, n_threads: int | None = None) -> Rows:
    """The counts of the tokens in columns token_hash(token) % n_buckets: row pointers, columns, counts.

    Tokens that meet in a bucket are added up (no signs), so counts stay counts and idf keeps its meaning.
    """
    try:
        return _rows(_native.hash_tokens(texts, rules, n_buckets, n_threads or 0))
    except (TypeError, ValueError) as error:
        raise blamed(texts) or error from None


def weighed(
    rows: Rows, idf: npt.NDArray[np.float64] | None, *, sublinear: bool, norm: str | None, n_threads: int | None
) -> npt.NDArray[np.float32]:
    """The tf-idf values of counted rows, one for each count."""
    pointers, columns, counts = rows
    values = np.empty(len(counts), np.float32)
    weights = np.empty(0) if idf is None else idf
    _native.weigh_rows(pointers, columns, counts, weights, sublinear, norm or "none", n_threads or 0, values)
    return values


def _rows(native: Any) -> Rows:
    pointers, columns, counts = native
    return pointers, columns, counts


def blamed(texts: tuple[Any, ...]) -> DataError | None:
    """The error that names the first text the tokenizer cannot take; looked for only after it refused."""
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            return DataError(f"row {row}: a text must be a str, but is {type(text).__name__} ({text!r:.60})")
        try:
            size = len(text.encode())
        except UnicodeEncodeError as error:
            code = ord(text[error.start])
            return DataError(
                f"row {row}: character {error.start} is the lone surrogate U+{code:04X}, which no UTF-8 text can hold; "
                "read the file with the right encoding, or text.encode('utf-8', 'replace').decode()"
            )
        if size > MAX_TEXT_BYTES:
            return DataError(f"row {row}: the text has {size} bytes; at most {MAX_TEXT_BYTES} are allowed")
    return None
