"""Problem: a refused request as problem+json (RFC 9457)."""

from __future__ import annotations

import math
from http import HTTPStatus

import msgspec

PROBLEM_TYPE = b"application/problem+json"


class ProblemBody(msgspec.Struct):
    """What every refused request gets."""

    title: str
    status: int
    detail: str
    request_id: str
    type: str = "about:blank"


class Problem(Exception):  # noqa: N818 - the RFC's word
    """Why a request is refused, with its HTTP status and, where it helps, the seconds after which to try again.

    pause: seconds before the client hears it.
    """

    def __init__(
        self, status: int, detail: str, *, retry_after: float | None = None, allow: str = "", pause: float = 0.0
    ) -> None:
        super().__init__(detail)
        self.pause = pause
        self.status = status
        self.detail = detail
        self.headers: list[tuple[bytes, bytes]] = []
        if retry_after is not None:
            self.headers.append((b"retry-after", str(max(1, math.ceil(retry_after))).encode()))
        if allow:
            self.headers.append((b"allow", allow.encode()))
        if status == 401:
            self.headers.append((b"www-authenticate", b"Bearer"))

    def body(self, request_id: str) -> bytes:
        """The JSON of the problem."""
        return problem_json(self.status, self.detail, request_id)


def problem_json(status: int, detail: str, request_id: str) -> bytes:
    """The JSON of a problem with the status' usual title."""
    return msgspec.json.encode(ProblemBody(HTTPStatus(status).phrase, status, detail, request_id))
