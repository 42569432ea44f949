"""`labelwood serve`: a saved tagger over HTTP."""

from __future__ import annotations

from typing import Annotated

import typer

from labelwood.cli import options


def command(
    model: options.ModelFolder,
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port; 0: any free one.")
    ] = 8000,
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on; the default is this machine only.")
    ] = "127.0.0.1",
    verify: options.Verify = False,
) -> None:
    """Serve a tagger over HTTP.

    Answers POST /predict {"texts": [...], "k": 5} and GET /health until interrupted.
    """
    from labelwood.cli.console import say
    from labelwood.errors import DataError
    from labelwood.loading import load
    from labelwood.server.plain import Server
    from labelwood.tagger.tagger import Tagger

    tagger = load(model, verify=verify)
    if not isinstance(tagger, Tagger):
        raise DataError(f"{model}: holds a model of feature rows; serve needs a tagger (trained on texts)")
    try:
        server = Server(tagger, host, port)
    except OSError as error:
        raise DataError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None
    with server:
        say(f"serving {model} on {server.address} (POST /predict, GET /health); stop with Ctrl-C")
        server.serve_forever()
