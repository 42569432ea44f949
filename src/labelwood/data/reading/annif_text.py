"""Annif's short-text corpora: `text<TAB><uri1> <uri2>` lines, or its JSON lines."""

from __future__ import annotations

import re
from pathlib import Path

from labelwood.data.reading.jsonl import read_jsonl
from labelwood.data.reading.streams import plain_name
from labelwood.data.reading.text_rows import TableOptions, TextRows, text_lines

_SUBJECT = re.compile(r"<([^<>]*)>")
SUBJECTS = re.compile(r"\s*(?:<[^<>]*>\s*)*")


def read_annif(options: TableOptions) -> TextRows:
    """The rows of an Annif corpus file; subjects are known by their address, without the angle brackets."""
    if Path(plain_name(options.path)).suffix.lower() in (".json", ".jsonl", ".ndjson"):
        return read_jsonl(options)
    rows = TextRows(options)
    for number, line in text_lines(options):
        if not line.strip():
            continue
        text, tab, subjects = line.partition("\t")
        if not tab:
            options.bad.report(number, "no tab: expected text<TAB><uri> <uri>")
        elif not SUBJECTS.fullmatch(subjects):
            options.bad.report(number, f"subjects must stand in angle brackets, <uri> <uri>, but are {subjects[:40]!r}")
        else:
            rows.add(number, text, _SUBJECT.findall(subjects))
    return rows
