"""What a shop does with an export whose descriptions are HTML: every command reads them as a reader does."""

import csv
import html
import json

import numpy as np
import pytest

import labelwood as lw
from labelwood.data.madeup.shop_texts import make_texts

HEADER = ("id", "Title", "Body (HTML)", "Tags")
COLUMNS = ("--text", "Title,Body (HTML)", "--labels", "Tags", "--separator", ",")
MARKUP = {"nbsp", "amp", "div", "class", "span", "li", "data", "mce", "fragment", "script", "track"}
NOTE = "note: the texts are HTML: learned from what a reader sees of them"
RANKED = {"models": "ranked"}  # with views of the texts, though the rows are few


def body(text):
    """A description as an editor of a shop writes it."""
    first, *others = text.split()
    items = "".join(f"<li>{word}</li>" for word in others[3:])
    front = f'<div class="desc"><p><span data-mce-fragment="1">{first}</span>&nbsp;{" ".join(others[:3])}</p>'
    return f"{front}<ul>{items}</ul><script>track('x < y')</script><!-- moved --></div>"


def escaped(text):
    """The description as some feeds give it: its markup escaped, and once more."""
    return html.escape(html.escape(body(text)))


def write(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([HEADER, *rows])


@pytest.fixture(scope="module")
def products():
    data = make_texts(400, n_labels=20)
    labels = [[data.label_names[label] for label in row.indices] for row in data.y]
    return list(data.texts), labels


@pytest.fixture(params=[body, escaped])
def tables(request, products, tmp_path):
    """(the export with HTML, the same as plain texts), the last 40 products left out."""
    made = []
    for name, written in (("html.csv", request.param), ("plain.csv", str)):
        rows = []
        for number, (text, tags) in enumerate(zip(*products, strict=True)):
            said = written(text)
            rows.append((f"h{number}", f"Product {number % 7}", said, ", ".join(tags)))
        write(tmp_path / name, rows[:360])
        write(tmp_path / f"new-{name}", rows[360:])
        made.append(tmp_path / name)
    return made


def words_of(folder):
    return set(lw.load(folder).vectorizer_.feature_names)


def test_a_shop(cli, tables, tmp_path):
    folders = [tmp_path / "h", tmp_path / "p"]
    for table, folder in zip(tables, folders, strict=True):
        done = cli("train", table, *COLUMNS, "--out", folder, "--threads", 1)
        assert done.code == 0, done.err
        assert (NOTE in done.err) == (folder.name == "h")
    assert words_of(folders[0]) == words_of(folders[1])
    # Plain and marked-up texts are answered alike, by either tagger, and come back as they came.
    answers = []
    for name in ("new-html.csv", "new-plain.csv"):
        out = tmp_path / f"answers-{name}"
        assert cli("predict", folders[0], tmp_path / name, "--out", out, "--threads", 1).code == 0
        with out.open(newline="", encoding="utf-8") as file, (tmp_path / name).open(newline="") as given:
            rows, before = list(csv.DictReader(file)), list(csv.DictReader(given))
        assert [row["Body (HTML)"] for row in rows] == [row["Body (HTML)"] for row in before]
        answers.append([(row["tags"], row["probabilities"]) for row in rows])
    assert answers[0] == answers[1]
    figures = [
        json.loads(cli("evaluate", folders[0], tmp_path / name, "--json").out)["metrics"]
        for name in ("new-html.csv", "new-plain.csv")
    ]
    assert figures[0] == figures[1]
    text = body("Wooden lamp with a cotton shade")
    why, plain = (cli("explain", folders[0], said, "--json").out for said in (text, "Wooden lamp with a cotton shade"))
    assert json.loads(why) == json.loads(plain)
    # Corrections, of a known product and with new words and a new tag.
    lesson = [
        ("h0", "Product 0", body("Velvet curtain made to measure"), "curtains"),
        ("n1", "", body("Velvet"), "curtains"),
    ]
    write(tmp_path / "lesson.csv", lesson)
    learnt = cli("learn", folders[0], tmp_path / "lesson.csv")
    assert learnt.code == 0, learnt.err
    assert "1 new row, 1 corrected, 1 new tag: 'curtains'" in learnt.out
    assert not MARKUP & (words_of(folders[0]) - words_of(folders[1]))
    assert {"velvet", "curtain"} <= words_of(folders[0])


def test_tags_are_words_if_that_is_asked_for(cli, tables, tmp_path):
    done = cli("train", tables[0], *COLUMNS, "--out", tmp_path / "m", "--set", "features.markup=false", "--threads", 1)
    assert done.code == 0, done.err
    assert NOTE not in done.err
    assert {"nbsp", "div", "class", "li"} <= words_of(tmp_path / "m")
    bad = cli("train", tables[0], *COLUMNS, "--out", tmp_path / "n", "--set", "features.markup=perhaps")
    assert (bad.code, bad.err.count("\n")) == (2, 1)
    assert "markup must be True or False" in bad.err


def test_the_ensemble_sees_the_same_texts(products, tmp_path):
    texts, labels = products
    marked = lw.Tagger("ensemble", n_threads=1, assign="f1", model_params=RANKED).fit(
        [body(text) for text in texts], labels
    )
    plain = lw.Tagger("ensemble", n_threads=1, assign="f1", model_params=RANKED).fit(
        [" ".join(text.split()) for text in texts], labels
    )
    assert marked.fitted_.model.ranked is not None
    assert marked.vectorizer_.feature_names == plain.vectorizer_.feature_names
    asked = texts[:60]
    mine, theirs = marked.predict_top([body(text) for text in asked], 5), plain.predict_top(asked, 5)
    np.testing.assert_array_equal(mine.labels, theirs.labels)
    np.testing.assert_array_equal(mine.scores, theirs.scores)
    assert marked.predict([body(text) for text in asked], assign=True) == plain.predict(asked, assign=True)
    marked.save(tmp_path / "m")
    assert lw.load(tmp_path / "m").predict([body(asked[0])]) == plain.predict(asked[:1])
