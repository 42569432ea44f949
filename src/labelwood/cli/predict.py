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
        typer.Argument(
            metavar="DATA",
            help="A data file, or a folder of documents; - reads lines of text from stdin (for a tagger).",
        ),
    ],
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            metavar="K",
            min=1,
            help="The K best labels of each row (default 5); with --assign, at most K.",
        ),
    ] = None,
    assign: Annotated[
        bool | None,
        typer.Option(
            "--assign/--no-assign",
            help="Give only the tags that the tagger assigns, 0 to n, with probabilities. "
            "Default for taggers that have learnt to, unless -k is given.",
        ),
    ] = None,
    threshold: options.Threshold = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="A table (.xlsx, .csv, .tsv, .jsonl, .parquet), .txt (label:score) or .npz; else stdout.",
        ),
    ] = None,
    shape: Annotated[
        str,
        typer.Option(
            "--shape", metavar="wide|long", help="wide: the rows of DATA with their tags; long: a row for every answer."
        ),
    ] = "wide",
    reasons: Annotated[
        bool, typer.Option("--reasons", help="Add a column with the words that speak for each tag (takes longer).")
    ] = False,
    document: Annotated[
        bool, typer.Option("--document", help="Read stdin as one document, not as one text per line.")
    ] = False,
    lang: options.Lang = None,
    include: options.Include = None,
    exclude: options.Exclude = None,
    rule: options.Rule = None,
    threads: options.Threads = None,
    memory: options.Memory = None,
    text: options.Text = None,
    labels: options.Labels = None,
    separator: options.Separator = None,
    format: options.Format = None,
    index_base: options.IndexBase = None,
    on_bad_row: options.OnBadRow = "error",
    encoding: options.Encoding = None,
    split: options.Split = None,
    split_column: options.SplitColumn = None,
    verify: options.Verify = False,
    cluster: options.Cluster = None,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Give every row its tags, or its k best labels.

    Without --out the answers go to stdout, one JSON object per row. A table keeps every column of DATA. With --cluster,
    DATA is a Parquet or JSON-lines file or a folder of them, and --out a folder.
    """
    from labelwood.cli import answers, tagged
    from labelwood.cli.clustering import check_cluster, predict_on_cluster
    from labelwood.cli.console import count, say, show_json
    from labelwood.cli.inputs import split_choices, tell
    from labelwood.cli.loaded import Loaded, check_order
    from labelwood.cli.outputs import check_file
    from labelwood.cli.progress import shown
    from labelwood.cli.sparing import reading_in_pieces
    from labelwood.errors import DataError, ParamError
    from labelwood.memory import parse_memory
    from labelwood.topk import checked_k

    check_cluster(cluster)
    table = cluster is None and tagged.check_out(out, shape, reasons=reasons)
    if out is not None:
        check_file(out, force=force)
    elif json:
        raise ParamError("--json describes the file that is written, so it needs --out (else stdout holds the answers)")
    check_order(model, data)
    loaded = Loaded(model, threads, verify=verify)
    words = len(str(data).split()) > 1 or (not data.suffix and data.name == str(data) != "-")
    if loaded.tagger is not None and words and not data.exists():
        raise DataError(f"{data}: no such file; a text comes from stdin: echo 'the text' | labelwood predict {model} -")
    loaded.check_rule(rule)
    loaded.titles(lang)
    assigns = loaded.assigns(assign, k, threshold)
    checked_k(k or 1, loaded.n_labels)
    if cluster is not None:
        other = {
            "--reasons": reasons, "--shape": shape != "wide", "--document": document, "--lang": lang is not None,
            "--labels": labels is not None, "--separator": separator is not None, "--format": format is not None,
            "--index-base": index_base is not None, "--on-bad-row": on_bad_row != "error", "--force": force,
            "--encoding": encoding is not None, "--split": split is not None, "--threads": threads is not None,
            "--rule": rule is not None,
        }  # fmt: skip
        n_rows = predict_on_cluster(
            loaded, data, out, cluster, k=k, assign=assigns, text=text, include=include or (), exclude=exclude or (),
            other=other,
        )  # fmt: skip
        if json:
            show_json({"out": str(out), "n_rows": n_rows, "k": k, "notes": []})
        elif not quiet:
            say(f"answered {count(n_rows, 'row')}; written to {out}")
        return
    limit = None if memory is None else parse_memory(memory)
    with shown(quiet) as progress, reading_in_pieces(limit, out or model):
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
            encoding=encoding,
            document=document,
            **({"keep_columns": True} if table and loaded.tagger is not None else {}),
            **split_choices(data, split, split_column, "tst"),
        )
        found = loaded.answers(rows, k, assigns, include or (), exclude or (), progress)
        top, names = loaded.ruled(found, rule)
        why = tagged.reasons_of(loaded, rows, top, progress, names) if reasons else None
    titles = loaded.titles(lang, names)
    notes = list(rows.notes)
    if assigns:
        n_unknown = loaded.unknown_texts(rows)
        if n_unknown:
            have = "row has" if n_unknown == 1 else "rows have"
            notes.append(f"{n_unknown:,} {have} no word that the tagger knows, so no tags")
            tell(notes[-1:], quiet=quiet or json)
    number = "probability" if assigns else "score"
    if out is None:
        answers.write_stdout(top, names, rows.row_ids, number, titles)
        return
    if table:
        measure = "probabilities" if assigns else "scores"
        separator = None if loaded.form is None else loaded.form.separator
        named = [[(str(label) if names is None else names[label], score) for label, score in row] for row in top]
        called = None if titles is None else [[titles[label] for label, _ in row] for row in top]
        told = tagged.write_tagged(out, rows, named, called, measure=measure, separator=separator, reasons=why)
        tell(told, quiet=quiet or json)
    else:
        n_labels = loaded.n_labels if names is None else len(names)
        answers.write_file(out, top, names, rows.row_ids, n_labels, number, titles)
    if json:
        show_json({"out": str(out), "n_rows": len(top), "k": k if assigns else top.labels.shape[1], "notes": notes})
    elif not quiet:
        say(f"answered {count(len(top), 'row')}; written to {out}")
