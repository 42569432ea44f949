"""Corrections: on the disk before the answer, whole lines only, readable as data."""

import json
import threading

import pytest

import labelwood as lw
from labelwood.server import journal as journals
from labelwood.server.journal import Correction, Journal, append_durably, journal_path


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_correction_is_a_line(start, own_folder, write_tokens, writer):
    service = start({"dishes": own_folder}, tokens=write_tokens, learn=True)
    body = {"texts": ["leek\nsoup", "tea"], "labels": [["soup", "soup"], ["drink", "hot drink"]]}
    status, answer = service.json("POST", "/v1/learn", body, headers={**writer, "X-Request-Id": "mine"})
    assert (status, answer) == (202, {"accepted": 2, "unknown_labels": ["hot drink"]})
    path = own_folder.with_name("dishes.corrections.jsonl")
    first, second = lines_of(path)
    assert (first["text"], first["labels"], first["id"], first["model"]) == ("leek\nsoup", ["soup"], "mine/0", "dishes")
    assert second["labels"] == ["drink", "hot drink"]
    assert path.stat().st_mode & 0o077 == 0
    assert service.json("GET", "/v1/model")[1]["learn"]
    data = lw.read(path)
    assert list(data.texts) == ["leek\nsoup", "tea"]
    assert data.label_names[data.y[0].indices[0]] == "soup"


@pytest.mark.parametrize(
    "body",
    [
        {"texts": ["x"]},
        {"texts": ["x"], "labels": []},
        {"texts": ["x"], "labels": [[""]]},
        {"texts": ["x"], "labels": [[1]]},
        {"texts": ["x"], "labels": [["a"]], "path": "/etc/passwd"},
    ],
)
def test_bad_corrections_are_refused(start, own_folder, write_tokens, writer, body):
    service = start({"dishes": own_folder}, tokens=write_tokens, learn=True)
    assert service.json("POST", "/v1/learn", body, headers=writer)[0] == 400
    assert not journal_path(own_folder).exists()


def test_what_waits_to_be_learnt_and_what_is_retired_is_answered_as_the_tagger_does(start, tmp_path):
    kinds = (("pasta with tomato sauce", "italian"), ("cake with flour", "baking"), ("steak on the grill", "meat"))
    texts = [f"{text} number{n}" for n in range(30) for text, _ in kinds]
    tagger = lw.Tagger("hierarchicalxc", n_threads=1, assign="f1").fit(texts, [[label] for _, label in kinds] * 30)
    assert tagger.learn(["sushi with raw fish"], [["japanese"]]).how == "kept"
    tagger.change_labels("retire", "meat")
    tagger.save(tmp_path / "dishes")
    service = start({"dishes": tmp_path / "dishes"})
    asked = ["sushi with raw fish", "raw fish", "steak on the grill"]
    for assign in (True, False):
        status, answer = service.json("POST", "/v1/predict", {"texts": asked, "assign": assign, "k": 3})
        assert status == 200
        named = [[label["name"] for label in row["labels"]] for row in answer["results"]]
        expected = tagger.predict(asked, 3, assign=assign)
        assert named == [[label for label, _ in row] for row in expected]
    assert named[0] == ["japanese"]
    assert "meat" not in named[2]
    assert service.json("GET", "/v1/model")[1]["n_labels"] == 4


def test_a_disk_that_refuses_is_503(start, own_folder, write_tokens, writer, monkeypatch):
    def full(path, lines):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journals, "append_durably", full)
    service = start({"dishes": own_folder}, tokens=write_tokens, learn=True)
    status, problem = service.json("POST", "/v1/learn", {"texts": ["x"], "labels": [["a"]]}, headers=writer)
    assert status == 503
    assert "No space left" in problem["detail"]


def test_a_half_line_of_a_crash_is_cut(tmp_path):
    path = tmp_path / "j.jsonl"
    append_durably(path, b'{"a": 1}\n')
    with path.open("ab") as stream:
        stream.write(b'{"half": "' + b"x" * 200_000)
    append_durably(path, b'{"b": 2}\n')
    assert lines_of(path) == [{"a": 1}, {"b": 2}]


def test_writers_do_not_mix(tmp_path):
    path = tmp_path / "j.jsonl"
    writers = [Journal(path) for _ in range(3)]

    def write(journal, number):
        for row in range(20):
            correction = Correction(f"{number}-{row} " + "x" * 5_000, ["a"], f"{number}/{row}", "now", "m")
            journal.append([correction]).result(20)

    threads = [threading.Thread(target=write, args=(journal, number)) for number, journal in enumerate(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for journal in writers:
        journal.close()
    assert sorted(line["id"] for line in lines_of(path)) == sorted(f"{n}/{row}" for n in range(3) for row in range(20))
