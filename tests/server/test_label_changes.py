"""Labels changed over HTTP: saved before the answer, answered with at once, refused where nobody allowed it."""

import threading

import pytest

import labelwood as lw


@pytest.fixture
def service(start, own_folder, write_tokens):
    return start({"dishes": own_folder}, tokens=write_tokens, change_labels=True, watch_seconds=0)


def names(service, text):
    return [label["name"] for label in service.predict(texts=[text], k=9)[0]]


def test_changes_are_saved_and_answered(service, own_folder, writer):
    def change(**body):
        status, answer = service.json("POST", "/v1/labels", body, headers=writer)
        assert status == 200, answer
        return answer

    answer = change(action="rename", names=["soup", "broth"])
    assert answer["message"] == "'soup' is now 'broth'"
    assert service.json("GET", "/v1/model")[1]["version"] == answer["version"]
    assert names(service, "leek")[0] == "broth"
    change(action="retire", names=["drink"])
    assert "drink" not in names(service, "cold juice")
    features = service.predict(features=[{"indices": [0], "values": [1.0]}], k=9)
    assert "drink" not in [label["name"] for label in features[0]], "a retired label is answered to nobody"
    change(action="add", names=["tin"], text="an old rusty tin")
    assert names(service, "old rusty tin")[0] == "tin"
    assert service.json("GET", "/v1/labels?q=tin")[1]["labels"] == [{"label": 4, "name": "tin", "rows": 1}]
    why = service.json("POST", "/v1/explain", {"text": "rusty tin", "label": "tin"})[1]
    assert [word["word"] for word in why["words"]]
    states = {label.name: label.state for label in lw.load(own_folder).label_table()}
    assert (states["broth"], states["drink"], states["tin"]) == ("in use", "retired", "in use")


def test_refusals(start, service, own_folder, writer, saved, write_tokens):
    before = service.json("GET", "/v1/model")[1]["version"]
    for body, word in (
        ({"action": "retire", "names": ["none"]}, "none"),
        ({"action": "burn", "names": ["soup"]}, "burn"),
        ({"action": "rename", "names": ["soup"]}, "2 names"),
        ({"action": "add", "names": []}, "names"),
        ({"action": "add", "names": [" "]}, "words"),
        ({"action": "retire", "names": ["soup"], "text": "x"}, "example"),
        ({"action": "retire", "names": ["soup"], "folder": "/etc"}, "folder"),
    ):
        status, problem = service.json("POST", "/v1/labels", body, headers=writer)
        assert status == 400, body
        assert word in problem["detail"]
    change = {"action": "retire", "names": ["soup"]}
    assert service.json("POST", "/v1/labels", change)[0] == 401
    assert service.json("POST", "/v1/labels", {**change, "model": "none"}, headers=writer)[0] == 404
    assert service.json("GET", "/v1/model")[1]["version"] == before
    silent = start({"dishes": saved}, tokens=write_tokens)
    assert silent.json("POST", "/v1/labels", change, headers=writer)[0] == 403
    assert not silent.json("GET", "/v1/model")[1]["change_labels"]
    (own_folder / "manifest.json").write_text("{}")
    status, problem = service.json("POST", "/v1/labels", change, headers=writer)
    assert status == 422
    assert str(own_folder) not in problem["detail"]
    assert "soup" in names(service, "leek soup")


def test_changes_at_the_same_time_all_hold(service, own_folder):
    def add(number):
        with lw.Client(service.url, token="write-token") as client:
            client.change_labels("add", f"new {number}", text=f"word{number} thing{number}")

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {f"new {number}" for number in range(4)} <= set(lw.load(own_folder).label_names)
    assert names(service, "word2 thing2")[0] == "new 2"
