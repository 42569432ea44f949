"""`labelwood compare`: several models on the same data, and one page that shows what each is worth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwood.cli import options

if TYPE_CHECKING:
    from labelwood.report.compare import Entry
    from labelwood.report.compare_data import Parts


def command(
    data: options.DataFile,
    models: Annotated[
        str,
        typer.Option(
            "--models",
            "-m",
            metavar="A,B,...",
            help="Models (see `labelwood models`); TITLE=MODEL gives one a title of its own.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The page, .html; .json and .md go beside it.")
    ],
    test: Annotated[
        Path | None, typer.Option("--test", metavar="FILE", help="Rows to test on. Default: a part of DATA.")
    ] = None,
    share: Annotated[
        float, typer.Option("--share", metavar="SHARE", help="The share of DATA to test on, without --test.")
    ] = 0.2,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            metavar="TIME",
            help="Time for everything, such as 90s, 10m or 2h; what does not fit is left out.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="TITLE.KEY=VALUE",
            help="A parameter of one model, or TITLE.features.KEY for texts; repeatable.",
        ),
    ] = None,
    peers: Annotated[
        bool,
        typer.Option("--peers", help="Also run PECOS, Omikuji, napkinXC and fastText, as far as installed."),
    ] = False,
    work: Annotated[
        Path | None, typer.Option("--work", metavar="DIR", help="Where finished runs are kept. Default: FILE.runs.")
    ] = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    text: options.Text = None,
    labels: options.Labels = None,
    separator: options.Separator = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            metavar="COL",
            help="The column (or key) that says which rows belong together, such as customer or thread: they are on "
            "one side of the split, and intervals and tests draw whole groups.",
        ),
    ] = None,
    format: options.Format = None,
    index_base: options.IndexBase = None,
    on_bad_row: options.OnBadRow = "error",
    cluster: options.Cluster = None,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Train several models and compare them on one page.

    The page shows accuracy with intervals and tests, costs, rare labels, hard labels and sample rows with reasons. Runs
    that are finished are kept and used again, so a comparison can be stopped and go on, or get one more model.
    """
    from json import dumps

    from labelwood.cli.clustering import check_cluster, on_cluster
    from labelwood.cli.console import plain, say, show, show_json, show_table
    from labelwood.cli.outputs import check_file
    from labelwood.cli.progress import shown
    from labelwood.data.writing.atomic_file import whole_file
    from labelwood.errors import ParamError
    from labelwood.report import compare_words as words
    from labelwood.report.compare import compare
    from labelwood.report.compare_markdown import markdown
    from labelwood.report.compare_page import page

    if out.suffix.lower() not in (".html", ".htm"):
        raise ParamError(f"--out {out}: the ending must be .html")
    files = {"html": out, "json": out.with_suffix(".json"), "md": out.with_suffix(".md")}
    for path in files.values():
        check_file(path, force=force)
    if test is None and not 0 < share < 1:
        raise ParamError(f"--share must be a share above 0 and below 1, but is {share:g}")
    entries = _entries(models, set_ or [], seed, threads)
    check_cluster(cluster)
    seconds = None if budget is None else _seconds(budget)
    choices = {
        "text": text, "labels": labels, "separator": separator, "group": group, "format": format,
        "index_base": index_base,
        "on_bad_row": on_bad_row,
    }  # fmt: skip
    given = {
        "--test": test, "--share": None if test is not None or share == 0.2 else share, "--budget": budget,
        "--peers": "" if peers else None, "--work": work, "--seed": seed or None, "--threads": threads, "--text": text,
        "--labels": labels,
        "--separator": separator, "--group": group, "--format": format, "--index-base": index_base,
        "--on-bad-row": None if on_bad_row == "error" else on_bad_row,
    }  # fmt: skip
    again = _command(data, models, out, set_ or [], given)
    with shown(quiet) as progress:
        parts = _parts(data, test, share, seed, choices, threads, progress, quiet=quiet or json)
        if peers:
            entries += _peers(parts, entries, seed)
        folder = out.with_name(out.name + ".runs") if work is None else work
        with on_cluster(cluster):
            made = compare(parts, entries, folder, budget=seconds, n_threads=threads, seed=seed, progress=progress)
        report = plain(made)
    contents = {
        "html": page(report, again),
        "json": dumps({**report, "command": again}, ensure_ascii=False, allow_nan=False, indent=1) + "\n",
        "md": markdown(report, again),
    }
    for kind, path in files.items():
        with whole_file(path) as part:
            part.write_text(contents[kind], encoding="utf-8")
    if json:
        show_json({"files": [str(path) for path in files.values()], **report})
        return
    if not quiet:
        for sentence in words.left_out(report):
            say(f"note: {sentence}")
    metrics = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@5", "R@5")
    rows = [
        [run["title"], *(f"{report['models'][run['title']]['compared'][metric]['value']:.2f}" for metric in metrics)]
        + [words.cost_text(cost, run["costs"][cost]) for cost in ("train_cpu_s", "model_bytes", "single_p50_ms")]
        for run in words.done_runs(report)
    ]
    show_table(f"{data}, per cent", ("model", *metrics, "training, CPU", "size", "one query"), rows)
    for sentence in words.headline(report):
        show(sentence)
    show(f"wrote {', '.join(str(path) for path in files.values())}; runs are kept in {folder}")


def _entries(models: str, assignments: list[str], seed: int, threads: int | None) -> list[Entry]:
    """The models to compare, with their settings checked."""
    from labelwood.cli.training import Settings
    from labelwood.errors import ParamError, unknown_name
    from labelwood.report.compare import Entry

    names: dict[str, str] = {}
    for part in (part.strip() for part in models.split(",")):
        title, _, name = part.partition("=")
        if not part or title in names:
            why = "one is empty" if not part else f"{title!r} comes twice; give one a title, such as second={title}"
            raise ParamError(f"--models {models}: {why}")
        names[title] = name or title
    given: dict[str, list[str]] = {title: [] for title in names}
    for assignment in assignments:
        # A title may hold dots, so the longest title in front counts.
        fitting = [title for title in names if assignment.startswith(f"{title}.")]
        if not fitting:
            raise ParamError(f"--set {assignment}: {unknown_name('model', assignment.partition('.')[0], names)}")
        title = max(fitting, key=len)
        given[title].append(assignment.removeprefix(f"{title}."))
    entries = []
    for title, name in names.items():
        settings = Settings(name, given[title], seed, threads)
        entries.append(Entry(title, name, settings.model_params, settings.features))
    return entries


def _peers(parts: Parts, entries: list[Entry], seed: int) -> list[Entry]:
    """The other packages that this machine has, and those that it lacks, with the reason."""
    from labelwood.report.compare import Entry
    from labelwood.report.peers import PEERS, installed_peers, why_not

    pythons, taken = installed_peers(), {entry.title for entry in entries}
    return [
        Entry(
            f"{name}-peer" if name in taken else name,
            name,
            {"seed": seed},
            python=pythons.get(name, ""),
            missing=why_not(name, parts, pythons),
        )
        for name in PEERS
    ]


def _parts(
    data: Path, test: Path | None, share: float, seed: int, choices: dict[str, Any], threads: int | None, progress: Any,
    *, quiet: bool,
) -> Parts:  # fmt: skip
    """The rows to train on and to judge by."""
    from dataclasses import replace

    from labelwood.cli.inputs import read_data, tell
    from labelwood.data.copies import with_copies_as_groups
    from labelwood.report.compare_data import parts_of

    rows = read_data(data, n_threads=threads, progress=progress, quiet=quiet, **choices)
    if test is None:
        apart, notes = with_copies_as_groups(rows)
        tell(notes, quiet=quiet)
        train, held = apart.split(share, seed)
        if rows.groups is None:  # a tagger finds the copies among its rows by itself
            train = replace(train, groups=None)
        return parts_of(train, replace(held, source=f"{share:.0%} of the rows of {data}"))
    more: dict[str, Any] = {}
    if rows.x is not None:
        more["n_features"] = rows.n_features
        if rows.label_names is None:
            more["n_labels"] = rows.n_labels
        if rows.index_base is not None:
            more["index_base"] = rows.index_base
    held = read_data(test, n_threads=threads, progress=progress, quiet=quiet, **{**choices, **more})
    return parts_of(rows, held)


def _seconds(text: str) -> float:
    """The seconds of "90s", "10m", "1.5h" or a plain number."""
    import re

    from labelwood.errors import ParamError

    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smh]?)\s*", text, re.IGNORECASE)
    if match is None or float(match[1]) == 0:
        raise ParamError(f"--budget must be a time such as 90s, 10m or 2h, but is {text!r}")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2].lower()]


def _command(data: Path, models: str, out: Path, assignments: list[str], given: dict[str, Any]) -> str:
    """The command that makes the page again."""
    import shlex

    words = ["labelwood", "compare", str(data), "--models", models]
    for assignment in assignments:
        words += ["--set", assignment]
    for option, value in given.items():
        if value is not None:
            words += [option, str(value)] if value != "" else [option]
    return shlex.join([*words, "--out", str(out), "--force"])
