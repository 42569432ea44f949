"""A tagger of inflected texts, as a librarian trains and asks it: in Python and by the command."""

import json
import random
import unicodedata

import pytest

import labelwood
from labelwood.errors import ParamError
from labelwood.models.registry import AUTO
from labelwood.tagger import language_choice

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


def pair_rows(n_rows, telling):
    """Texts of two words each; telling: the label is that of the pair in its order, else each word has one."""
    chance = random.Random(5)
    words = ["apple", "board", "cloud", "dream"]
    for _ in range(n_rows):
        one, two = chance.randrange(4), chance.randrange(4)
        yield f"the {words[one]} {words[two]}", [f"pair {one} {two}"] if telling else [f"topic {one}", f"topic {two}"]


@pytest.mark.parametrize("telling", [True, False])
def test_auto_tries_pairs_of_words(telling, tmp_path, monkeypatch):
    monkeypatch.setattr(language_choice, "FEWEST_FOR_PAIRS", 200)
    texts, labels = zip(*pair_rows(2600, telling), strict=True)
    tagger = labelwood.Tagger(lang="auto").fit(texts, labels)
    note, *_ = tagger.notes_
    assert tagger.model_.name == "one-vs-all"
    assert note.split(":")[0] == ("plain words of English and pairs of them" if telling else "plain words of English")
    assert "; with one-vs-all " in note
    assert note.endswith(" with pairs of words")
    assert tagger.fitted_.words.parameters.ngram_range == ((1, 2) if telling else (1, 1))
    if not telling:
        return
    tagger.save(tmp_path / "tagger")
    loaded = labelwood.load(tmp_path / "tagger")
    assert first(loaded, "the cloud apple") == "pair 2 0"
    assert first(loaded, "the apple cloud") == "pair 0 2"
    assert "cloud apple" in dict(loaded.explain("the cloud apple", "pair 2 0").words)


def test_pairs_are_tried_only_where_that_tells_something(monkeypatch):
    texts, labels = zip(*pair_rows(2600, telling=True), strict=True)

    def tried(model=AUTO, texts=texts, **settings):
        note, *_ = labelwood.Tagger(model, lang="auto", **settings).fit(texts, labels).notes_
        return "pairs" in note

    assert not tried()  # too few held-out rows
    monkeypatch.setattr(language_choice, "FEWEST_FOR_PAIRS", 200)
    assert tried()
    assert not tried("one-vs-all")  # who names the model chooses for himself
    assert not tried(features={"min_token_length": 1})
    assert not tried(texts=[f"{text} {'the dream ' * 30}" for text in texts])
    with monkeypatch.context() as less:
        less.setattr(language_choice, "PAIRS_WORK", 1)
        assert not tried()
    monkeypatch.setattr("labelwood.models.registry.ONE_VS_ALL_WORK", 1)
    assert not tried()  # the model is a tree


JAPANESE = ["緑茶は湯で淹れる飲み物です", "自転車は道を走る乗り物です", "将棋は盤の上で指す遊びです"]


@pytest.mark.parametrize("lang", [None, "auto", "ja"])
def test_texts_without_spaces_are_cut_into_runs_of_letters(lang, tmp_path):
    tagger = labelwood.Tagger("one-vs-all", lang=lang).fit(JAPANESE * 4, LABELS * 4)
    assert [first(tagger, text) for text in ("茶", "新しい自転車", "将棋盤")] == ["dogs", "cats", "traffic"]
    assert tagger.notes_[0].startswith("runs of letters")
    tagger.save(tmp_path / "tagger")
    loaded = labelwood.load(tmp_path / "tagger")
    assert loaded.predict(["将棋盤"]) == tagger.predict(["将棋盤"])
    assert loaded.explain("新しい自転車", "cats").words[0][0] in "自転車"


def test_what_is_said_about_words_counts_more_than_the_script():
    for features in ({"analyzer": "word"}, {"ngram_range": (1, 2)}, {"min_token_length": 1}, {"stems": "en"}):
        tagger = labelwood.Tagger("one-vs-all", features=features).fit(JAPANESE, LABELS)
        assert tagger.fitted_.words.parameters.analyzer == "word"
        assert tagger.notes_ == ()
    counted = labelwood.Tagger("hsoftmax", model_params={"dim": 4, "epochs": 1}).fit(JAPANESE, LABELS)
    assert counted.notes_ == ()


@pytest.mark.parametrize("lang", ["ja", "auto"])
@pytest.mark.parametrize(
    "features", [{"analyzer": "word"}, {"ngram_range": (1, 2)}, {"analyzer": "char", "ngram_range": (2, 4)}]
)
def test_words_that_are_asked_for_are_kept_for_any_script(lang, features):
    tagger = labelwood.Tagger("one-vs-all", lang=lang, features=features).fit(JAPANESE * 4, LABELS * 4)
    parameters = tagger.fitted_.words.parameters
    assert parameters.analyzer == features.get("analyzer", "word")
    assert parameters.ngram_range == features.get("ngram_range", (1, 1))
    assert "three" not in tagger.notes_[0]
    if lang == "ja":
        assert tagger.notes_[0] == "words or letters as they were asked for"


@pytest.mark.parametrize("lang", [None, "auto", "ja"])
@pytest.mark.parametrize("models", ["auto", "ranked"])
def test_an_ensemble_has_runs_of_letters_too(lang, models):
    several = labelwood.Tagger("ensemble", lang=lang, model_params={"models": models}, n_threads=1)
    several.fit([f"{text}{number}" for number in range(40) for text in JAPANESE], LABELS * 40)
    assert several.fitted_.words.parameters.ngram_range == (1, 3)
    assert several.notes_[0].startswith("runs of letters")
    assert [first(several, text) for text in ("茶", "新しい自転車", "将棋盤")] == ["dogs", "cats", "traffic"]
    assert (several.fitted_.model.ranked is None) == (models == "auto")


@pytest.mark.parametrize("model", ["one-vs-all", "ensemble"])
def test_vowel_signs_stay_in_their_words(model):
    hindi = ["शतरंज का खेल", "संगीत सुनने का यंत्र", "चित्र बनाने का साधन"]
    for lang in (None, "hi"):
        tagger = labelwood.Tagger(model, lang=lang).fit(hindi * 4, LABELS * 4)
        assert [first(tagger, word) for word in ("शतरंज", "संगीत", "चित्र")] == ["dogs", "cats", "traffic"]


def test_accents_may_be_characters_of_their_own(tmp_path):
    texts = ["café crème", "école privée", "forêt protégée"]
    apart = [unicodedata.normalize("NFD", text) for text in texts]
    assert apart != texts
    for taught, asked in ((texts, apart), (apart, texts)):
        tagger = labelwood.Tagger("one-vs-all").fit(taught, LABELS)
        assert [first(tagger, text) for text in asked] == [names[0] for names in LABELS]
        assert tagger.predict(asked) == tagger.predict(taught)
        assert [word for word, _ in tagger.explain(asked[0], "dogs").words] == ["café", "crème"]
        assert tagger.fitted_.known(asked, 1).all()
        tagger.learn(asked[:1], [["cats"]], refit=True)
        assert first(tagger, texts[0]) == "cats"


def test_the_command_with_texts_without_spaces(cli, tmp_path):
    data = tmp_path / "texts.jsonl"
    rows = [json.dumps({"text": t, "labels": names}) for t, names in zip(JAPANESE * 4, LABELS * 4, strict=True)]
    data.write_text("\n".join(rows), encoding="utf-8")
    chosen = cli("train", data, "--out", tmp_path / "model")
    assert "words: runs of letters, one to three: spaces do not tell words apart" in chosen.err
    named = cli("train", data, "--out", tmp_path / "named", "--lang", "ja")
    assert "note: runs of letters of Japanese" in named.err
    plain = cli("train", data, "--out", tmp_path / "plain", "--lang", "none")
    assert "runs of letters" not in plain.err
    assert labelwood.load(tmp_path / "plain").fitted_.words.parameters.analyzer == "word"


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


def test_learn_joins_letters_and_accents_and_knows_the_texts_it_was_trained_on():
    texts = [f"{what} {number}" for number in range(30) for what in ("Gemüse und Möhren", "Käse und Brötchen")]
    apart = [unicodedata.normalize("NFD", text) for text in texts]
    tagger = labelwood.Tagger(n_threads=1).fit(apart, [["vegetables"], ["bakery"]] * 30)
    learnt = tagger.learn([unicodedata.normalize("NFD", "Frühstücksflöckchen")], [["cereals"]])
    assert learnt.n_new == 1
    assert tagger.vectorizer_.transform(["Frühstücksflöckchen"]).nnz == 1
    again = tagger.learn(apart[:1], [["vegetables"]])
    assert (again.n_new, again.n_known) == (0, 1)
