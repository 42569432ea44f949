"""App: the ASGI application: finds the route, checks who asks, times and counts the answer."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import re
import secrets
import time
import traceback
from collections.abc import Callable

from labelwood.errors import LabelwoodError, MissingExtraError, ModelFileError
from labelwood.server.access import WRITE, RateLimit
from labelwood.server.batching import Batcher, processors
from labelwood.server.folder_changes import changed_folder
from labelwood.server.journal import Journal, journal_path
from labelwood.server.meters import Meters
from labelwood.server.page_files import Page
from labelwood.server.problems import PROBLEM_TYPE, Problem
from labelwood.server.requests import Disconnected, Message, Receive, Request, Response, Route, Send
from labelwood.server.routes import ROUTE_NAMES, ROUTES
from labelwood.server.served import ServedModel, ServedModels
from labelwood.server.settings import Settings

log = logging.getLogger("labelwood.server")
_GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class App:
    """The service of some models, for one event loop."""

    def __init__(
        self,
        settings: Settings,
        models: ServedModels,
        meters: Meters | None = None,
        when_ready: Callable[[], None] = lambda: None,
    ) -> None:
        self.settings = settings
        self.models = models
        self.meters = meters if meters is not None else Meters(ROUTE_NAMES)
        self.buffered_bytes = 0
        self.ready = False
        self._when_ready = when_ready
        self.page = Page.found()
        self._exact: dict[str, dict[str, Route]] = {}
        self._patterns: list[tuple[re.Pattern[str], dict[str, Route]]] = []
        for route in ROUTES:
            self._add(route)
        self.journals = {served.name: Journal(journal_path(served.folder)) for served in models}
        self._rate = RateLimit(settings.limits.rate) if settings.limits.rate else None
        self._ids = itertools.count()
        self._id_start = secrets.token_hex(6)
        self._tasks: list[asyncio.Task[None]] = []
        self._reloading = asyncio.Lock()
        self._changing = asyncio.Lock()

    def _add(self, route: Route) -> None:
        if "{" not in route.path:
            self._exact.setdefault(route.path, {})[route.method] = route
            return
        pattern = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", route.path))
        for known, methods in self._patterns:
            if known.pattern == pattern.pattern:
                methods[route.method] = route
                return
        self._patterns.append((pattern, {route.method: route}))

    # life

    def start(self) -> None:
        """Make what belongs to the running event loop."""
        self._loop = asyncio.get_running_loop()
        limits, workers = self.settings.limits, self.settings.workers
        self.batcher = Batcher(
            self.meters,
            waiting_rows=limits.waiting_rows,
            seconds=limits.answer_seconds,
            n_threads=self.settings.threads or max(1, processors() // workers),
        )
        if self.settings.watch_seconds > 0:
            self._tasks.append(asyncio.create_task(self._watch()))
        self.ready = True
        self._when_ready()

    async def stop(self) -> None:
        """End the threads; all requests are answered by now."""
        for task in self._tasks:
            task.cancel()
        self.batcher.close()
        for journal in self.journals.values():
            journal.close()
        self.models.close()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self.settings.watch_seconds)
            for name in await asyncio.to_thread(self.models.changed):
                try:
                    await self.reload(name)
                except LabelwoodError as error:
                    log.warning("model %s: the new folder is refused, the old model stays: %s", name, error)

    async def reload(self, name: str) -> ServedModel:
        """The model of a name, loaded again; the old one answers until the new one is ready, and stays if it fails."""
        async with self._reloading:
            try:
                await asyncio.to_thread(self.models.reload, name)
            except LabelwoodError:
                self.meters.count("refused_reloads")
                raise
        self.meters.count("reloads")
        served = self.models.get(name)
        if served is None:
            raise ModelFileError(f"there is no model {name!r}")
        log.warning("model %s: loaded again, version %.12s", name, served.manifest["manifest_sha256"])
        return served

    async def change_labels(self, name: str, action: str, names: list[str], text: str | None) -> tuple[str, str]:
        """(what was done, the version that answers now); the change is on the disk. Problem 409 if it came too late."""
        served = self.models.get(name)
        if served is None:
            raise ModelFileError(f"there is no model {name!r}")
        async with self._changing:
            message = await asyncio.to_thread(changed_folder, served.folder, action, names, text)
            served = await self.reload(name)
        return message, str(served.manifest["manifest_sha256"])

    def reload_soon(self) -> None:
        """Load every model again, from a signal handler or another thread."""
        self._loop.call_soon_threadsafe(lambda: self._tasks.append(self._loop.create_task(self.reload_all())))

    async def reload_all(self) -> None:
        """Load every model again; those that fail stay as they are."""
        for served in self.models:
            try:
                await self.reload(served.name)
            except LabelwoodError as error:
                log.warning("model %s: the folder is refused, the old model stays: %s", served.name, error)

    # requests

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request, or the server's start and end."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        started = time.perf_counter()
        request = Request(scope, receive, "", most_bytes=self.settings.limits.body_bytes)
        request.id = self._request_id(request)
        name = "other"
        try:
            name, route, request.path = self._find(scope["method"], scope["path"])
            self._check_client(route, request)
            response = await route.handler(self, request)
        except Disconnected:
            return
        except Problem as problem:
            if problem.pause:
                await asyncio.sleep(problem.pause)
            response = Response(problem.body(request.id), problem.status, PROBLEM_TYPE, problem.headers)
        except MissingExtraError as error:
            log.error("request %s: %s", request.id, error)
            response = Response(Problem(500, "a library is missing").body(request.id), 500, PROBLEM_TYPE)
        except LabelwoodError as error:
            response = Response(Problem(400, str(error)).body(request.id), 400, PROBLEM_TYPE)
        except Exception as error:
            response = self._failure(request, error)
        status = response.status
        try:
            await self._send(response, request, send)
        finally:
            seconds = time.perf_counter() - started
            self.meters.answered(name, status, seconds)
            if self.settings.access_log:  # the route, not the path or the query: those may hold words of a text
                log.info("%s %s %s %d %.1f ms", request.id, scope["method"][:10], name, status, 1e3 * seconds)

    def _request_id(self, request: Request) -> str:
        given = request.header(b"x-request-id")
        return given if _GIVEN_ID.fullmatch(given) else f"{self._id_start}-{next(self._ids)}"

    def _find(self, method: str, path: str) -> tuple[str, Route, dict[str, str]]:
        """(name for meters, route, named parts of the path); Problem 404 or 405."""
        methods, parts = self._exact.get(path), {}
        if methods is None:
            for pattern, candidates in self._patterns:
                match = pattern.fullmatch(path)
                if match:
                    methods, parts = candidates, match.groupdict()
                    break
        if methods is None:
            page_route = self.page.route(path) if self.page else None
            if page_route is None:
                raise Problem(404, "there is nothing here; see /openapi.json for what is served")
            methods = {"GET": page_route}
        route = methods.get(method)
        if route is None:
            allowed = ", ".join(methods)
            raise Problem(405, f"only {allowed} is allowed here", allow=allowed)
        return route.path, route, parts

    def _check_client(self, route: Route, request: Request) -> None:
        if self._rate is not None and route.need:
            client = request.scope.get("client")
            wait = self._rate.wait(client[0] if client else "", time.monotonic())
            if wait:
                self.meters.reject("rate")
                raise Problem(429, f"at most {self._rate_text()} requests a second", retry_after=wait)
        if route.need and not self.settings.tokens.allow(route.need, request.header(b"authorization")):
            if route.need == WRITE and not self.settings.tokens.write:
                raise Problem(403, "this service takes no changes: it was started without a token for writing")
            raise Problem(401, f"a token for {'writing' if route.need == WRITE else 'reading'} is needed here")

    def _rate_text(self) -> str:
        return f"{self.settings.limits.rate:g}"

    def _failure(self, request: Request, error: Exception) -> Response:
        # Where it happened, never the message: that may hold the client's text.
        frames = traceback.extract_tb(error.__traceback__)
        where = " < ".join(f"{os.path.basename(frame.filename)}:{frame.lineno}" for frame in reversed(frames[-5:]))  # noqa: PTH119
        log.error("request %s: unexpected %s at %s", request.id, type(error).__name__, where)
        problem = Problem(500, "something went wrong here; the log names this request")
        return Response(problem.body(request.id), 500, PROBLEM_TYPE)

    async def _send(self, response: Response, request: Request, send: Send) -> None:
        headers = [
            (b"content-type", response.content_type),
            (b"x-request-id", request.id.encode()),
            *response.policy,
            *response.headers,
        ]
        if response.stream is None:
            if response.status != 204:
                headers.append((b"content-length", str(len(response.body)).encode()))
            await send({"type": "http.response.start", "status": response.status, "headers": headers})
            await send({"type": "http.response.body", "body": response.body})
            return
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        async for part in response.stream:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self.start()
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self.stop()
                await send({"type": "lifespan.shutdown.complete"})
                return
