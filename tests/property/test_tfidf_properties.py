"""Random Unicode text: tokens, matrices and saved states hold for whatever comes."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer as Reference

from labelwood import _native
from labelwood.errors import DataError
from labelwood.features.tfidf import TfidfVectorizer

# Categories whose characters all have a class in the tokenizer's tables.
WITH_CLASS = {"Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "No", "Mn", "Me", "Cf", "Sk"}


def in_both(char):
    """Whether the tables have the character, too: their Unicode version may be older than that of this Python."""
    return _native.unicode_class(ord(char)) != 0 or unicodedata.category(char) not in WITH_CLASS


# Unassigned code points are left out, as the tables may be newer than the running Python.
ANY = st.characters(exclude_categories=("Cs", "Cn", "Co")).filter(in_both)
TRICKY = st.sampled_from(
    "aAzZ09_ \n\t\0'.:-İßẞ\u0131\u0391\u03a3\u03c3\u03c2\u0301\u0307\u00ad\u180e\u200d\u00a0\u2028\u3000"
    "\u01c5\u2168\u24b6\u023a\u023e\u212a日本語½²\u0663😀👩\U00010400\U0001e900"
)
TEXT = st.text(st.one_of(TRICKY, ANY), max_size=40)
ANALYZERS = st.sampled_from(
    [("word", 1, 1), ("word", 1, 3), ("char", 1, 2), ("char", 2, 5), ("char_wb", 1, 4), ("char_wb", 5, 6)]
)


@given(TEXT, ANALYZERS, st.booleans())
@settings(max_examples=400, deadline=None)
def test_tokens_are_sklearns(text, analyzer, lowercase):
    name, low, high = analyzer
    expected = Reference(analyzer=name, ngram_range=(low, high), lowercase=lowercase).build_analyzer()(text)
    found = TfidfVectorizer(analyzer=name, ngram_range=(low, high), lowercase=lowercase).tokens(text)
    assert sorted(found) == sorted(expected)


@given(st.text(st.sampled_from("\u0391\u03a3\u03c3a'.:\u00ad\u0301 -1\u02b0\u2168"), max_size=12))
@settings(max_examples=500, deadline=None)
def test_lower_case_of_sigma_in_any_neighbourhood_is_pythons(text):
    found = TfidfVectorizer(analyzer="char").tokens(text.replace("  ", " "))
    assert "".join(found) == text.replace("  ", " ").lower().replace("  ", " ")


@given(st.lists(TEXT, min_size=1, max_size=12), ANALYZERS)
@settings(max_examples=150, deadline=None)
def test_matrix_is_sklearns_or_both_find_nothing(texts, analyzer):
    name, low, high = analyzer
    reference, ours = (kind(analyzer=name, ngram_range=(low, high)) for kind in (Reference, TfidfVectorizer))
    try:
        expected = reference.fit_transform(texts)
    except ValueError:
        with pytest.raises(DataError, match="no tokens"):
            ours.fit_transform(texts)
        return
    found = ours.fit_transform(texts)
    assert ours.feature_names == list(reference.get_feature_names_out())
    np.testing.assert_allclose(found.toarray(), expected.toarray(), rtol=1e-5)


@given(st.lists(TEXT, min_size=1, max_size=60), st.integers(2, 5))
@settings(max_examples=60, deadline=None)
def test_threads_and_rereading_change_nothing(texts, n_threads):
    texts = [*texts, "at least some words"] * 4  # enough rows for several threads
    one = TfidfVectorizer(ngram_range=(1, 2), n_threads=1)
    many = TfidfVectorizer(ngram_range=(1, 2), n_threads=n_threads)
    x, again = one.fit_transform(texts), many.fit_transform(texts)
    assert one.feature_names == many.feature_names
    for other in (again, many.transform(texts), many.fit(texts).transform(texts)):
        assert x.data.tobytes() == other.data.tobytes()
        assert x.indices.tobytes() == other.indices.tobytes()
        assert x.indptr.tobytes() == other.indptr.tobytes()


@given(st.lists(TEXT, min_size=1, max_size=8), st.lists(TEXT, max_size=8))
@settings(max_examples=80, deadline=None)
def test_partial_fit_in_two_steps_is_one_fit_with_other_column_order(first, second):
    first = [*first, "word"]
    whole = TfidfVectorizer().fit(first + second)
    steps = TfidfVectorizer().partial_fit(first).partial_fit(second)
    assert steps.feature_names[: TfidfVectorizer().fit(first).n_features_] == TfidfVectorizer().fit(first).feature_names
    assert sorted(steps.feature_names) == whole.feature_names
    order = [steps.vocabulary_[name] for name in whole.feature_names]
    np.testing.assert_array_equal(steps.idf_[order], whole.idf_)
    x, y = steps.transform(first + second)[:, order], whole.transform(first + second)
    np.testing.assert_allclose(x.toarray(), y.toarray(), rtol=1e-6)


@given(st.lists(TEXT, min_size=1, max_size=8), st.sampled_from([None, 16]))
@settings(max_examples=80, deadline=None)
def test_saved_and_restored_gives_the_same_bytes(texts, hashing):
    texts = [*texts, "some words"]
    made = TfidfVectorizer(hashing=hashing, sublinear_tf=True)
    x = made.fit_transform(texts)
    back = TfidfVectorizer.from_arrays(made.fitted_.arrays(), made.fitted_.facts())
    assert back.transform(texts).data.tobytes() == x.data.tobytes()
    assert back.get_params() == made.get_params()
