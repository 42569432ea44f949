"""Servers in threads of the tests' own process, on free ports of this machine."""

import contextlib
import hashlib
import http.client
import json
import shutil
import threading
import time
from dataclasses import dataclass

import pytest

from labelwood.server.access import Tokens
from labelwood.server.app import App
from labelwood.server.running import address_of, listen, make_server
from labelwood.server.served import ServedModels
from labelwood.server.settings import Limits, Settings
from labelwood.tagger.tagger import Tagger

TEXTS = ["apple pie with cream", "cold orange juice", "cream cake", "hot apple juice", "soup of leek"]
LABELS = [["dessert", "sweet dish"], ["drink"], ["dessert"], ["drink"], ["soup"]]
WRITE_TOKEN, READ_TOKEN = "write-token", "read-token"


def hashed(token):
    return hashlib.sha256(token.encode()).hexdigest()


@dataclass
class Running:
    """A service and short ways to ask it."""

    app: App
    host: str
    port: int
    url: str

    def ask(self, method, path, body=None, *, raw=None, headers=None):
        """(status, headers, body as bytes) of one request on a connection of its own."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        try:
            sent = raw if raw is not None else (None if body is None else json.dumps(body).encode())
            connection.request(method, path, sent, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def json(self, method, path, body=None, **more):
        """(status, JSON) of one request."""
        status, headers, answer = self.ask(method, path, body, **more)
        kind = "application/json" if status < 400 else "application/problem+json"
        assert headers["Content-Type"] == kind
        return status, json.loads(answer)

    def predict(self, **body):
        """The rows of a prediction that succeeds."""
        status, answer = self.json("POST", "/v1/predict", body)
        assert status == 200, answer
        return [row["labels"] for row in answer["results"]]


@contextlib.contextmanager
def running_service(folders, *, limits=None, **settings):
    """A service in a thread."""
    with listen("127.0.0.1", 0) as listener:
        host, port = listener.getsockname()
        url = address_of(listener)
        app = App(Settings(folders, limits=limits or Limits(), **settings), ServedModels(folders))
        server = make_server(app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            until = time.monotonic() + 20
            while not server.started and time.monotonic() < until:
                time.sleep(0.005)
            yield Running(app, host, port, url)
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()


@pytest.fixture(scope="session")
def write_tokens():
    return Tokens(write=(hashed(WRITE_TOKEN),))


@pytest.fixture(scope="session")
def both_tokens():
    return Tokens(read=(hashed(READ_TOKEN),), write=(hashed(WRITE_TOKEN),))


@pytest.fixture(scope="session")
def writer():
    """The header of someone who may write."""
    return {"Authorization": f"Bearer {WRITE_TOKEN}"}


@pytest.fixture(scope="session")
def reader():
    """The header of someone who may read."""
    return {"Authorization": f"Bearer {READ_TOKEN}"}


@pytest.fixture(scope="session")
def tagger():
    return Tagger(n_threads=1).fit(TEXTS, LABELS)


@pytest.fixture(scope="session")
def saved(tagger, tmp_path_factory):
    """A saved tagger that tests only read."""
    folder = tmp_path_factory.mktemp("served") / "dishes"
    tagger.save(folder)
    return folder


@pytest.fixture
def own_folder(saved, tmp_path):
    """A saved tagger that a test may change."""
    return shutil.copytree(saved, tmp_path / "dishes")


@pytest.fixture
def start():
    """Start services that end with the test: start({"name": folder}, learn=True)."""
    with contextlib.ExitStack() as stack:
        yield lambda folders, **settings: stack.enter_context(running_service(folders, **settings))


@pytest.fixture(scope="module")
def service(saved):
    """A service that tests of one file share."""
    with running_service({"dishes": saved}) as running:
        yield running
