"""`train` without a model or a language: what it chooses, and the two lines that say why."""

import json
import random

import pytest

from labelwood.cli.choices import main_language

TOPICS = ["metsä", "koira", "auto", "talo", "järvi", "kirja", "lintu", "kivi"]


def finnish_rows(n_rows):
    """Texts whose topic is a part of a long word, another one each time: plain words cannot see through that."""
    chance = random.Random(3)
    for _ in range(n_rows):
        topic = chance.choice(TOPICS)
        before, after = ("".join(chance.choice("aeioulmnrst") for _ in range(6)) for _ in range(2))
        yield f"{before}{topic}{after} ja on tämä", [topic]


def written(path, rows):
    lines = [json.dumps({"text": text, "labels": labels}) for text, labels in rows]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def reasons(done):
    return [line for line in done.err.splitlines() if line.startswith(("model: ", "words: "))]


def test_small_english_data(cli, tmp_path):
    rows = [("the apple pie with cinnamon", ["apple"]), ("this is the orange juice", ["drink"])] * 3
    done = cli("train", written(tmp_path / "a.jsonl", rows), "--out", tmp_path / "m")
    model, words = reasons(done)
    size = "2 labels and 6 texts of about 26 characters"
    assert model == f"model: one-vs-all, the most accurate linear model; it takes seconds on {size}"
    assert words.startswith("words: as they are, since the texts are English;")
    saved = json.loads(cli("inspect", tmp_path / "m", "--json").out)
    assert model in json.dumps(saved)


def test_what_is_given_is_not_explained(cli, jsonl, tmp_path):
    assert reasons(cli("train", jsonl, "--out", tmp_path / "m", "--model", "popular")) == []
    assert reasons(cli("train", jsonl, "--out", tmp_path / "n", "--quiet")) == []


def test_features_have_no_words(cli, xmc, tmp_path):
    (line,) = reasons(cli("train", xmc, "--out", tmp_path / "m"))
    assert "it takes seconds on 3 labels and 4 rows of about 2 features" in line


def test_texts_in_another_language_choose_their_words(cli, tmp_path):
    data = written(tmp_path / "fi.jsonl", finnish_rows(2500))
    words = reasons(cli("train", data, "--out", tmp_path / "m", "--assign", "none"))[1]
    assert "Finnish" in words
    assert words.startswith("words: runs of letters")
    assert len(reasons(cli("train", data, "--out", tmp_path / "n", "--lang", "none", "--assign", "none"))) == 1
    settings = [json.loads((tmp_path / name / "manifest.json").read_text(encoding="utf-8")) for name in ("m", "n")]
    assert settings[0] != settings[1]


def test_english_words_are_tried_on_many_texts(cli, tmp_path):
    chance = random.Random(7)
    verbs = ["jump", "walk", "talk", "cook", "paint", "climb", "fish", "hunt"]
    endings = ["", "s", "ed", "ing", "er", "ers", "able"]

    def rows(n_rows):
        for _ in range(n_rows):
            verb = chance.choice(verbs)
            noise = " ".join(f"w{chance.randrange(10**6)}" for _ in range(3))
            yield f"this is {verb}{chance.choice(endings)} and {noise}", [verb if chance.random() < 0.8 else "other"]

    data = written(tmp_path / "en.jsonl", rows(2500))
    words = reasons(cli("train", data, "--out", tmp_path / "m", "--assign", "none"))[1]
    assert "of English: nDCG@5 on held-out rows: plain words " in words
    assert words.endswith("(--lang none takes plain words)")
    few = written(tmp_path / "few.jsonl", rows(2499))
    words = reasons(cli("train", few, "--out", tmp_path / "n", "--assign", "none"))[1]
    assert words.startswith("words: as they are, since the texts are English")


def test_without_a_known_language_runs_of_letters_are_tried(cli, tmp_path):
    rows = ((text.replace("ja on tämä", "xqzq"), labels) for text, labels in finnish_rows(2500))
    data = written(tmp_path / "x.jsonl", rows)
    words = reasons(cli("train", data, "--out", tmp_path / "m", "--assign", "none"))[1]
    assert words.startswith(
        "words: runs of letters (no language that is known here shows): nDCG@5 on held-out rows: plain"
    )


def test_few_texts_in_another_language_get_a_hint(cli, tmp_path):
    data = written(tmp_path / "fi.jsonl", finnish_rows(100))
    words = reasons(cli("train", data, "--out", tmp_path / "m", "--assign", "none"))[1]
    assert words == "words: as they are; the texts look Finnish; --lang fi counts inflected forms as one word"


@pytest.mark.parametrize(
    ("texts", "language"),
    [(["der Hund und die Katze"] * 3, "de"), (["xqz 17"], None), ([], None), (["the dog is here"] * 5, "en")],
)
def test_main_language(texts, language):
    assert main_language(texts) == language


def test_a_tree_where_one_vs_all_would_take_long(cli, xmc, tmp_path, monkeypatch):
    monkeypatch.setattr("labelwood.models.registry.ONE_VS_ALL_WORK", 1)
    line = reasons(cli("train", xmc, "--out", tmp_path / "m"))[0]
    assert line.startswith("model: linear-tree; one-vs-all would take about 21 minutes on 3 labels and 4 rows of about")


def test_evaluate_at_several_places(cli, tagger, jsonl):
    metrics = json.loads(cli("evaluate", tagger, jsonl, "-k", "3,1", "-k", 2, "--json").out)["metrics"]
    assert [name for name in metrics if name.startswith("P@") and "[" not in name] == ["P@1", "P@2", "P@3"]


@pytest.mark.parametrize("places", ["0", "1,x", "", "1,,2", "-1"])
def test_places_that_are_none(cli, tagger, jsonl, places):
    done = cli("evaluate", tagger, jsonl, "-k", places)
    assert done.code == 2
    assert "-k takes whole numbers from 1 with commas between" in done.err
