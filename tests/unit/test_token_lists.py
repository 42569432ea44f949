"""TokenList: words as one array of bytes, there and back, and each once in order."""

import numpy as np
import pytest

from labelwood import _native
from labelwood.features.tokens import TokenList

LISTS = [
    [],
    [""],
    ["a"],
    ["", ""],
    ["koira", "kissa", "koira", "äiti", "zebra", "🐕", "￿", "ab", "a"],
    ["with\nbreak", "a\n", "plain", "\n", ""],
    ["long word of more than sixteen bytes, once", "long word of more than sixteen bytes, twice"],
]


@pytest.mark.parametrize("words", LISTS)
def test_words_come_back(words):
    tokens = TokenList.of(words)
    assert tokens.strings() == words
    assert tokens.offsets.dtype == np.int64
    assert tokens.bytes.tobytes() == "".join(words).encode()


@pytest.mark.parametrize("words", LISTS)
def test_distinct_words_are_sorted_by_code_points(words):
    names, places = TokenList.of(words).distinct()
    assert names.strings() == sorted(set(words))
    assert [names.strings()[place] for place in places.tolist()] == words


def test_distinct_is_what_sorted_says_of_random_words():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("aäz€🐕"), rng.integers(1, 30))) for _ in range(3000)]
    words += words[::3]
    names, places = TokenList.of(words).distinct()
    assert names.strings() == sorted(set(words))
    assert [names.strings()[place] for place in places.tolist()] == words


def test_broken_offsets_are_refused():
    with pytest.raises(ValueError, match="offsets"):
        _native.distinct_tokens(np.zeros(3, np.uint8), np.array([0, 2], np.int64))
