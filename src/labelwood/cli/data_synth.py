"""`labelwood data synth`: made-up data of any size, to try things out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelwood.cli import options

if TYPE_CHECKING:
    from labelwood.progress import Progress


def command(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write; its ending says the format.")],
    kind: Annotated[
        str,
        typer.Option("--kind", metavar="sparse|texts", help="Sparse rows (XMC text), or readable texts with tags."),
    ] = "texts",
    rows: Annotated[int, typer.Option("--rows", metavar="N", min=1, help="The number of rows.")] = 1000,
    labels: Annotated[int, typer.Option("--labels", metavar="L", min=1, help="The number of labels.")] = 300,
    features: Annotated[
        int | None, typer.Option("--features", metavar="D", min=1, help="Features (sparse only).")
    ] = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Make up data to try things out."""
    from labelwood.cli.console import count, say
    from labelwood.cli.outputs import check_file
    from labelwood.cli.progress import shown
    from labelwood.errors import ParamError

    if kind not in ("sparse", "texts"):
        raise ParamError(f"--kind must be sparse or texts, but is {kind!r}")
    if kind == "texts" and features is not None:
        raise ParamError("--features belongs to --kind sparse")
    check_file(out, force=force)
    with shown(quiet) as progress:
        synth(out, kind=kind, rows=rows, labels=labels, features=features, seed=seed, progress=progress)
    if not quiet:
        say(f"{count(rows, 'row')} with up to {count(labels, 'label')} written to {out}")


def synth(out: Path, *, kind: str, rows: int, labels: int, features: int | None, seed: int, progress: Progress) -> None:
    """Write made-up data to a file: sparse rows as XMC text, streamed; texts in the format that the ending says."""
    if kind == "sparse":
        from labelwood.data.madeup.synthetic import write_sparse

        n_features = features if features is not None else max(1000, 2 * labels)
        write_sparse(out, rows, n_features, labels, seed=seed, progress=progress)
        return
    from labelwood.data.madeup.shop_texts import make_texts
    from labelwood.data.writing.write import write

    write(make_texts(rows, n_labels=labels, seed=seed), out)
