"""`labelwood evaluate`: how good a saved model is on a file with known labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwood.cli import options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def command(
    model: options.ModelFolder,
    data: options.DataFile,
    k: Annotated[
        list[int] | None,
        typer.Option("-k", metavar="K", min=1, help="Report at K; repeatable. Default: 1 3 5."),
    ] = None,
    per_label: Annotated[
        Path | None,
        typer.Option(
            "--per-label", metavar="FILE", help="Write hits and misses of every label to a .csv or .tsv file."
        ),
    ] = None,
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
    """Measure a model on rows whose labels are known.

    Shows precision, recall, nDCG and their propensity-scored kin in per cent, and what frequent and rare labels add.
    """
    from labelwood.cli.console import count, say, show, show_json
    from labelwood.cli.loaded import Loaded
    from labelwood.cli.outputs import check_file
    from labelwood.cli.progress import shown
    from labelwood.errors import DataError, ParamError
    from labelwood.topk import checked_k

    ks = sorted(set(k or (1, 3, 5)))
    if per_label is not None:
        if per_label.suffix.lower() not in (".csv", ".tsv"):
            raise ParamError(f"--per-label {per_label}: the ending must be .csv or .tsv")
        check_file(per_label, force=force)
    loaded = Loaded(model, threads, verify=verify)
    checked_k(ks[-1], loaded.model.n_labels_)
    with shown(quiet) as progress:
        rows = loaded.read(
            data,
            progress=progress,
            quiet=quiet or json,
            text=text,
            labels=labels,
            separator=separator,
            format=format,
            index_base=index_base,
            on_bad_row=on_bad_row,
        )
        if rows.y.nnz == 0:
            raise DataError(f"{data}: no row has a label, so there is nothing to compare with")
        # Filter pairs take answers away: with as many spare places as a row may lose, the first k stay filled.
        spare = _most_pairs_of_a_row(rows.filter_pairs)
        top = loaded.predict(rows, max(ks[-1], min(ks[-1] + spare, loaded.model.n_labels_)))
        metrics, y, unknown = loaded.metrics(top, rows, ks)
        metrics.update(loaded.hierarchy_figures(top, y, unknown, ks))
        cost = loaded.search_figures(rows, (ks[0], ks[-1]))
    if per_label is not None:
        _write_per_label(per_label, loaded, top, y, ks[-1], unknown)
    if json:
        notes = [*rows.notes, *([f"{len(unknown)} labels are unknown to the model"] if unknown else [])]
        facts = {"model": str(model), "data": str(data), "n_rows": len(top), "metrics": metrics}
        show_json({**facts, **({"search": cost} if cost else {}), "notes": notes})
        return
    if unknown and not quiet:
        some = ", ".join(repr(name) for name in unknown[:3]) + (", ..." if len(unknown) > 3 else "")
        say(f"note: {count(len(unknown), 'label')} of {data} unknown to the model ({some}); counted as missed")
    _show_metrics(f"{model} on {data}: {count(len(top), 'row')}, per cent", metrics, ks)
    if cost:
        show("search, mean per row: " + ", ".join(f"{name} {value:.2f}" for name, value in cost.items()))


def _show_metrics(title: str, metrics: Mapping[str, float], ks: Sequence[int]) -> None:
    """Write the table of metrics at each k, then the share of each band of labels in it."""
    from labelwood.cli.console import show_table

    names = [
        name
        for name in ("P", "R", "nDCG", "PSP", "PSnDCG", "coverage", "hP", "hR", "hF1")
        if f"{name}@{ks[0]}" in metrics
    ]
    rows = [[name, *(f"{metrics[f'{name}@{k}']:.2f}" for k in ks)] for name in names]
    for band, what in (("head", "frequent"), ("torso", "middling"), ("tail", "rare")):
        if f"P@{ks[0]}[{band}]" in metrics:
            part = [f"{metrics[f'P@{k}[{band}]']:.2f}" for k in ks]
            rows.append([f"P from {band} ({what} labels)", *part])
    show_table(title, ("metric", *(f"@{k}" for k in ks)), rows)


def _most_pairs_of_a_row(pairs: Any) -> int:
    import numpy as np

    return 0 if pairs is None or not len(pairs) else int(np.bincount(pairs[:, 0]).max())


def _write_per_label(path: Path, loaded: Any, top: Any, y: Any, k: int, unknown: Sequence[str]) -> None:
    import csv

    from labelwood.data.writing.atomic_file import whole_file
    from labelwood.metrics.per_label import per_label

    table = per_label(top, y, k, loaded.counts(y.shape[1]), n_train=loaded.model.n_rows_)
    known = loaded.model.n_labels_
    with whole_file(path) as part, part.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter="\t" if path.suffix.lower() == ".tsv" else ",", lineterminator="\n")
        writer.writerow(["name", *table])
        for row in zip(*table.values(), strict=True):
            label = int(row[0])
            name = loaded.name(label) if label < known else unknown[label - known]
            writer.writerow([name, *(f"{cell:.4g}" if isinstance(cell, float) else cell for cell in row)])
