"""
labelwood's C++ kernels: plain arrays in and out; the Python modules around it hold the policy.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


def max_threads() -> int:
    """The number of processors that OpenMP may use."""

class TokenRules:
    """How texts are cut into tokens."""

    def __init__(self, *, analyzer: str, min_n: int, max_n: int, lowercase: bool, min_length: int, stop_words: Sequence[str]) -> None: ...

class Vocabulary:
    """Tokens by number, for fast look-up; does not change."""

    def __init__(self, bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def __len__(self) -> int: ...

    def find(self, bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """The number of every token, -1 for unknown ones."""

def count_tokens(texts: tuple, rules: TokenRules, *, min_rows: float, max_rows: float, max_tokens: int, want_totals: bool, want_rows: bool, n_threads: int) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], int, tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]]:
    """
    The tokens of the texts and their counts: (token bytes, token offsets, rows with the token, occurrences, number of different tokens before the limits, (row pointers, columns, counts)). max_tokens 0 and n_threads 0: no limit.
    """

def look_up_tokens(texts: tuple, rules: TokenRules, vocabulary: Vocabulary, n_threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
    """
    Counts of the tokens that the vocabulary knows: (row pointers, columns, counts).
    """

def hash_tokens(texts: tuple, rules: TokenRules, n_buckets: int, n_threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
    """
    Counts of the tokens in columns hash % n_buckets: (row pointers, columns, counts).
    """

def split_text(text: str, rules: TokenRules) -> list:
    """The tokens of one text."""

def token_hash(token: str) -> int:
    """The 64-bit hash of a token, the same on every platform."""

def weigh_rows(pointers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], counts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], idf: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sublinear: bool, norm: str, n_threads: int, values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Writes the tf-idf values of counted rows; an empty idf stands for ones.
    """

def unicode_version() -> str:
    """The Unicode version of the tokenizer's tables."""

def unicode_class(code: int) -> int:
    """
    The class bits of a code point: 1 word, 2 space, 4 cased, 8 ignorable before or behind a sigma, 16 has a lower case.
    """
