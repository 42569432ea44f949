"""`labelwood data split`: one file becomes a training and a test file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelwood.cli import options


def command(
    data: options.DataFile,
    out_train: Annotated[Path, typer.Option("--out-train", metavar="FILE", help="Where the training rows go.")],
    out_test: Annotated[Path, typer.Option("--out-test", metavar="FILE", help="Where the test rows go.")],
    test: Annotated[float, typer.Option("--test", metavar="SHARE", help="The share of test rows, such as 0.2.")] = 0.2,
    stratify: Annotated[
        bool | None,
        typer.Option(
            "--stratify/--no-stratify",
            help="Divide rare labels fairly between both parts. Default: yes, unless whole groups or copies are drawn.",
        ),
    ] = None,
    seed: options.Seed = 0,
    text: options.Text = None,
    labels: options.Labels = None,
    separator: options.Separator = None,
    group: options.Group = None,
    format: options.Format = None,
    index_base: options.IndexBase = None,
    on_bad_row: options.OnBadRow = "error",
    encoding: options.Encoding = None,
    split: options.Split = None,
    split_column: options.SplitColumn = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Split DATA into a training and a test file.

    By a share of the rows, or as a trSplit file of the XMC repository says: the test rows are those of the tstSplit
    file beside it, else all others. Tables keep all their columns. With --group no group is in both parts. Without it
    copies of a text are in one part if a tenth of the texts have one, unless --stratify is given.
    """
    from dataclasses import replace
    from functools import partial

    from labelwood.cli.console import count, say
    from labelwood.cli.inputs import read_data, split_choices, tell
    from labelwood.cli.outputs import check_file
    from labelwood.cli.progress import shown
    from labelwood.data.copies import with_copies_as_groups
    from labelwood.data.dataset import TableForm
    from labelwood.data.reading.split_rows import listed_parts
    from labelwood.data.split import split as split_by_share
    from labelwood.data.writing.columns_write import ending_of, write_columns
    from labelwood.data.writing.write import write
    from labelwood.errors import ParamError

    if not 0 < test < 1:
        raise ParamError(f"--test must be a share above 0 and below 1, but is {test:g}")
    if out_train.absolute() == out_test.absolute():
        raise ParamError(f"--out-train and --out-test are both {out_train}; they must differ")
    for path in (out_train, out_test):
        check_file(path, force=force)
    with shown(quiet) as progress:
        read = partial(
            read_data,
            data,
            format=format,
            text=text,
            labels=labels,
            separator=separator,
            group=group,
            index_base=index_base,
            on_bad_row=on_bad_row,
            encoding=encoding,
            progress=progress,
        )
        rows = read(quiet=quiet)
        if rows.form is not None and rows.form.text and all(map(ending_of, (out_train, out_test))):
            whole = read(quiet=True, keep_columns=True)
            if whole.n_rows == rows.n_rows:  # else several lines are one text, which is written as one row
                rows = replace(rows, columns=whole.columns)
        given = split_choices(data, split, split_column, "tr")
        if given and group is not None:
            raise ParamError("--split says which rows go where, so --group cannot; leave one of them out")
        if given:
            parts = listed_parts(rows, given["split"], given["split_column"])
        elif group is not None or stratify:
            parts = split_by_share(rows, test=test, seed=seed, stratify=stratify)
        else:
            apart, notes = with_copies_as_groups(rows)
            tell(notes, quiet=quiet)
            train, held = split_by_share(apart, test=test, seed=seed, stratify=stratify)
            parts = replace(train, groups=None), replace(held, groups=None)
        for part, path in zip(parts, (out_train, out_test), strict=True):
            if part.columns is None:
                write(part, path)
                continue
            form = part.form or TableForm()
            tell(write_columns(path, part.columns, delimiter=form.delimiter, of_excel=form.of_excel), quiet=quiet)
    if not quiet:
        say(f"{count(parts[0].n_rows, 'row')} written to {out_train}, {count(parts[1].n_rows, 'row')} to {out_test}")
