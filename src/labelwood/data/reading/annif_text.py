"""Annif's short-text corpora: `text<TAB><uri1> <uri2>` lines, or its JSON lines."""

from __future__ import annotations

import re
from pathlib import Path

from labelwood.data.reading.jsonl import read_jsonl
from labelwood.data.reading.start import Start
from labelwood.data.reading.streams import plain_name
from labelwood.data.reading.text_rows import TableOptions, TextRows, filled_lines

_SUBJECT = re.compile(r"<([^<>]*)>")
_SUBJECTS = re.compile(r"\s*(?:<[^<>]*>\s*)*")


def is_annif(start: Start) -> bool:
    """True if every line is a text, a tab and addresses in angle brackets."""
    cells = start.tab_cells
    fits = all(len(row) == 2 and _SUBJECTS.fullmatch(row[1]) for row in cells)
    return fits and any("<" in row[1] for row in cells)


def read_annif(options: TableOptions) -> TextRows:
    """The rows of an Annif corpus file; subjects are known by their address, without the angle brackets."""
    if Path(plain_name(options.path)).suffix.lower() in (".json", ".jsonl", ".ndjson"):
        return read_jsonl(options)
    rows = TextRows(options)
    for number, line in filled_lines(options):
        text, tab, subjects = line.partition("\t")
        if not tab:
            options.bad.report(number, "no tab: expected text<TAB><uri> <uri>")
        elif not _SUBJECTS.fullmatch(subjects):
            options.bad.report(number, f"subjects must stand in angle brackets, <uri> <uri>, but are {subjects[:40]!r}")
        else:
            rows.add(number, text, _SUBJECT.findall(subjects))
    return rows
