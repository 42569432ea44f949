"""The small HTTP server: answers, limits, and JSON for every error."""

import json
import socket
import threading
import urllib.error
import urllib.request

import pytest

from labelwood.server import plain
from labelwood.server.plain import MAX_BYTES, MAX_K, MAX_TEXTS, RequestError, Server, checked_question
from labelwood.tagger.tagger import Tagger

TEXTS = ["apple pie with cream", "cold orange juice", "cream cake"]


@pytest.fixture(scope="module")
def tagger():
    return Tagger(n_threads=1).fit(TEXTS, [["dessert"], ["drink"], ["dessert"]])


@pytest.fixture(scope="module")
def server(tagger):
    with Server(tagger, port=0) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def ask(server, path="/predict", body=None, raw=None, method=None):
    data = raw if raw is not None else (None if body is None else json.dumps(body).encode())
    request = urllib.request.Request(server.address + path, data=data, method=method)
    try:
        answer = urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        assert answer.headers["Content-Type"].startswith("application/json")
        return answer.status, json.load(answer)


def test_predict(server, tagger):
    status, answer = ask(server, body={"texts": TEXTS, "k": 1})
    assert status == 200
    assert [row[0]["label"] for row in answer["results"]] == ["dessert", "drink", "dessert"]
    assert answer["results"][0][0]["score"] == pytest.approx(tagger.predict(TEXTS, 1)[0][0][1], abs=1e-6)


def test_default_k_and_no_texts(server):
    assert len(ask(server, body={"texts": ["cake"]})[1]["results"][0]) == 2
    assert ask(server, body={"texts": []}) == (200, {"results": []})


def test_health(server):
    assert ask(server, "/health") == (200, {"status": "ok", "model": "one-vs-all", "n_labels": 2})


def test_many_clients_at_once(server, tagger):
    wanted = ask(server, body={"texts": TEXTS})
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(ask(server, body={"texts": TEXTS}))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [wanted] * 16


@pytest.mark.parametrize(
    ("path", "arguments", "status", "part"),
    [
        ("/", {}, 404, "POST /predict"),
        ("/predict", {}, 405, "POST /predict"),
        ("/health", {"body": {}}, 405, "GET /health"),
        ("/predict", {"raw": b"{"}, 400, "not JSON"),
        ("/predict", {"raw": b"\xff\xfe"}, 400, "not JSON"),
        ("/predict", {"raw": b"[" * 100_000}, 400, "not JSON"),
        ("/predict", {"body": ["x"]}, 400, "must be an object"),
        ("/predict", {"body": {"texts": ["x"], "top": 3}}, 400, "unknown key 'top'"),
        ("/predict", {"body": {"texts": "cake"}}, 400, "list of strings"),
        ("/predict", {"body": {"texts": [None]}}, 400, "list of strings"),
        ("/predict", {"body": {"texts": ["x"], "k": 0}}, 400, "k must be"),
        ("/predict", {"body": {"texts": ["x"], "k": True}}, 400, "k must be"),
        ("/predict", {"body": {"texts": ["x"], "k": MAX_K + 1}}, 400, "k must be"),
        ("/predict", {"body": {"texts": ["x"] * (MAX_TEXTS + 1)}}, 413, "at most 1000"),
        ("/predict", {"body": {"texts": ["\ud800"]}}, 400, "surrogate"),
    ],
)
def test_bad_requests_get_json(server, path, arguments, status, part):
    code, answer = ask(server, path, **arguments)
    assert code == status
    assert part in answer["error"]
    assert ask(server, "/health")[0] == 200


def raw_exchange(server, request):
    with socket.create_connection(server.server_address[:2], timeout=10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize(
    ("request_text", "status"),
    [
        (b"POST /predict HTTP/1.1\r\nHost: x\r\n\r\n", b"411"),
        (b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n", b"411"),
        (b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (MAX_BYTES + 1), b"413"),
        (b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{}", b"400"),
    ],
)
def test_lengths_are_checked_before_reading(server, request_text, status):
    assert raw_exchange(server, request_text).split()[1] == status


def test_a_silent_client_is_dropped(tagger, monkeypatch):
    monkeypatch.setattr(plain.Handler, "timeout", 0.1)
    with Server(tagger, port=0) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        with socket.create_connection(running.server_address[:2], timeout=10) as connection:
            assert connection.recv(10) == b""
        running.shutdown()
        thread.join()


def test_checked_question_defaults():
    assert checked_question(b'{"texts": ["a"]}') == (["a"], 5)
    with pytest.raises(RequestError):
        checked_question(b"3")
