"""Saved words: one UTF-8 array and where each word begins, checked before they are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood import _native
from labelwood.errors import ModelFileError
from labelwood.features.tokens import TOKEN_FORMAT, TokenList
from labelwood.storage.schema import ArrayRule, Schema


def word_arrays(prefix: str) -> Schema:
    """The rules of the two arrays that hold words."""
    return {
        f"{prefix}_bytes": ArrayRule("uint8", ("n_bytes",)),
        f"{prefix}_offsets": ArrayRule("int64", ("n_words+1",), low=0),
    }


def checked_words(
    arrays: Mapping[str, npt.NDArray[Any]], prefix: str, owner: str
) -> tuple[TokenList, _native.Vocabulary]:
    """(words, their look-up table); ModelFileError unless they are valid, distinct UTF-8."""
    words = TokenList(
        np.ascontiguousarray(arrays[f"{prefix}_bytes"]), np.ascontiguousarray(arrays[f"{prefix}_offsets"])
    )
    try:
        lookup = _native.Vocabulary(words.bytes, words.offsets)
        words.bytes.tobytes().decode()
    except UnicodeDecodeError as error:
        raise ModelFileError(f"{owner}: the vocabulary is not UTF-8 at byte {error.start}") from None
    except ValueError as error:
        raise ModelFileError(f"{owner}: damaged vocabulary ({error})") from None
    starts = words.offsets[:-1]
    inside = words.bytes[starts[starts < len(words.bytes)]] & 0xC0 == 0x80
    if inside.any():
        raise ModelFileError(f"{owner}: token {int(np.flatnonzero(inside)[0])} starts inside a character")
    return words, lookup


def check_facts(facts: Mapping[str, Any], expected: tuple[str, ...], owner: str) -> None:
    """Refuse facts of another kind, or tokens of another format."""
    found = sorted(map(str, facts)) if isinstance(facts, Mapping) else [f"{facts!r:.60}"]
    if found != sorted(expected):
        raise ModelFileError(
            f"{owner}: expected the facts {', '.join(expected)}, but found {', '.join(found) or 'none'}"
        )
    if facts["token_format"] != TOKEN_FORMAT:
        raise ModelFileError(
            f"{owner}: token format {facts['token_format']!r:.40} is unknown; this version reads {TOKEN_FORMAT}"
        )


def word_at(words: TokenList, place: int) -> str:
    """One word."""
    start, end = words.offsets[place : place + 2].tolist()
    return words.bytes[start:end].tobytes().decode()


def hashed_words(tokens: list[str], n_buckets: int, first_column: int = 0) -> dict[int, str]:
    """Column -> the tokens that fall into it, each once, in their order."""
    shared: dict[int, list[str]] = {}
    for token in dict.fromkeys(tokens):
        shared.setdefault(first_column + _native.token_hash(token) % n_buckets, []).append(token)
    return {column: " / ".join(names) for column, names in shared.items()}
