"""Annif's REST API: its own client library works, and the answers have the shapes of its OpenAPI document."""

import pytest
from annif_client import AnnifClient

from labelwood.server.annif import label_of, uri_of


@pytest.fixture
def client(start, own_folder, write_tokens):
    return AnnifClient(start({"dishes": own_folder}, tokens=write_tokens, learn=True).url + "/v1/")


def test_annifs_client(client, tagger):
    assert client.api_info["title"]
    assert [project["project_id"] for project in client.projects] == ["dishes"]
    project = client.get_project("dishes")
    assert {"project_id", "name", "language", "backend", "vocab", "is_trained", "modification_time"} <= set(project)
    results = client.suggest("dishes", "cream cake", limit=2)
    assert [one["label"] for one in results] == [name for name, _ in tagger.predict(["cream cake"], 2)[0]]
    assert results[0]["uri"] == "urn:label:dessert"
    assert set(results[0]) == {"uri", "label", "notation", "score"}
    assert client.suggest("dishes", "cream cake", limit=4, threshold=1.0) == []
    documents = [{"text": "cream cake", "document_id": "a"}, {"text": "cold juice"}]
    batch = client.suggest_batch("dishes", documents, limit=1)
    assert [(one["document_id"], one["results"][0]["label"]) for one in batch] == [("a", "dessert"), (None, "drink")]
    with pytest.raises(ValueError, match="no model"):
        client.get_project("none")


def test_annifs_learn(client, own_folder):
    client._headers["Authorization"] = "Bearer write-token"
    documents = [{"text": "leek soup", "subjects": [{"uri": "urn:label:sweet%20dish", "label": "sweet dish"}]}]
    assert client.learn("dishes", documents).status_code == 204
    line = own_folder.with_name("dishes.corrections.jsonl").read_text()
    assert '"labels":["sweet dish"]' in line


def test_too_many_documents(service):
    documents = [{"text": "x"}] * 33
    assert service.json("POST", "/v1/projects/dishes/suggest-batch", {"documents": documents})[0] == 400
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert service.json("POST", "/v1/projects/dishes/suggest", raw=b"limit=3", headers=form)[0] == 400
    assert service.json("POST", "/v1/projects/dishes/suggest", raw=b"text=x&limit=-1", headers=form)[0] == 400
    assert service.json("POST", "/v1/projects/dishes/suggest", raw=b"text=x&threshold=nan", headers=form)[0] == 400
    assert service.json("POST", "/v1/projects/dishes/suggest", raw=b"text=x&limit=0", headers=form)[1] == {
        "results": []
    }
    assert [v["size"] for v in service.json("GET", "/v1/vocabs")[1]["vocabs"]] == [4]


@pytest.mark.parametrize("name", ["sweet dish", "http://example.org/a b", "urn:x:1", "50 %", "ä/ö"])
def test_labels_and_uris(name):
    assert label_of(uri_of(name)) == name
