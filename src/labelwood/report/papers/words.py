"""A report of reproduced experiments as tables of cells and sentences, as a page and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from labelwood.report.compare_words import machine_lines
from labelwood.report.page_parts import document, figure, markdown_table, table
from labelwood.report.papers.rows import QUICK_ROWS
from labelwood.report.pictures import axis_around, key, lines

Report = Mapping[str, Any]
_STATUS = {"missing": "not run", "other": "not run", "done": ""}


def page(report: Report, command: str) -> str:
    """The whole HTML page; command: what makes it again."""
    sections = ["".join(f"<p>{escape(sentence)}</p>" for sentence in lead(report))]
    for experiment in report["experiments"]:
        parts = [f"<h2>{escape(heading(experiment))}</h2>"]
        if experiment["note"]:
            parts.append(f'<p class="small">{escape(experiment["note"])}</p>')
        for of_set in experiment["sets"]:
            parts.append(f"<h3>{escape(set_heading(of_set))}</h3>")
            if of_set["lines"]:
                parts.append(table(*line_table(experiment, of_set)))
            parts.append(_drawn(experiment, of_set))
            parts += [f'<p class="small">{escape(sentence)}</p>' for sentence in failures(of_set)]
        sections.append("".join(parts))
    sections.append(
        f"<h2>How to repeat it</h2><pre>{escape(command)}</pre>{table(['what', 'value'], _machine(report), words={1})}"
    )
    return document(f"Reproduced: {report['title']}", sections, {**report, "command": command})


def markdown(report: Report, command: str) -> str:
    """The whole Markdown file."""
    parts = [f"# Reproduced: {report['title']}", *lead(report)]
    for experiment in report["experiments"]:
        parts.append(f"## {heading(experiment)}")
        if experiment["note"]:
            parts.append(experiment["note"])
        for of_set in experiment["sets"]:
            parts.append(f"### {set_heading(of_set)}")
            if of_set["lines"]:
                parts.append(markdown_table(*line_table(experiment, of_set)))
            parts += failures(of_set)
    parts += ["## How to repeat it", f"```console\n{command}\n```", markdown_table(["what", "value"], _machine(report))]
    return "\n\n".join(parts) + "\n"


def lead(report: Report) -> list[str]:
    """What the page is, how the runs differ from the paper's, and what was not run."""
    sentences = [
        f"Made on {report['date']} with labelwood {report['labelwood']}. Per cent where nothing else is said; "
        "means, and after +- the deviation over splits or seeds where there are several."
    ]
    if report["quick"]:
        train, test = QUICK_ROWS
        sentences.append(
            f"QUICK RUN: at most {train} training and {test} test rows, one split, one seed. These figures say that "
            "everything runs, not how good a method is."
        )
    elif report["most_rows"] is not None:
        sentences.append(f"A part of the rows: at most {report['most_rows']:,} training rows, by chance.")
    if report["changes"]:
        told = ", ".join(f"{name}={value}" for name, value in report["changes"].items())
        sentences.append(f"Changed in every run that does not vary it: {told}.")
    missing = missing_sets(report)
    if missing:
        sentences.append(f"Not run, because {report['data']} does not have them: {', '.join(missing)}.")
    return sentences


def missing_sets(report: Report) -> list[str]:
    """The names of the data sets that are not there."""
    names = [each["data"] for experiment in report["experiments"] for each in experiment["sets"]
             if each["status"] == "missing"]  # fmt: skip
    return sorted(set(names))


def heading(experiment: Report) -> str:
    """The name of an experiment with what it shows."""
    return f"{experiment['name'].capitalize()}: {experiment['what']} ({experiment['where']})"


def set_heading(of_set: Report) -> str:
    """The name of a data set with its sizes, or why it was not run."""
    facts = of_set["facts"]
    if not facts:
        return f"{of_set['data']}: {_STATUS[of_set['status']]}, {of_set['why']}"
    return (
        f"{of_set['data']}: {facts['train_rows']:,} rows to train on, {facts['test_rows']:,} to judge by, "
        f"{facts['n_labels']:,} labels"
    )


def line_table(experiment: Report, of_set: Report) -> tuple[list[str], list[list[str]]]:
    """(header, rows): every metric as printed, where the paper prints it, and as measured, where it was run."""
    columns = []
    for metric in experiment["metrics"]:
        for kind in ("printed", "measured"):
            if any(metric in line[kind] for line in of_set["lines"]):
                columns.append((metric, kind))
    header = ["", *(f"{metric}, {kind}" for metric, kind in columns), "runs"]
    rows = []
    for line in of_set["lines"]:
        counts = {summary["n"] for summary in line["measured"].values()}
        rows.append([line["title"], *(cell(line, *column) for column in columns), str(max(counts)) if counts else ""])
    return header, rows


def cell(line: Report, metric: str, kind: str) -> str:
    """One figure: as printed, or mean and deviation as measured; "" where there is none."""
    value = line[kind].get(metric)
    if value is None:
        return ""
    if kind == "printed":
        return f"{value:.2f}"
    deviation = value["deviation"]
    return f"{value['mean']:.2f}" + ("" if deviation is None else f" +- {deviation:.2f}")


def failures(of_set: Report) -> list[str]:
    """A sentence for every line with runs that failed."""
    return [f"{line['title']}: {len(line['failed'])} failed: {line['failed'][0]}" for line in of_set["lines"]
            if line["failed"]]  # fmt: skip


def _drawn(experiment: Report, of_set: Report) -> str:
    """The picture of a figure, a line a curve; "" if the experiment has none or nothing was measured."""
    picture = experiment["picture"]
    if picture is None:
        return ""
    curves: dict[str, list[tuple[float, float]]] = {}
    for metric in picture["up"]:
        for line in of_set["lines"]:
            measured = line["measured"]
            if picture["across"] in measured and metric in measured:
                point = (measured[picture["across"]]["mean"], measured[metric]["mean"])
                curve = line["curve"] if len(picture["up"]) == 1 else f"{line['curve']}: {metric}"
                curves.setdefault(curve, []).append(point)
    if not curves:
        return ""
    points = [point for curve in curves.values() for point in curve]
    across = axis_around(picture["across"], [x for x, _ in points], log=picture["log"])
    up = axis_around(", ".join(picture["up"]), [y for _, y in points])
    drawn = lines(list(curves.items()), across, up, heading(experiment), markers=True)
    items = "".join(f"<li>{key(place)} {escape(curve)}</li>" for place, curve in enumerate(curves))
    return figure(drawn, "") + f'<ul class="key" aria-label="Curves and their marks">{items}</ul>'


def _machine(report: Report) -> Sequence[tuple[str, str]]:
    return machine_lines(report)
