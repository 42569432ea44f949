"""`labelwood labels`: the labels of a saved tagger, listed or changed."""

from __future__ import annotations

from typing import Annotated

import typer

from labelwood.cli import options


def command(
    model: options.ModelFolder,
    action: Annotated[
        str,
        typer.Argument(
            metavar="ACTION", help="list, add NAME, rename OLD NEW, merge OLD INTO, retire NAME, forbid NAME."
        ),
    ] = "list",
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="The names that ACTION takes.")] = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT", help="An example text for the tag that is added.")
    ] = None,
    threads: options.Threads = None,
    json: options.Json = False,
) -> None:
    """List a tagger's tags, or change them without training.

    A retired tag is never answered until it is taught or added again; a forbidden one is refused in corrections, too.
    """
    from dataclasses import asdict

    from labelwood.changing import Changing
    from labelwood.cli.console import show, show_json, show_table
    from labelwood.errors import ParamError, unknown_name
    from labelwood.tagger.label_changes import ACTIONS

    if action in ("remove", "delete"):
        raise ParamError(
            f"unknown action {action!r}: retire takes a tag out of all answers, forbid refuses it for ever"
        )
    if action != "list" and action not in ACTIONS:
        raise ParamError(unknown_name("action", action, ["list", *ACTIONS]))
    changing = Changing(model, threads)
    if action == "list":
        if names or text is not None:
            raise ParamError("list takes no names")
        table = changing.tagger.label_table()
        if json:
            show_json({"labels": [asdict(label) for label in table]})
            return
        cells = [(label.name, f"{label.n_rows:,}", label.state) for label in table]
        show_table(str(model), ("label", "rows", "state"), cells, align="lrl")
        return
    message = changing.tagger.change_labels(action, *(names or []), text=text)
    changing.save()
    if json:
        show_json({"out": str(model), "action": action, "names": names or [], "message": message})
    else:
        show(message)
