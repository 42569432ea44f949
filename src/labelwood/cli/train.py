"""`labelwood train`: a data file in, a saved model out."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwood.cli import options
from labelwood.cli.resuming import Resume

if TYPE_CHECKING:
    from labelwood.calibration.fitted import FittedCalibration

ONE_LABEL = "there is only one label, so there is nothing to tell apart: is --labels the right column?"


def command(
    context: typer.Context,
    data: options.DataFile,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to save the model in.")],
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            metavar="NAME",
            help="A model (see `labelwood models`); auto picks one-vs-all, or linear-tree if that would take long.",
        ),
    ] = None,
    best: Annotated[
        bool,
        typer.Option(
            "--best",
            help="Train the most accurate model, the ensemble; it takes longer.",
        ),
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            metavar="TIME",
            help="Search for better settings on held-out rows for at most this long, such as 10m, the final training "
            "included. If it is killed, the same command continues it (DIR.search.jsonl).",
        ),
    ] = None,
    favour: Annotated[
        str | None,
        typer.Option(
            "--favour",
            metavar="rare|NUMBER",
            help="With --best: prefer rare labels to equally likely frequent ones; from 0 (not at all) to 1 (rare).",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            metavar="NAME",
            help="A published configuration of the model (see `labelwood models MODEL`); --set overrides it.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A parameter of the model, or features.KEY for texts; repeatable.",
        ),
    ] = None,
    tree: Annotated[
        Path | None,
        typer.Option(
            "--tree",
            metavar="FILE",
            help="Your own label hierarchy for linear-tree: lines of name, tab, parent; or a SKOS file.",
        ),
    ] = None,
    lang: Annotated[
        str | None,
        typer.Option(
            "--lang",
            metavar="auto|CODE|none",
            help="The language of the texts, such as de or fi+sv: inflected forms count as one word. auto: detect and "
            "try; none: plain words. The default is auto for 2,500 or more texts without --model, and with --best if "
            "they are not English. Japanese, Hindi, Thai and the like become runs of letters, but for none.",
        ),
    ] = None,
    vocab: Annotated[
        Path | None,
        typer.Option(
            "--vocab",
            metavar="FILE",
            help="The thesaurus of the labels: SKOS (.ttl, .rdf, .jsonld), .tsv or .csv; answers then carry names.",
        ),
    ] = None,
    assign: Annotated[
        str | None,
        typer.Option(
            "--assign",
            metavar="RULE",
            help="The rule by which tags are assigned: f1 (default), f1-macro, f1-sample, precision=0.9, recall=0.8, "
            "count=4, threshold=0.5; none: learn no probabilities (which takes about as long again as training).",
        ),
    ] = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    memory: options.Memory = None,
    keep_rows: Annotated[
        bool | None,
        typer.Option(
            "--keep-rows/--no-keep-rows",
            help="Keep the training rows in DIR, for `labelwood learn`. Default: if they take at most 100 MB.",
        ),
    ] = None,
    name_rows: Annotated[
        bool | None,
        typer.Option(
            "--name-rows/--no-name-rows",
            help="Learn from the names of the labels, too. Default: if that improves the answers for held-out rows.",
        ),
    ] = None,
    text: options.Text = None,
    labels: options.Labels = None,
    separator: options.Separator = None,
    group: options.Group = None,
    format: options.Format = None,
    index_base: options.IndexBase = None,
    on_bad_row: options.OnBadRow = "error",
    encoding: options.Encoding = None,
    unlabelled: Annotated[
        str,
        typer.Option(
            "--unlabelled",
            metavar="skip|negative",
            help="Rows without labels: leave them out, or learn that no label fits.",
        ),
    ] = "skip",
    split: options.Split = None,
    split_column: options.SplitColumn = None,
    resume: Resume = False,
    cluster: options.Cluster = None,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Train a model on DATA and save it.

    A file of texts gives a tagger that answers with label names; a file of features gives a plain model.
    """
    import time
    from dataclasses import replace

    from labelwood.calibration.held_out import SMALLEST_ROWS
    from labelwood.cli.choices import model_choice
    from labelwood.cli.clustering import check_cluster, on_cluster
    from labelwood.cli.console import count, say, say_note, show_json, show_sentence, show_table, size
    from labelwood.cli.inputs import read_data, split_choices, tell
    from labelwood.cli.outputs import check_folder
    from labelwood.cli.progress import shown
    from labelwood.cli.ranks import ranks_of
    from labelwood.cli.resuming import finished_already, identity_of, resumable, run_name
    from labelwood.cli.sparing import left_for_training, reading_in_pieces
    from labelwood.cli.training import Settings, train, tuned_within
    from labelwood.data.unlabelled import trained_rows
    from labelwood.errors import ParamError
    from labelwood.memory import parse_memory
    from labelwood.models.registry import AUTO
    from labelwood.storage.steps import keeping
    from labelwood.tagger.tagger import Tagger
    from labelwood.tuning.duration import parse_duration
    from labelwood.tuning.tune import COLUMNS

    identity = identity_of(data, context.params)
    if resume and not force and finished_already(out, identity):
        say(f"{out}: this run is finished already; there is nothing to resume")
        if json:
            show_json({"out": str(out), "finished": True})
        return
    check_folder(out, force=force)
    check_cluster(cluster)
    if budget is not None:
        parse_duration(budget)  # a slip is told before the data is read
    allowed = None if memory is None else parse_memory(memory)
    if best:
        if model is not None or tree is not None:
            raise ParamError("--best is the model ensemble: leave out --model and --tree")
        model = "ensemble"
    if favour is not None and model != "ensemble":
        raise ParamError("--favour works only with --best")
    if tree is not None and model is None:
        model = "linear-tree"
    given_tree = [] if tree is None else [f"tree={tree}"]
    settings = Settings(
        model or AUTO,
        [*(set_ or []), *given_tree, *([] if favour is None else [f"favour={'1' if favour == 'rare' else favour}"])],
        seed,
        threads,
        assign=assign,
        keep_rows=keep_rows,
        preset=preset,
        lang=lang,
        vocab=vocab,
        name_rows=name_rows,
    )
    start = time.perf_counter()
    with (
        ranks_of(settings.name, out) as own_out,
        resumable(own_out, identity, resume=resume, force=force, quiet=quiet or json),
        shown(quiet) as progress,
    ):
        with reading_in_pieces(allowed, own_out):
            rows = read_data(
                data,
                format=format,
                text=text,
                labels=labels,
                separator=separator,
                group=group,
                index_base=index_base,
                on_bad_row=on_bad_row,
                n_threads=threads,
                progress=progress,
                quiet=True,
                encoding=encoding,
                **split_choices(data, split, split_column, "tr"),
            )
        rows = trained_rows(rows, unlabelled)
        if rows.n_labels == 1:
            rows = replace(rows, notes=(*rows.notes, ONE_LABEL))
        tell(rows.notes, quiet=quiet or json)
        table_of_trials: list[tuple[str, ...]] = []
        left = left_for_training(allowed, rows)
        with on_cluster(cluster) as told:
            if budget is not None:
                with keeping(None):  # the search has a journal of its own
                    tuned = tuned_within(budget, rows, settings, out, progress, left, restart=force)
                trained, reasons, notes = tuned.trained, tuned.sentences(), list(tuned.trained.notes_)
                table_of_trials = tuned.table()
            else:
                trained, reasons, notes = train(rows, settings, progress, left)
        notes += [told.note] if told.note else []
        if own_out != out:  # torchrun: the first process writes and tells
            return
        if settings.name == AUTO and budget is None:
            reasons = [model_choice(rows, trained), *reasons]
        seconds = time.perf_counter() - start
        base = {} if rows.index_base is None else {"index_base": rows.index_base}
        check_folder(out, force=force)  # another program may have saved there meanwhile
        table = {} if rows.form is None else {"table": rows.form.saved()}
        choices = [*reasons, *notes]
        said = {"choices": choices} if choices else {}
        run = {"data": str(data), "run": run_name(identity)}
        trained.save(out, extra=run | base | table | said, overwrite=force)
    fitted: Any = getattr(trained, "model_", trained)  # a Tagger's model, or the model itself
    name = fitted.name
    calibration = getattr(trained, "calibration_", None)
    kept = trained.fitted_.rows if isinstance(trained, Tagger) else None
    facts = {
        "out": str(out),
        "kind": "tagger" if rows.x is None else "model",
        "model": name,
        "n_rows": rows.n_rows,
        "n_labels": rows.n_labels,
        "seconds": round(seconds, 3),
        "kept_bytes": 0 if kept is None else kept.nbytes,
        "notes": [*rows.notes, *choices],
        **({"trials": [dict(zip(COLUMNS, line, strict=True)) for line in table_of_trials]} if table_of_trials else {}),
        **({"assign": calibration.facts()} if calibration is not None else {}),
    }
    if json:
        show_json(facts)
        return
    if table_of_trials and not quiet:
        show_table("What each second bought", COLUMNS, table_of_trials, align="rl")
    if not quiet:
        for reason in reasons:
            say_note(reason)
        for note in notes:
            say_note(f"note: {note}")
    what = f"{count(rows.n_rows, 'row')} with {count(rows.n_labels, 'label')}"
    show_sentence(f"trained {name} on {what} in {seconds:.1f} s; saved in {out}")
    if calibration is not None:
        _show_assignment(calibration)
    elif rows.x is None and settings.assign is not None and not quiet:
        few = f"fewer than {SMALLEST_ROWS} rows with labels"
        say_note(f"note: {few} are too few to learn which tags to assign; it gives the k best")
    if not quiet and isinstance(trained, Tagger):
        say_note(
            "note: the rows are not kept, so `labelwood learn` can answer new tags only by examples (--keep-rows)"
            if kept is None
            else f"note: the rows are kept for `labelwood learn` ({size(kept.nbytes)}; --no-keep-rows leaves them out)"
        )
    if not quiet:
        say_note(_next(out, data))


def _next(out: Path, data: Path) -> str:
    """What people do next, as commands; the answers go to the kind of table that the rows came in."""
    folder, ending = quote(str(out)), data.suffix.lower()
    tagged = f"tagged{ending if ending in ('.xlsx', '.tsv', '.jsonl', '.parquet') else '.csv'}"
    commands = (f"evaluate {folder} FILE", f"predict {folder} FILE --out {tagged}", f"serve {folder}")
    return "next: " + ", or ".join(f"labelwood {command}" for command in commands)


def _show_assignment(calibration: FittedCalibration) -> None:
    """Say what the rule reached on held-out rows."""
    from labelwood.cli.console import count, say_note, show_sentence

    reached = calibration.held_out
    show_sentence(
        f"tags are assigned by {calibration.rule}: on {count(int(reached['rows']), 'held-out row')}, "
        f"{reached['labels_a_row']:.1f} tags a row, {100 * reached['precision']:.0f}% of them right; "
        f"it found {100 * reached['recall']:.0f}% of the true ones"
    )
    if calibration.note:
        say_note(f"note: {calibration.note}")
