"""`labelwood evaluate`: how good a saved model is on a file with known labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwood.cli import options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labelwood.report.judgement import Table

MOST_BRANCHES = 20  # of a thesaurus that the terminal shows; JSON and the page have all
SEEN = "These are the rows that it was trained on: the figures say nothing about new texts."


def command(
    model: options.ModelFolder,
    data: options.DataFile,
    k: Annotated[
        list[str] | None,
        typer.Option("-k", metavar="K,...", help="Report at K, such as 1,5,10; repeatable. Default: 1,3,5."),
    ] = None,
    per_label: Annotated[
        Path | None,
        typer.Option(
            "--per-label", metavar="FILE", help="Write hits and misses of every label to a .csv or .tsv file."
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write the evaluation as one web page, with a picture."),
    ] = None,
    propensity: Annotated[
        str | None,
        typer.Option(
            "--propensity",
            metavar="A,B",
            help="The constants of PSP and PSnDCG. Default: those of a known data set, else 0.55,1.5.",
        ),
    ] = None,
    threshold: options.Threshold = None,
    rule: options.Rule = None,
    threads: options.Threads = None,
    text: options.Text = None,
    labels: options.Labels = None,
    separator: options.Separator = None,
    group: options.GroupDrawn = None,
    format: options.Format = None,
    index_base: options.IndexBase = None,
    on_bad_row: options.OnBadRow = "error",
    encoding: options.Encoding = None,
    split: options.Split = None,
    split_column: options.SplitColumn = None,
    verify: options.Verify = False,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure a model on rows whose labels are known.

    First it says how many assigned tags are right and how many true tags are found, next to a baseline. Then it shows
    precision, recall, nDCG and their propensity-scored variants in per cent, and the labels that go wrong most.
    """
    from labelwood.cli.console import count, say_note, show, show_json, show_sentence, show_table
    from labelwood.cli.inputs import split_choices
    from labelwood.cli.loaded import Loaded, check_order
    from labelwood.cli.outputs import check_file
    from labelwood.cli.progress import shown
    from labelwood.errors import DataError, ParamError
    from labelwood.topk import checked_k

    ks = _places(k or ["1,3,5"])
    if per_label is not None:
        if per_label.suffix.lower() not in (".csv", ".tsv"):
            raise ParamError(f"--per-label {per_label}: the ending must be .csv or .tsv")
        check_file(per_label, force=force)
    if html is not None:
        if html.suffix.lower() not in (".html", ".htm"):
            raise ParamError(f"--html {html}: the ending must be .html")
        check_file(html, force=force)
    constants, whose = _propensity(propensity, data)
    check_order(model, data)
    data = _test_data(data, quiet=quiet or json)
    loaded = Loaded(model, threads, verify=verify)
    loaded.check_rule(rule)
    checked_k(ks[-1], loaded.n_labels)
    assigns = loaded.assigns(None, threshold=threshold)
    if group is not None and not assigns:
        raise ParamError(f"--group is for the intervals of assigned tags, and {model} has not learnt to assign tags")
    with shown(quiet) as progress:
        rows = loaded.read(
            data,
            progress=progress,
            quiet=quiet or json,
            text=text,
            labels=labels,
            separator=separator,
            group=group,
            format=format,
            index_base=index_base,
            on_bad_row=on_bad_row,
            encoding=encoding,
            **split_choices(data, split, split_column, "tst"),
        )
        if rows.y.nnz == 0:
            raise DataError(f"{data}: no row has a label, so there is nothing to compare with")
        # Filter pairs take answers away: with as many spare places as a row may lose, the first k stay filled.
        spare = _most_pairs_of_a_row(rows.filter_pairs)
        top = loaded.predict(rows, max(ks[-1], min(ks[-1] + spare, loaded.n_labels)))
        given = loaded.answers(rows, None, assigns) if assigns else None
        y, unknown = loaded.truth(rows)
        if rule is not None:
            top, given, y, unknown = _ruled(loaded, rule, top, given, y, unknown)
        metrics = loaded.metrics(top, rows, y, ks, constants)
        metrics.update(loaded.hierarchy_figures(top, y, unknown, ks))
        judgement = loaded.judgement(rows, y, max(5, ks[-1]), given)
        branches = loaded.branches(top.cut(ks[-1]) if given is None else given, y, unknown)
        seen = loaded.trained_on(rows)
        cost = loaded.search_figures(rows, (ks[0], ks[-1]))
    if per_label is not None:
        _write_per_label(per_label, loaded, top, y, ks[-1], unknown)

    def name(label: int) -> str:
        known = loaded.n_labels
        return loaded.name(label) if label < known else unknown[label - known]

    def called(label: int) -> str:
        """The name for people: with a vocabulary, what the concept is called, then its id."""
        label_name = name(label)
        (title,) = loaded.titles(labels=[label_name]) or [label_name]
        return label_name if title == label_name else f"{title} ({label_name})"

    title = f"{model} on {data}: {count(len(top), 'row')}, per cent"
    psp = f"PSP and PSnDCG with A = {constants[0]:g}, B = {constants[1]:g} ({whose})"
    sentences = judgement.sentences() if judgement is not None else [_sentence(metrics, ks, loaded, y)]
    tables: list[Table]
    if html is not None:
        from labelwood.data.writing.atomic_file import whole_file
        from labelwood.report.evaluation_page import evaluation_page

        tables = [(psp, ("metric", *(f"@{k}" for k in ks)), _metric_rows(metrics, ks))]
        tables += judgement.mistake_tables(called) if judgement is not None else []
        tables += _branch_tables(branches, given is None, ks[-1], len(branches))
        figure = judgement.sure if judgement is not None else None
        with whole_file(html) as part:
            part.write_text(evaluation_page(title, sentences, [SEEN] if seen else [], figure, tables), "utf-8")
    if json:
        notes = [*rows.notes, *([f"{len(unknown)} labels are unknown to the model"] if unknown else [])]
        notes += [SEEN] if seen else []
        facts = {"model": str(model), "data": str(data), "n_rows": len(top), "metrics": metrics}
        facts |= {"propensity": list(constants), "seen_in_training": seen}
        facts |= judgement.figures(name) if judgement is not None else {}
        facts |= {"branches": _branch_facts(branches)} if branches else {}
        show_json({**facts, **({"search": cost} if cost else {}), "notes": notes})
        return
    if unknown and not quiet:
        some = ", ".join(repr(name) for name in unknown[:3]) + (", ..." if len(unknown) > 3 else "")
        say_note(f"note: {count(len(unknown), 'label')} of {data} unknown to the model ({some}); counted as missed")
        if y[:, : loaded.n_labels].nnz == 0:
            say_note(f"note: the model knows none of the labels of {data}: is --labels the right column?")
    if seen:
        show_sentence(SEEN)
    for sentence in sentences:
        show_sentence(sentence)
    show()
    show_table(title, ("metric", *(f"@{k}" for k in ks)), _metric_rows(metrics, ks))
    show(psp)
    tables = judgement.mistake_tables(called) if judgement is not None else []
    for what, columns, worst in [*_branch_tables(branches, given is None, ks[-1], MOST_BRANCHES), *tables]:
        show()
        show_table(what, columns, worst)
    if cost:
        show("search, mean per row: " + ", ".join(f"{what} {value:.2f}" for what, value in cost.items()))


def _test_data(data: Path, *, quiet: bool) -> Path:
    """The test file of a folder that has one, told in a note; else the data as named."""
    from labelwood.cli.inputs import tell
    from labelwood.data.reading.read import test_file

    found = test_file(data) if data.is_dir() else None
    if found is None:
        return data
    tell([f"{data}: its test file {found.name} is read"], quiet=quiet)
    return found


def _ruled(
    loaded: Any, rule: str, top: Any, given: Any, y: Any, unknown: Sequence[str]
) -> tuple[Any, Any, Any, tuple[str, ...]]:
    """The best answers, the given tags, the truth and the names behind the labels, after a rule for both answers.

    Concepts that came in have columns behind those of the truth, which is theirs too: no row has them.
    """
    from scipy import sparse

    top, names = loaded.ruled(top, rule, unknown)
    more = tuple(names[loaded.n_labels :])
    if given is not None:
        given, names = loaded.ruled(given, rule, more)
        more = tuple(names[loaded.n_labels :])
    wide = sparse.csr_matrix((y.data, y.indices, y.indptr), shape=(y.shape[0], loaded.n_labels + len(more)))
    return top, given, wide, more


def _branch_tables(branches: Sequence[tuple[str, Any]], best: bool, k: int, most: int) -> list[Table]:
    """The table of precision, recall and F1 by branch of the thesaurus, its largest branches; none without branches."""
    if not branches:
        return []
    what = f"the {k} best answers" if best else "assigned tags"
    left_out = f"; the {most} largest of {len(branches)}" if len(branches) > most else ""
    rows = [
        (name, f"{b.true:,}", f"{b.given:,}", f"{b.precision:.1f}", f"{b.recall:.1f}", f"{b.f1:.1f}")
        for name, b in branches[:most]
    ]
    return [(f"By branch of the vocabulary, {what}{left_out}", ("branch", "true", "given", "P", "R", "F1"), rows)]


def _branch_facts(branches: Sequence[tuple[str, Any]]) -> list[dict[str, Any]]:
    shares = ("precision", "recall", "f1")
    return [
        {"branch": name, "true": b.true, "given": b.given, "right": b.right}
        | {share: round(getattr(b, share), 2) for share in shares}
        for name, b in branches
    ]


def _places(given: Sequence[str]) -> list[int]:
    """The numbers of "1,5" and "10", each once, the smallest first."""
    from labelwood.errors import ParamError

    numbers = [number.strip() for text in given for number in text.split(",")]
    for number in numbers:
        if not number.isdecimal() or int(number) < 1:
            raise ParamError(f"-k takes whole numbers from 1 with commas between, such as 1,5,10, but got {number!r}")
    return sorted({int(number) for number in numbers})


def _sentence(metrics: Mapping[str, float], ks: Sequence[int], loaded: Any, y: Any) -> str:
    """What the k best answers are worth, in words, beside the most frequent labels."""
    from labelwood.metrics.assigned import popular_answers
    from labelwood.metrics.evaluate import evaluate

    first, last = ks[0], ks[-1]
    same = popular_answers(loaded.counts(y.shape[1]), y.shape[0], last).cut(last)
    baseline = evaluate(same, y, ks=ks)
    best = "first answer" if first == 1 else f"first {first} answers"
    return (
        f"Of its {best}, {metrics[f'P@{first}']:.0f}% are right; its first {last} hold {metrics[f'R@{last}']:.0f}% "
        f"of the true labels. Baseline, the most frequent labels for every row: "
        f"{baseline[f'P@{first}']:.0f}% and {baseline[f'R@{last}']:.0f}%."
    )


def _propensity(text: str | None, data: Path) -> tuple[tuple[float, float], str]:
    """((A, B), whose they are): as given, of the data set that the file belongs to, or the usual ones."""
    from labelwood.data.catalogue import USUAL, recognised
    from labelwood.errors import ParamError

    if text is not None:
        try:
            a, b = (float(number) for number in text.split(","))
        except ValueError:
            raise ParamError(f"--propensity must be two numbers such as 0.55,1.5, but is {text!r}") from None
        return (a, b), "as given"
    known = recognised(data)
    return (USUAL, "the usual ones") if known is None else (known.propensity, f"those of {known.title}")


def _metric_rows(metrics: Mapping[str, float], ks: Sequence[int]) -> list[list[str]]:
    """The rows of the table of metrics at each k, then the share of each band of labels in it."""
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
    return rows


def _most_pairs_of_a_row(pairs: Any) -> int:
    import numpy as np

    return 0 if pairs is None or not len(pairs) else int(np.bincount(pairs[:, 0]).max())


def _write_per_label(path: Path, loaded: Any, top: Any, y: Any, k: int, unknown: Sequence[str]) -> None:
    import csv

    from labelwood.data.writing.atomic_file import whole_file
    from labelwood.metrics.per_label import per_label

    table = per_label(top, y, k, loaded.counts(y.shape[1]), n_train=loaded.n_train)
    known = loaded.n_labels
    with whole_file(path) as part, part.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter="\t" if path.suffix.lower() == ".tsv" else ",", lineterminator="\n")
        writer.writerow(["name", *table])
        for row in zip(*table.values(), strict=True):
            label = int(row[0])
            name = loaded.name(label) if label < known else unknown[label - known]
            writer.writerow([name, *(f"{cell:.4g}" if isinstance(cell, float) else cell for cell in row)])
