"""`labelwood models`: the models there are, and the parameters of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from labelwood.cli import options


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Show the parameters and presets of this model.")
    ] = None,
    json: options.Json = False,
) -> None:
    """List the models, or the parameters and presets of one.

    Parameters come with their defaults and ranges, and are set with `labelwood train --set key=value`.
    """
    from labelwood.cli.console import show, show_json, show_table
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
            show("Next: labelwood models NAME shows the parameters of one.")
        return
    table = model_class(name).Parameters.table()
    presets = model_class(name).PRESETS
    if json:
        keys = ("name", "default", "allowed", "help")
        values = [{named: repr(sets[row[0]]) for named, sets in presets.items() if row[0] in sets} for row in table]
        show_json([{**dict(zip(keys, row, strict=True)), "presets": of} for row, of in zip(table, values, strict=True)])
    else:
        show_table(
            f"Parameters of {name} (--set name=value)",
            ("name", "default", "allowed", "help"),
            table,
            align="llll",
        )
    if presets and not json:
        show_table(
            f"Presets of {name} (--preset name)",
            ("name", "what it sets"),
            [(named, settings_text(sets)) for named, sets in presets.items()],
            align="ll",
        )


def settings_text(settings: Mapping[str, Any]) -> str:
    """Settings as Python writes them: "C=1.0, beam=10"."""
    return ", ".join(f"{name}={value!r}" for name, value in settings.items())


def _first_line(text: str | None) -> str:
    return (text or "").strip().split("\n")[0]
