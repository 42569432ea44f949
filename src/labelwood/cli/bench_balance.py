"""`labelwood bench balance`: precision against depth, work and time of label trees, for a grid of balances."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelwood.cli import options


def command(
    train: Annotated[Path, typer.Argument(metavar="TRAIN", help="A file of features and labels to train on.")],
    test: Annotated[Path, typer.Argument(metavar="TEST", help="A file of features and labels to measure on.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder for balance.csv and .png.")],
    model_set: Annotated[
        list[str] | None,
        typer.Option(
            "--model-set", metavar="KEY=VALUE", help="A parameter of linear-tree, such as arity=2; repeatable."
        ),
    ] = None,
    ratios: Annotated[
        str | None,
        typer.Option("--ratios", metavar="R,R,...", help="Balance ratios. Default: 0,0.5,1,2,6,10,30,100,...,1e5."),
    ] = None,
    cover: Annotated[
        str,
        typer.Option("--cover", metavar="C,C,...", help="Curves: marginal or greedy cover frequencies, direct."),
    ] = "marginal,greedy,direct",
    timed_rows: Annotated[int, typer.Option("--timed-rows", metavar="N", min=1, help="Test rows to time.")] = 1000,
    repeats: Annotated[int, typer.Option("--repeats", metavar="N", min=1, help="Rounds of timing.")] = 7,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    format: options.Format = None,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Sweep the balance of a linear tree and draw what it buys.

    Trains a linear-tree for every ratio and curve, measures P@1, 3 and 5, expected depth, blocks evaluated and the time
    of single queries (one thread), and writes DIR/balance.csv and DIR/balance.png.
    """
    from dataclasses import asdict

    from labelwood.cli.console import say, show, show_json, show_table
    from labelwood.cli.inputs import read_data
    from labelwood.cli.outputs import check_file
    from labelwood.cli.progress import shown
    from labelwood.data.writing.atomic_file import whole_file
    from labelwood.errors import DataError, ParamError
    from labelwood.models.registry import model_class
    from labelwood.report.balance_sweep import RATIOS, balance_sweep, draw, write_csv

    parameters = {
        "seed": seed,
        "n_threads": threads,
        **model_class("linear-tree").Parameters.parse(model_set or [], "--model-set"),
    }
    grid = _numbers(ratios) if ratios is not None else RATIOS
    table, picture = out / "balance.csv", out / "balance.png"
    if out.exists() and not out.is_dir():
        raise DataError(f"{out}: is a file; give the name of a folder to write")
    if not out.exists():
        check_file(out, force=force)
    for path in (table, picture):
        if path.exists() and not force:
            raise DataError(f"{path}: exists already; give another folder, or --force to replace it")
    with shown(quiet) as progress:
        rows = read_data(train, format=format, n_threads=threads, progress=progress, quiet=quiet or json)
        if rows.x is None:
            raise DataError(f"{train}: holds texts; the sweep needs features (see `labelwood data convert`)")
        held = read_data(
            test, format=format, n_threads=threads, progress=progress, quiet=quiet or json,
            n_features=rows.n_features, n_labels=rows.n_labels,
        )  # fmt: skip
        if held.x is None:
            raise DataError(f"{test}: holds texts, but {train} holds features")
        points = balance_sweep(
            (rows.x, rows.y), (held.x, held.y), ratios=grid, curves=[curve.strip() for curve in cover.split(",")],
            parameters=parameters, timed_rows=timed_rows, repeats=repeats, progress=progress,
        )  # fmt: skip
    out.mkdir(exist_ok=True)
    with whole_file(table) as part:
        write_csv(points, part)
    drawn = True
    try:
        with whole_file(picture) as part:
            draw(points, part, f"linear-tree on {test.parent.name or test.name}")
    except ParamError as error:
        drawn = False
        say(f"note: {picture} is not drawn: {error}")
    if json:
        files = [str(table), *([str(picture)] if drawn else [])]
        show_json({"files": files, "points": [asdict(point) for point in points]})
        return
    names = ("p1", "p5", "depth1", "depth5", "blocks1", "blocks5", "micros1", "micros5")
    show_table(
        f"{train} -> {test}",
        ("curve", "ratio", "P@1", "P@5", "depth@1", "depth@5", "blocks@1", "blocks@5", "µs@1", "µs@5"),
        [[p.curve, f"{p.ratio:g}", *(f"{getattr(p, name):.2f}" for name in names)] for p in points],
    )
    show(f"wrote {table}" + (f" and {picture}" if drawn else ""))


def _numbers(text: str) -> list[float]:
    from labelwood.errors import ParamError

    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ParamError(f"--ratios {text}: must be numbers with commas between, such as 0,0.5,1,2") from None
