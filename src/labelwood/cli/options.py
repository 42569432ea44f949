"""Options that several commands share, so that they are named and explained alike."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelwood.data.formats import format_names

Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Stay within this much memory, such as 8G: work in slices and in files if necessary, or else refuse.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what exists at the output path.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no notes.")]
Threads = Annotated[
    int | None, typer.Option("--threads", metavar="N", min=1, help="Threads to use. Default: all processors.")
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="The same seed gives the same result.")]

Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="auto|HOST:PORT",
        help="Do the work on a Ray cluster: the one that runs here (auto), or the one at this address.",
    ),
]

DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="A data file, or a folder of documents; the format is recognised from name and content."
    ),
]
ModelFolder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a saved model.")]
Lang = Annotated[
    str | None,
    typer.Option("--lang", metavar="CODE", help="Name labels in this language of the vocabulary, such as sv."),
]
Include = Annotated[
    list[str] | None,
    typer.Option(
        "--include",
        metavar="ID",
        help="Answer only these concepts of the vocabulary: ID, below:ID (with all below it) or scheme:ID; repeatable.",
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="ID", help="Never answer these: ID, below:ID or scheme:ID; repeatable."),
]
Rule = Annotated[
    str | None,
    typer.Option(
        "--rule",
        metavar="specific|ancestors",
        help="With a vocabulary: leave out concepts above another answer, or add all concepts above the answers.",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        metavar="P",
        help="Assign the tags whose probability is at least P, such as 0.4, in place of the rule learnt in training.",
    ),
]
Verify = Annotated[
    bool, typer.Option("--verify", help="Check the SHA-256 of everything in DIR, not just the quick checksums.")
]

Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="F",
        help=f"The format of DATA, if it is not recognised: {', '.join(format_names())}.",
    ),
]
Text = Annotated[
    str | None, typer.Option("--text", metavar="COL", help="The column (or key) with the text; several: a,b.")
]
Labels = Annotated[
    str | None,
    typer.Option("--labels", metavar="COL", help="The column (or key) with the labels; several: a,b."),
]
Separator = Annotated[
    str | None,
    typer.Option("--separator", metavar="S", help="The separator between the labels in a cell, such as ';'."),
]
Group = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="COL",
        help="The column (or key) that says which rows belong together, such as customer or thread: they are held out, "
        "or split off, together.",
    ),
]
GroupDrawn = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="COL",
        help="The column (or key) that says which rows belong together, such as customer or thread: intervals then "
        "draw whole groups.",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="E",
        help="The encoding of a text file, such as cp1252. Default: UTF-8, or what is detected.",
    ),
]
Split = Annotated[
    Path | None,
    typer.Option(
        "--split",
        metavar="FILE",
        help="Use only the rows that this file lists, counted from 1, such as data_trSplit.txt.",
    ),
]
SplitColumn = Annotated[
    int | None,
    typer.Option(
        "--split-column", metavar="N", min=1, help="Which column of --split, or of the only split file beside DATA."
    ),
]
IndexBase = Annotated[
    int | None,
    typer.Option(
        "--index-base", metavar="0|1", min=0, max=1, help="The number of the first feature in svmlight files."
    ),
]
OnBadRow = Annotated[
    str,
    typer.Option(
        "--on-bad-row", metavar="error|skip", help="Stop at the first damaged row, or skip such rows and say how many."
    ),
]
