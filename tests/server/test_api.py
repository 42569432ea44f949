"""The routes: answers equal the tagger's, conditions hold, and every refusal is problem+json."""

import json
import logging
import random
import threading
import time

import pytest

import labelwood as lw
from labelwood.cli.main import run
from labelwood.server.page_files import Page
from labelwood.server.served import ServedModel
from labelwood.server.settings import Limits

TEXTS = ["apple pie with cream", "cold orange juice", "cream cake"]


def names(row):
    return [label["name"] for label in row]


def together(n, work):
    """What n calls of work(place) return, all at once."""
    answers = [None] * n

    def call(place):
        answers[place] = work(place)

    threads = [threading.Thread(target=call, args=(place,)) for place in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_predict_is_what_the_tagger_says(service, tagger):
    status, headers, raw = service.ask("POST", "/v1/predict", {"texts": TEXTS, "k": 3})
    assert status == 200
    for row, expected in zip(json.loads(raw)["results"], tagger.predict(TEXTS, 3), strict=True):
        assert names(row["labels"]) == [name for name, _ in expected]
        assert [one["score"] for one in row["labels"]] == pytest.approx([score for _, score in expected], abs=1e-6)
        assert [tagger.label_names[one["label"]] for one in row["labels"]] == names(row["labels"])
        assert set(row["labels"][0]) == {"label", "name", "score"}
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "Access-Control-Allow-Origin" not in headers
    assert "Server" not in headers


def test_default_k_and_no_texts(service):
    assert len(service.predict(texts=["cake"])[0]) == 4
    assert service.predict(texts=[]) == []


def test_many_clients_get_their_own_answers(service, tagger):
    texts = [f"{a} {b}" for a in ("apple", "orange", "leek", "cream") for b in ("pie", "juice", "soup", "cake")]
    wanted = [tagger.predict([text], 1)[0][0][0] for text in texts]
    for _ in range(3):
        rows = together(len(texts), lambda place: service.predict(texts=[texts[place]], k=1 + place % 3)[0])
        assert [row[0]["name"] for row in rows] == wanted


def test_many_rows_come_back_in_order(service, tagger):
    texts = [TEXTS[place % 3] for place in range(500)]
    rows = service.predict(texts=texts, k=1)
    assert [row[0]["name"] for row in rows] == [row[0][0] for row in tagger.predict(texts, 1)]


def test_conditions(service):
    everything = service.predict(texts=["apple juice"], k=4)[0]
    best, second = names(everything)[:2]
    assert names(service.predict(texts=["apple juice"], k=1, deny=[best])[0]) == [second]
    assert names(service.predict(texts=["apple juice"], k=1, deny=[everything[0]["label"]])[0]) == [second]
    allowed = service.predict(texts=["apple juice"], k=3, allow=["soup", second])[0]
    assert names(allowed) == [name for name in names(everything) if name in ("soup", second)]
    low = everything[1]["score"]
    assert service.predict(texts=["apple juice"], min_score=low - 1e-6)[0] == everything[:2]
    assert service.predict(texts=["apple juice"], allow=[])[0] == []


def test_an_allowed_label_is_found_far_down(start, tmp_path):
    texts = [f"word{number} common" for number in range(300)]
    lw.Tagger(n_threads=1).fit(texts, [[f"label{number}"] for number in range(300)]).save(tmp_path / "many")
    service = start({"many": tmp_path / "many"})
    ranking = names(service.predict(texts=["word7 common"], k=300)[0])
    assert names(service.predict(texts=["word7 common"], k=1, allow=[ranking[-1]])[0]) == ranking[-1:]
    assert names(service.predict(texts=["word7 common"], k=2, allow=ranking[-2:], deny=ranking[-1:])[0]) == [
        ranking[-2]
    ]


def test_labels_are_assigned_as_the_tagger_assigns_them(start, tmp_path):
    words = ["red", "blue", "green", "tall", "small", "old"]
    chance = random.Random(3)
    chosen = [chance.sample(words, chance.randint(1, 3)) for _ in range(300)]
    texts = [" ".join([*names_, chance.choice(words), "thing"]) for names_ in chosen]
    tagger = lw.Tagger("linear-tree", assign="f1", n_threads=1).fit(texts, chosen)
    tagger.save(tmp_path / "things")
    service = start({"things": tmp_path / "things"})
    asked = [*texts[:20], "unknownword"]
    assigned = service.predict(texts=asked, assign=True)
    expected = tagger.predict(asked, assign=True)
    assert [names(row) for row in assigned] == [[name for name, _ in row] for row in expected]
    assert [label["probability"] for label in assigned[0]] == pytest.approx([p for _, p in expected[0]], abs=1e-6)
    assert lw.Client(service.url).predict(asked, assign=True) == [
        [(name, pytest.approx(probability, abs=1e-6)) for name, probability in row] for row in expected
    ]
    for row, given in zip(service.predict(texts=asked, k=6), expected, strict=True):
        assert {label["name"] for label in row if label["assigned"]} == {name for name, _ in given}
    assert not any(label["assigned"] for label in service.predict(texts=["unknownword"], k=6)[0])
    assert len(service.predict(texts=asked, assign=True, k=1)[0]) <= 1
    for least in (0.05, 0.5, 1.0):
        expected = tagger.predict(asked, assign=f"threshold={least}")
        given = service.predict(texts=asked, threshold=least)
        assert [names(row) for row in given] == [[name for name, _ in row] for row in expected]
        assert all(label["assigned"] and label["probability"] >= least - 1e-6 for row in given for label in row)
        assert lw.Client(service.url).predict(asked, assign=f"threshold={least}") == [
            [(name, pytest.approx(p, abs=1e-6)) for name, p in row] for row in expected
        ]
    with pytest.raises(lw.ParamError, match="learnt in training"):
        lw.Client(service.url).predict(asked, assign="f1")
    assert service.json("POST", "/v1/predict", {"texts": asked, "threshold": 1.5})[0] == 400


def test_without_a_rule_nothing_is_assigned(service):
    status, problem = service.json("POST", "/v1/predict", {"texts": ["cake"], "assign": True})
    assert status == 400
    assert "no rule" in problem["detail"]
    assert "assigned" not in service.predict(texts=["cake"])[0][0]


def test_reasons_and_explain(service, tagger):
    label = service.predict(texts=["cream cake"], k=1, reasons=1)[0][0]
    why = tagger.explain("cream cake", label["name"])
    assert label["reasons"] == [{"word": why.words[0][0], "push": pytest.approx(why.words[0][1], abs=1e-6)}]
    status, answer = service.json("POST", "/v1/explain", {"text": "cream cake", "label": label["label"]})
    assert status == 200
    assert answer["name"] == label["name"]
    assert answer["score"] == pytest.approx(label["score"], abs=1e-6)
    assert answer["summary"] == why.text()
    assert [word["word"] for word in answer["words"]] == [word for word, _ in why.words]
    margin = sum(word["push"] for word in answer["words"]) + answer["rest"]
    assert margin == pytest.approx(answer["path"][-1]["margin"], abs=1e-5)


def test_features(service, tagger):
    row = tagger.vectorizer_.transform(["cream cake"])
    features = [{"indices": row.indices.tolist(), "values": row.data.tolist()}]
    assert service.predict(features=features, k=2) == service.predict(texts=["cream cake"], k=2)


def test_a_model_of_features_is_served(start, tmp_path):
    x = [[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    lw.OneVsAll(n_threads=1).fit(x, [[3], [8], [3]]).save(tmp_path / "rows")
    service = start({"rows": tmp_path / "rows"})
    label = service.predict(features=[{"indices": [0, 2], "values": [1, 2]}], k=1)[0][0]
    assert (label["label"], label["name"]) == (0, "3")
    assert service.json("POST", "/v1/predict", {"texts": ["x"]})[0] == 400
    assert service.json("POST", "/v1/explain", {"text": "x", "label": "3"})[0] == 400
    assert service.json("GET", "/v1/model")[1]["takes"] == ["features"]
    for bad in ({"indices": [0, 3]}, {"indices": [0, 0]}, {"indices": [0]}, {"values": [1, 1e39]}):
        row = {"indices": [0, 1], "values": [1, 2], **bad}
        status, problem = service.json("POST", "/v1/predict", {"features": [row]})
        assert status == 400
        assert problem["detail"].startswith("features, row 0")


def test_a_stream_has_a_line_for_each_row(service, tagger):
    texts = [TEXTS[place % 3] for place in range(100)]
    accept = {"Accept": "application/x-ndjson"}
    status, headers, raw = service.ask("POST", "/v1/predict", {"texts": texts, "k": 1}, headers=accept)
    assert status == 200
    assert headers["Content-Type"] == "application/x-ndjson"
    first = [json.loads(line)["labels"][0]["name"] for line in raw.splitlines()]
    assert first == [row[0][0] for row in tagger.predict(texts, 1)]
    assert service.ask("POST", "/v1/predict", {"texts": []}, headers=accept)[2] == b""
    assert len(service.ask("POST", "/v1/predict", {"texts": ["x"] * 3000}, headers=accept)[2].splitlines()) == 3000


def test_several_models(start, saved, tmp_path):
    lw.Tagger(n_threads=1).fit(["red", "blue"], [["warm"], ["cold"]]).save(tmp_path / "colours")
    service = start({"dishes": saved, "colours": tmp_path / "colours"})
    assert service.predict(texts=["red"], model="colours")[0][0]["name"] == "warm"
    assert service.predict(texts=["cold juice"])[0][0]["name"] == "drink"
    assert service.json("GET", "/v1/model?model=colours")[1]["n_labels"] == 2
    assert service.json("GET", "/v1/model")[1]["models"] == ["dishes", "colours"]
    assert service.json("POST", "/v1/predict", {"texts": ["red"], "model": "../colours"})[0] == 404


def test_labels(service):
    status, answer = service.json("GET", "/v1/labels?q=D")
    assert status == 200
    assert names(answer["labels"]) == ["dessert", "drink", "sweet dish"]
    assert answer["labels"][0]["rows"] == 2
    assert len(service.json("GET", "/v1/labels?limit=2")[1]["labels"]) == 2
    for bad in ("limit=0", "limit=x", "limit=1&limit=2", "top=3", "q=%ff", "q=" + "a" * 1001):
        assert service.json("GET", f"/v1/labels?{bad}")[0] == 400


def test_looking(service):
    assert service.json("GET", "/healthz") == (200, {"status": "ok"})
    assert service.json("GET", "/readyz") == (200, {"status": "ready"})
    status, model = service.json("GET", "/v1/model")
    assert (status, model["model"], model["n_labels"], model["learn"]) == (200, "one-vs-all", 4, False)
    assert model["table"] is None  # it was trained in Python


def test_the_columns_of_training_are_told(start, tmp_path):
    (tmp_path / "rows.csv").write_text("title,body,tags\nsoup,hot,a;b\ntea,hot,c\n")
    assert run(["train", str(tmp_path / "rows.csv"), "--out", str(tmp_path / "m"), "--threads", "1"]) == 0
    told = {"text": ["title", "body"], "labels": ["tags"], "separator": ";"}
    assert start({"m": tmp_path / "m"}).json("GET", "/v1/model")[1]["table"] == told


def test_metrics(service):
    service.predict(texts=TEXTS)
    status, headers, raw = service.ask("GET", "/metrics")
    assert status == 200
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    values = dict(line.rsplit(" ", 1) for line in raw.decode().splitlines() if not line.startswith("#"))
    answered = int(values['labelwood_requests_total{route="/v1/predict",status="200"}'])
    assert answered >= 1
    assert int(values['labelwood_request_seconds_count{route="/v1/predict"}']) >= answered
    assert int(values['labelwood_batch_rows_bucket{le="+Inf"}']) == int(values["labelwood_batch_rows_count"]) >= 1
    assert values['labelwood_rejects_total{reason="queue_full"}'] == "0"
    assert int(values["labelwood_rows_total"]) >= 3


def test_request_ids(service):
    assert service.ask("GET", "/healthz", headers={"X-Request-Id": "abc-1.2_3"})[1]["X-Request-Id"] == "abc-1.2_3"
    made = service.ask("GET", "/healthz", headers={"X-Request-Id": "spaces are not taken"})
    assert "spaces" not in made[1]["X-Request-Id"]
    status, problem = service.json("GET", "/nothing")
    assert status == 404
    assert problem["request_id"]


def test_the_page_is_its_files_and_nothing_else(service, tmp_path, monkeypatch):
    (tmp_path / "index.html").write_text("<p>page</p>")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.js").write_text("1")
    monkeypatch.setattr(service.app, "page", Page(tmp_path))
    status, headers, raw = service.ask("GET", "/")
    assert (status, raw, headers["Content-Type"]) == (200, b"<p>page</p>", "text/html; charset=utf-8")
    assert "script-src 'self';" in headers["Content-Security-Policy"]
    assert headers["X-Frame-Options"] == "DENY"
    assert service.ask("GET", "/lib/a.js")[2] == b"1"
    for path in ("/../conftest.py", "/%2e%2e/x", "/lib", "/lib/../index.html", "//etc/passwd", "/lib%2fb.js"):
        assert service.json("GET", path)[0] == 404
    assert service.json("POST", "/")[0] == 405
    monkeypatch.setattr(service.app, "page", None)
    assert service.json("GET", "/")[0] == 404


@pytest.mark.parametrize(
    ("method", "path", "arguments", "status", "part"),
    [
        ("GET", "/predict", {}, 404, "nothing here"),
        ("GET", "/health", {}, 404, "nothing here"),
        ("GET", "/v1/predict", {}, 405, "only POST"),
        ("POST", "/healthz", {"body": {}}, 405, "only GET"),
        ("POST", "/v1/predict", {"raw": b"{"}, 400, "not JSON"),
        ("POST", "/v1/predict", {"raw": b""}, 400, "not JSON"),
        ("POST", "/v1/predict", {"raw": b"\xff\xfe"}, 400, "not JSON"),
        ("POST", "/v1/predict", {"raw": b"[" * 100_000}, 400, "does not fit"),
        ("POST", "/v1/predict", {"raw": b'{"texts": ["\\ud800"]}'}, 400, "not JSON"),
        ("POST", "/v1/predict", {"body": ["x"]}, 400, "Expected `object`"),
        ("POST", "/v1/predict", {"body": {}}, 400, "either 'texts' or 'features'"),
        ("POST", "/v1/predict", {"body": {"texts": ["x"], "features": []}}, 400, "either 'texts' or 'features'"),
        ("POST", "/v1/predict", {"body": {"texts": ["x"], "top": 3}}, 400, "unknown field `top`"),
        ("POST", "/v1/predict", {"body": {"texts": "cake"}}, 400, "$.texts"),
        ("POST", "/v1/predict", {"body": {"texts": [None]}}, 400, "$.texts[0]"),
        ("POST", "/v1/predict", {"body": {"texts": ["x"], "k": 0}}, 400, "$.k"),
        ("POST", "/v1/predict", {"body": {"texts": ["x"], "k": True}}, 400, "$.k"),
        ("POST", "/v1/predict", {"body": {"texts": ["x"], "k": 1001}}, 400, "$.k"),
        ("POST", "/v1/predict", {"body": {"texts": ["x"], "deny": ["desert"]}}, 400, "did you mean 'dessert'"),
        ("POST", "/v1/predict", {"body": {"texts": ["x"], "allow": [4]}}, 400, "outside 0..3"),
        ("POST", "/v1/predict", {"body": {"texts": ["x"] * 1001}}, 413, "at most 1000"),
        ("POST", "/v1/predict", {"body": {"texts": ["x", "y" * 1_000_001]}}, 413, "row 1"),
        ("POST", "/v1/predict", {"body": {"texts": ["x"] * 100, "k": 5, "reasons": 1}}, 400, "at most 200 labels"),
        ("POST", "/v1/explain", {"body": {"text": "x", "label": "none"}}, 400, "unknown label"),
        ("POST", "/v1/learn", {"body": {"texts": [], "labels": []}}, 403, "takes no changes"),
        ("POST", "/v1/reload", {"body": {}}, 403, "takes no changes"),
    ],
)
def test_bad_requests_get_a_problem(service, method, path, arguments, status, part):
    code, problem = service.json(method, path, **arguments)
    assert code == status == problem["status"]
    assert part in problem["detail"]
    assert service.json("GET", "/healthz")[0] == 200


def test_a_full_queue_is_503_with_a_time(start, saved, monkeypatch):
    gate = threading.Event()
    real = ServedModel.predict_texts

    def slow(self, texts, k):
        assert gate.wait(20)
        return real(self, texts, k)

    monkeypatch.setattr(ServedModel, "predict_texts", slow)
    service = start({"dishes": saved}, threads=1, limits=Limits(waiting_rows=3))
    answers = []
    asked = lambda: answers.append(service.ask("POST", "/v1/predict", {"texts": ["pie"]}))  # noqa: E731
    threads = [threading.Thread(target=asked) for _ in range(12)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 20
    while len(answers) < 8 and time.monotonic() < until:
        time.sleep(0.01)
    assert service.ask("GET", "/readyz")[0] == 503
    gate.set()
    for thread in threads:
        thread.join()
    assert sorted(status for status, _, _ in answers) == [200] * 4 + [503] * 8
    assert all(headers["Retry-After"] == "1" for status, headers, _ in answers if status == 503)
    assert b'labelwood_rejects_total{reason="queue_full"} 8' in service.ask("GET", "/metrics")[2]


def test_a_question_that_waits_too_long_is_503(start, saved, monkeypatch):
    real = ServedModel.predict_texts

    def slow(self, texts, k):
        time.sleep(0.5)
        return real(self, texts, k)

    monkeypatch.setattr(ServedModel, "predict_texts", slow)
    service = start({"dishes": saved}, threads=1, limits=Limits(answer_seconds=0.2))
    answers = together(2, lambda place: service.json("POST", "/v1/predict", {"texts": ["pie"], "k": 1 + place}))
    assert {status for status, _ in answers} == {200, 503}


def test_an_unexpected_error_is_logged_without_the_text(start, saved, monkeypatch, caplog):
    def broken(self, texts, k):
        raise RuntimeError(f"cannot read {texts[0]}")

    monkeypatch.setattr(ServedModel, "predict_texts", broken)
    monkeypatch.setattr(logging.getLogger("labelwood.server"), "propagate", True)
    service = start({"dishes": saved}, access_log=True)
    with caplog.at_level("INFO", "labelwood.server"):
        status, problem = service.json("POST", "/v1/predict?secret=1", {"texts": ["a private text"]})
    assert status == 500
    assert "private" not in problem["detail"]
    assert "RuntimeError" in caplog.text
    assert problem["request_id"] in caplog.text
    assert "private" not in caplog.text
    assert "secret" not in caplog.text
