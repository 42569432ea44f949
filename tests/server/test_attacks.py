"""Attacks and overload against a service in a process of its own, while another process asks it as people do."""

import contextlib
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from labelwood.server.openapi import document

pytestmark = pytest.mark.skipif(os.name != "posix", reason="reads /proc and needs many open files")

ROOT = Path(__file__).parents[2]
SLOW = [pytest.mark.slow, pytest.mark.timeout(1800)]
BODY = b'{"texts": ["cream cake"]}'
LENGTH = b"Content-Length: %d" % len(BODY)
PAIRS = [
    [LENGTH, b"Content-Length: 0"],
    [LENGTH, b"Transfer-Encoding: chunked"],
    [b"Transfer-Encoding: chunked", LENGTH],
    [b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"],
    [b"Content-Length: 0, 25"],
]
# Asks one question after the other on one connection until its stdin ends; prints the milliseconds of the answers.
VICTIM = """
import http.client, json, sys, threading, time
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
times, wrong = [], 0
while not ended.is_set():
    started = time.perf_counter()
    connection.request("POST", "/v1/predict", json.dumps({"texts": ["cream cake"], "k": 1}))
    answer = connection.getresponse()
    answer.read()
    times.append(1e3 * (time.perf_counter() - started))
    wrong += answer.status != 200
    if len(times) == 1:
        print("ready", flush=True)
    time.sleep(0.005)
times.sort()
print(json.dumps({"n": len(times), "wrong": wrong, "p99": times[int(0.99 * len(times))], "worst": times[-1]}))
"""


@contextlib.contextmanager
def served(folder, *words):
    """(process, port) of a service."""
    command = [sys.executable, "-m", "labelwood", "serve", str(folder), *words, "--port", "0"]
    service = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        line = service.stderr.readline()
        port = int(line.split("http://127.0.0.1:")[1].split()[0])
        drain = threading.Thread(target=service.stderr.read, daemon=True)
        drain.start()
        yield service, port
        service.terminate()
        assert service.wait(90) == 0
        drain.join(10)
    finally:
        service.kill()
        service.wait(30)
        service.stderr.close()


@contextlib.contextmanager
def victim(port, figures):
    """Someone who asks while the block runs; `figures` gets how that went."""
    asking = subprocess.Popen([sys.executable, "-c", VICTIM, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert asking.stdout.readline() == b"ready\n"
        started = time.monotonic()
        yield
        time.sleep(max(0.0, started + 1.0 - time.monotonic()))  # enough answers to judge by
        figures.update(json.loads(asking.communicate(timeout=120)[0]))
    finally:
        asking.kill()
        asking.wait(30)


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def answer_to(port, sent):
    """What comes back until the service closes; it may close while bytes are still being sent."""
    with connect(port) as connection:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(sent)
        parts = []
        with contextlib.suppress(ConnectionResetError):
            while part := connection.recv(65536):
                parts.append(part)
        return b"".join(parts)


def head(*lines, path=b"/v1/predict"):
    return b"POST " + path + b" HTTP/1.1\r\nHost: x\r\n" + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


def slowloris(port, n, seconds):
    """Connections that never finish their heads, a byte now and then."""
    held = [connect(port) for _ in range(n)]
    for connection in held:
        connection.sendall(b"POST /v1/predict HTTP/1.1\r\nHost: x\r\nX-Slow: ")
    _drip(held, b"a", seconds)


def dripping_bodies(port, n, seconds):
    """Bodies that come a byte at a time."""
    held = [connect(port) for _ in range(n)]
    for connection in held:
        connection.sendall(head(b"Content-Length: 100000") + b"{")
    _drip(held, b" ", seconds)


def _drip(held, byte, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for connection in held:
            with contextlib.suppress(OSError):
                connection.sendall(byte)
        time.sleep(0.1)
    for connection in held:
        connection.close()


def declared_giants(port, n, seconds):
    """Bodies of 10 GB that are declared, and begun."""
    for _ in range(n):
        answer = answer_to(port, head(b"Content-Length: 10000000000") + b"x" * 200_000)
        assert not answer or answer.startswith(b"HTTP/1.1 413"), answer[:200]


def smuggling_pairs(port, n, seconds):
    """Requests with two lengths, and another request hidden behind."""
    hidden = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    for number in range(n):
        answer = answer_to(port, head(*PAIRS[number % len(PAIRS)]) + b"0\r\n\r\n" + hidden)
        assert answer.startswith(b"HTTP/1.1 400"), answer[:200]
        assert answer.count(b"HTTP/1.1 ") == 1


def random_bytes(port, n, seconds):
    """1 MB of random bytes as the body of every route, and in place of a request."""
    chance = random.Random(5)
    routes = [path.replace("{project}", "dishes").encode() for path in document()["paths"]]
    for number in range(n):
        path = routes[number % len(routes)]
        noise = chance.randbytes(1_000_000)
        answer = answer_to(port, head(b"Content-Length: 1000000", b"Connection: close", path=path) + noise)
        assert not answer or b"400" <= answer.split(b" ", 2)[1] < b"500", (path, answer[:200])
        answer_to(port, noise)


ATTACKS = {
    "slowloris": (slowloris, 40, 500),
    "dripping bodies": (dripping_bodies, 20, 200),
    "10 GB declared": (declared_giants, 10, 300),
    "smuggling pairs": (smuggling_pairs, 20, 1_000),
    "1 MB of random bytes": (random_bytes, 24, 200),
}


@pytest.mark.parametrize("large", [False, pytest.param(True, marks=SLOW)])
@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_and_the_others(saved, name, large, record_property):
    attack, few, many = ATTACKS[name]
    n = many if large else few
    quiet, figures = {}, {}
    with served(saved) as (_, port):
        with victim(port, quiet):
            time.sleep(5 if large else 0)
        with victim(port, figures):
            attack(port, n, 20 if large else 2)
    record_property(
        "figure",
        f"{name}, {n}: others' p99 {figures['p99']:.1f} ms (worst {figures['worst']:.1f}), {figures['n']:,} requests, "
        f"{figures['wrong']} refused; p99 {quiet['p99']:.1f} ms before the attack",
    )
    assert figures["wrong"] == 0
    assert figures["n"] > 20
    assert figures["p99"] < (300 if large else 1_000)


def resident(pid):
    """The resident memory of a process, in MB."""
    return int(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]) / 1024


def load(port, connections, rows, seconds):
    command = [sys.executable, str(ROOT / "benchmarks" / "serve" / "load.py"), "127.0.0.1", str(port)]
    words = ["--connections", str(connections), "--rows", str(rows), "--seconds", str(seconds), "--characters", "200"]
    return json.loads(subprocess.run([*command, *words], capture_output=True, check=True, timeout=300).stdout)


@pytest.mark.parametrize("large", [False, pytest.param(True, marks=SLOW)])
def test_overload_is_refused_and_memory_stays(saved, large, record_property):
    """Ten times as many rows as may wait: accepted requests stay quick, the others hear 503, nothing piles up."""
    connections, rows, seconds = (640, 16, 20) if large else (150, 80, 2)
    with served(saved) as (service, port):
        load(port, connections, rows, 5 if large else 2)  # what a busy service needs once
        before = resident(service.pid)
        figures = load(port, connections, rows, seconds)
        after = resident(service.pid)
    statuses = {int(status): n for status, n in figures["statuses"].items()}
    record_property(
        "figure",
        f"overload, {connections} connections of {rows} rows: {statuses}, accepted p99 {figures['p99_ms']:.0f} ms, "
        f"memory {before:.0f} -> {after:.0f} MB",
    )
    assert set(statuses) == {200, 503}
    assert figures["p99_ms"] < (1_000 if large else 5_000)
    assert after < 1.05 * before
