"""Damaged saved vectorizers are refused with ModelFileError, and nothing crashes."""

import numpy as np
import pytest

from labelwood.errors import ModelFileError
from labelwood.features.bag import BagVectorizer
from labelwood.features.tfidf import TfidfVectorizer


def saved(**settings):
    made = TfidfVectorizer(**settings).fit(["aa bb état", "bb cc"])
    return dict(made.fitted_.arrays()), dict(made.fitted_.facts())


def refused(arrays, facts, message):
    with pytest.raises(ModelFileError, match=message):
        TfidfVectorizer.from_arrays(arrays, facts)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("vocabulary_offsets", np.array([0, 2, 1, 6, 11]), "damaged vocabulary"),
        ("vocabulary_offsets", np.array([1, 2, 4, 6, 11]), "damaged vocabulary"),
        ("vocabulary_offsets", np.array([0, 2, 4, 6, 99]), "damaged vocabulary"),
        ("vocabulary_offsets", np.array([0, 2**62, 4, 6, 11]), "damaged vocabulary"),
        ("vocabulary_offsets", np.array([0, -5, 4, 6, 11]), "holds -5, below 0"),
        ("vocabulary_offsets", np.array([], np.int64), "has no n_words.1 places"),
        ("vocabulary_offsets", np.array([0, 2, 4, 11]), "3 tokens but 4 document frequencies"),
        ("vocabulary_offsets", np.array([0, 2, 4, 7, 11]), "token 3 starts inside a character"),
        ("vocabulary_offsets", np.zeros((2, 2), np.int64), "must be int64 of shape .*, but is int64 of shape"),
        ("vocabulary_offsets", np.zeros(5), "must be int64 of shape .*, but is float64"),
        ("vocabulary_bytes", np.full(11, 0xFF, np.uint8), "vocabulary"),
        ("vocabulary_bytes", np.frombuffer(b"aaaaccetatx", np.uint8), "token 1 comes twice"),
        ("vocabulary_bytes", np.frombuffer(b"aabbcc\xc3\xc3tat", np.uint8), "not UTF-8 at byte 6"),
        ("document_frequencies", np.array([1, 2, 1, -1]), "holds -1, below 0"),
        ("document_frequencies", np.array([1, 2, 1, 3]), r"must lie in 0..2"),
        ("document_frequencies", np.array([1, 2, 1]), "4 tokens but 3 document frequencies"),
        ("document_frequencies", np.array([], np.int64), "must lie in"),
    ],
)
def test_damaged_array_is_refused(name, value, message):
    arrays, facts = saved()
    assert len(arrays["vocabulary_bytes"]) == 11
    arrays[name] = value
    refused(arrays, facts, message)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("n_rows", 0, "n_rows must be a whole number"),
        ("n_rows", "2", "n_rows must be a whole number"),
        ("n_rows", True, "n_rows must be a whole number"),
        ("token_format", 2, "token format 2 is unknown"),
        ("parameters", None, "must be a JSON object"),
        ("parameters", {"analyzer": "cha"}, "saved parameters: .*analyzer must be one of"),
        ("parameters", {"color": 1}, "saved parameters: .*unknown parameter 'color'"),
        ("parameters", {"hashing": 3}, "does not belong"),
        ("more", 1, "expected the facts"),
    ],
)
def test_damaged_fact_is_refused(name, value, message):
    arrays, facts = saved()
    facts[name] = value
    refused(arrays, facts, message)


def test_missing_or_added_parts_are_refused():
    for name in ("vocabulary_bytes", "vocabulary_offsets", "document_frequencies"):
        arrays, facts = saved()
        del arrays[name]
        refused(arrays, facts, "is missing")
    arrays, facts = saved()
    refused({**arrays, "more": np.zeros(1)}, facts, "'more' does not belong")
    for name in list(facts):
        refused(arrays, {key: value for key, value in facts.items() if key != name}, "expected the facts")


@pytest.mark.parametrize("facts", [None, 1.5, [[1]], [1], "x", {}])
def test_facts_of_another_kind_are_refused(facts):
    refused(saved()[0], facts, "expected the facts")


def test_bucket_count_must_fit():
    arrays, facts = saved(hashing=8)
    facts["parameters"] = {**facts["parameters"], "hashing": 9}
    refused(arrays, facts, "8 document frequencies for 9 buckets")


def test_read_only_and_strided_arrays_are_fine():
    arrays, facts = saved()
    strided = {name: np.repeat(array, 2)[::2] for name, array in arrays.items()}
    for array in strided.values():
        array.setflags(write=False)
    made = TfidfVectorizer.from_arrays(strided, facts)
    assert made.feature_names == ["aa", "bb", "cc", "état"]
    assert made.partial_fit(["aa"]).document_frequencies_[0] == 2


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("words_offsets", np.array([0, 2, 1, 6, 11]), "damaged vocabulary"),
        ("words_offsets", np.array([0, 2**62, 4, 6, 11]), "damaged vocabulary"),
        ("words_offsets", np.array([], np.int64), "has no n_words.1 places"),
        ("words_offsets", np.array([0, 2, 4, 7, 11]), "token 3 starts inside a character"),
        ("words_offsets", np.zeros((2, 2), np.int64), "but is int64 of shape"),
        ("words_offsets", np.zeros(5), "but is float64"),
        ("words_bytes", np.frombuffer(b"aaaaccetatx", np.uint8), "token 1 comes twice"),
        ("words_bytes", np.frombuffer(b"aabbcc\xc3\xc3tat", np.uint8), "not UTF-8 at byte 6"),
        ("words_bytes", np.zeros((11, 1), np.uint8), "but is uint8 of shape"),
    ],
)
def test_damaged_words_of_a_bag_are_refused(name, value, message):
    made = BagVectorizer().fit(["aa bb état", "bb cc"])
    arrays, facts = made.fitted_.arrays(), made.fitted_.facts()
    assert len(arrays["words_bytes"]) == 11
    assert BagVectorizer.from_arrays(arrays, facts).transform(["aa cc"]).nnz == 3
    with pytest.raises(ModelFileError, match=message):
        BagVectorizer.from_arrays({**arrays, name: value}, facts)
