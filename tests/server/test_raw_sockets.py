"""What no proper client sends: slow, huge, ambiguous and random bytes; others are served all the while."""

import random
import socket
import time

import pytest

from labelwood.server.settings import Limits

SHORT = Limits(header_seconds=0.5, body_seconds=0.6, body_bytes=20_000, header_bytes=4_000, connections=40)


@pytest.fixture
def limited(start, saved):
    return start({"dishes": saved}, limits=SHORT)


def connect(service):
    return socket.create_connection((service.host, service.port), timeout=10)


def read_all(connection):
    """Everything until the service closes."""
    parts = []
    while True:
        try:
            part = connection.recv(65536)
        except ConnectionResetError:
            break
        if not part:
            break
        parts.append(part)
    return b"".join(parts)


def exchange(service, sent):
    with connect(service) as connection:
        connection.sendall(sent)
        return read_all(connection)


def status(answer):
    return int(answer.split(b" ", 2)[1])


def head(*lines, path=b"/v1/predict"):
    return b"POST " + path + b" HTTP/1.1\r\nHost: x\r\n" + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


BODY = b'{"texts": ["cream cake"]}'
LENGTH = b"Content-Length: %d" % len(BODY)


@pytest.mark.parametrize(
    "sent",
    [
        head(LENGTH, LENGTH) + BODY,
        head(LENGTH, b"Content-Length: 0") + BODY,
        head(b"Content-Length: %d, %d" % (len(BODY), len(BODY))) + BODY,
        head(b"Content-Length: +25") + BODY,
        head(b"Content-Length: -5") + BODY,
        head(b"Content-Length: 0x19") + BODY,
        head(b"Content-Length: 99999999999999999999999") + BODY,
        head(LENGTH, b"Transfer-Encoding: chunked") + b"0\r\n\r\n",
        head(b"Transfer-Encoding: chunked", LENGTH) + b"0\r\n\r\n",
        head(b"Transfer-Encoding: identity") + BODY,
        head(b"Transfer-Encoding: chunked, identity") + b"0\r\n\r\n",
        head(b"Transfer-Encoding: xchunked") + b"0\r\n\r\n",
        head(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked") + b"0\r\n\r\n",
        head(b"Transfer-Encoding : chunked") + b"0\r\n\r\n",
        head(b"Transfer-Encoding: chunked") + b"zz\r\n\r\n",
        head(b"Transfer-Encoding: chunked") + b"ffffffffffffffffffff\r\n",
        head(b"X: a\x00b", LENGTH) + BODY,
        head(b" folded: x", LENGTH) + BODY,
        b"POST /v1/predict HTTP/1.1\r\n" + LENGTH + b"\r\n\r\n" + BODY,
        head(b"Host: y", LENGTH) + BODY,
        b"GET /healthz HTTP/3.7\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_an_ambiguous_request_is_refused_and_the_connection_ends(limited, sent):
    smuggled = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = exchange(limited, sent + smuggled)
    assert status(answer) == 400
    assert b'"status":400' in answer
    assert answer.count(b"HTTP/1.1 ") == 1, "the bytes behind the refused request are no request"


def test_a_chunked_body_is_read(limited):
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
    answer = exchange(limited, head(b"Transfer-Encoding: chunked", b"Connection: close") + chunks)
    assert status(answer) == 200


def test_pipelined_requests_are_answered_in_order(limited):
    sent = head(LENGTH) + BODY + b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" + head(LENGTH, b"Connection: close") + BODY
    answer = exchange(limited, sent)
    assert answer.count(b"HTTP/1.1 200") == 3
    assert answer.index(b'"results"') < answer.index(b'"status":"ok"')


def test_a_bad_request_behind_a_good_one(limited):
    answer = exchange(limited, head(LENGTH) + BODY + head(LENGTH, LENGTH) + BODY)
    assert status(answer) == 200
    assert answer.count(b"HTTP/1.1 200") == 1


def test_a_declared_giant_is_refused_at_once_and_hears_it(limited):
    started = time.monotonic()
    with connect(limited) as connection:
        connection.sendall(head(b"Content-Length: 10000000000"))
        assert status(connection.recv(65536)) == 413
    assert time.monotonic() - started < 0.5
    with connect(limited) as connection:  # one that sends on without looking still hears why
        connection.sendall(head(b"Content-Length: 10000000000") + b"x" * 1_000_000)
        assert status(read_all(connection)) == 413


def test_a_chunked_giant_is_cut_off(limited):
    chunk = b"1000\r\n" + b"x" * 0x1000 + b"\r\n"
    answer = exchange(limited, head(b"Transfer-Encoding: chunked") + chunk * 20)
    assert status(answer) == 413


@pytest.mark.parametrize("lines", [[b"X: " + b"a" * 5_000], [b"X%d: a" % number for number in range(200)]])
def test_a_large_head_is_refused(limited, lines):
    assert status(exchange(limited, head(*lines, LENGTH) + BODY)) == 431


def test_an_endless_head_is_refused(limited):
    with connect(limited) as connection:
        connection.sendall(b"GET /" + b"a" * 3_000)
        time.sleep(0.05)
        connection.sendall(b"a" * 3_000)
        assert status(read_all(connection)) == 431


def test_too_many_bodies_at_once(start, saved):
    service = start({"dishes": saved}, limits=Limits(buffered_bytes=30_000, body_bytes=20_000))
    with connect(service) as first:
        first.sendall(head(b"Content-Length: 20000") + b" " * 15_000)
        time.sleep(0.1)
        assert status(exchange(service, head(b"Content-Length: 20000") + b" " * 100)) == 503
        first.sendall(b" " * 5_000)
        assert status(first.recv(65536)) == 400
    until = time.monotonic() + 10
    while service.app.buffered_bytes:  # given back just after the answer is written
        assert time.monotonic() < until
        time.sleep(0.01)


def test_slow_clients_are_cut_off_and_others_are_served(limited):
    """Half-sent heads and bodies, dripping bytes: none holds its connection, and nobody else notices."""
    silent = [connect(limited) for _ in range(5)]
    heads = [connect(limited) for _ in range(10)]
    bodies = [connect(limited) for _ in range(10)]
    dripping = [connect(limited) for _ in range(5)]
    for connection in heads:
        connection.sendall(b"POST /v1/predict HTTP/1.1\r\nHost: x\r\nX-Slow: ")
    for connection in [*bodies, *dripping]:
        connection.sendall(head(b"Content-Length: 1000") + BODY[:5])
    started = time.monotonic()
    worst = 0.0
    while time.monotonic() - started < 1.2:
        for connection in dripping:
            try:
                connection.sendall(b" ")
            except OSError:
                continue
        before = time.monotonic()
        assert limited.predict(texts=["cream cake"], k=1)[0][0]["name"] == "dessert"
        worst = max(worst, time.monotonic() - before)
        time.sleep(0.02)
    for connection in heads + bodies:
        answer = read_all(connection)
        assert status(answer) == 408
    for connection in [*silent, *dripping]:
        assert status(read_all(connection) or b"HTTP/1.1 408 closed") == 408
    for connection in [*silent, *heads, *bodies, *dripping]:
        connection.close()
    assert worst < 1.0
    assert b'reason="slow_client"} 2' in limited.ask("GET", "/metrics")[2]


def test_a_client_that_does_not_take_its_answer_is_cut_off(start, saved):
    service = start({"dishes": saved}, limits=Limits(answer_seconds=0.4))
    body = b'{"texts": [%s], "k": 4}' % b",".join([b'"cake"'] * 100_000)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(20)
        connection.connect((service.host, service.port))
        accept = b"Accept: application/x-ndjson"
        connection.sendall(head(b"Content-Length: %d" % len(body), accept) + body)
        until = time.monotonic() + 20
        while b'reason="slow_client"} 1' not in service.ask("GET", "/metrics")[2]:
            assert time.monotonic() < until
            time.sleep(0.1)
    assert service.predict(texts=["cream cake"])


def test_too_many_connections(limited):
    held = [connect(limited) for _ in range(SHORT.connections)]
    time.sleep(0.1)
    with connect(limited) as one_more:
        assert status(read_all(one_more)) == 503
    for connection in held:
        connection.close()
    time.sleep(0.2)
    assert limited.json("GET", "/healthz")[0] == 200


@pytest.mark.parametrize(
    "path", [b"/v1/predict", b"/v1/explain", b"/v1/learn", b"/v1/projects/dishes/suggest", b"/metrics"]
)
def test_random_bytes(limited, path):
    noise = random.Random(7)
    for size in (1, 100, 19_000):
        body = noise.randbytes(size)
        answer = exchange(limited, head(b"Content-Length: %d" % size, b"Connection: close", path=path) + body)
        assert 400 <= status(answer) < 500
    for _ in range(10):
        answer = exchange(limited, noise.randbytes(2_000) + b"\r\n\r\n")
        assert not answer or status(answer) in (400, 408, 431)
    assert limited.json("GET", "/healthz")[0] == 200
