"""`labelwood data info`: what a data file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labelwood.cli import options

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset


def command(
    data: options.DataFile,
    text: options.Text = None,
    labels: options.Labels = None,
    separator: options.Separator = None,
    format: options.Format = None,
    index_base: options.IndexBase = None,
    on_bad_row: options.OnBadRow = "error",
    encoding: options.Encoding = None,
    split: options.Split = None,
    split_column: options.SplitColumn = None,
    json: options.Json = False,
) -> None:
    """Show what a data file holds, and what is odd.

    Rows, features, labels, how often labels occur, and what the reader noticed.
    """
    from labelwood.cli.console import show, show_json, show_table
    from labelwood.cli.inputs import option_name, read_data, split_choices
    from labelwood.cli.progress import shown
    from labelwood.wording import spelled

    with shown(json) as progress:
        rows = read_data(
            data,
            format=format,
            text=text,
            labels=labels,
            separator=separator,
            index_base=index_base,
            on_bad_row=on_bad_row,
            encoding=encoding,
            **split_choices(data, split, split_column, "tr"),
            progress=progress,
            quiet=True,
        )
    facts = info(rows)
    if json:
        show_json({"data": str(data), **facts, "notes": list(rows.notes)})
        return
    show_table(
        str(data),
        ("what", "value"),
        [(_called(name), _worded(value)) for name, value in facts.items()],
        align="ll",
    )
    for note in rows.notes:
        show(f"note: {spelled(note, option_name)}")


def info(data: Dataset) -> dict[str, Any]:
    """The figures of a data set, in the order they are shown."""
    import numpy as np

    y, n_rows = data.y, data.n_rows
    of_label = np.bincount(y.indices, minlength=data.n_labels)
    seen = of_label[of_label > 0]
    of_row = np.diff(y.indptr)
    facts: dict[str, Any] = {"rows": n_rows}
    if data.x is not None:
        in_row = np.diff(data.x.indptr)
        facts["features"] = data.n_features
        facts["features_a_row"] = round(data.x.nnz / max(n_rows, 1), 2)
        facts["filled_share"] = data.x.nnz / max(n_rows * data.n_features, 1)
        facts["features_never_used"] = int(
            data.n_features - np.count_nonzero(np.bincount(data.x.indices, minlength=data.n_features))
        )
        facts["rows_without_features"] = int(np.count_nonzero(in_row == 0))
    if data.texts is not None:
        lengths = np.array([len(text) for text in data.texts] or [0])
        facts["characters_a_text"] = round(float(lengths.mean()), 1)
        facts["empty_texts"] = sum(not text.strip() for text in data.texts)
        facts["duplicate_texts"] = n_rows - len(set(data.texts))
    facts["labels"] = data.n_labels
    facts["labels_never_used"] = int(data.n_labels - len(seen))
    facts["labels_a_row"] = round(y.nnz / max(n_rows, 1), 2)
    facts["rows_without_labels"] = int(np.count_nonzero(of_row == 0))
    if len(seen):
        facts["rows_a_used_label"] = round(y.nnz / len(seen), 2)
        facts["median_rows_of_a_label"] = float(np.median(seen))
        facts["labels_used_once"] = int(np.count_nonzero(seen == 1))
        most = np.lexsort((np.arange(data.n_labels), -of_label))[:5]
        facts["most_frequent"] = {
            data.label_names[i] if data.label_names is not None else str(i): int(of_label[i])
            for i in most
            if of_label[i]
        }
    if data.filter_pairs is not None:
        facts["filter_pairs"] = len(data.filter_pairs)
    return facts


def _called(fact: str) -> str:
    """The name of a fact for people: 'rows per used label' for 'rows_a_used_label'."""
    return fact.replace("_of_a_", " per ").replace("_a_", " per ").replace("_", " ")


def _worded(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} ({times:,})" for name, times in value.items())
    if isinstance(value, float):
        return f"{value:.4g}" if value < 1 else f"{value:,.2f}".rstrip("0").rstrip(".")
    return f"{value:,}"
