"""Names of labels as rows: who helps, who is left alone, and what is remembered of them."""

import numpy as np
import pytest
from typer.testing import CliRunner

import labelwood
from labelwood.cli.main import app
from labelwood.errors import ParamError
from labelwood.models.registry import model_names
from labelwood.tagger.name_rows import name_rows, names_help
from labelwood.tagger.tagger import Tagger
from labelwood.tagger.trial_rows import trial_rows
from labelwood.vocabulary.read import read_vocabulary

FIRST = ("red", "green", "blue", "white", "black", "small", "large", "round", "flat", "old", "new", "warm")
SECOND = ("apple", "chair", "house", "lamp", "river", "stone", "table", "train", "window", "garden", "button", "candle")
PARTS = ("one", "two", "three", "four")
SUBJECTS = [f"{first}{second} {part}" for first in FIRST for second in SECOND for part in PARTS]


def catalogue(n_rows=1200, said=True, seed=0):
    """(texts, labels): titles whose subject is rare; said: its name stands in the title, else of another subject."""
    draw = np.random.default_rng(seed)
    texts, labels = [], []
    for row in range(n_rows):
        subject = int(draw.integers(len(SUBJECTS)))
        shown = subject if said else (subject + 1) % len(SUBJECTS)
        texts.append(f"about the {SUBJECTS[shown]} and word{draw.integers(50)} number{row % 7}")
        labels.append([SUBJECTS[subject]])
    return texts, labels


def test_names_are_learnt_where_they_help_and_left_out_where_not():
    helped = Tagger("linear-tree", n_threads=1).fit(*catalogue())
    assert helped.fitted_.name_counts is not None
    assert helped.notes_[0].startswith("label names are learnt as rows: nDCG@5 on held-out rows")
    alone = Tagger("linear-tree", n_threads=1).fit(*catalogue(said=False))
    assert alone.fitted_.name_counts is None
    assert alone.notes_ == ()


def test_few_rows_are_no_trial():
    texts, labels = catalogue(700)
    assert len(trial_rows(700, 0, 0.25)[1]) < 200
    assert Tagger("linear-tree", n_threads=1).fit(texts, labels).fitted_.name_counts is None


def test_names_answer_better_and_count_as_no_row():
    texts, labels = catalogue(400)
    asked, truth = catalogue(300, seed=1)
    taggers = [Tagger("one-vs-all", n_threads=1, name_rows=names).fit(texts, labels) for names in (True, False)]
    with_names, without = (tagger.evaluate(asked, truth)["P@1"] for tagger in taggers)
    assert with_names > without + 5
    named, plain = taggers
    assert np.array_equal(named.fitted_.label_counts, plain.fitted_.label_counts)
    assert named.fitted_.n_texts == plain.fitted_.n_texts == 400
    assert named.fitted_.model.trained_on.n_rows == 400 + len(named.label_names)
    assert [row.n_rows for row in named.label_table()] == [row.n_rows for row in plain.label_table()]


@pytest.mark.parametrize("name", sorted(set(model_names()) - {"ensemble"}))
def test_every_model_takes_names_if_asked(name, tmp_path):
    texts, labels = catalogue(60)
    tagger = Tagger(name, n_threads=1, name_rows=True).fit(texts, labels)
    tagger.save(tmp_path / "m")
    again = labelwood.load(tmp_path / "m")
    assert again.predict(texts[:5]) == tagger.predict(texts[:5])
    assert again.name_rows
    assert np.array_equal(again.fitted_.label_counts, tagger.fitted_.label_counts)


@pytest.mark.parametrize("name", ["linear-tree", "one-vs-all"])
def test_names_judge_nothing(name):
    texts, labels = catalogue(60)
    tagger = Tagger(name, n_threads=1, name_rows=True, assign="f1").fit(texts, labels)
    assert tagger.fitted_.model.trained_on.n_rows > 90
    assert tagger.calibration_.held_out["rows"] == 60


def test_inspect_tells_names_from_rows(tmp_path):
    Tagger("linear-tree", n_threads=1, name_rows=True).fit(*catalogue(60)).save(tmp_path / "m")
    told = CliRunner().invoke(app, ["inspect", str(tmp_path / "m")])
    assert told.exit_code == 0
    assert "60 rows and " in told.stdout
    assert "names of labels" in told.stdout


def test_a_model_that_reads_names_itself_refuses():
    with pytest.raises(ParamError, match="ensemble reads texts and label names itself"):
        Tagger("ensemble", name_rows=True).fit(*catalogue(60))


def test_a_wrong_value_is_told():
    with pytest.raises(ParamError, match="name_rows must be True, False or None, but is 'yes'"):
        Tagger(name_rows="yes").fit(*catalogue(60))


@pytest.mark.parametrize("name", ["linear-tree", "one-vs-all"])
def test_concepts_without_a_row_are_found_by_their_names(name, tmp_path):
    concepts = "".join(f"id{number}\t{subject}\n" for number, subject in enumerate([*SUBJECTS, "violin maker"]))
    (tmp_path / "subjects.tsv").write_text("id\ten\n" + concepts)
    vocabulary = read_vocabulary(tmp_path / "subjects.tsv")
    ids = {subject: f"id{number}" for number, subject in enumerate(SUBJECTS)}
    texts, labels = catalogue(400)
    rows = [[ids[label] for label in row] for row in labels]
    tagger = Tagger(name, n_threads=1, vocabulary=vocabulary, lang="en", name_rows=True).fit(texts, rows)
    (unseen,) = set(tagger.label_names) - {label for row in rows for label in row} - set(ids.values())
    assert tagger.name(unseen) == "violin maker"
    assert tagger.predict(["the violin makers of Cremona"], 1)[0][0][0] == unseen
    assert "they can be found by their names" in " ".join(tagger.notes_)


def test_many_concepts_without_a_text_are_left_to_a_tree(tmp_path):
    (tmp_path / "subjects.tsv").write_text("id\ten\n" + "".join(f"id {name}\t{name}\n" for name in SUBJECTS))
    texts, labels = catalogue(100)
    labels = [[f"id {name}" for name in row] for row in labels]
    chosen = Tagger(n_threads=1, vocabulary=tmp_path / "subjects.tsv", lang="en", name_rows=True).fit(texts, labels)
    assert chosen.model_.name == "linear-tree"
    assert Tagger(n_threads=1, name_rows=True).fit(texts, labels).model_.name == "one-vs-all"


@pytest.mark.parametrize("name", ["linear-tree", "one-vs-all", "dxml"])
def test_corrections_keep_what_names_taught(name, tmp_path):
    texts, labels = catalogue(200)
    tagger = Tagger(name, n_threads=1, name_rows=True).fit(texts, labels)
    before = tagger.fitted_.name_counts.sum()
    tagger.learn(["a bright comet in the sky"], [["comet"]], refit=name == "one-vs-all")
    assert tagger.predict(["bright comet"], 1)[0][0][0] == "comet"
    tagger.save(tmp_path / "m")
    again = labelwood.load(tmp_path / "m")
    assert again.fitted_.name_counts.sum() == before
    assert again.fitted_.n_texts == 201
    rows = {row.name: row.n_rows for row in again.label_table()}
    assert rows["comet"] == 1
    assert sum(rows.values()) == 201


def test_names_of_labels_are_texts():
    names = name_rows(["p:apache_http_server", "bee (insect)", "42", "a::b", "two words"], None)
    assert names.texts == ("apache http server", "bee", "b", "two words")
    assert names.labels.tolist() == [0, 1, 3, 4]
    assert names.y(5).toarray().argmax(axis=1).tolist() == [0, 1, 3, 4]
    assert names.counts(5).tolist() == [1, 1, 0, 1, 1]


def test_labels_without_words_are_no_names():
    texts, labels = catalogue(1200)
    numbers = [[str(SUBJECTS.index(row[0]))] for row in labels]
    tagger = Tagger("linear-tree", n_threads=1).fit(texts, numbers)
    assert tagger.fitted_.name_counts is None


def test_the_trial_says_nothing_where_names_are_left_out():
    texts, labels = catalogue(1200, said=False)
    tagger = Tagger("linear-tree", name_rows=False, n_threads=1).fit(texts, labels)
    y, _ = tagger.label_matrix(labels)
    assert names_help(texts, y, name_rows(tagger.label_names, None), {"n_threads": 1}, 0) == (False, "")
