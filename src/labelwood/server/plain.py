"""A small HTTP server for a saved tagger: Python's own http.server, JSON in and out, limits on everything.

GET  /health                                  {"status": "ok", "model": ..., "n_labels": ...}
POST /predict {"texts": ["..."], "k": 5}      {"results": [[{"label": "...", "score": 0.9}, ...]]}
"""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from labelwood.errors import LabelwoodError
from labelwood.tagger.tagger import Tagger

MAX_BYTES = 8 * 1024 * 1024
MAX_TEXTS = 1000
MAX_K = 1000
SECONDS_TO_WAIT = 30.0


class RequestError(Exception):
    """What the client did wrong, with its HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Server(ThreadingHTTPServer):
    """Serves one tagger, a thread for each connection."""

    daemon_threads = True
    request_queue_size = 128  # clients that may wait to be taken; the library's 5 refuses a small burst

    def __init__(self, tagger: Tagger, host: str = "127.0.0.1", port: int = 8000) -> None:
        self.tagger = tagger
        super().__init__((host, port), Handler)

    @property
    def address(self) -> str:
        """Where the server listens."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: Server
    server_version = "labelwood"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = SECONDS_TO_WAIT  # a client that says nothing does not keep its thread

    def do_GET(self) -> None:
        """Answer GET /health."""
        self._answer({"/health": self._health})

    def do_POST(self) -> None:
        """Answer POST /predict."""
        self._answer({"/predict": self._predict})

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing: texts of clients do not belong into logs."""

    def _answer(self, routes: dict[str, Any]) -> None:
        path = self.path.partition("?")[0]
        try:
            if path not in routes:
                known = path in ("/health", "/predict")
                allowed = "GET /health and POST /predict are served here"
                raise RequestError(405 if known else 404, allowed)
            self._send(200, routes[path]())
        except RequestError as error:
            self._send(error.status, {"error": str(error)})
        except LabelwoodError as error:
            self._send(400, {"error": str(error)})
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        except Exception as error:
            self._send(500, {"error": f"unexpected {type(error).__name__}"})
            raise

    def _health(self) -> dict[str, Any]:
        tagger = self.server.tagger
        return {"status": "ok", "model": tagger.model_.name, "n_labels": len(tagger.label_names)}

    def _predict(self) -> dict[str, Any]:
        texts, k = checked_question(self._body())
        answers = self.server.tagger.predict(texts, k)
        return {"results": [[{"label": name, "score": round(score, 6)} for name, score in row] for row in answers]}

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise RequestError(411, "the request needs a Content-Length")
        if int(length) > MAX_BYTES:
            raise RequestError(413, f"the request has {length} bytes; at most {MAX_BYTES} are taken")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise RequestError(400, "the request ended too early")
        return body

    def _send(self, status: int, content: dict[str, Any]) -> None:
        raw = json.dumps(content, ensure_ascii=False).encode("utf-8")
        if status >= 400:
            self.close_connection = True  # the rest of a refused request is not read
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(raw)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(raw)


def checked_question(body: bytes) -> tuple[list[str], int]:
    """(texts, k) of a request's body; RequestError says what is wrong with it."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        raise RequestError(400, "the body is not JSON") from None
    if not isinstance(asked, dict) or "texts" not in asked:
        raise RequestError(400, 'the body must be an object like {"texts": ["..."], "k": 5}')
    unknown = sorted(set(asked) - {"texts", "k"})
    if unknown:
        raise RequestError(400, f"unknown key {unknown[0]!r}; known are 'texts' and 'k'")
    texts, k = asked["texts"], asked.get("k", 5)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise RequestError(400, "texts must be a list of strings")
    if len(texts) > MAX_TEXTS:
        raise RequestError(413, f"{len(texts)} texts came; at most {MAX_TEXTS} are taken at once")
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MAX_K:
        raise RequestError(400, f"k must be a whole number from 1 to {MAX_K}")
    return texts, k
