"""The same vocabulary and the same numbers as scikit-learn's TfidfVectorizer."""

import random

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer as Reference

from labelwood.features.tfidf import TfidfVectorizer

PIECES = [
    *["regulation", "Council", "of", "the", "THE", "a", "x", "_", "__init__", "état", "ÉTAT", "straße", "STRASSE"],
    *["İstanbul", "ΟΔΟΣ", "ΣΟΦΟΣ", "Σ", "ΑΣ'", "日本語", "テスト", "Привет", "МИР", "e\u0301t\u0301", "مرحبا", "नमस्ते"],
    *["😀", "👩\u200d💻", "№5", "½", "²", "x²", "don't", "e-mail", "C++", "3.14", "1,000", "internationalisation"],
    *["antidisestablishmentarianism", "\u01c5ungla", "\u1e9e", "\u023atom", "K\u212a", "\U00010400\U00010401"],
    *["\u2160\u2161", "\u24b6\u24b7"],
]
SPACES = [" ", " ", " ", "  ", "\n", "\t\n", "\u00a0", "\u2003", "\u3000 ", "\x1c", "\x85"]
GAPS = [*SPACES, ", ", ".", "-", "\x00", "\u200b", "'", ";"]


def corpus(n_texts, seed=0):
    rng = random.Random(seed)
    weights = [1 / (i + 1) for i in range(len(PIECES))]
    texts = [
        "".join(rng.choices(PIECES, weights)[0] + rng.choice(GAPS) for _ in range(rng.randrange(30)))
        for _ in range(n_texts)
    ]
    return [*texts, "", " ", "\n"]


SETTINGS = [
    {},
    {"ngram_range": (1, 2)},
    {"ngram_range": (2, 3)},
    {"ngram_range": (1, 5)},
    {"analyzer": "char", "ngram_range": (1, 1)},
    {"analyzer": "char", "ngram_range": (2, 4)},
    {"analyzer": "char_wb", "ngram_range": (3, 5)},
    {"analyzer": "char_wb", "ngram_range": (1, 20)},
    {"analyzer": "char_wb", "ngram_range": (9, 9)},
    {"analyzer": "char", "ngram_range": (2, 3), "lowercase": False},
    {"min_df": 2},
    {"min_df": 0.1},
    {"max_df": 0.5},
    {"max_df": 20},
    {"min_df": 2, "max_df": 0.4, "ngram_range": (1, 2)},
    {"sublinear_tf": True},
    {"norm": None},
    {"norm": "l1"},
    {"norm": "l1", "sublinear_tf": True, "ngram_range": (1, 2)},
    {"use_idf": False},
    {"smooth_idf": False},
    {"lowercase": False},
    {"stop_words": ["the", "of", "état", "__init__"]},
    {"stop_words": ["the", "σοφος"], "ngram_range": (1, 3)},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_same_vocabulary_and_matrix_as_sklearn(settings):
    texts = corpus(150)
    reference = Reference(**settings)
    expected = reference.fit_transform(texts)
    ours = TfidfVectorizer(**settings)
    found = ours.fit_transform(texts)
    assert ours.feature_names == list(reference.get_feature_names_out())
    assert found.dtype == np.float32
    assert found.shape == expected.shape
    expected.sort_indices()
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.data, expected.data, rtol=1e-5)
    if settings.get("use_idf", True):
        np.testing.assert_allclose(ours.idf_, reference.idf_, rtol=1e-12)


@pytest.mark.parametrize(
    "settings", [{}, {"ngram_range": (1, 2), "min_df": 3}, {"analyzer": "char_wb", "ngram_range": (2, 4)}], ids=str
)
def test_transform_of_new_texts_is_sklearns(settings):
    train, test = corpus(100, seed=1), [*corpus(60, seed=2), "unseenword andanother"]
    expected = Reference(**settings).fit(train).transform(test)
    found = TfidfVectorizer(**settings).fit(train).transform(test)
    expected.sort_indices()
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_allclose(found.data, expected.data, rtol=1e-5)


def test_max_features_keeps_sklearns_tokens_where_no_two_are_equally_frequent():
    # word i comes i + 1 times: no ties, so the choice is unique
    texts = [" ".join(f"word{i:02d}" for i in range(40) if i >= row) for row in range(40)]
    for limit in (1, 7, 39, 40, 100):
        reference = Reference(max_features=limit).fit(texts)
        ours = TfidfVectorizer(max_features=limit).fit(texts)
        assert ours.feature_names == list(reference.get_feature_names_out())


def test_max_features_total_frequency_equals_sklearns_also_with_ties():
    texts = corpus(150)
    counts = dict.fromkeys(TfidfVectorizer().fit(texts).feature_names, 0)
    for text in texts:
        for token in TfidfVectorizer().tokens(text):
            counts[token] += 1
    for limit in (3, 10, 20):
        ours = TfidfVectorizer(max_features=limit).fit(texts).feature_names
        reference = Reference(max_features=limit).fit(texts).get_feature_names_out()
        assert sorted(counts[name] for name in ours) == sorted(counts[name] for name in reference)


def test_constructor_has_sklearns_parameters_and_defaults():
    ours, reference = TfidfVectorizer().get_params(), Reference().get_params()
    assert set(ours) - set(reference) == {"hashing", "lemmas", "markup", "min_token_length", "n_threads", "stems"}
    assert {name: ours[name] for name in ours if name in reference} == {
        name: reference[name] for name in ours if name in reference
    }
