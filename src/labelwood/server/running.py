"""Run a service: one socket, one or several worker processes, signals to reload and to end."""

from __future__ import annotations

import importlib.util
import logging
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any

import uvicorn

from labelwood.errors import DataError
from labelwood.server.app import App
from labelwood.server.meters import Meters, shared_numbers
from labelwood.server.protocol import LimitedProtocol, SweepingServer
from labelwood.server.routes import ROUTE_NAMES
from labelwood.server.served import ServedModels
from labelwood.server.settings import Settings

BACKLOG = 1024
# How long a thread of Python keeps the others from running. The usual 5 ms would hold up the event loop, or the thread
# that has the next batch, for as long as a batch takes.
_SWITCH_SECONDS = 0.0005
_SECONDS_TO_END = 60


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; DataError if the address cannot be had."""
    try:
        kind, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.socket(kind, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(BACKLOG)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise DataError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None
    return listener


def address_of(listener: socket.socket) -> str:
    """The URL of a socket that listens."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(settings: Settings, announce: Callable[[str], None]) -> None:
    """Answer until SIGTERM or SIGINT; `announce` gets the address when the models are loaded and the socket listens."""
    _log_to_stderr()
    models = ServedModels(settings.models, verify=settings.verify)  # a damaged folder is told before anything starts
    with listen(settings.host, settings.port) as listener:
        if settings.workers == 1:
            announce(address_of(listener))
            run_worker(settings, listener, models)
            return
        models.close()
        _supervise(settings, listener, announce)


def run_worker(
    settings: Settings,
    listener: socket.socket,
    models: ServedModels,
    meters: Meters | None = None,
    when_ready: Callable[[], None] = lambda: None,
) -> None:
    """Answer in this process until it is told to end; accepted requests are answered first."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    app = App(settings, models, meters, when_ready)
    server = make_server(app, "uvloop" if importlib.util.find_spec("uvloop") else "asyncio")

    def end(*_: Any) -> None:
        server.should_exit = True

    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, end)  # uvicorn raises the signal again at its end; that is no failure here
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda *_: app.reload_soon())
    server.run(sockets=[listener])


def make_server(app: App, loop: Any = "asyncio") -> SweepingServer:
    """The server of an application, not started."""
    config = uvicorn.Config(
        app,
        http=LimitedProtocol,
        loop=loop,
        ws="none",
        lifespan="on",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=int(app.settings.limits.idle_seconds),
        timeout_graceful_shutdown=_SECONDS_TO_END,
        backlog=BACKLOG,
    )
    return SweepingServer(config)


def _worker(settings: Settings, listener: socket.socket, numbers: Any, number: int, ready: Any) -> None:
    _log_to_stderr()
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    models = ServedModels(settings.models, verify=settings.verify)
    run_worker(settings, listener, models, Meters(ROUTE_NAMES, numbers, number), ready.release)


def _end_with_the_parent() -> None:
    """End this worker when the process that started it is gone, however it went: else it would hold the port."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)


def _supervise(settings: Settings, listener: socket.socket, announce: Callable[[str], None]) -> None:
    """Keep the workers running; they share the socket, so that a request goes to whoever is free."""
    context = multiprocessing.get_context("spawn")
    numbers = shared_numbers(ROUTE_NAMES, settings.workers)
    ready = context.Semaphore(0)
    ending: list[int] = []

    def start(number: int) -> BaseProcess:
        process = context.Process(target=_worker, args=(settings, listener, numbers, number, ready))
        process.start()
        return process

    def tell(signal_number: int) -> None:
        for process in processes:
            if process.is_alive() and process.pid is not None:
                os.kill(process.pid, signal_number)

    processes = [start(number) for number in range(settings.workers)]
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, lambda number, _: ending.append(number))
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda number, _: tell(number))
    n_ready = 0
    while n_ready < settings.workers and not ending and all(process.is_alive() for process in processes):
        n_ready += ready.acquire(timeout=0.1)
    if n_ready == settings.workers:
        announce(address_of(listener))
    while not ending:
        time.sleep(0.1)
        for number, process in enumerate(processes):
            if not process.is_alive() and not ending:
                logging.getLogger("labelwood.server").error("worker %d ended unexpectedly; started again", number)
                time.sleep(0.5)  # one that cannot start is not tried again at full speed
                processes[number] = start(number)
    listener.close()  # what nobody would accept any more is refused at once
    tell(signal.SIGTERM)
    for process in processes:
        process.join(_SECONDS_TO_END)
        if process.is_alive():
            process.kill()


def _log_to_stderr() -> None:
    log = logging.getLogger("labelwood.server")
    if not log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)
        log.propagate = False
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # its messages may hold what a client sent
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
