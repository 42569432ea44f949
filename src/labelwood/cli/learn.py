"""`labelwood learn`: a saved tagger takes in corrections."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelwood.cli import options


def command(
    model: options.ModelFolder,
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="A table of texts, labels and perhaps ids; without it the journal DIR.corrections.jsonl.",
        ),
    ] = None,
    refit: Annotated[bool, typer.Option("--refit", help="Train the model again on all rows.")] = False,
    threads: options.Threads = None,
    text: options.Text = None,
    labels: options.Labels = None,
    separator: options.Separator = None,
    group: options.Group = None,
    format: options.Format = None,
    on_bad_row: options.OnBadRow = "error",
    encoding: options.Encoding = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Teach a tagger new rows, new tags and corrections.

    A row replaces the earlier rows with its id or its text. The folder holds the old tagger until the new one is whole.
    """
    from dataclasses import asdict

    from labelwood.changing import Changing
    from labelwood.cli.console import count, show, show_json
    from labelwood.cli.inputs import read_data, tell
    from labelwood.cli.loaded import check_header, training_form
    from labelwood.cli.progress import shown
    from labelwood.errors import DataError
    from labelwood.tagger.journal import journal_path, read_journal
    from labelwood.tagger.learning import SHOWN, Lesson

    changing = Changing(model, threads)
    form = training_form(model, changing.manifest["extra"])
    journal = None
    with shown(quiet) as progress:
        if data is not None:
            rows = read_data(
                data,
                text=text,
                labels=labels,
                separator=separator,
                group=group,
                format=format,
                like=form,
                on_bad_row=on_bad_row,
                encoding=encoding,
                progress=progress,
                quiet=quiet or json,
            )
            check_header(data, rows, form)
            n_without = rows.n_rows - int((rows.y.getnnz(axis=1) > 0).sum())
            if n_without:
                tell([f"{count(n_without, 'row')} without tags: it learns that no tag fits them"], quiet=quiet or json)
            learnt = changing.tagger.learn(rows, refit=refit, progress=progress)
        else:
            journal = read_journal(model)
            if journal is None and not refit:
                raise DataError(f"{journal_path(model)}: holds no corrections; give a FILE of them, or --refit")
            lesson = Lesson((), ()) if journal is None else journal.lesson
            learnt = changing.tagger.learn(lesson.texts, lesson.labels, lesson.ids, refit=refit, progress=progress)
        if learnt.how != "nothing":
            changing.save()
    applied = None if journal is None else journal.set_aside()
    if json:
        show_json({"out": str(model), **asdict(learnt), "applied": None if applied is None else str(applied)})
        return
    show(learnt.text())
    notes = [
        f"{name!r} is new beside {known!r}: `labelwood labels DIR merge` makes them one" for name, known in learnt.slips
    ]
    if learnt.renamed:
        some = ", ".join(f"{name!r} as {label!r}" for name, label in learnt.renamed[:SHOWN])
        more = ", ..." if len(learnt.renamed) > SHOWN else ""
        notes.insert(0, f"tags that were renamed or merged are learnt as what they are now: {some}{more}")
    vocabulary = changing.tagger.fitted_.vocabulary
    outside = [] if vocabulary is None else [name for name in learnt.new_labels if name not in vocabulary]
    if outside:
        notes.append(f"{count(len(outside), 'new tag')} not in the vocabulary: {', '.join(outside[:SHOWN])}")
    tell(notes, quiet=quiet)
    if applied is not None and not quiet:
        show(f"the journal is now {applied.name}")
