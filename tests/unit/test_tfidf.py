"""TfidfVectorizer: parameters, errors, partial_fit, hashing, names."""

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import labelwood
from labelwood.errors import DataError, NotFittedError, ParamError
from labelwood.features.tfidf import TfidfVectorizer
from labelwood.features.tfidf_params import TfidfParams

TEXTS = ["The cat sat on the mat", "A dog sat", "", "cats and dogs; the END"]


def test_public_name_and_matrix_kind():
    x = labelwood.TfidfVectorizer().fit_transform(TEXTS)
    assert isinstance(x, sparse.csr_matrix)
    assert x.dtype == np.float32
    assert x.has_sorted_indices
    assert x.shape == (4, 10)
    assert x[2].nnz == 0
    np.testing.assert_allclose(np.sqrt(x.multiply(x).sum(axis=1)).A1[[0, 1, 3]], 1, rtol=1e-6)


def test_names_and_vocabulary_are_in_column_order():
    made = TfidfVectorizer().fit(TEXTS)
    assert made.feature_names == ["and", "cat", "cats", "dog", "dogs", "end", "mat", "on", "sat", "the"]
    assert list(made.get_feature_names_out()) == made.feature_names
    assert made.get_feature_names_out().dtype == object
    assert made.vocabulary_ == {name: i for i, name in enumerate(made.feature_names)}
    assert made.document_frequencies_[made.vocabulary_["the"]] == 2
    assert made.n_rows_ == 4


def test_characters_of_a_word_that_comes_again_count_each_time():
    """Such words are looked up once: when counting, in a known vocabulary, and hashed."""
    words = ["abab", "b", "abab", "état", "abab", "ab", "état"]
    for extra in ({}, {"hashing": 512}):
        made = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 4), use_idf=False, norm=None, **extra)
        apart = made.fit_transform([*words, "other words"])[: len(words)].sum(axis=0)
        np.testing.assert_array_equal(made.transform([" ".join(words)]).toarray(), apart)
        np.testing.assert_array_equal(made.fit_transform([" ".join(words), *words, "other words"])[0].toarray(), apart)


def test_use_idf_false_has_weights_of_one():
    np.testing.assert_array_equal(TfidfVectorizer(use_idf=False).fit(TEXTS).idf_, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"analyzer": "words"}, "analyzer must be one of 'word', 'char', 'char_wb', but is 'words'"),
        ({"ngram_range": (2, 1)}, r"ngram_range must be a pair .* but is \(2, 1\)"),
        ({"ngram_range": 2}, "ngram_range must be a pair"),
        ({"ngram_range": (0, 1)}, "ngram_range must be a pair"),
        ({"ngram_range": (1, 2.0)}, "ngram_range must be a pair"),
        ({"min_df": 0}, "min_df must be a whole number of rows from 1 up, or a share from 0.0 to 1.0, but is 0"),
        ({"min_df": 1.5}, "min_df must be"),
        ({"max_df": True}, "max_df must be"),
        ({"max_features": 0}, "max_features must be a whole number from 1"),
        ({"norm": "l3"}, "norm must be one of 'l1', 'l2' or None"),
        ({"stop_words": "english"}, "stop_words must be None, a list of words, or the code"),
        ({"stop_words": [1]}, "stop_words must be None, a list of words, or the code"),
        ({"hashing": 0}, "hashing must be"),
        ({"hashing": 8, "min_df": 2}, "min_df needs a vocabulary, and hashing has none"),
        ({"hashing": 8, "max_features": 2}, "max_features needs a vocabulary"),
        ({"analyzer": "char", "stop_words": ["a"]}, "stop_words works with analyzer='word' only"),
        ({"analyzer": "char_wb", "min_token_length": 3}, "min_token_length works with analyzer='word' only"),
        ({"min_df": 4, "max_df": 2}, r"max_df=2 allows fewer rows \(2 of 4\) than min_df=4"),
        ({"n_threads": 0}, "n_threads must be"),
    ],
)
def test_parameters_are_checked_by_fit_not_before(settings, message):
    made = TfidfVectorizer(**settings)
    with pytest.raises(ParamError, match=message):
        made.fit(TEXTS)


def test_unknown_parameter_is_refused_with_the_nearest_name():
    with pytest.raises(ParamError, match="did you mean 'ngram_range'"):
        TfidfVectorizer(ngram_rang=(1, 2))
    with pytest.raises(ParamError, match="did you mean 'min_df'"):
        TfidfVectorizer().set_params(mindf=3)


def test_command_line_values_are_understood():
    values = TfidfParams.parse(
        [
            "ngram_range=1-2",
            "min_df=2",
            "max_df=0.5",
            "stop_words=the, of",
            "norm=none",
            "hashing=1024",
            "lowercase=no",
        ],
        "x",
    )
    assert values == {
        "ngram_range": (1, 2),
        "min_df": 2,
        "max_df": 0.5,
        "stop_words": ["the", "of"],
        "norm": None,
        "hashing": 1024,
        "lowercase": False,
    }
    assert isinstance(values["min_df"], int)
    assert TfidfParams.parse(["ngram_range=(1,3)", "stop_words=none"], "x") == {
        "ngram_range": (1, 3),
        "stop_words": None,
    }
    with pytest.raises(ParamError, match="ngram_range must be a pair"):
        TfidfParams.parse(["ngram_range=one"], "x")
    with pytest.raises(ParamError, match="min_df must be"):
        TfidfParams.parse(["min_df=few"], "x")


def test_every_parameter_has_help():
    for name, default, allowed, text in TfidfParams.table():
        assert all((name, default, allowed, text))


def test_sklearn_conventions_hold():
    made = TfidfVectorizer(ngram_range=(1, 2), stop_words=["the"])
    copied = clone(made)
    assert copied.get_params() == made.get_params()
    assert repr(made) == "TfidfVectorizer(ngram_range=(1, 2), stop_words=['the'])"
    assert made.set_params(min_df=2) is made
    assert made.min_df == 2
    assert made.fit(TEXTS, None) is made


@pytest.mark.parametrize(
    "call", ["transform", "feature_names", "idf_", "n_rows_", "n_features_", "document_frequencies_", "fitted_"]
)
def test_unfitted_use_is_refused(call):
    made = TfidfVectorizer()
    with pytest.raises(NotFittedError, match="not trained yet"):
        made.transform(["a"]) if call == "transform" else getattr(made, call)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one text", "expected a list of texts, but got one str"),
        (b"bytes", "expected a list of texts, but got one bytes"),
        (7, "expected a list of texts, but got int"),
        ([], "fit needs at least one text"),
        (["fine", None], r"row 1: a text must be a str, but is NoneType \(None\)"),
        (["fine", b"x"], "row 1: a text must be a str, but is bytes"),
        (["fine"] * 5 + ["ab\ud800c"], r"row 5: character 2 is the lone surrogate U\+D800"),
        (["", "a b c", "! ?"], "no tokens in 3 texts"),
    ],
)
@pytest.mark.parametrize("hashing", [None, 64])
def test_bad_texts_are_named(texts, message, hashing):
    with pytest.raises(DataError, match=message):
        TfidfVectorizer(hashing=hashing).fit_transform(texts)


def test_bad_texts_are_named_by_transform_and_partial_fit_and_leave_the_state_alone():
    made = TfidfVectorizer().fit(TEXTS)
    before = made.fitted_.facts(), made.document_frequencies_.copy()
    for call in (made.transform, made.partial_fit):
        with pytest.raises(DataError, match="row 1: a text must be a str"):
            call(["fine", 3])
    assert made.fitted_.facts() == before[0]
    np.testing.assert_array_equal(made.document_frequencies_, before[1])


def test_limits_that_leave_nothing_say_so():
    with pytest.raises(DataError, match=r"no tokens left: 4 different ones in 2 texts.*lower min_df or raise max_df"):
        TfidfVectorizer(min_df=2).fit(["one two", "three four"])


def test_no_texts_and_unknown_words_give_empty_rows():
    made = TfidfVectorizer().fit(TEXTS)
    assert made.transform([]).shape == (0, made.n_features_)
    x = made.transform(["zebra", "", "cat"])
    assert np.diff(x.indptr).tolist() == [0, 0, 1]


def test_texts_may_come_as_any_iterable():
    expected = TfidfVectorizer().fit_transform(TEXTS)
    for texts in (tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, dtype=object), (text for text in TEXTS)):
        found = TfidfVectorizer().fit_transform(texts)
        assert (found != expected).nnz == 0


def test_min_token_length_counts_characters_not_bytes():
    assert TfidfVectorizer(min_token_length=1).tokens("a é 日 bb") == ["a", "é", "日", "bb"]
    assert TfidfVectorizer(min_token_length=3).tokens("éé ééé 日本 日本語 x") == ["ééé", "日本語"]


def test_partial_fit_from_nothing_is_fit():
    assert TfidfVectorizer().partial_fit(TEXTS).fitted_.facts() == TfidfVectorizer().fit(TEXTS).fitted_.facts()


def test_partial_fit_appends_new_tokens_and_counts_old_ones():
    made = TfidfVectorizer().fit(["beta gamma", "beta"])
    made.partial_fit(["alpha beta", "zeta alpha"])
    assert made.feature_names == ["beta", "gamma", "alpha", "zeta"]
    assert made.document_frequencies_.tolist() == [3, 1, 2, 1]
    assert made.n_rows_ == 4
    assert made.partial_fit([]).n_rows_ == 4
    assert made.partial_fit(["beta", "..."]).document_frequencies_.tolist() == [4, 1, 2, 1]
    x = made.transform(["zeta beta"])
    assert x.indices.tolist() == [0, 3]


def test_partial_fit_holds_the_limits():
    made = TfidfVectorizer(min_df=2).fit(["aa bb", "aa bb"]).partial_fit(["cc dd", "cc"])
    assert made.feature_names == ["aa", "bb", "cc"]
    bounded = TfidfVectorizer(max_features=3).fit(["aa bb"]).partial_fit(["zz zz yy", "zz"])
    assert bounded.feature_names == ["aa", "bb", "zz"]
    assert bounded.partial_fit(["qq"]).feature_names == ["aa", "bb", "zz"]


def test_partial_fit_keeps_the_fitted_parameters():
    made = TfidfVectorizer().fit(["Aa"])
    made.set_params(lowercase=False).partial_fit(["BB"])
    assert made.feature_names == ["aa", "bb"]


def test_hashing_has_fixed_columns_and_working_idf():
    made = TfidfVectorizer(hashing=32)
    x = made.fit_transform(TEXTS)
    assert x.shape == (4, 32)
    assert made.n_features_ == 32
    assert (made.transform(TEXTS) != x).nnz == 0
    counted = made.document_frequencies_.copy()
    made.partial_fit(TEXTS)
    np.testing.assert_array_equal(made.document_frequencies_, 2 * counted)
    assert made.n_rows_ == 8
    with pytest.raises(ParamError, match="hashing mode keeps no tokens"):
        made.get_feature_names_out()


def test_hashing_with_room_has_the_values_of_the_vocabulary():
    plain, hashed = TfidfVectorizer(), TfidfVectorizer(hashing=2**20)
    x, h = plain.fit_transform(TEXTS), hashed.fit_transform(TEXTS)
    for row in range(len(TEXTS)):
        np.testing.assert_allclose(np.sort(h[row].data), np.sort(x[row].data), rtol=1e-6)


def test_hashing_without_smoothing_stays_finite_for_new_buckets():
    made = TfidfVectorizer(hashing=1024, smooth_idf=False).fit(["one two"])
    x = made.transform(["one never seen"])
    assert np.isfinite(x.data).all()


def test_facts_are_json_and_restore_through_it():
    made = TfidfVectorizer(ngram_range=(1, 2), stop_words={"the", "on"}, max_df=1.0, min_df=1).fit(TEXTS)
    facts = json.loads(json.dumps(made.fitted_.facts()))
    back = TfidfVectorizer.from_arrays(made.fitted_.arrays(), facts)
    assert back.feature_names == made.feature_names
    assert (back.transform(TEXTS) != made.transform(TEXTS)).nnz == 0
    assert back.min_df == 1
    assert isinstance(back.min_df, int)
    assert isinstance(back.max_df, float)
    back.partial_fit(["brand new words"])
    assert back.feature_names[: made.n_features_] == made.feature_names


def test_huge_text_of_one_word_and_long_words():
    long = "x" * 300_000
    made = TfidfVectorizer(norm=None, use_idf=False)
    x = made.fit_transform(["word " * 100_000, long, long + "y"])
    assert made.feature_names == ["word", long, long + "y"]
    assert x[0, 0] == 100_000
