"""`labelwood serve` as a process: what it prints, several workers, signals, and ends that lose nothing."""

import contextlib
import hashlib
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

import labelwood as lw
from labelwood.cli.main import run
from labelwood.tagger.journal import read_journal

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


@contextlib.contextmanager
def process(*words):
    """(process, port, the lines it has said); killed at the end."""
    command = [sys.executable, "-m", "labelwood", "serve", *map(str, words), "--port", "0"]
    started = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    said = []
    try:
        while not said or "openapi.json" not in said[-1]:
            line = started.stderr.readline()
            assert line, said
            said.append(line)
        port = int(said[0].split("http://127.0.0.1:")[1].split()[0])
        yield started, port, said
    finally:
        started.kill()
        started.wait(30)
        started.stderr.close()


def ask(connection, path="/v1/predict", body=None, token=None):
    """(status, JSON) on an open connection."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    connection.request("POST", path, json.dumps(body or {"texts": ["cream cake"], "k": 1}), headers)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


class Load(threading.Thread):
    """Asks without a pause, a connection for `per_connection` requests; counts answers and requests without one."""

    def __init__(self, port, per_connection=1_000_000):
        super().__init__()
        self.port, self.per_connection = port, per_connection
        self.answered, self.lost, self.ended = 0, [], threading.Event()

    def run(self):
        while not self.ended.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
            try:
                connection.connect()
            except OSError:
                return  # nobody listens any more: this request was never accepted
            try:
                for _ in range(self.per_connection):
                    status, _ = ask(connection)
                    assert status == 200
                    self.answered += 1
                    if connection.sock is None:  # the service said that it closes
                        break
            except (OSError, http.client.HTTPException) as error:
                self.lost.append(repr(error))
                return
            finally:
                connection.close()


def test_what_it_says(saved):
    with process(saved) as (started, port, said):
        assert said[0].startswith(f"serving dishes on http://127.0.0.1:{port}")
        example = said[1].split("try")[1].strip()
        shown = subprocess.run(["sh", "-c", example], capture_output=True, text=True, timeout=30)
        if shown.returncode != 127:  # no curl here
            assert json.loads(shown.stdout)["results"][0]["labels"]
        started.send_signal(signal.SIGTERM)
        assert started.wait(20) == 0


@pytest.mark.parametrize(("workers", "end"), [(1, signal.SIGTERM), (2, signal.SIGINT)])
def test_an_end_under_load_loses_nothing(saved, workers, end):
    with process(saved, "--workers", workers) as (started, port, _):
        clients = [Load(port) for _ in range(4)]
        for client in clients:
            client.start()
        time.sleep(1.0)
        started.send_signal(end)
        assert started.wait(30) == 0
        for client in clients:
            client.ended.set()
            client.join(30)
        assert [client.lost for client in clients] == [[], [], [], []]
        assert sum(client.answered for client in clients) > 50


@pytest.mark.parametrize("runs", [2, pytest.param(50, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])])
def test_many_ends_under_load_lose_nothing(saved, runs, record_property):
    answered, lost = 0, []
    for turn in range(runs):
        with process(saved) as (started, port, _):
            clients = [Load(port, per_connection=1 + turn % 7 * 50) for _ in range(4)]
            for client in clients:
                client.start()
            time.sleep(0.3 + 0.02 * (turn % 10))
            started.send_signal(signal.SIGTERM)
            assert started.wait(30) == 0
            for client in clients:
                client.ended.set()
                client.join(30)
                answered += client.answered
                lost += client.lost
    record_property("figure", f"SIGTERM under load: {runs} runs, {answered:,} requests answered, {len(lost)} lost")
    assert lost == []
    assert answered > 10 * runs


def test_workers_share_their_meters_and_are_started_again(saved):
    with process(saved, "--workers", 2) as (started, port, _):
        connections = [http.client.HTTPConnection("127.0.0.1", port, timeout=20) for _ in range(8)]
        for connection in connections:
            assert ask(connection)[0] == 200
            connection.close()
        until = time.monotonic() + 10  # a request is counted just after its answer is sent
        while 'labelwood_requests_total{route="/v1/predict",status="200"} 8' not in get(port, "/metrics"):
            assert time.monotonic() < until, get(port, "/metrics")
            time.sleep(0.02)
        children = subprocess.run(["pgrep", "-P", str(started.pid), "-f", "spawn_main"], capture_output=True, text=True)
        pids = [int(line) for line in children.stdout.split()]
        assert len(pids) == 2
        os.kill(pids[0], signal.SIGKILL)
        until = time.monotonic() + 30
        while True:
            children = subprocess.run(
                ["pgrep", "-P", str(started.pid), "-f", "spawn_main"], capture_output=True, text=True
            )
            now = [int(line) for line in children.stdout.split()]
            if len(now) == 2 and pids[0] not in now:
                break
            assert time.monotonic() < until
            time.sleep(0.1)
        assert json.loads(get(port, "/healthz")) == {"status": "ok"}


def test_workers_end_with_a_killed_parent(saved):
    with process(saved, "--workers", 2) as (started, port, _):
        started.kill()
        started.wait(30)
        until = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
            except ConnectionRefusedError:
                break
            assert time.monotonic() < until, "the workers still listen"
            time.sleep(0.1)


def test_sighup_loads_again(own_folder):
    with process(own_folder) as (started, port, _):
        before = json.loads(get(port, "/v1/model"))["version"]
        lw.Tagger(n_threads=1).fit(["red rose", "blue sky"], [["one"], ["two"]]).save(own_folder)
        started.send_signal(signal.SIGHUP)
        until = time.monotonic() + 20
        while json.loads(get(port, "/v1/model"))["version"] == before:
            assert time.monotonic() < until
            time.sleep(0.05)
        assert started.poll() is None


@pytest.mark.parametrize("runs", [3, pytest.param(100, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])])
def test_killed_while_it_learns_it_keeps_what_it_promised(own_folder, tmp_path, runs, record_property):
    token = "write-token"
    tokens = tmp_path / "tokens"
    tokens.write_text("write sha256:" + hashlib.sha256(token.encode()).hexdigest())
    journal = own_folder.with_name("dishes.corrections.jsonl")
    promised = set()

    def correct(port, name):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        with contextlib.suppress(OSError, http.client.HTTPException):
            for number in range(100_000):
                text = f"{name}-{number}"
                if ask(connection, "/v1/learn", {"texts": [text], "labels": [["soup"]]}, token)[0] == 202:
                    promised.add(text)
        connection.close()

    chance = random.Random(runs)
    for turn in range(runs):
        with process(own_folder, "--learn", "--tokens", tokens) as (started, port, _):
            if turn:  # what the last run promised is there after the restart, and the journal can be written on
                first = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
                assert ask(first, "/v1/learn", {"texts": [f"restart-{turn}"], "labels": [[]]}, token)[0] == 202
                first.close()
                kept = {json.loads(line)["text"] for line in journal.read_text().splitlines()}
                assert promised | {f"restart-{turn}"} <= kept
            writers = [threading.Thread(target=correct, args=(port, f"{turn}-{number}")) for number in range(3)]
            for writer in writers:
                writer.start()
            time.sleep(chance.uniform(0.1, 0.5))
            started.kill()
            for writer in writers:
                writer.join(30)
    with process(own_folder, "--learn", "--tokens", tokens) as (_, port, _):
        last = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        assert ask(last, "/v1/learn", {"texts": ["last"], "labels": [[]]}, token)[0] == 202
        last.close()
    kept = {json.loads(line)["text"] for line in journal.read_text().splitlines()}
    lost = promised - kept
    record_property("figure", f"kill -9 while learning: {runs} runs, {len(promised):,} promised, {len(lost)} lost")
    assert len(promised) > 5 * runs
    assert promised <= kept
    assert "last" in kept
    assert read_journal(own_folder) is not None


def test_bad_settings_are_one_line(saved, tmp_path, capsys):
    def refused(*words):
        assert run(["serve", *map(str, words), "--port", "0"]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        return said

    assert "token for writing" in refused(saved, "--learn")
    assert "two models" in refused(saved, saved)
    assert "no such folder" in refused(tmp_path / "none")
    assert "no such folder" in refused(saved, tmp_path / "none", "--workers", 2)
