"""Stems: inflected words share a column, in training and at prediction; saved, copied, explained."""

import copy
import pickle

import numpy as np
import pytest
import snowballstemmer
from snowballstemmer.german_stemmer import GermanStemmer

from labelwood.errors import ModelFileError, ParamError
from labelwood.features import stems
from labelwood.features.tfidf import TfidfVectorizer
from labelwood.features.tfidf_state import FittedTfidf

TEXTS = ["Der Hund bellt", "Die Katze schläft", "Hunde und Katzen"]


def same(left, right):
    assert left.shape == right.shape
    assert (left != right).nnz == 0


def test_inflected_words_are_one_column():
    made = TfidfVectorizer(stems="de")
    x = made.fit_transform(TEXTS)
    assert made.feature_names == ["bellt", "der", "die", "hund", "katz", "schlaft", "und"]
    assert made.document_frequencies_.tolist() == [1, 1, 1, 2, 2, 1, 1]
    same(x, made.transform(TEXTS))


def test_a_form_that_training_did_not_see_is_known_by_its_stem():
    made = TfidfVectorizer(stems="de").fit(TEXTS)
    same(made.transform(["des Hundes"]), made.transform(["Hund"]))
    finnish = TfidfVectorizer(stems="fi").fit(["koira haukkuu", "kissa nukkuu"])
    assert finnish.transform(["koiran"]).indices.tolist() == finnish.transform(["koira"]).indices.tolist() != []


def test_the_values_are_those_of_texts_whose_words_were_replaced_by_stems():
    stem = snowballstemmer.stemmer("german").stemWord
    replaced = [" ".join(stem(word) for word in text.lower().split()) for text in TEXTS]
    for extra in ({}, {"ngram_range": (1, 2)}, {"min_df": 2}, {"max_features": 3}, {"sublinear_tf": True}):
        plain = TfidfVectorizer(**extra)
        with_stems = TfidfVectorizer(stems="de", **extra)
        same(with_stems.fit_transform(TEXTS), plain.fit_transform(replaced))
        assert with_stems.feature_names == plain.feature_names


def test_repeated_forms_add_up_in_a_row():
    made = TfidfVectorizer(stems="de", norm=None, use_idf=False).fit(TEXTS)
    row = made.transform(["Hund Hunde Hundes Katze"])
    assert row.toarray()[0, [3, 4]].tolist() == [3, 1]


def test_partial_fit_counts_stems():
    made = TfidfVectorizer(stems="de").fit(TEXTS)
    made.partial_fit(["Des Hundes Vogel", "Vögel singen"])
    assert made.feature_names[:7] == ["bellt", "der", "die", "hund", "katz", "schlaft", "und"]
    assert made.feature_names[7:] == ["des", "sing", "vogel"]
    assert made.document_frequencies_.tolist() == [1, 1, 1, 3, 2, 1, 1, 1, 1, 2]
    assert made.n_rows_ == 5
    same(made.transform(["Vogels"]), made.transform(["Vogel"]))


def test_partial_fit_keeps_its_limits():
    made = TfidfVectorizer(stems="de", max_features=3).fit(TEXTS)
    assert made.partial_fit(["Vogel Vogel Vogel"]).n_features_ == 3


def test_pickles_copies_and_saved_arrays_answer_alike():
    made = TfidfVectorizer(stems="de").fit(TEXTS)
    questions = ["des Hundes Katzen", "Maus"]
    expected = made.transform(questions)
    for other in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        same(other.transform(questions), expected)
    state = made.fitted_
    same(TfidfVectorizer.from_arrays(state.arrays(), state.facts()).transform(questions), expected)


def test_explanations_show_the_words_of_the_text():
    state = TfidfVectorizer(stems="de").fit(TEXTS).fitted_
    assert state.words_behind("des Hundes Hunde", [3, 4]) == {3: "hundes / hunde", 4: "katz"}


def test_no_texts_and_empty_texts():
    made = TfidfVectorizer(stems="de").fit(TEXTS)
    assert made.transform([]).shape == (0, 7)
    assert made.transform(["", "Hund"]).getnnz(axis=1).tolist() == [0, 1]


def test_mixed_data_has_each_word_in_the_language_of_its_texts():
    texts = ["the cats and the dogs of the house", "koira ja kissa ovat eläimiä"] * 3
    made = TfidfVectorizer(stems="auto").fit(texts)
    assert made.fitted_.parameters.stems == "en+fi"
    assert {"cat", "dog", "koira"} <= set(made.feature_names)
    assert made.transform(["dog", "koiran"]).getnnz(axis=1).tolist() == [1, 1]


def test_auto_without_a_language_is_plain_words():
    made = TfidfVectorizer(stems="auto").fit(["xyzzy 42", "quux"])
    assert made.fitted_.parameters.stems is None
    assert made.feature_names == ["42", "quux", "xyzzy"]


def test_dictionary_forms():
    made = TfidfVectorizer(stems="en", lemmas=True).fit(["mice went home", "a mouse goes"])
    assert {"mouse", "go"} <= set(made.feature_names)


def test_lemmas_without_the_package_name_the_extra(monkeypatch):
    monkeypatch.setattr(stems, "has_lemmas", lambda: False)
    with pytest.raises(ParamError, match=r"simplemma: pip install \"labelwood\[languages\]\""):
        TfidfVectorizer(stems="en", lemmas=True).fit(TEXTS)


def test_the_pure_python_stemmer_gives_the_same_stems(monkeypatch):
    words = ["hundes", "häuser", "katzen", "eisenbahnen"]
    expected = stems.Stemming(("de",)).roots(words, "de")
    monkeypatch.setattr(stems, "_FAST", False)
    monkeypatch.setattr(stems.snowballstemmer, "stemmer", lambda name: GermanStemmer())
    assert stems.Stemming(("de",)).roots(words, "de") == expected == ["hund", "haus", "katz", "eisenbahn"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stems": "xx"}, 'stems must be None, "auto", or codes such as'),
        ({"stems": "de", "hashing": 16}, "stems need a vocabulary, and hashing has none"),
        ({"stems": "de", "analyzer": "char"}, "stems works with analyzer='word' only"),
        ({"lemmas": True}, "lemmas need a language"),
        ({"stop_words": "xx"}, "stop_words must be None, a list of words, or the code of a language"),
    ],
)
def test_what_does_not_fit_is_refused(settings, message):
    with pytest.raises(ParamError, match=message):
        TfidfVectorizer(**settings).fit(TEXTS)


def test_stop_words_of_a_language():
    made = TfidfVectorizer(stop_words="de").fit(TEXTS)
    assert made.feature_names == ["bellt", "hund", "hunde", "katze", "katzen", "schläft"]
    state = made.fitted_
    assert FittedTfidf.restore(state.arrays(), state.facts()).parameters.stop_words == "de"


@pytest.mark.parametrize("damage", ["missing", "outside", "more", "auto"])
def test_damaged_forms_are_refused(damage):
    state = TfidfVectorizer(stems="de").fit(TEXTS).fitted_
    arrays, facts = state.arrays(), state.facts()
    if damage == "missing":
        del arrays["forms_columns"]
    elif damage == "outside":
        arrays["forms_columns"] = np.full_like(arrays["forms_columns"], state.n_features)
    elif damage == "more":
        arrays["forms_columns"] = np.append(arrays["forms_columns"], np.int32(0))
    else:
        facts["parameters"]["stems"] = "auto"
    with pytest.raises(ModelFileError):
        FittedTfidf.restore(arrays, facts)
