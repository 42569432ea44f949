"""A load generator without dependencies: so many connections that ask without a pause, for so many seconds.

    python benchmarks/serve/load.py HOST PORT --connections 640 --rows 10 --seconds 10 --characters 2000

Prints one JSON object: how many answers of each status, errors, and the milliseconds of the accepted ones. wrk is
faster; this one can send several rows a request, sees every status apart, and is here wherever Python is.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections import Counter

WORDS = ("regulation", "council", "market", "product", "import", "fish", "milk", "tariff", "state", "wine", "energy")


class Connection(asyncio.Protocol):
    """Sends the request again whenever an answer has come."""

    def __init__(self, request: bytes, figures: Figures) -> None:
        self._request, self._figures = request, figures
        self._buffer = bytearray()

    def connection_made(self, transport) -> None:
        self._transport = transport
        self._ask()

    def _ask(self) -> None:
        self._started = time.perf_counter()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._buffer[:end]).lower()
        length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
        if len(self._buffer) < end + 4 + length:
            return
        self._figures.add(int(head[9:12]), time.perf_counter() - self._started)
        self._buffer.clear()
        if self._figures.ended or b"connection: close" in head:
            self._transport.close()
        else:
            self._ask()

    def connection_lost(self, error) -> None:
        if not self._figures.ended:
            self._figures.closed += 1
            self._figures.open_again()


class Figures:
    """What came back."""

    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()
        self.seconds: list[float] = []
        self.closed = 0
        self.ended = False
        self.open_again = lambda: None

    def add(self, status: int, seconds: float) -> None:
        self.statuses[status] += 1
        if status == 200:
            self.seconds.append(seconds)

    def summary(self, seconds: float) -> dict[str, object]:
        ordered = sorted(self.seconds) or [float("nan")]
        places = {"p50_ms": 0.5, "p99_ms": 0.99, "worst_ms": 1.0}
        return {
            "seconds": round(seconds, 2),
            "statuses": {str(status): n for status, n in sorted(self.statuses.items())},
            "accepted_per_second": round(len(self.seconds) / seconds, 1),
            "closed": self.closed,
            **{
                name: round(1e3 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2)
                for name, share in places.items()
            },
        }


def request_of(host: str, rows: int, characters: int, k: int) -> bytes:
    chance = random.Random(1)
    texts = []
    for _ in range(rows):
        text = ""
        while len(text) < characters:
            text += chance.choice(WORDS) + " "
        texts.append(text[:characters])
    body = json.dumps({"texts": texts, "k": k}).encode()
    head = f"POST /v1/predict HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def run(host: str, port: int, connections: int, seconds: float, request: bytes) -> dict[str, object]:
    loop = asyncio.get_running_loop()
    figures = Figures()
    tasks: set[asyncio.Task[object]] = set()

    async def connect(pause: float) -> None:
        await asyncio.sleep(pause)
        try:
            await loop.create_connection(lambda: Connection(request, figures), host, port)
        except OSError:
            figures.closed += 1
            if not figures.ended:
                open_again()

    def open_again() -> None:
        task = loop.create_task(connect(0.05))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    figures.open_again = open_again
    started = time.perf_counter()
    for number in range(connections):
        task = loop.create_task(connect(0.5 * number / connections))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.sleep(seconds)
    figures.ended = True
    return figures.summary(time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--rows", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--characters", type=int, default=2000)
    parser.add_argument("-k", type=int, default=5)
    asked = parser.parse_args()
    request = request_of(asked.host, asked.rows, asked.characters, asked.k)
    print(json.dumps(asyncio.run(run(asked.host, asked.port, asked.connections, asked.seconds, request))))


if __name__ == "__main__":
    main()
