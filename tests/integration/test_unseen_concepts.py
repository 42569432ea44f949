"""Concepts of a thesaurus that no training row has: a model with a ranker finds them by their names."""

import random

import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood.tagger.concepts import notes_about, unseen_concepts, with_concepts
from labelwood.vocabulary.read import read_vocabulary

COLOURS = ["red", "blue", "green", "white", "black", "grey", "brown", "golden", "silver", "pale", "dark", "spotted"]
ANIMALS = ["dog", "cat", "horse", "cow", "hen", "fox", "wolf", "bear", "otter", "badger", "lynx", "goat"]
NAMES = [f"{colour} {animal}" for colour in COLOURS for animal in ANIMALS]
UNSEEN = NAMES[::7]


def id_of(name):
    return "id:" + name.replace(" ", "-")


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "animals.tsv"
    rows = [f"{id_of(name)}\t{name}" for name in NAMES]
    path.write_text("id\ten\n" + "\n".join(rows) + "\nid:nameless\t\n", encoding="utf-8")
    return read_vocabulary(path)


@pytest.fixture(scope="module")
def rows():
    draw = random.Random(3)
    places = [f"{a}{b}" for a in ("far", "old", "wet", "calm") for b in ("field", "road", "wood", "house", "river")]
    seen = [name for name in NAMES if name not in UNSEEN]
    texts, labels = [], []
    for _ in range(1200):
        named = draw.choice(seen)
        texts.append(" ".join([*draw.sample(places, 3), named, *draw.sample(places, 3)]))
        labels.append([id_of(named)])
    return texts, labels


def test_the_ranker_answers_concepts_that_no_row_has(vocabulary, rows):
    tagger = labelwood.Tagger(
        "ensemble", vocabulary=vocabulary, lang="en", n_threads=1, model_params={"views": "none"}
    ).fit(*rows)
    assert {id_of(name) for name in UNSEEN} <= set(tagger.label_names)
    assert "id:nameless" not in tagger.label_names
    answers = tagger.predict([f"wetriver oldroad {name} calmwood" for name in UNSEEN], k=3)
    found = [id_of(name) in dict(row) for name, row in zip(UNSEEN, answers, strict=True)]
    assert sum(found) > len(UNSEEN) / 2
    assert any(f"{len(UNSEEN)} concepts of the vocabulary have no training row; they can" in n for n in tagger.notes_)


def test_other_models_name_the_model_that_does(vocabulary, rows):
    tagger = labelwood.Tagger("linear-tree", vocabulary=vocabulary, lang="en", n_threads=1).fit(*rows)
    assert id_of(UNSEEN[0]) not in tagger.label_names
    assert any("with --name-rows or --best they are found by their names" in note for note in tagger.notes_)


def test_without_enough_rows_there_is_no_ranker_and_no_more_labels(vocabulary, rows):
    texts, labels = rows
    tagger = labelwood.Tagger("ensemble", vocabulary=vocabulary, lang="en", n_threads=1).fit(texts[:200], labels[:200])
    assert id_of(UNSEEN[0]) not in tagger.label_names


def test_columns_of_unseen_concepts_are_empty_and_last(vocabulary):
    y = sparse.csr_matrix(np.array([[1, 0], [1, 1]], np.float32))
    wide, names = with_concepts(y, ["id:red-dog", "id:red-cat"], vocabulary)
    assert names[:2] == ("id:red-dog", "id:red-cat")
    assert set(names[2:]) == {id_of(name) for name in NAMES[2:]}
    assert wide.shape == (2, len(names))
    assert (wide[:, :2] != y).nnz == 0
    assert wide[:, 2:].nnz == 0


def test_labels_that_are_no_concepts_bring_no_others(vocabulary):
    assert unseen_concepts(["a", "b", "id:red-dog"], vocabulary) == []
    assert len(unseen_concepts(["a", "id:red-cat", "id:red-dog"], vocabulary)) == len(NAMES) - 2
    (note,) = notes_about(["a", "b", "id:red-dog"], vocabulary, by_name=True)
    assert note == "2 of 3 labels are not in the vocabulary: a, b"


def test_names_meet_the_columns_as_stems():
    vectorizer = labelwood.TfidfVectorizer(stems="fi").fit(["koiran hoito", "kissan ruoka"])
    koira, kissa = (vectorizer.fitted_.in_column_names([name])[0] for name in ("Koirat", "Kissojen tuntematon"))
    assert koira in vectorizer.feature_names
    assert kissa.split()[1] == "tuntematon"  # a word without a column stays as it is
    plain = labelwood.TfidfVectorizer().fit(["koiran hoito"])
    assert plain.fitted_.in_column_names(["Koirat"]) == ["Koirat"]
