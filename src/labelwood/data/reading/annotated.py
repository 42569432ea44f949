"""JSON of annotation tools: Label Studio's tasks and Argilla's records, as their exports hold them.

A label counts if anyone gave it: several annotators of one row are taken together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labelwood.data.reading.jsonl import json_objects
from labelwood.data.reading.text_rows import TableOptions, TextRows

TEXT, LABELS = "text", "labels"  # the names that are written, and read unless the caller names others
_Row = tuple[Any, list[Any], Any]  # text, labels, row id


def read_label_studio(options: TableOptions) -> TextRows:
    """The rows of Label Studio's tasks with choices or a taxonomy; what was cancelled does not count."""
    return _rows(options, _task)


def read_argilla(options: TableOptions) -> TextRows:
    """The rows of Argilla's records: the labels of their responses, else those that are suggested."""
    return _rows(options, _record)


def _rows(options: TableOptions, parsed: Callable[[dict[str, Any], str, str | None], _Row]) -> TextRows:
    rows = TextRows(options)
    field, question = options.text or TEXT, options.labels
    has_ids = None
    for number, item in json_objects(options):
        try:
            text, labels, row_id = parsed(item, field, question)
        except (AttributeError, KeyError, TypeError) as error:
            options.bad.report(number, f"does not have the fields of its format ({type(error).__name__}: {error})")
            continue
        if not isinstance(text, str):
            options.bad.report(number, f"the field {field!r} must be a text, but is {text!r:.40}")
        elif not all(isinstance(label, str) and label.strip() for label in labels):
            options.bad.report(number, f"labels must be names, but are {labels!r:.60}")
        elif has_ids not in (None, row_id is not None):
            options.bad.report(number, "some rows have an id and some have none")
        else:
            has_ids = row_id is not None
            rows.add(number, text, list(dict.fromkeys(labels)), None if row_id is None else str(row_id))
    return rows


def _task(item: dict[str, Any], field: str, question: str | None) -> _Row:
    labels: list[Any] = []
    for annotation in item.get("annotations", ()):
        if annotation.get("was_cancelled"):
            continue
        for region in annotation["result"]:
            kind = region.get("type")
            if kind in ("choices", "taxonomy") and question in (None, region["from_name"]):
                # A taxonomy gives the way to each label; its end is the label.
                labels += [choice[-1] if kind == "taxonomy" else choice for choice in region["value"][kind]]
    return item["data"][field], labels, item["data"].get("id", item.get("id"))


def _record(item: dict[str, Any], field: str, question: str | None) -> _Row:
    responses, suggestions = item.get("responses") or {}, item.get("suggestions") or {}
    labels: list[Any] = []
    for name, answers in responses.items():
        if question in (None, name):
            labels += [label for answer in answers for label in _list(answer["value"])]
    if not responses:
        for name, suggestion in suggestions.items():
            labels += _list(suggestion["value"]) if question in (None, name) else []
    return item["fields"][field], labels, item.get("id")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
