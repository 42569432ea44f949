"""Page: the files of the service's page, read once at the start; a request can name them and nothing else."""

from __future__ import annotations

import mimetypes
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from labelwood.server.requests import Request, Response, Route

if TYPE_CHECKING:
    from labelwood.server.app import App

PAGE_PATH = "/page"  # what its files are counted under
_POLICY = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        b"connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"cache-control", b"no-cache"),
)
_TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript"}


class Page:
    """The files of a folder, by the path under which they are asked for."""

    def __init__(self, folder: Path) -> None:
        self._files: dict[str, tuple[bytes, bytes]] = {}
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
                entry = (path.read_bytes(), kind.encode())
                self._files["/" + path.relative_to(folder).as_posix()] = entry
        self._files["/"] = self._files["/index.html"]

    @classmethod
    def found(cls) -> Page | None:
        """The page that came with the package; None if it has none."""
        folder = Path(str(resources.files("labelwood.server"))) / "page"
        return cls(folder) if (folder / "index.html").is_file() else None

    def route(self, path: str) -> Route | None:
        """What answers for a file of the page; None if there is no such file."""
        return Route("GET", PAGE_PATH, "", self._answer) if path in self._files else None

    async def _answer(self, app: App, request: Request) -> Response:
        body, kind = self._files[request.scope["path"]]
        return Response(body, content_type=kind, policy=_POLICY)
