"""Dataset with texts -> JSON that annotation tools import: Label Studio's tasks, Argilla's records; all or nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from labelwood.data.dataset import Dataset
from labelwood.data.reading.annotated import LABELS, TEXT
from labelwood.data.writing.atomic_file import atomic_output
from labelwood.data.writing.table_write import Row, names_of, rows_of
from labelwood.data.writing.written import Written

# The settings of a project in Label Studio list every label; beyond this its page hangs.
SHOWN_IN_SETTINGS = 10_000


def write_label_studio(data: Dataset, path: Path) -> Written:
    """The file written: an array of tasks, each with its labels as one annotation; and the settings of a project.

    The settings, beside it as .xml, are what "Labeling Interface > Code" of Label Studio takes.
    """
    names = names_of(data, path)
    _write(data, path, names, _task)
    settings = path.with_name(f"{path.name}.xml")
    choices = "".join(f"    <Choice value={quoteattr(name)}/>\n" for name in names[:SHOWN_IN_SETTINGS])
    with atomic_output(settings) as stream:
        stream.write(
            (
                f'<View>\n  <Text name="{TEXT}" value="${TEXT}"/>\n'
                f'  <Choices name="{LABELS}" toName="{TEXT}" choice="multiple">\n{choices}  </Choices>\n</View>\n'
            ).encode()
        )
    notes = []
    if len(names) > SHOWN_IN_SETTINGS:
        notes.append(f"{settings.name} lists the first {SHOWN_IN_SETTINGS:,} of {len(names):,} labels: more would hang")
    return Written((path, settings), tuple(notes))


def write_argilla(data: Dataset, path: Path) -> Written:
    """The file written: an array of records, each with its labels as a suggestion, which needs no user."""
    _write(data, path, names_of(data, path), _record)
    return Written((path,))


def _write(data: Dataset, path: Path, names: list[str], item: Callable[[Row], dict[str, Any]]) -> None:
    with atomic_output(path) as stream:
        separator = b"[\n"
        for row in rows_of(data, names):
            stream.write(separator + json.dumps(item(row), ensure_ascii=False).encode())
            separator = b",\n"
        stream.write(b"\n]\n" if separator == b",\n" else b"[]\n")


def _task(row: Row) -> dict[str, Any]:
    row_id, text, labels = row
    data = {TEXT: text} if row_id is None else {"id": row_id, TEXT: text}
    result = [{"from_name": LABELS, "to_name": TEXT, "type": "choices", "value": {"choices": labels}}] if labels else []
    return {"data": data, "annotations": [{"result": result}]}


def _record(row: Row) -> dict[str, Any]:
    row_id, text, labels = row
    record: dict[str, Any] = {"fields": {TEXT: text}, "metadata": {}, "responses": {}, "vectors": {}}
    record["suggestions"] = {LABELS: {"value": labels, "agent": "labelwood"}} if labels else {}
    return record if row_id is None else {"id": row_id, **record}
