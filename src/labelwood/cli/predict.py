"""`labelwood predict`: a saved model answers the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelwood.cli import options


def command(
    model: options.ModelFolder,
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="A data file; - reads lines of text from stdin (for a tagger)."),
    ],
    k: Annotated[
        int, typer.Option("-k", metavar="K", min=1, help="Labels for each row, at most 10,000 or as many as there are.")
    ] = 5,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help=".jsonl, .csv, .tsv, .txt (label:score) or .npz; else stdout."
        ),
    ] = None,
    lang: options.Lang = None,
    include: options.Include = None,
    exclude: options.Exclude = None,
    threads: options.Threads = None,
    text: options.Text = None,
    labels: options.Labels = None,
    separator: options.Separator = None,
    format: options.Format = None,
    index_base: options.IndexBase = None,
    on_bad_row: options.OnBadRow = "error",
    verify: options.Verify = False,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Give every row its k best labels.

    Without --out the answers go to stdout, one JSON object a row.
    """
    from labelwood.cli import answers
    from labelwood.cli.console import count, say, show_json
    from labelwood.cli.loaded import Loaded
    from labelwood.cli.outputs import check_file
    from labelwood.cli.progress import shown
    from labelwood.errors import ParamError
    from labelwood.topk import checked_k

    if out is not None:
        answers.check_suffix(out)
        check_file(out, force=force)
    elif json:
        raise ParamError("--json tells about the file written, so it needs --out (stdout holds the answers otherwise)")
    loaded = Loaded(model, threads, verify=verify)
    titles = loaded.titles(lang)
    checked_k(k, loaded.model.n_labels_)
    with shown(quiet) as progress:
        rows = loaded.read(
            data,
            progress=progress,
            quiet=quiet or json,
            text=text,
            labels=labels if labels is not None else loaded.no_labels,
            separator=separator,
            format=format,
            index_base=index_base,
            on_bad_row=on_bad_row,
        )
        top = loaded.predict(rows, k, include or (), exclude or ())
    if out is None:
        answers.write_stdout(top, loaded.label_names, rows.row_ids, titles)
        return
    answers.write_file(out, top, loaded.label_names, rows.row_ids, loaded.model.n_labels_, titles)
    if json:
        show_json({"out": str(out), "n_rows": len(top), "k": k, "notes": list(rows.notes)})
    elif not quiet:
        say(f"answered {count(len(top), 'row')}; written to {out}")
