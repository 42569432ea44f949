"""Taggers with a vocabulary: titles in a language, whole subtrees and schemes, names of all languages searched."""

import pytest
from annif_client import AnnifClient

import labelwood as lw

TEXTS = ["cream cake and pie", "cold orange juice", "sweet cream cake", "hot apple juice", "soup of leek", "old tin"]
LABELS = [["u:cake"], ["u:juice"], ["u:cake"], ["u:juice"], ["u:soup"], ["plain"]]
TURTLE = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
<u:food> a skos:Concept ; skos:prefLabel "Food"@en, "Ruoka"@fi ; skos:inScheme <u:main> .
<u:cake> a skos:Concept ; skos:prefLabel "Cakes"@en, "Kakut"@fi ; skos:altLabel "Gateaux"@en ; skos:broader <u:food> ;
  skos:inScheme <u:main> .
<u:soup> a skos:Concept ; skos:prefLabel "Soups"@en, "Keitot"@fi ; skos:broader <u:food> .
<u:juice> a skos:Concept ; skos:prefLabel "Juices"@en, "Mehut"@fi .
<u:tea> a skos:Concept ; skos:prefLabel "Teas"@en .
<u:old> a skos:Concept ; skos:prefLabel "Old cakes"@en ; owl:deprecated true .
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("vocabulary")
    (place / "food.ttl").write_text(TURTLE)
    tagger = lw.Tagger(n_threads=1, vocabulary=place / "food.ttl").fit(TEXTS, LABELS)
    tagger.save(place / "food")
    return place / "food"


@pytest.fixture
def service(start, folder):
    return start({"food": folder})


def names(rows):
    return [[label["name"] for label in row] for row in rows]


def test_titles_in_the_language_that_is_asked_for(service):
    best = service.predict(texts=["cream cake"], k=1)[0][0]
    assert (best["name"], best["title"]) == ("u:cake", "Cakes")
    assert service.predict(texts=["cream cake"], k=1, lang="fi")[0][0]["title"] == "Kakut"
    plain = service.predict(texts=["old tin"], k=1, lang="fi")[0][0]
    assert (plain["name"], plain["title"]) == ("plain", "plain")
    status, problem = service.json("POST", "/v1/predict", {"texts": ["x"], "lang": "sv"})
    assert status == 400
    assert "no names in 'sv'" in problem["detail"]
    assert service.json("GET", "/v1/model")[1]["languages"] == ["en", "fi"]


def test_a_concept_is_named(service):
    told = [service.json("POST", "/v1/explain", {"text": "cream", "label": name})[1] for name in ("u:cake", "kakut")]
    assert told[0] == told[1]
    status, problem = service.json("POST", "/v1/explain", {"text": "cream", "label": "wolves"})
    assert (status, "unknown label 'wolves'" in problem["detail"]) == (400, True)


def test_a_language_needs_a_vocabulary(start, saved):
    status, problem = start({"dishes": saved}).json("POST", "/v1/predict", {"texts": ["x"], "lang": "fi"})
    assert status == 400
    assert "without a vocabulary" in problem["detail"]


@pytest.mark.parametrize(
    ("conditions", "tagger_conditions"),
    [
        ({"allow": ["below:u:food"]}, {"include": ["below:u:food"]}),
        ({"allow": ["scheme:u:main", "u:juice"]}, {"include": ["scheme:u:main", "u:juice"]}),
        ({"deny": ["below:u:food"]}, {"exclude": ["below:u:food"]}),
        ({"allow": ["below:u:food"], "deny": ["u:cake"]}, {"include": ["below:u:food"], "exclude": ["u:cake"]}),
    ],
)
def test_subtrees_and_schemes_as_the_tagger_takes_them(service, folder, conditions, tagger_conditions):
    asked = ["cream cake with juice", "leek soup"]
    wanted = lw.load(folder).predict(asked, 3, **tagger_conditions)
    assert names(service.predict(texts=asked, k=3, **conditions)) == [[label for label, _ in row] for row in wanted]
    with lw.Client(service.url) as client:
        rows = client.predict(asked, 3, **tagger_conditions)
    assert [[label for label, _ in row] for row in rows] == [[label for label, _ in row] for row in wanted]


@pytest.mark.parametrize("choice", ["below:u:none", "scheme:u:none", "u:none"])
def test_an_unknown_concept_or_scheme_is_told(service, choice):
    status, problem = service.json("POST", "/v1/predict", {"texts": ["x"], "allow": [choice]})
    assert status == 400
    assert "u:none" in problem["detail"]


def test_names_of_all_languages_are_searched(service):
    def found(question):
        return service.json("GET", f"/v1/labels?{question}")[1]["labels"]

    assert found("q=kak") == [{"label": 1, "name": "u:cake", "rows": 2, "title": "Cakes", "matched": "Kakut"}]
    gateaux = {"label": 1, "name": "u:cake", "rows": 2, "title": "Kakut", "matched": "Gateaux"}
    assert found("q=gat&lang=fi") == [gateaux]
    assert found("q=tea") == [{"label": None, "name": "u:tea", "rows": 0, "title": "Teas"}]
    assert [label["name"] for label in found("q=cak")] == ["u:cake"], "deprecated concepts are not offered"
    assert [label["name"] for label in found("q=pla")] == ["plain"]
    assert service.json("GET", "/v1/labels?q=x&lang=sv")[0] == 400


def test_annifs_routes_speak_the_vocabulary(service):
    client = AnnifClient(service.url + "/v1/")
    assert client.suggest("food", "cream cake", limit=1)[0]["label"] == "Cakes"
    path = "/v1/projects/food/suggest-batch?limit=1&language=fi"
    answer = service.json("POST", path, {"documents": [{"text": "cream cake"}]})[1][0]["results"][0]
    assert (answer["uri"], answer["label"]) == ("urn:label:u%3Acake", "Kakut")
    vocabulary = service.json("GET", "/v1/vocabs")[1]["vocabs"][0]
    assert (vocabulary["languages"], vocabulary["size"]) == (["en", "fi"], 6)
    assert client.get_project("food")["vocab_language"] == "en"


def test_the_language_of_a_text(service):
    body = {"text": "the cat and the dog are in the house", "languages": ["fi", "en"]}
    results = service.json("POST", "/v1/detect-language", body)[1]["results"]
    assert results[0]["language"] == "en"
    assert {one["language"] for one in results} == {"en", "fi", None}
    assert sum(one["score"] for one in results) == pytest.approx(1.0)
    nothing = service.json("POST", "/v1/detect-language", {"text": "zzz", "languages": ["fi"]})[1]["results"]
    assert nothing[0] == {"language": None, "score": 1.0}
    for wrong in ({"text": "x", "languages": []}, {"text": "x", "languages": ["zz"]}, {"languages": ["fi"]}):
        assert service.json("POST", "/v1/detect-language", wrong)[0] == 400
    answer = AnnifClient(service.url + "/v1/").detect_language("und das ist nicht gut", ["de"])
    assert answer["results"][0]["language"] == "de"
