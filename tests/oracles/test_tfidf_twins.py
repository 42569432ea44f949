"""The native tokenizer, counter, hasher and weights against slow, plain-Python twins."""

import math
import random
import re
from collections import Counter

import numpy as np
import pytest

from labelwood import _native
from labelwood.features.tfidf import TfidfVectorizer

WORD = re.compile(r"\w+")
SPACES = re.compile(r"\s\s+")
RULES = [
    {},
    {"ngram_range": (1, 3)},
    {"min_token_length": 1},
    {"min_token_length": 3, "ngram_range": (2, 2)},
    {"stop_words": ["ab", "ba", ""]},
    {"lowercase": False},
    {"analyzer": "char", "ngram_range": (1, 3)},
    {"analyzer": "char_wb", "ngram_range": (2, 6)},
]


HASHES = {
    "": "0x97eaa3baca70ba63",
    "a": "0xa0f4c0186075a5d9",
    "ab": "0xa0f7ebde5028d0d8",
    "abc": "0x807d50e8c21f8cf7",
    "word": "0xde541167c4e2b98",
    "council": "0x24f4987dec53d1f1",
    "european": "0x37e4426894d5db75",
    "regulation": "0x4c468e6002bf244a",
    "sixteen bytes ok": "0x83b3237f3ada1007",
    "seventeen bytes!!": "0xb2516104d7784a80",
    "a much longer token that takes the loop twice": "0x692511943e63f7ea",
    "日本語": "0x89d94716024f5795",
    "état": "0xaeb822a36d4f08b8",
}


def twin_tokens(text, analyzer="word", ngram_range=(1, 1), lowercase=True, min_token_length=2, stop_words=()):
    if lowercase:
        text = text.lower()
    low, high = ngram_range
    if analyzer == "word":
        words = [word for word in WORD.findall(text) if len(word) >= min_token_length and word not in stop_words]
        return [" ".join(words[i : i + n]) for n in range(low, high + 1) for i in range(len(words) - n + 1)]
    if analyzer == "char":
        text = SPACES.sub(" ", text)
        return [text[i : i + n] for n in range(low, high + 1) for i in range(len(text) - n + 1)]
    found = []
    for word in text.split():
        padded = f" {word} "
        for n in range(low, high + 1):
            if len(padded) <= n:
                found.append(padded)
                break
            found += [padded[i : i + n] for i in range(len(padded) - n + 1)]
    return found


def twin_vocabulary(texts, min_rows=1, max_rows=math.inf, max_tokens=None, **rules):
    """Sorted tokens within the limits; equally frequent ones compete in their order."""
    totals, rows = Counter(), Counter()
    for text in texts:
        found = twin_tokens(text, **rules)
        totals.update(found)
        rows.update(set(found))
    kept = sorted(token for token in totals if min_rows <= rows[token] <= max_rows)
    if max_tokens is not None:
        kept = sorted(sorted(kept, key=lambda token: -totals[token])[:max_tokens])
    return kept, rows, totals


def twin_values(counts, idf, sublinear, norm):
    """The tf-idf values of one row given as {column: count}."""
    found = {c: (1 + math.log(n) if sublinear else n) * (1 if idf is None else idf[c]) for c, n in counts.items()}
    length = {"l1": sum(map(abs, found.values())), "l2": math.sqrt(sum(v * v for v in found.values()))}.get(norm, 1)
    return {c: v / (length or 1) for c, v in found.items()}


def random_texts(n, seed, alphabet="abAB é\u0130\u03a3\u03c3\u0301日 \n_-\x00😀"):
    rng = random.Random(seed)
    return ["".join(rng.choices(alphabet, k=rng.randrange(60))) for _ in range(n)]


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_tokens_of_random_texts_are_the_twins(rules):
    vectorizer = TfidfVectorizer(**rules)
    for text in random_texts(400, seed=3):
        assert Counter(vectorizer.tokens(text)) == Counter(twin_tokens(text, **rules))


@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("limits", [{}, {"min_df": 2, "max_df": 0.7}, {"max_features": 9}], ids=str)
def test_vocabulary_and_frequencies_are_the_twins(rules, limits):
    texts = random_texts(120, seed=4) * 2  # twice, so that every token stands in two rows
    vectorizer = TfidfVectorizer(**rules, **limits).fit(texts)
    low, high = limits.get("min_df", 1), limits.get("max_df", 1.0) * len(texts)
    expected, rows, _ = twin_vocabulary(texts, low, high, limits.get("max_features"), **rules)
    assert vectorizer.feature_names == expected
    assert vectorizer.document_frequencies_.tolist() == [rows[token] for token in expected]


def test_tokens_of_every_length_around_the_inline_limit_are_kept_apart():
    texts = ["".join(chr(97 + (i * 7 + n) % 26) for i in range(n)) for n in range(1, 60)]
    texts += [text[:-1] + "Q" for text in texts] + ["Q" + text[1:] for text in texts]
    texts += [text + "\0" for text in texts]  # a NUL separates words, but counts as a character
    for settings in (
        {"lowercase": False, "min_token_length": 1},
        {"analyzer": "char", "ngram_range": (1, 60), "lowercase": False},
    ):
        expected = sorted({token for text in texts for token in twin_tokens(text, **settings)})
        assert TfidfVectorizer(**settings).fit(texts).feature_names == expected


@pytest.mark.parametrize("n_buckets", [1, 7, 1000, 2**31 - 1])
def test_hash_rows_are_counts_by_bucket(n_buckets):
    texts = random_texts(50, seed=5)
    rules = _native.TokenRules(analyzer="word", min_n=1, max_n=2, lowercase=True, min_length=2, stop_words=[])
    pointers, columns, counts = _native.hash_tokens(tuple(texts), rules, n_buckets, 2)
    for row, text in enumerate(texts):
        part = slice(pointers[row], pointers[row + 1])
        expected = Counter(_native.token_hash(token) % n_buckets for token in twin_tokens(text, ngram_range=(1, 2)))
        assert columns[part].tolist() == sorted(expected)
        assert dict(zip(columns[part].tolist(), counts[part].tolist(), strict=True)) == expected


@pytest.mark.parametrize("norm", ["none", "l1", "l2"])
@pytest.mark.parametrize("sublinear", [False, True])
@pytest.mark.parametrize("with_idf", [False, True])
def test_weights_are_the_twins(norm, sublinear, with_idf):
    rng = np.random.default_rng(6)
    lengths = rng.integers(0, 20, 30)
    pointers = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    columns = np.concatenate([np.sort(rng.choice(50, n, replace=False)) for n in lengths]).astype(np.int32)
    counts = rng.choice([1, 2, 3, 255, 256, 100_000], len(columns)).astype(np.int32)
    idf = rng.random(50) + 1
    values = np.full(len(columns), np.nan, np.float32)
    _native.weigh_rows(pointers, columns, counts, idf if with_idf else np.empty(0), sublinear, norm, 2, values)
    for row in range(30):
        part = slice(pointers[row], pointers[row + 1])
        row_counts = dict(zip(columns[part].tolist(), counts[part].tolist(), strict=True))
        expected = twin_values(row_counts, idf if with_idf else None, sublinear, norm)
        np.testing.assert_allclose(values[part], [expected[c] for c in sorted(expected)], rtol=1e-6)


def test_token_hash_never_changes():
    # saved hashing-mode models depend on these numbers
    assert {token: hex(_native.token_hash(token)) for token in HASHES} == HASHES
