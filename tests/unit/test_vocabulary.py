"""Vocabularies: SKOS and tables read, names, hierarchy, choices, saving, damage."""

import copy
import gzip
import pickle

import numpy as np
import pytest

import labelwood
from labelwood.errors import DataError, ModelFileError, ParamError
from labelwood.vocabulary import skos
from labelwood.vocabulary.rules import add_ancestors, checked_rule, most_specific
from labelwood.vocabulary.vocabulary import Vocabulary

TURTLE = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@base <http://x/> .
<animals> a skos:Concept ; skos:prefLabel "animals"@en, "eläimet"@fi ; skos:narrower <dogs> ; skos:inScheme <s> .
<dogs> a skos:Concept ; skos:prefLabel "dogs"@en, "koirat"@fi ; skos:altLabel "hounds"@en, "dogs"@en ;
    skos:inScheme <s> .
<poodles> a skos:Concept ; skos:prefLabel "poodles"@en ; skos:broader <dogs>, <poodles>, <nowhere> .
<curs> rdfs:label "curs"@en ; owl:deprecated true ; skos:inScheme <s> .
<s> a skos:ConceptScheme ; skos:prefLabel "a scheme"@en .
"""
XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="http://www.w3.org/2004/02/skos/core#">
<skos:Concept rdf:about="http://x/dogs"><skos:prefLabel xml:lang="en">dogs</skos:prefLabel>
<skos:broader rdf:resource="http://x/animals"/></skos:Concept>
<skos:Concept rdf:about="http://x/animals"><skos:prefLabel xml:lang="en">animals</skos:prefLabel></skos:Concept>
</rdf:RDF>"""
JSON = """[{"@id": "http://x/dogs", "@type": ["http://www.w3.org/2004/02/skos/core#Concept"],
"http://www.w3.org/2004/02/skos/core#prefLabel": [{"@value": "dogs", "@language": "en"}],
"http://www.w3.org/2004/02/skos/core#broader": [{"@id": "http://x/animals"}]},
{"@id": "http://x/animals", "@type": ["http://www.w3.org/2004/02/skos/core#Concept"],
"http://www.w3.org/2004/02/skos/core#prefLabel": [{"@value": "animals", "@language": "en"}]}]"""


def read(tmp_path, text, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return labelwood.read_vocabulary(path)


@pytest.fixture
def thesaurus(tmp_path):
    return read(tmp_path, TURTLE, "t.ttl")


def test_a_name_that_several_concepts_have_equally_is_nobodys(tmp_path):
    bank = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @base <http://x/> .
<money> a skos:Concept ; skos:prefLabel "bank"@en . <river> a skos:Concept ; skos:prefLabel "Bank"@en .
<bench> a skos:Concept ; skos:prefLabel "bench"@en ; skos:altLabel "bank"@en, "seat"@en ."""
    vocabulary = read(tmp_path, bank, "bank.ttl")
    assert vocabulary.concept_named("bank") is None
    assert vocabulary.concept_named("SEAT") == "http://x/bench"
    assert vocabulary.concept_named("Bench") == "http://x/bench"


def test_turtle(thesaurus):
    assert thesaurus.ids == ("http://x/animals", "http://x/dogs", "http://x/poodles", "http://x/curs")
    assert thesaurus.languages == ("en", "fi")
    assert thesaurus.name("http://x/dogs") == "dogs"
    assert thesaurus.name("http://x/dogs", "fi") == "koirat"
    assert thesaurus.name("http://x/poodles", "fi") == "poodles"  # no Finnish name: the other language
    assert thesaurus.name("http://x/other") == "http://x/other"
    assert thesaurus.other_names("http://x/dogs") == ["hounds"]
    assert thesaurus.deprecated.tolist() == [False, False, False, True]
    assert thesaurus.schemes == ("http://x/s",)
    assert thesaurus.speaking("fi").name("http://x/dogs") == "koirat"
    assert thesaurus.speaking("de").language == "en"


def test_what_labels_are_called(thesaurus):
    asked = ["http://x/dogs", "http://x/poodles", "http://x/other"]
    assert thesaurus.called(asked) == ["dogs\nhounds", "poodles", "http://x/other"]
    assert thesaurus.speaking("fi").called(asked) == ["koirat", "poodles", "http://x/other"]


def test_hierarchy(thesaurus):
    assert thesaurus.parents("http://x/dogs") == ["http://x/animals"]  # told by narrower
    assert thesaurus.children("http://x/dogs") == ["http://x/poodles"]
    assert thesaurus.ancestors("http://x/poodles") == {"http://x/dogs", "http://x/animals"}
    assert thesaurus.subtree("http://x/dogs") == {"http://x/dogs", "http://x/poodles"}


@pytest.mark.parametrize(("text", "name"), [(XML, "t.rdf"), (XML, "t.xml.gz"), (JSON, "t.jsonld")])
def test_other_notations(tmp_path, text, name):
    made = read(tmp_path, text, name)
    assert set(made.ids) == {"http://x/dogs", "http://x/animals"}
    assert made.ancestors("http://x/dogs") == {"http://x/animals"}
    assert made.name("http://x/dogs", "en") == "dogs"


def test_tables(tmp_path):
    annif = read(tmp_path, "<http://x/1>\tdogs\n<http://x/2>\tcats\n", "v.tsv")
    assert annif.name("http://x/2") == "cats"
    table = "uri,notation,label_en,label_fi,broader,alt_en,deprecated,scheme\n"
    table += '<u:1>,1,animals,eläimet,,,,s\nu:2,2,"dogs, all",koirat,u:1,hounds|curs,true,s;t\n'
    made = read(tmp_path, table, "v.csv")
    assert made.languages == ("en", "fi")
    assert made.name("u:2", "en") == "dogs, all"
    assert made.other_names("u:2", "en") == ["hounds", "curs"]
    assert made.parents("u:2") == ["u:1"]
    assert made.deprecated.tolist() == [False, True]
    assert made.schemes == ("s", "t")


def test_choices(thesaurus):
    labels = [*thesaurus.ids, "unknown"]
    assert thesaurus.allowed(labels).tolist() == [True, True, True, False, True]
    assert thesaurus.allowed(labels, exclude=["below:http://x/dogs"]).tolist() == [True, False, False, False, True]
    assert thesaurus.allowed(labels, include=["scheme:http://x/s"]).tolist() == [True, True, False, False, False]
    chosen = thesaurus.allowed(labels, include=["below:http://x/animals"], exclude=["http://x/dogs"])
    assert chosen.tolist() == [True, False, True, False, False]
    with pytest.raises(DataError, match="unknown concept 'http://x/dog'; near: http://x/dogs"):
        thesaurus.allowed(labels, exclude=["http://x/dog"])
    with pytest.raises(DataError, match="unknown scheme 'http://x/q'; known: http://x/s"):
        thesaurus.chosen("scheme:http://x/q")


def test_rules(thesaurus):
    answers = [("http://x/poodles", 0.9), ("http://x/animals", 0.5), ("unknown", 0.1)]
    assert most_specific(answers, thesaurus) == [("http://x/poodles", 0.9), ("unknown", 0.1)]
    assert add_ancestors(answers, thesaurus) == [
        ("http://x/animals", 0.9),
        ("http://x/dogs", 0.9),
        ("http://x/poodles", 0.9),
        ("unknown", 0.1),
    ]
    with pytest.raises(ParamError, match="unknown rule 'up'; known: ancestors, specific"):
        checked_rule("up")


def test_concepts_in_a_circle_stay(tmp_path):
    circle = read(tmp_path, "id,en,broader\na,A,b\nb,B,a\nc,C,a\n", "v.csv")
    assert circle.ancestors("a") == {"b"}
    assert most_specific([("a", 0.5), ("b", 0.4)], circle) == [("a", 0.5), ("b", 0.4)]
    assert most_specific([("a", 0.5), ("c", 0.4)], circle) == [("c", 0.4)]


def test_copies_and_pickles(thesaurus):
    assert copy.deepcopy(thesaurus) is thesaurus
    again = pickle.loads(pickle.dumps(thesaurus.speaking("fi")))
    assert again.ids == thesaurus.ids
    assert again.name("http://x/dogs") == "koirat"
    assert again.other_names("http://x/dogs", "en") == ["hounds"]
    assert again.broader.tolist() == thesaurus.broader.tolist()
    assert again.members.tolist() == thesaurus.members.tolist()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("broader", np.array([[0, 9]], np.int32)),
        ("broader", np.array([[0]], np.int32)),
        ("members", np.array([[0, 7]], np.int32)),
        ("members", np.array([[9, 0]], np.int32)),
        ("others_language", np.array([5], np.int32)),
        ("names_ends", np.zeros(3, np.int64)),
        ("ids_ends", np.array([1, 2, 3, 4], np.int64)),
        ("deprecated", np.zeros(2, bool)),
        ("deprecated", None),
    ],
)
def test_damaged_arrays_are_refused(thesaurus, name, value):
    arrays = thesaurus.arrays()
    if value is None:
        del arrays[name]
    else:
        arrays[name] = value
    with pytest.raises(ModelFileError):
        Vocabulary.restore(arrays, thesaurus.facts())


@pytest.mark.parametrize("facts", [None, {}, {"language": 1, "languages": ["en", "fi"], "schemes": ["s"]}])
def test_damaged_facts_are_refused(thesaurus, facts):
    with pytest.raises(ModelFileError):
        Vocabulary.restore(thesaurus.arrays(), facts)


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("<a> <b", "v.ttl", "is no Turtle that can be read"),
        ("<http://a> <http://b> <http://c> .", "v.ttl", "holds no skos:Concept"),
        ("", "v.csv", "is empty"),
        ("id,en\n,x\n", "v.csv", r"line 2: expected an id in column 1"),
        ("id,en\na,x\na,y\n", "v.csv", r"line 3: the id 'a' came before"),
        ("x", "v.txt", r"must be one of \.ttl"),
    ],
)
def test_bad_files_are_told(tmp_path, text, name, message):
    with pytest.raises(DataError, match=message):
        read(tmp_path, text, name)


def test_a_missing_or_broken_file(tmp_path):
    with pytest.raises(DataError, match=r"none\.ttl: no such file$"):
        labelwood.read_vocabulary(tmp_path / "none.ttl")
    (tmp_path / "v.ttl.gz").write_bytes(b"\x1f\x8b broken")
    with pytest.raises(DataError, match="cannot be read"):
        labelwood.read_vocabulary(tmp_path / "v.ttl.gz")
    (tmp_path / "v.csv").write_bytes(b"id,en\na,\xff\n")
    with pytest.raises(DataError, match="not valid UTF-8 at byte 8"):
        labelwood.read_vocabulary(tmp_path / "v.csv")


def test_without_the_package_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "pyoxigraph", None)
    with pytest.raises(ParamError, match=r"pip install \"labelwood\[vocabulary\]\""):
        skos.read_skos(TURTLE.encode(), "TURTLE", tmp_path / "t.ttl")
