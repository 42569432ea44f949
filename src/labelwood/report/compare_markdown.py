"""A comparison as Markdown: the sentences and tables of the page, for a repository or an e-mail."""

from __future__ import annotations

from collections.abc import Sequence

from labelwood.report import compare_words as words
from labelwood.report.compare_words import Report


def markdown(report: Report, command: str) -> str:
    """The whole file; command: what makes it again."""
    data = report["data"]
    parts = [
        f"# Comparison on {data['source']}",
        f"{data['train_rows']:,} rows of {data['holds']} to train on, {data['test_rows']:,} rows to judge by, "
        f"{data['n_labels']:,} labels.",
        *words.headline(report),
        *words.left_out(report),
        "## How good the answers are",
        f"Per cent, with 95 % intervals from {report['n_resamples']:,} resamples of the test rows. `*`: best; `~`: "
        "cannot be told from the best; p: paired sign-flip test against the best, after Holm.",
        *(_table(header, rows) for _, header, rows in words.metric_tables(report)),
        "## What the answers cost",
        _table(*words.cost_table(report)),
        "## Frequent and rare labels",
        "The share of true labels found in five answers, per cent.",
        _table(*words.band_table(report)),
        "## Hard labels",
        _table(*words.hardest_table(report)),
        "## How to repeat it",
        f"```console\n{command}\n```",
        _table(["what", "value"], words.machine_lines(report)),
    ]
    return "\n\n".join(parts) + "\n"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("~", "\\~") if text else " "
