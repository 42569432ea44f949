"""`labelwood models`: the models there are, and the parameters of one."""

from __future__ import annotations

from typing import Annotated

import typer

from labelwood.cli import options


def command(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Show the parameters of this model.")] = None,
    json: options.Json = False,
) -> None:
    """List the models, or the parameters of one.

    Parameters come with their defaults and ranges, and are set with `labelwood train --set key=value`.
    """
    from labelwood.cli.console import show_json, show_table
    from labelwood.models.registry import model_class, model_names

    if name is None:
        lines = {known: _first_line(model_class(known).__doc__) for known in model_names()}
        if json:
            show_json(lines)
        else:
            show_table(
                "Models (labelwood train --model NAME)",
                ("name", "what it does"),
                list(lines.items()),
                align="ll",
            )
        return
    table = model_class(name).Parameters.table()
    if json:
        show_json([dict(zip(("name", "default", "allowed", "help"), row, strict=True)) for row in table])
    else:
        show_table(
            f"Parameters of {name} (--set name=value)",
            ("name", "default", "allowed", "help"),
            table,
            align="llll",
        )


def _first_line(text: str | None) -> str:
    return (text or "").strip().split("\n")[0]
