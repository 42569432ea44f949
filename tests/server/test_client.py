"""lw.Client: the Tagger's answers over HTTP, with retries, time limits and our own errors."""

import json
import pickle
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

import labelwood as lw
from labelwood.client import ServiceError

TEXTS = ["apple pie with cream", "cold orange juice", "cream cake"]
LABELS = [["dessert"], ["drink"], ["cake"]]


def test_it_answers_as_the_tagger(service, tagger):
    with lw.Client(service.url) as client:
        for mine, theirs in zip(client.predict(TEXTS, k=2), tagger.predict(TEXTS, k=2), strict=True):
            assert [name for name, _ in mine] == [name for name, _ in theirs]
            assert [score for _, score in mine] == pytest.approx([score for _, score in theirs], abs=1e-6)
        assert client.predict([]) == []
        many = client.predict(TEXTS * 200, k=1)
        assert [row[0][0] for row in many] == [row[0][0] for row in tagger.predict(TEXTS * 200, k=1)]
        mine, theirs = client.explain("cream cake", "dessert"), tagger.explain("cream cake", "dessert")
        assert mine.text() == theirs.text()
        assert mine.words == tuple((word, pytest.approx(push, abs=1e-6)) for word, push in theirs.words)
        figures, theirs = client.evaluate(TEXTS, LABELS, ks=(1, 2)), tagger.evaluate(TEXTS, LABELS, ks=(1, 2))
        assert figures == {name: pytest.approx(theirs[name]) for name in figures}
        assert {"P@1", "nDCG@2"} <= set(figures)
        assert client.find_labels("dri") == ["drink"]
        assert client.info()["n_labels"] == 4


def test_it_can_be_pickled_and_shared(service):
    client = pickle.loads(pickle.dumps(lw.Client(service.url, token="t", retries=1)))
    assert (client.url, client.token, client.retries) == (service.url, "t", 1)
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(client.predict(TEXTS, k=1))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [client.predict(TEXTS, k=1)] * 4


def test_refusals_are_our_errors(service):
    client = lw.Client(service.url, retries=0)
    with pytest.raises(lw.DataError, match="did you mean 'dessert'"):
        client.explain("cream", "desert")
    with pytest.raises(lw.DataError, match=r"\$.k"):
        client.predict(["x"], k=0)
    with pytest.raises(lw.DataError, match="one string"):
        client.predict("x")
    with pytest.raises(lw.DataError, match="JSON"):
        client.predict([b"x"])
    with pytest.raises(lw.DataError, match="2 texts but 1"):
        client.evaluate(["x", "y"], [["a"]])
    with pytest.raises(ServiceError, match="403"):
        client.learn(["x"], [["y"]])
    with pytest.raises(ServiceError, match="no model"):
        lw.Client(service.url, model="other").predict(["x"])
    for bad in ("127.0.0.1:8000", "ftp://x", ""):
        with pytest.raises(lw.ParamError):
            lw.Client(bad)
    with pytest.raises(lw.ParamError):
        lw.Client(service.url, timeout=0)


def test_corrections(start, own_folder, write_tokens):
    service = start({"dishes": own_folder}, tokens=write_tokens, learn=True)
    assert lw.Client(service.url, token="write-token").learn(["x"], [["soup", "broth"]]) == ["broth"]
    with pytest.raises(ServiceError, match="401"):
        lw.Client(service.url).learn(["x"], [["soup"]])


def test_nobody_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = time.monotonic()
    with pytest.raises(ServiceError, match="cannot be reached"):
        lw.Client(f"http://127.0.0.1:{port}", retries=1).predict(["x"])
    assert time.monotonic() - started < 5


@pytest.fixture
def moody():
    """A server that answers as the list says: a status, "break" or "hang"."""
    seen, moods = [], []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            seen.append(self.path)
            mood = moods.pop(0)
            if mood == "break":
                self.close_connection = True
                return
            if mood == "hang":
                time.sleep(1)
                self.close_connection = True
                return
            body = json.dumps({"results": [{"labels": []}], "unknown_labels": []}).encode() if mood == 200 else b"no"
            self.send_response(mood)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", moods, seen
        server.shutdown()
        thread.join()


def test_retries(moody):
    url, moods, seen = moody
    client = lw.Client(url, retries=3, timeout=0.5)
    moods += [503, "break", 429, 200]
    assert client.predict(["x"]) == [[]]
    assert len(seen) == 4
    moods += [500]
    with pytest.raises(ServiceError, match="500, no reason"):
        client.predict(["x"])
    moods += ["hang", 200]
    assert client.predict(["x"]) == [[]]
    moods += ["break"]
    before = len(seen)
    with pytest.raises(ServiceError, match="broke"):
        client.learn(["x"], [["y"]])
    assert len(seen) == before + 1, "a correction that may have arrived is not sent twice"
