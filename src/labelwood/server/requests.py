"""Request and Response: what the routes see of HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec

from labelwood.server.problems import Problem

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
JSON = b"application/json"
Headers = Sequence[tuple[bytes, bytes]]
API_POLICY: Headers = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)
T = TypeVar("T")


class Disconnected(Exception):  # noqa: N818 - no error: the client has gone
    """The client has gone; nobody waits for an answer."""


@dataclass(slots=True)
class Request:
    """One request: its body is read when a route asks for it."""

    scope: Message
    receive: Receive
    id: str
    path: dict[str, str] = field(default_factory=dict)  # the named parts of the path
    most_bytes: int = 0

    def header(self, name: bytes) -> str:
        """The value of a header, named in lower case; "" if it is not there."""
        for key, value in self.scope["headers"]:
            if key == name:
                return str(value.decode("latin-1"))
        return ""

    async def body(self) -> bytes:
        """The whole body."""
        message = await self.receive()
        if message["type"] == "http.request" and not message.get("more_body"):
            return bytes(message.get("body", b""))
        parts, size = [], 0
        while True:
            if message["type"] == "http.disconnect":
                raise Disconnected
            part = message.get("body", b"")
            size += len(part)
            if size > self.most_bytes:
                raise Problem(413, f"the body has more than {self.most_bytes} bytes")
            parts.append(part)
            if not message.get("more_body"):
                return b"".join(parts)
            message = await self.receive()

    async def json(self, reader: msgspec.json.Decoder[T]) -> T:
        """The body as one of the schemas; Problem 400 says what does not fit."""
        body = await self.body()
        try:
            return reader.decode(body)
        except msgspec.ValidationError as error:
            raise Problem(400, f"the body does not fit: {error}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Problem(400, f"the body is not JSON ({error})") from None

    def query(self, *known: str) -> dict[str, str]:
        """The parameters behind the "?"; Problem 400 for unknown or repeated ones."""
        return _fields(self.scope["query_string"], known, "parameter")

    async def form(self) -> dict[str, str]:
        """The fields of a body as forms send it."""
        return _fields(await self.body(), None, "field")


def _fields(raw: bytes, known: tuple[str, ...] | None, what: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(raw.decode("utf-8"), keep_blank_values=True, max_num_fields=100, errors="strict")
    except (UnicodeDecodeError, ValueError):
        raise Problem(400, f"the {what}s are not UTF-8, or more than 100") from None
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise Problem(400, f"a {what} is given twice")
    stray = [name for name in fields if known is not None and name not in known]
    if stray:
        raise Problem(400, f"unknown {what} {stray[0]!r:.80} (known: {', '.join(known or ())})")
    return fields


def number_in(fields: dict[str, str], name: str, default: float, low: float, high: float) -> float:
    """A field as a number within its range; Problem 400 if it is none."""
    text = fields.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not (text.isascii() and low <= value <= high) or "_" in text or text != text.strip():
        raise Problem(400, f"{name} must be a number from {low:g} to {high:g}, but is {text!r:.80}")
    return value


def whole_number_in(fields: dict[str, str], name: str, default: int, low: int, high: int) -> int:
    """A field as a whole number within its range; Problem 400 if it is none."""
    text = fields.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 20 and low <= int(text) <= high):
        raise Problem(400, f"{name} must be a whole number from {low} to {high}, but is {text!r:.80}")
    return int(text)


@dataclass(slots=True)
class Response:
    """An answer: a body, or a stream of parts."""

    body: bytes = b""
    status: int = 200
    content_type: bytes = JSON
    headers: Headers = ()
    policy: Headers = API_POLICY  # what browsers may do with it
    stream: AsyncIterator[bytes] | None = None


@dataclass(frozen=True)
class Route:
    """A method and path, who may use it ("": everyone) and what answers."""

    method: str
    path: str  # "/v1/projects/{project}": a part in braces is given to the handler
    need: str
    handler: Callable[[Any, Request], Awaitable[Response]]  # it gets the App
