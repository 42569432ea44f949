"""`labelwood data fetch`: the catalogue of known data sets, and one of them on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from labelwood.cli import options


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Fetch this data set. Default: list them all.")
    ] = None,
    mirror: Annotated[
        str | None,
        typer.Option(
            "--mirror", metavar="URL", help="Where NAME.zip is. Default: LABELWOOD_MIRROR, or its own address."
        ),
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """List the known data sets, or fetch one of them.

    The data set goes into the cache, and its folder is printed; `labelwood train FOLDER` then finds the training file.
    An interrupted fetch continues where it stopped.
    """
    from dataclasses import asdict

    from labelwood.cli.console import show, show_json, show_table
    from labelwood.cli.progress import shown
    from labelwood.data.catalogue import find, names
    from labelwood.data.download import cached

    if name is None:
        entries = [find(known) for known in names()]
        if json:
            show_json({entry.name: asdict(entry) for entry in entries})
            return
        show_table(
            "Known data sets (labelwood data fetch NAME)",
            ("name", "training rows", "test rows", "features", "labels", "licence"),
            [(e.name, *map(_size, (e.n_train, e.n_test, e.n_features, e.n_labels)), e.licence) for e in entries],
            align="lrrrrl",
        )
        return
    with shown(quiet) as progress:
        folder = cached(name, mirror=mirror, progress=progress)
    if json:
        show_json({"name": find(name).name, "folder": str(folder)})
    else:
        show(str(folder))


def _size(n: int | None) -> str:
    return "?" if n is None else f"{n:,}"
