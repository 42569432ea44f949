"""The HTTP protocol with limits: uvicorn's, with refusals that arrive and an end for every slow client."""

from __future__ import annotations

import asyncio
import socket
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from labelwood.server.problems import PROBLEM_TYPE, problem_json

if TYPE_CHECKING:
    from labelwood.server.app import App

# After a refusal the rest of the request is read and thrown away for so long: a connection that is closed with unread
# bytes is reset, and the refusal would never arrive.
_DRAIN_SECONDS = 2.0
# A connection on which nothing comes any more when the service ends. Its next request may be on the way.
_LAST_SECONDS = 0.3
_SWEEP_TICKS = 2  # of 0.1 s
_TAKEN_AT_ONCE = 200


class _Refused(Exception):  # noqa: N818 - goes through the parser and never leaves this file
    """Ends the parsing of a request that was refused."""


class LimitedProtocol(HttpToolsProtocol):
    """One connection. `latest` is the time until which its client must get on; a sweep closes what is beyond it."""

    app: App

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for a request's head, unless there are too many connections."""
        super().connection_made(transport)
        limits = self.app.settings.limits
        self.limits = limits
        self.latest = self.loop.time() + limits.header_seconds
        self.head_bytes = 0
        self.in_head = True
        self.body_bytes = 0  # of this request
        self.held_bytes = 0  # of this request and those before it that are not answered yet
        self.refused = False
        self.last = not self.app.ready  # the service is ending: one request, then the end
        if self.last:
            self.latest = self.loop.time() + _LAST_SECONDS
        if len(self.connections) > limits.connections:
            self.app.meters.reject("connections")
            self.refuse(503, f"there are {limits.connections} connections already; try again later")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and what it held."""
        self._release_body()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came; refuse what is too large or no HTTP."""
        if self.refused:
            return
        if self.in_head:
            if not self.head_bytes:
                self.latest = self.loop.time() + self.limits.header_seconds
            self.head_bytes += len(data)
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.refused = True  # the request itself is answered; what follows it is not HTTP/1.1
            if self.cycle is not None:
                self.cycle.keep_alive = False
        except httptools.HttpParserError as error:
            if not self.refused:
                self.app.meters.reject("bad_http")
                self.refuse(400, f"this is no HTTP request ({type(error).__name__})")
        else:
            if self.in_head and self.head_bytes > self.limits.header_bytes:
                self._refuse_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header."""
        super().on_header(name, value)
        if len(self.headers) > 100:
            self._refuse_head()
            raise _Refused

    def on_headers_complete(self) -> None:
        """Check the head and start the answer."""
        lengths, codings, hosts, size = [], [], 0, len(self.url)
        for name, value in self.headers:
            size += len(name) + len(value) + 4
            if name == b"content-length":
                lengths.append(value)
            elif name == b"transfer-encoding":
                codings.append(value.lower())
            elif name == b"host":
                hosts += 1
        if size > self.limits.header_bytes:
            self._refuse_head()
            raise _Refused
        fault = _head_fault(lengths, codings, hosts, self.parser.get_http_version())
        if fault:
            self.app.meters.reject("bad_http")
            self.refuse(400, fault)
            raise _Refused
        declared = int(lengths[0]) if lengths else 0
        if declared > self.limits.body_bytes:
            self.refuse(413, f"the body has {declared} bytes; at most {self.limits.body_bytes} are taken")
            raise _Refused
        if declared + self.app.buffered_bytes > self.limits.buffered_bytes:
            self.app.meters.reject("bodies")
            self.refuse(503, "too many large requests are being read; try again later")
            raise _Refused
        self.in_head = False
        self.head_bytes = self.body_bytes = 0
        self.latest = self.loop.time() + self.limits.body_seconds
        super().on_headers_complete()
        if self.last:
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body, within the limits."""
        self.body_bytes += len(body)
        self.held_bytes += len(body)
        self.app.buffered_bytes += len(body)
        if self.body_bytes > self.limits.body_bytes:
            self.refuse(413, f"the body has more than {self.limits.body_bytes} bytes")
            raise _Refused
        if self.app.buffered_bytes > self.limits.buffered_bytes:
            self.app.meters.reject("bodies")
            self.refuse(503, "too many large requests are being read; try again later")
            raise _Refused
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is here: from now on it is the service that must get on."""
        self.in_head = True
        self.latest = float("inf")
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The answer is written: wait for the next request."""
        self._release_body()
        if self.in_head:  # else the rest of a refused body is still to come, and its time runs on
            self.latest = self.loop.time() + (_LAST_SECONDS if self.last else self.limits.idle_seconds)
        super().on_response_complete()

    def pause_writing(self) -> None:
        """The client does not take its answer: its time begins to run."""
        self.latest = self.loop.time() + self.limits.answer_seconds
        super().pause_writing()

    def resume_writing(self) -> None:
        """The client takes its answer."""
        self.latest = float("inf")
        super().resume_writing()

    def shutdown(self) -> None:
        """Answer what is here or on the way, then close."""
        self.last = True
        if self.cycle is None or self.cycle.response_complete:
            self.latest = min(self.latest, self.loop.time() + _LAST_SECONDS)
        else:
            self.cycle.keep_alive = False

    def sweep(self, now: float) -> None:
        """Close the connection if its client took too long."""
        if now <= self.latest or self.transport.is_closing():
            return
        idle = self.in_head and not self.head_bytes
        answering = self.cycle is not None and not self.cycle.response_complete
        if idle and not answering and not self.flow.write_paused and not self.refused:
            self.transport.close()
            return
        if not self.refused:
            self.app.meters.reject("slow_client")
        if self.refused or self.flow.write_paused or (answering and self.cycle.response_started):
            self.transport.abort()
        else:
            self.refuse(408, "the request took too long to arrive")

    def refuse(self, status: int, detail: str) -> None:
        """Answer with a problem, throw the rest of the request away for a while, then close."""
        self.refused = True
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            if self.in_head:
                cycle.keep_alive = False  # a request before this one is being answered: that answer comes, then the end
                self.latest = self.loop.time() + self.limits.answer_seconds
                return
            cycle.disconnected = True  # it is this request that is refused: its route hears that the client has gone
            cycle.message_event.set()
            if cycle.response_started or self.pipeline:
                self.transport.abort()
                return
        self.flow.resume_reading()
        self.latest = self.loop.time() + _DRAIN_SECONDS
        self.transport.write(_refusal(status, detail))
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def _refuse_head(self) -> None:
        self.refuse(431, f"the head of the request has more than {self.limits.header_bytes} bytes or 100 lines")

    def _release_body(self) -> None:
        self.app.buffered_bytes -= self.held_bytes
        self.held_bytes = 0


def _head_fault(lengths: list[bytes], codings: list[bytes], hosts: int, version: str) -> str:
    """What makes a head ambiguous: two readers could see two different requests in it."""
    if len(lengths) > 1:
        return "Content-Length is given twice"
    if lengths and codings:
        return "Content-Length and Transfer-Encoding are given together"
    if codings and (codings != [b"chunked"] or version != "1.1"):
        return "the only Transfer-Encoding is chunked, in HTTP/1.1"
    if lengths and not (lengths[0].isdigit() and len(lengths[0]) < 20):
        return "Content-Length is no number"
    if version not in ("1.0", "1.1"):
        return "the version of HTTP is 1.1"
    return "a request names one Host" if hosts > 1 or (version == "1.1" and not hosts) else ""


def _refusal(status: int, detail: str) -> bytes:
    body = problem_json(status, detail, "-")
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode(),
        b"content-type: " + PROBLEM_TYPE,
        b"content-length: %d" % len(body),
        b"x-content-type-options: nosniff",
        *([b"retry-after: 1"] if status == 503 else []),
        b"connection: close",
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def _waiting(listener: socket.socket, most: int | None = None) -> list[socket.socket]:
    """The connections that wait to be taken from a socket, all of them or so many."""
    listener.setblocking(False)
    connections: list[socket.socket] = []
    while True:
        if len(connections) == most:
            return connections
        try:
            connection, _ = listener.accept()
        except OSError:  # BlockingIOError: there is none
            return connections
        connection.setblocking(False)
        connections.append(connection)


class SweepingServer(uvicorn.Server):
    """uvicorn's server, which looks at its connections five times a second."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        self._listeners = sockets or []
        self._taking: set[asyncio.Task[None]] = set()
        await super().startup(sockets)

    async def on_tick(self, counter: int) -> bool:
        """Take the connections that wait, and close those of slow clients."""
        # uvloop takes one connection in each turn of its loop. A turn of a busy service is 0.1 s: many would wait long.
        for listener in self._listeners:
            for connection in _waiting(listener, _TAKEN_AT_ONCE):
                task = asyncio.get_running_loop().create_task(self._take(connection))
                self._taking.add(task)
                task.add_done_callback(self._taking.discard)
        if counter % _SWEEP_TICKS == 0:
            self.sweep()
        return await super().on_tick(counter)

    def sweep(self) -> None:
        """Look at every connection once."""
        now = asyncio.get_running_loop().time()
        connections: list[Any] = list(self.server_state.connections)
        for connection in connections:
            connection.sweep(now)
        app: Any = self.config.loaded_app
        app.meters.connections(len(connections))

    async def shutdown(self, sockets: Any = None) -> None:
        """Take no new connections, answer what was accepted, end."""
        app: Any = self.config.loaded_app
        app.ready = False
        # Connections that the system has made and nobody has taken yet would be reset with the socket.
        loop = asyncio.get_running_loop()
        taken = [
            loop.create_task(self._take(connection)) for listener in sockets or [] for connection in _waiting(listener)
        ]
        await super().shutdown(sockets)
        await asyncio.gather(*taken, *self._taking)

    async def _take(self, connection: socket.socket) -> None:
        make: Any = self.config.http_protocol_class
        state = self.lifespan.state
        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(
            lambda: make(config=self.config, server_state=self.server_state, app_state=state), connection
        )

    async def _wait_tasks_to_complete(self) -> None:
        sweeping = asyncio.create_task(self._sweep_until_done())  # the main loop that did it has ended
        try:
            await super()._wait_tasks_to_complete()
        finally:
            sweeping.cancel()

    async def _sweep_until_done(self) -> None:
        while True:
            self.sweep()
            await asyncio.sleep(0.1)
