"""A comparison as Markdown: the sentences and tables of the page, for a repository or an e-mail."""

from __future__ import annotations

from labelwood.report import compare_words as words
from labelwood.report.compare_words import Report
from labelwood.report.page_parts import markdown_table


def markdown(report: Report, command: str) -> str:
    """The whole file; command: what makes it again."""
    data = report["data"]
    parts = [
        f"# Comparison on {data['source']}",
        f"{data['train_rows']:,} rows of {data['holds']} to train on, {data['test_rows']:,} rows to judge by, "
        f"{data['n_labels']:,} labels.{words.in_groups(report)}",
        *words.headline(report),
        *words.left_out(report),
        "## How good the answers are",
        f"Per cent, with 95 % intervals from {report['n_resamples']:,} resamples of {words.units(report)[0]}. "
        "`*`: best; `~`: cannot be told from the best; p: paired sign-flip test against the best, after Holm.",
        *(markdown_table(header, rows) for _, header, rows in words.metric_tables(report)),
        "## What the answers cost",
        markdown_table(*words.cost_table(report)),
        "## Frequent and rare labels",
        "The share of true labels found in five answers, per cent.",
        markdown_table(*words.band_table(report)),
        "## Hard labels",
        markdown_table(*words.hardest_table(report)),
        "## How to repeat it",
        f"```console\n{command}\n```",
        markdown_table(["what", "value"], words.machine_lines(report)),
    ]
    return "\n\n".join(parts) + "\n"
