"""A tagger of inflected texts, as a librarian trains and asks it: in Python and by the command."""

import json
import random

import pytest

import labelwood
from labelwood.errors import ParamError

FINNISH = ["koira haukkuu ja juoksee", "kissa nukkuu ja on hiljaa", "auto seisoo ja tie on liukas"]
LABELS = [["dogs"], ["cats"], ["traffic"]]


def first(tagger, text):
    return tagger.predict([text], k=1)[0][0][0]


@pytest.mark.parametrize("lang", ["fi", "auto"])
def test_inflected_words_are_known(lang, tmp_path):
    tagger = labelwood.Tagger("one-vs-all", lang=lang).fit(FINNISH * 4, LABELS * 4)
    assert [first(tagger, word) for word in ("koiran", "kissalle", "autossa")] == ["dogs", "cats", "traffic"]
    assert "Finnish" in tagger.notes_[0]
    tagger.save(tmp_path / "tagger")
    loaded = labelwood.load(tmp_path / "tagger")
    assert loaded.predict(["koiran", "kissalle"]) == tagger.predict(["koiran", "kissalle"])
    assert loaded.explain("koiran kanssa", "dogs").words[0][0] == "koiran"


def test_german_words_are_known():
    tagger = labelwood.Tagger("one-vs-all", lang="de").fit(
        ["Der Hund bellt", "Die Katze schläft"], [["dogs"], ["cats"]]
    )
    assert first(tagger, "des Hundes") == "dogs"


def test_auto_keeps_what_held_out_rows_prefer():
    chance = random.Random(7)
    verbs = ["jump", "walk", "talk", "cook", "paint", "climb", "fish", "hunt", "plant", "pack"]
    endings = ["", "s", "ed", "ing"]

    def text(topic, ends):
        words = [verbs[topic] + chance.choice(ends) for _ in range(2)]
        return " ".join(["the", *words, f"w{chance.randrange(10**6)}"])

    rows = [chance.randrange(10) for _ in range(2500)]
    stems = labelwood.Tagger("one-vs-all", lang="auto", features={"min_df": 100}).fit(
        [text(topic, endings) for topic in rows], [[verbs[topic]] for topic in rows]
    )
    assert stems.fitted_.words.parameters.stems == "en"
    # Here the ending is the label: whoever cuts it off cannot answer.
    by_ending = [chance.randrange(4) for _ in range(2500)]
    plain = labelwood.Tagger("one-vs-all", lang="auto").fit(
        [text(chance.randrange(10), [endings[end]]) for end in by_ending], [[f"end {end}"] for end in by_ending]
    )
    assert plain.fitted_.words.parameters.stems is None
    assert plain.fitted_.words.parameters.analyzer == "word"
    assert plain.notes_[0].startswith("plain words of English: nDCG@5 on held-out rows")


def test_auto_finds_the_parts_of_compound_words():
    chance = random.Random(3)
    parts = ["metsä", "koira", "auto", "talo", "järvi", "kirja", "lintu", "kivi"]

    def text(topic):
        others = ["".join(chance.choice("aeioulmnrst") for _ in range(6)) for _ in range(2)]
        return f"{others[0]}{parts[topic]}{others[1]} ja on"

    rows = [chance.randrange(8) for _ in range(2500)]
    tagger = labelwood.Tagger("one-vs-all", lang="auto").fit([text(t) for t in rows], [[parts[t]] for t in rows])
    assert tagger.fitted_.words.parameters.analyzer == "char_wb"
    assert tagger.notes_[0].startswith("runs of letters of Finnish")
    # A model with views of its own has the letters there, and finds label names among words.
    several = labelwood.Tagger("ensemble", lang="auto", model_params={"models": "popular"})
    several.fit([text(t) for t in rows], [[parts[t]] for t in rows])
    assert several.fitted_.words.parameters.analyzer == "word"
    # A setting about words is kept.
    words = labelwood.Tagger("one-vs-all", lang="auto", features={"min_token_length": 1})
    words.fit([text(t) for t in rows], [[parts[t]] for t in rows])
    assert words.fitted_.words.parameters.analyzer == "word"


def test_a_language_and_stems_cannot_both_be_given():
    with pytest.raises(ParamError, match="give one"):
        labelwood.Tagger(lang="de", features={"stems": "fi"}).fit(FINNISH, LABELS)
    with pytest.raises(ParamError, match="counts plain words"):
        labelwood.Tagger("hsoftmax", lang="de").fit(FINNISH, LABELS)


def test_the_command(cli, tmp_path):
    data = tmp_path / "texts.jsonl"
    rows = [json.dumps({"text": text, "labels": names}) for text, names in zip(FINNISH * 4, LABELS * 4, strict=True)]
    data.write_text("\n".join(rows), encoding="utf-8")
    trained = cli("train", data, "--lang", "fi", "--out", tmp_path / "model")
    assert "note: stems of Finnish" in trained.err
    asked = tmp_path / "asked.jsonl"
    asked.write_text(json.dumps({"text": "koiran kanssa"}), encoding="utf-8")
    answer = json.loads(cli("predict", tmp_path / "model", asked, "-k", "1").out)
    assert answer["labels"][0]["label"] == "dogs"
    refused = cli("train", data, "--lang", "fx", "--out", tmp_path / "other")
    assert refused.code == 2
    assert "--lang: unknown language 'fx'" in refused.err
