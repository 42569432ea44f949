"""`labelwood serve`: saved models over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelwood.cli import options


def command(
    models: Annotated[
        list[str],
        typer.Argument(metavar="DIR", help="Folders of saved models, also as NAME=DIR; the first is the default."),
    ],
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port; 0: any free port.")
    ] = 8000,
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on; the default is this machine only.")
    ] = "127.0.0.1",
    workers: Annotated[
        int,
        typer.Option(
            "--workers", metavar="N", min=1, max=256, help="The number of processes; they share one copy of a model."
        ),
    ] = 1,
    tokens: Annotated[
        Path | None,
        typer.Option("--tokens", metavar="FILE", help="Lines `read sha256:HEX` or `write sha256:HEX`: who may ask."),
    ] = None,
    learn: Annotated[
        bool, typer.Option("--learn", help="Accept corrections into DIR.corrections.jsonl (needs a write token).")
    ] = False,
    change_labels: Annotated[
        bool,
        typer.Option(
            "--change-labels", help="Allow labels to be added, renamed, merged or retired (needs a write token)."
        ),
    ] = False,
    rate: Annotated[
        float | None,
        typer.Option("--rate", metavar="N", min=0.01, help="How many requests a second one client may make."),
    ] = None,
    access_log: Annotated[
        bool, typer.Option("--access-log", help="Write a line for each request, without texts.")
    ] = False,
    verify: options.Verify = False,
) -> None:
    """Serve models over HTTP.

    Answers POST /v1/predict {"texts": [...], "k": 5} and much more (GET /openapi.json) until interrupted. A folder
    that is replaced while the service runs is loaded again; so is every folder at SIGHUP.
    """
    from labelwood.cli.console import say
    from labelwood.errors import MissingExtraError
    from labelwood.server.access import Tokens, read_tokens
    from labelwood.server.settings import Limits, Settings, named_folders

    settings = Settings(
        named_folders(models),
        host=host,
        port=port,
        workers=workers,
        learn=learn,
        change_labels=change_labels,
        verify=verify,
        access_log=access_log,
        tokens=read_tokens(tokens) if tokens is not None else Tokens(),
        limits=Limits(rate=rate),
    )
    try:
        from labelwood.server.page_files import Page
        from labelwood.server.running import serve
    except ImportError as error:
        raise MissingExtraError(f"serve needs {error.name}: pip install 'labelwood[serve]'") from None

    def announce(address: str) -> None:
        say(f"serving {', '.join(settings.models)} on {address} (Ctrl-C ends it)")
        token = " -H 'Authorization: Bearer TOKEN'" if settings.tokens.read else ""
        say(f"""  try   curl{token} {address}/v1/predict -d '{{"texts": ["some text"], "k": 5}}'""")
        if Page.found() is not None:
            say(f"  page  {address}/")
        say(f"  API   {address}/openapi.json")

    serve(settings, announce)
