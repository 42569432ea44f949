"""`labelwood reproduce`: the tables and figures of a paper, run here and shown beside what was printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwood.cli import options

if TYPE_CHECKING:
    from labelwood.report.papers.experiment import Experiment


def command(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="The paper: trees, glas, dxml, elias or autoencoders.")],
    table: Annotated[
        list[str] | None, typer.Option("--table", metavar="N", help="Only this table; repeatable. Default: all.")
    ] = None,
    figure: Annotated[
        list[str] | None, typer.Option("--figure", metavar="N", help="Only this figure, such as 3 or 7a; repeatable.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", metavar="DIR", help="The folder that holds data sets by name. Default: LABELWOOD_DATA or data."
        ),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option("--on", metavar="NAME,...", help="Run on these folders of --data, not on the paper's data sets."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="The folder for the page and the finished runs.")
    ] = Path("reproduced"),
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of every model that has it; repeatable."),
    ] = None,
    line: Annotated[
        list[str] | None,
        typer.Option("--line", metavar="TEXT", help="Run only the lines with this text in their title; repeatable."),
    ] = None,
    splits: Annotated[
        int | None, typer.Option("--splits", metavar="N", min=1, help="Only the first N splits of an experiment.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", metavar="N", min=1, help="Only the first N seeds of an experiment.")
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option("--rows", metavar="N", min=1, help="Only N training rows, drawn at random; marked as such."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small part of the rows, one split, one seed; marked as such.")
    ] = False,
    list_: Annotated[bool, typer.Option("--list", help="Show what there is to reproduce, and end.")] = False,
    threads: options.Threads = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Run a paper's tables and figures beside what it prints.

    Writes DIR/PAPER.html, .json and .md. Finished runs are kept in DIR/runs and used again, so a reproduction can be
    stopped and go on. Data sets that --data does not have are listed as missing.
    """
    import os
    from json import dumps

    from labelwood.cli.console import plain, say, show, show_json, show_table
    from labelwood.cli.progress import shown
    from labelwood.data.writing.atomic_file import whole_file
    from labelwood.errors import DataError
    from labelwood.report.papers import words
    from labelwood.report.papers.all_papers import chosen_experiments, find_paper, with_lines
    from labelwood.report.papers.reproduce import Request, reproduce

    known = find_paper(paper)
    experiments = with_lines(chosen_experiments(known, table or (), figure or ()), line or ())
    if list_:
        listed = [[each.name, each.what, ", ".join(each.data), str(len(each.variants))] for each in experiments]
        show_table(known.title, ("name", "what", "data sets", "variants"), listed)
        return
    root = data if data is not None else Path(os.environ.get("LABELWOOD_DATA") or "data")
    names = tuple(name.strip() for name in on.split(",")) if on else ()
    changes = _changes(experiments, set_ or [])
    if out.exists() and not out.is_dir():
        raise DataError(f"{out}: is a file; give the name of a folder to write")
    request = Request(root, out / "runs", names, splits, seeds, quick, threads, changes, rows)
    with shown(quiet) as progress:
        report = plain(reproduce(known, experiments, request, progress))
    given = {
        "--table": table, "--figure": figure, "--data": root, "--on": on, "--set": set_, "--line": line,
        "--splits": splits, "--seeds": seeds, "--rows": rows, "--quick": quick, "--threads": threads, "--out": out,
    }  # fmt: skip
    again = _command(paper, given)
    chosen = [f"table-{number}" for number in table or []] + [f"figure-{number}" for number in figure or []]
    stem = "-".join([paper, *chosen])
    contents = {
        "html": words.page(report, again),
        "json": dumps({**report, "command": again}, ensure_ascii=False, allow_nan=False, indent=1) + "\n",
        "md": words.markdown(report, again),
    }
    files = [out / f"{stem}.{kind}" for kind in contents]
    out.mkdir(parents=True, exist_ok=True)
    for path, content in zip(files, contents.values(), strict=True):
        with whole_file(path) as part:
            part.write_text(content, encoding="utf-8")
    if json:
        show_json({"files": [str(path) for path in files], **report})
        return
    if not quiet:
        for sentence in words.lead(report)[1:]:
            say(f"note: {sentence}")
    for experiment in report["experiments"]:
        for of_set in experiment["sets"]:
            if of_set["status"] == "done":
                show_table(f"{words.heading(experiment)}, {of_set['data']}", *words.line_table(experiment, of_set))
    show(f"wrote {', '.join(str(path) for path in files)}; runs are kept in {out / 'runs'}")


def _changes(experiments: Sequence[Experiment], assignments: list[str]) -> dict[str, Any]:
    """The settings of --set, read by the first model that has them; ParamError for one that none has."""
    from labelwood.errors import ParamError
    from labelwood.models.registry import model_class

    models = [model_class(name) for name in {variant.model: None for each in experiments for variant in each.variants}]
    changes: dict[str, Any] = {}
    for assignment in assignments:
        key = assignment.partition("=")[0].strip()
        having = [model for model in models if key in model.Parameters.defaults()]
        if not having:
            names = ", ".join(model.name for model in models)
            raise ParamError(f"--set {assignment}: none of the models ({names}) has a parameter {key!r}")
        changes |= having[0].Parameters.parse([assignment], "--set")
    return changes


def _command(paper: str, given: Mapping[str, Any]) -> str:
    """The command that makes the page again."""
    import shlex

    words = ["labelwood", "reproduce", paper]
    for option, value in given.items():
        values = value if isinstance(value, list) else [value]
        for each in values:
            if each is not None and each is not False:
                words += [option] if each is True else [option, str(each)]
    return shlex.join(words)
