"""What a librarian does: a SKOS thesaurus, Annif's TSV, inflected texts; names, choices, hierarchy."""

import csv
import json
import pickle

import pytest

import labelwood
from labelwood.errors import DataError, ParamError

THESAURUS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@base <http://x/> .
<animals> a skos:Concept ; skos:prefLabel "animals"@en, "eläimet"@fi, "djur"@sv .
<dogs> a skos:Concept ; skos:prefLabel "dogs"@en, "koirat"@fi, "hundar"@sv ; skos:broader <animals> .
<cats> a skos:Concept ; skos:prefLabel "cats"@en, "kissat"@fi, "katter"@sv ; skos:broader <animals> .
<traffic> a skos:Concept ; skos:prefLabel "traffic"@en, "liikenne"@fi, "trafik"@sv ; skos:inScheme <cities> .
<motoring> a skos:Concept ; skos:prefLabel "motoring"@en ; owl:deprecated true ; skos:inScheme <cities> .
"""
ROWS = [
    ("koira haukkuu ja juoksee", "dogs"),
    ("kissa nukkuu ja on hiljaa", "cats"),
    ("auto seisoo ja tie on liukas", "traffic motoring"),
    ("eläin elää ja on villi", "animals local"),
]


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "thesaurus.ttl"
    path.write_text(THESAURUS, encoding="utf-8")
    return path


@pytest.fixture
def corpus(tmp_path):
    """Annif's short-text corpus: text, tab, subjects in angle brackets."""
    path = tmp_path / "corpus.tsv"
    lines = [f"{text}\t" + " ".join(f"<http://x/{name}>" for name in names.split()) for text, names in ROWS * 3]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def folder(cli, vocabulary, corpus, tmp_path):
    out = tmp_path / "subjects"
    done = cli("train", corpus, "--vocab", vocabulary, "--lang", "fi", "--model", "one-vs-all", "--out", out)
    assert done.code == 0, done.err
    assert "note: 1 of 6 labels are not in the vocabulary: http://x/local" in done.err
    assert "note: 1 of 6 labels are deprecated, and will not be suggested: http://x/motoring" in done.err
    return out


def test_the_tables_of_mistakes_name_the_concepts(cli, vocabulary, corpus, tmp_path):
    many = tmp_path / "many.tsv"
    many.write_text(corpus.read_text(encoding="utf-8") * 6, encoding="utf-8")
    out = tmp_path / "sure"
    assert cli("train", many, "--vocab", vocabulary, "--lang", "fi", "--model", "one-vs-all", "--out", out).code == 0
    wrong = tmp_path / "wrong.tsv"
    wrong.write_text("koira haukkuu ja juoksee\t<http://x/cats>\n", encoding="utf-8")
    shown = cli("evaluate", out, wrong).out
    assert "kissat (http://x/cats)" in shown
    assert "koirat (http://x/dogs)" in shown
    told = json.loads(cli("evaluate", out, wrong, "--json").out)
    assert told["never_right"][0]["label"] == "http://x/cats"  # machines get ids


@pytest.fixture
def asked(tmp_path):
    path = tmp_path / "asked.jsonl"
    path.write_text("\n".join(json.dumps({"text": t}) for t in ("koiran kanssa", "autolla teitä")), encoding="utf-8")
    return path


def first_names(result):
    return [json.loads(line)["labels"][0] for line in result.out.splitlines()]


def test_answers_carry_id_and_name_in_any_language(cli, folder, asked):
    dog, car = first_names(cli("predict", folder, asked))
    assert (dog["label"], dog["name"]) == ("http://x/dogs", "koirat")  # the language of the texts
    assert (car["label"], car["name"]) == ("http://x/traffic", "liikenne")
    assert [answer["name"] for answer in first_names(cli("predict", folder, asked, "--lang", "sv"))] == [
        "hundar",
        "trafik",
    ]
    refused = cli("predict", folder, asked, "--lang", "de")
    assert refused.code == 2
    assert "no names in 'de'; it has en, fi, sv" in refused.err


def test_tables_have_a_column_of_names(cli, folder, asked, tmp_path):
    out = tmp_path / "out.csv"
    assert cli("predict", folder, asked, "--out", out, "-k", 1, "--lang", "en").code == 0
    rows = list(csv.DictReader(out.read_text(encoding="utf-8").splitlines()))
    named = [("http://x/dogs", "dogs"), ("http://x/traffic", "traffic")]
    assert [(row["tags"], row["names"]) for row in rows] == named
    assert cli("predict", folder, asked, "--out", out, "-k", 1, "--lang", "en", "--shape", "long", "--force").code == 0
    rows = list(csv.DictReader(out.read_text(encoding="utf-8").splitlines()))
    assert [(row["label"], row["name"]) for row in rows] == named


def test_deprecated_concepts_are_never_suggested(cli, folder, asked):
    result = cli("predict", folder, asked, "-k", 6)
    labels = {answer["label"] for line in result.out.splitlines() for answer in json.loads(line)["labels"]}
    assert labels == {f"http://x/{name}" for name in ("animals", "dogs", "cats", "traffic", "local")}


def test_choices_by_concept_subtree_and_scheme(cli, folder, asked):
    def labels(*options):
        result = cli("predict", folder, asked, "-k", 6, *options)
        assert result.code == 0, result.err
        return {answer["label"] for answer in json.loads(result.out.splitlines()[0])["labels"]}

    assert labels("--include", "below:http://x/animals") == {f"http://x/{n}" for n in ("animals", "dogs", "cats")}
    assert labels("--include", "scheme:http://x/cities") == {"http://x/traffic"}
    assert "http://x/dogs" not in labels("--exclude", "http://x/dogs")
    refused = cli("predict", folder, asked, "--exclude", "http://x/dog")
    assert refused.code == 2
    assert "near: http://x/dogs" in refused.err


def test_evaluation_knows_the_hierarchy(cli, folder, corpus):
    shown = json.loads(cli("evaluate", folder, corpus, "-k", 1, "--json").out)["metrics"]
    # Every first answer is a true label; traffic and local are half of what two rows of four ask for.
    assert shown["hP@1"] == 100
    assert shown["hR@1"] == pytest.approx(100 * 6 / 8)
    assert "hF1" in cli("evaluate", folder, corpus).out


def test_rules_of_parents_and_children(cli, folder, asked, corpus, tmp_path):
    above = json.loads(
        cli("predict", folder, asked, "-k", 1, "--rule", "ancestors", "--lang", "sv").out.splitlines()[0]
    )
    assert [answer["name"] for answer in above["labels"]] == ["djur", "hundar"]
    pair = tmp_path / "pair.jsonl"
    pair.write_text(json.dumps({"text": "koira eläin"}), encoding="utf-8")
    plain, specific = (
        {answer["label"] for answer in json.loads(cli("predict", folder, pair, "-k", 4, *rule).out)["labels"]}
        for rule in ((), ("--rule", "specific"))
    )
    assert plain - specific == {"http://x/animals"}
    table = tmp_path / "tagged.csv"
    done = cli("predict", folder, asked, "-k", 1, "--rule", "ancestors", "--reasons", "--out", table)
    assert done.code == 0, done.err
    with table.open(encoding="utf-8") as stream:
        row = next(csv.DictReader(stream))
    assert row["tags"].startswith("http://x/animals")
    assert "http://x/dogs" in row["tags"]
    assert "koira" in row["reasons"]
    figures = [
        json.loads(cli("evaluate", folder, corpus, "-k", 1, "--json", *rule).out)["metrics"]
        for rule in ((), ("--rule", "ancestors"))
    ]
    # Dogs and cats each bring animals, which sorts before them and no such row has as a tag of its own.
    assert figures[0]["P@1"] == 100
    assert figures[1]["P@1"] == 50


def test_a_rule_that_cannot_be_applied_is_refused(cli, folder, asked, tagger, jsonl):
    wrong = cli("predict", folder, asked, "--rule", "parents")
    assert wrong.code == 2
    assert "unknown rule 'parents'; known: ancestors, specific" in wrong.err
    for command in ("predict", "evaluate"):
        refused = cli(command, tagger, jsonl, "--rule", "specific")
        assert refused.code == 2
        assert "was trained without --vocab" in refused.err


def test_evaluation_shows_the_branches(cli, folder, corpus, tmp_path):
    branches = {
        part["branch"]: part for part in json.loads(cli("evaluate", folder, corpus, "-k", 1, "--json").out)["branches"]
    }
    # Nine rows of animals, dogs and cats; of three with traffic and motoring, traffic alone is answered.
    assert branches["eläimet"] == {
        "branch": "eläimet", "true": 9, "given": 9, "right": 9, "precision": 100, "recall": 100, "f1": 100
    }  # fmt: skip
    assert branches["liikenne"]["right"] == 3
    assert branches["motoring"] == {
        "branch": "motoring", "true": 3, "given": 0, "right": 0, "precision": 0, "recall": 0, "f1": 0
    }  # fmt: skip
    shown = cli("evaluate", folder, corpus, "-k", 1, "--html", tmp_path / "page.html").out
    assert "By branch of the vocabulary, the 1 best answers" in shown
    assert "By branch of the vocabulary" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_an_explanation_names_the_label(cli, folder):
    shown = cli("explain", folder, "koiran kanssa", "--lang", "sv").out
    assert "hundar (http://x/dogs)" in shown
    assert "koiran" in shown
    assert json.loads(cli("explain", folder, "koiran kanssa", "--json").out)["name"] == "koirat"


def test_a_concept_is_explained_by_its_name(cli, folder):
    by_id = cli("explain", folder, "koiran kanssa", "--label", "http://x/dogs")
    assert by_id.code == 0, by_id.err
    assert cli("explain", folder, "koiran kanssa", "--label", "koirat").out == by_id.out
    assert cli("explain", folder, "koiran kanssa", "--label", "dogs", "--lang", "en").code == 0
    assert cli("explain", folder, "koiran kanssa", "--label", "dogs").out == by_id.out  # a name in any language
    assert cli("explain", folder, "koiran kanssa", "--label", "wolves").code == 2


def test_names_stand_for_concepts(cli, vocabulary, tmp_path):
    rows = [f"{text}\t<{' '.join('http://x/' + n for n in names.split()).replace(' ', '> <')}>" for text, names in ROWS]
    (tmp_path / "ids.tsv").write_text("\n".join(rows * 3) + "\n")
    thesaurus = labelwood.read_vocabulary(vocabulary)
    named = [";".join(thesaurus.name(f"http://x/{n}", "fi") for n in names.split()) for _, names in ROWS]
    lines = [f"{text},{names}" for (text, _), names in zip(ROWS, named, strict=True)]
    (tmp_path / "names.csv").write_text("text,subjects\n" + "\n".join(lines * 3) + "\n")
    done = cli("train", tmp_path / "names.csv", "--vocab", vocabulary, "--lang", "fi", "--out", tmp_path / "n")
    assert "labels are names in the vocabulary, and are read as its concepts, such as" in done.err
    assert cli("train", tmp_path / "ids.tsv", "--vocab", vocabulary, "--lang", "fi", "--out", tmp_path / "i").code == 0
    tagger = labelwood.load(tmp_path / "n")
    assert set(tagger.label_names) == set(labelwood.load(tmp_path / "i").label_names)
    for file in ("names.csv", "ids.tsv"):
        assert "unknown" not in cli("evaluate", tmp_path / "n", tmp_path / file).err
    assert tagger.learn(["koirien ruoka"], [["Koirat"]]).new_labels == ()
    assert cli("labels", tmp_path / "n", "retire", "kissat").out == "retired: 'http://x/cats'\n"
    assert cli("predict", tmp_path / "n", tmp_path / "ids.tsv", "-k", 1, "--include", "below:eläimet").code == 0


def test_a_renamed_concept_is_chosen_as_before(vocabulary):
    texts, labels = [text for text, _ in ROWS * 3], [[f"http://x/{n}" for n in names.split()] for _, names in ROWS * 3]
    tagger = labelwood.Tagger("one-vs-all", vocabulary=vocabulary, n_threads=1).fit(texts, labels)
    tagger.change_labels("rename", "koirat", "hounds")

    def answered(**choices):
        return {label for row in tagger.predict(texts, len(tagger.label_names), **choices) for label, _ in row}

    everything = answered()
    for choice in ("http://x/dogs", "Koirat", "hounds"):
        assert answered(include=[choice]) == {"hounds"}
        assert answered(exclude=[choice]) == everything - {"hounds"}
    assert answered(include=["below:eläimet"]) == {"hounds", "http://x/animals", "http://x/cats"}
    tagger.change_labels("add", "no concept", text="something else")
    assert answered(include=["no concept"]) == {"no concept"}


def test_a_tree_of_the_thesaurus(cli, vocabulary, corpus, asked, tmp_path):
    out = tmp_path / "tree"
    done = cli("train", corpus, "--tree", vocabulary, "--lang", "fi", "--out", out)
    assert done.code == 0, done.err
    assert first_names(cli("predict", out, asked))[0]["label"] == "http://x/dogs"
    tree = labelwood.load(out).fitted_.model.trees[0]
    labels = labelwood.load(out).label_names
    leaves = [
        {labels[label] for label in tree.label_order[first : first + n].tolist()}
        for first, n in zip(tree.first_label.tolist(), tree.n_labels_in.tolist(), strict=True)
        if n
    ]
    assert {"http://x/animals", "http://x/dogs", "http://x/cats"} in leaves


def test_in_python(vocabulary, tmp_path):
    texts, labels = [text for text, _ in ROWS * 3], [[f"http://x/{n}" for n in names.split()] for _, names in ROWS * 3]
    tagger = labelwood.Tagger("one-vs-all", lang="fi", vocabulary=vocabulary).fit(texts, labels)
    ((label, _),) = tagger.predict(["koiran"], k=1)[0]
    assert tagger.name(label) == "koirat"
    assert tagger.name(label, "en") == "dogs"
    with_parents = [name for name, _ in tagger.predict(["koiran"], k=1, rule="ancestors")[0]]
    assert with_parents == ["http://x/animals", "http://x/dogs"]
    specific = [name for name, _ in tagger.predict(["koiran eläin"], k=3, rule="specific")[0]]
    assert sorted(specific) == ["http://x/dogs", "http://x/local"]
    assert tagger.evaluate(texts, labels, ks=(1,))["hP@1"] == 100
    tagger.save(tmp_path / "saved")
    for other in (labelwood.load(tmp_path / "saved"), pickle.loads(pickle.dumps(tagger))):
        assert other.predict(texts) == tagger.predict(texts)
        assert other.name(label, "sv") == "hundar"


def test_what_needs_a_vocabulary_says_so(cli, tagger, jsonl):
    assert "was trained without --vocab" in cli("predict", tagger, jsonl, "--lang", "fi").err
    assert "unknown label 'nowhere'" in cli("predict", tagger, jsonl, "--include", "nowhere").err
    plain = labelwood.load(tagger)
    with pytest.raises(ParamError, match="needs a tagger that was trained with a vocabulary"):
        plain.predict(["x"], rule="specific")
    with pytest.raises(ParamError, match="trained with a vocabulary"):
        plain.name("apple", "fi")
    assert plain.name("apple") == "apple"


def test_a_wrong_vocabulary_is_told_before_training(cli, corpus, tmp_path):
    refused = cli("train", corpus, "--vocab", tmp_path / "none.ttl", "--out", tmp_path / "m")
    assert refused.code == 2
    assert "none.ttl: no such file" in refused.err
    with pytest.raises(DataError, match="no such file"):
        labelwood.Tagger(vocabulary=tmp_path / "none.ttl").fit(["a b"], [["x"]])
