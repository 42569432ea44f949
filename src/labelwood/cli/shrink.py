"""`labelwood shrink`: a saved model made smaller or faster, with a list of what each way costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelwood.cli import options

if TYPE_CHECKING:
    from labelwood.shrinking.variants import Variant

COLUMNS = ("variant", "size", "of all", "ms a row", "nDCG@5", "P@1", "same answers", "")


def command(
    model: options.ModelFolder,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="SIZE", help="Choose the most accurate variant of at most this size: 50MB."),
    ] = None,
    latency: Annotated[
        str | None,
        typer.Option(
            "--latency", metavar="TIME", help="Choose the most accurate that answers a row in this time: 0.5ms."
        ),
    ] = None,
    variant: Annotated[
        str | None, typer.Option("--variant", metavar="NAME", help="Choose a variant by its name in the list.")
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="Only list the variants; the default without --to, --latency, --variant.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR2", help="The folder to save the chosen variant in.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace DIR with the chosen variant; the original is then gone.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", metavar="FILE", help="Rows with known labels to measure on. Default: the rows kept in DIR."
        ),
    ] = None,
    keep_rows: Annotated[
        bool, typer.Option("--keep-rows", help="Keep the training rows, so that the variant can learn corrections.")
    ] = False,
    threads: options.Threads = None,
    text: options.Text = None,
    labels: options.Labels = None,
    separator: options.Separator = None,
    format: options.Format = None,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Make a saved model smaller or faster.

    Without training: fewer trees, one byte a weight, small weights dropped, training rows left out. First it lists what
    each way gives; DIR stays as it is.
    """
    from dataclasses import asdict

    from labelwood.cli.console import count, say, show, show_json, show_table
    from labelwood.cli.loaded import Loaded
    from labelwood.cli.outputs import check_folder
    from labelwood.cli.progress import shown
    from labelwood.errors import DataError, ParamError
    from labelwood.memory import memory_text, parse_memory
    from labelwood.shrinking.judging import Judge
    from labelwood.shrinking.variants import Shrinking, can_lose_rows, chosen
    from labelwood.storage.load import read_manifest
    from labelwood.tuning.duration import parse_duration

    limit = None if to is None else parse_memory(to, "to")
    milliseconds = None if latency is None else 1000 * parse_duration(latency, "--latency")
    wanted = any(choice is not None for choice in (to, latency, variant))
    if list_ and (wanted or out is not None or replace):
        raise ParamError("--list only shows the variants: leave out --to, --latency, --variant, --out and --replace")
    if variant is not None and (to is not None or latency is not None):
        raise ParamError("--variant names one: leave out --to and --latency")
    if wanted and (out is None) == (not replace):
        raise ParamError("where to? Give --out DIR2 for a new folder, or --replace to give up DIR; one of the two")
    if not wanted and (out is not None or replace):
        raise ParamError("which variant? Give --to SIZE, --latency TIME or --variant NAME")
    if out is not None:
        if out.resolve() == model.resolve():
            raise ParamError(f"{out}: is the model itself; --replace puts the variant in its place")
        check_folder(out, force=force)
    manifest = read_manifest(model)
    loaded = Loaded(model, threads)
    original = loaded.model if loaded.tagger is None else loaded.tagger
    n_bytes = sum(path.stat().st_size for path in model.iterdir() if path.is_file())
    with shown(quiet) as progress:
        y = None
        rows = None
        if data is not None:
            rows = loaded.read(
                data,
                text=text,
                labels=labels,
                separator=separator,
                format=format,
                progress=progress,
                quiet=quiet or json,
            )
            y, _ = loaded.truth(rows)
        judge = Judge(original, rows, y)
        shrinking = Shrinking(original, judge, n_bytes, keep_rows=keep_rows, progress=progress)
        variants = shrinking.list(limit, only=variant)
        saved: Path | None = None
        taken: Variant | None = None
        if wanted:
            taken = variants[-1] if variant else chosen(variants, to=limit, milliseconds=milliseconds)
            made = shrinking.made(taken.cut) if taken.name != variants[0].name else original
            extra = {**manifest["extra"], "shrunk": taken.name}
            if replace:
                if read_manifest(model)["manifest_sha256"] != manifest["manifest_sha256"]:
                    raise DataError(f"{model}: another program changed it meanwhile; nothing was saved")
                saved = model
            else:
                assert out is not None
                check_folder(out, force=force)
                saved = out
            made.save(saved, extra=extra, overwrite=replace or force)
    told = "rows kept in the folder, which it was trained on" if judge.seen else f"rows of {data}"
    if json:
        listed = [{"variant": v.name, **asdict(v.judged), "best": v.best, "keeps_rows": v.keeps_rows} for v in variants]
        made_of = {} if taken is None else {"chosen": taken.name, "out": str(saved)}
        show_json({"model": str(model), "rows": judge.n_rows, "seen": judge.seen, "variants": listed, **made_of})
        return
    if taken is None:
        lines = [_line(v, n_bytes) for v in sorted(variants, key=lambda v: -v.judged.n_bytes)]
        show_table(f"{model}: measured on {count(judge.n_rows, 'row')}", COLUMNS, lines, align="l")
        show("* no other variant is better in size, time or nDCG@5 without being worse in another")
    else:
        before, after = variants[0].judged, taken.judged
        show(
            f"{taken.name}: {memory_text(before.n_bytes)} -> {memory_text(after.n_bytes)}, "
            f"{before.milliseconds:.3g} -> {after.milliseconds:.3g} ms a row, nDCG@5 {before.accuracy:.2f} -> "
            f"{after.accuracy:.2f} on {count(judge.n_rows, 'row')}; saved in {saved}"
        )
    if quiet:
        return
    if judge.seen:
        say(f"note: measured on {told}: figures flatter, differences hold; --data FILE measures on other rows")
    if can_lose_rows(original) and not keep_rows:
        say("note: variants are without the training rows, so they cannot learn corrections (--keep-rows keeps them)")


def _line(variant: Variant, whole: int) -> tuple[str, ...]:
    from labelwood.memory import memory_text

    judged = variant.judged
    return (
        variant.name,
        memory_text(judged.n_bytes),
        f"{judged.n_bytes / whole:.0%}",
        f"{judged.milliseconds:.3f}",
        f"{judged.accuracy:.2f}",
        f"{judged.first:.2f}",
        f"{judged.same:.1f}%",
        "*" if variant.best else "",
    )
