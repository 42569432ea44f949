"""`labelwood data convert`: from any format that can be read to any that can be written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelwood.cli import options


def command(
    source: Annotated[Path, typer.Argument(metavar="IN", help="The file to read.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write; its ending says the format.")],
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="F", help="The format of OUT, if its ending does not tell."),
    ] = None,
    text: options.Text = None,
    labels: options.Labels = None,
    separator: options.Separator = None,
    format: options.Format = None,
    index_base: options.IndexBase = None,
    on_bad_row: options.OnBadRow = "error",
    encoding: options.Encoding = None,
    split: options.Split = None,
    split_column: options.SplitColumn = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Read IN and write it as OUT."""
    from labelwood.cli.console import count, say
    from labelwood.cli.inputs import read_data, split_choices, tell
    from labelwood.cli.outputs import check_file
    from labelwood.cli.progress import shown
    from labelwood.data.writing.write import format_of_name, write
    from labelwood.errors import ParamError
    from labelwood.wording import spelled

    if to is None:
        try:
            format_of_name(target)  # an ending that says nothing is refused before the work
        except ParamError as error:
            raise ParamError(spelled(error, {"format": "--to"}.__getitem__)) from None
    check_file(target, force=force)
    with shown(quiet) as progress:
        data = read_data(
            source,
            format=format,
            text=text,
            labels=labels,
            separator=separator,
            index_base=index_base,
            on_bad_row=on_bad_row,
            encoding=encoding,
            **split_choices(source, split, split_column, "tr"),
            progress=progress,
            quiet=quiet,
        )
        written = write(data, target, format=to)
    tell(written.notes, quiet=quiet)
    if not quiet:
        say(f"{count(data.n_rows, 'row')} written to {target}")
