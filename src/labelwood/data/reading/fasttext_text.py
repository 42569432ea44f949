"""fastText's training lines: `__label__a __label__b text`."""

from __future__ import annotations

import re

from labelwood.data.reading.start import Start
from labelwood.data.reading.text_rows import TableOptions, TextRows, filled_lines

PREFIX = "__label__"
# fastText cuts at these alone; other Unicode spaces belong to words and labels.
_TOKEN = re.compile(r"[^ \t\v\f\r\n]+")


def is_fasttext(start: Start) -> bool:
    """True if a line begins with `__label__`."""
    return any(line.startswith(PREFIX) for line in start.lines)


def read_fasttext(options: TableOptions) -> TextRows:
    """The rows of a fastText file: words that begin with `__label__` are labels, wherever they stand."""
    rows = TextRows(options)
    with_comma = 0
    for number, line in filled_lines(options):
        labels, text = _cut(line)
        if "" in labels:
            options.bad.report(number, f"{PREFIX} without a name")
            continue
        with_comma += any(label.endswith(",") for label in labels)
        rows.add(number, text, labels)
    if with_comma:
        rows.notes.append(
            f"{with_comma} lines hold labels that end with a comma; in this format it is part of the name"
        )
    return rows


def _cut(line: str) -> tuple[list[str], str]:
    labels = []
    place = 0
    while token := _TOKEN.search(line, place):  # labels usually stand in front, and the text stays as it is
        if not token.group().startswith(PREFIX):
            break
        labels.append(token.group()[len(PREFIX) :])
        place = token.end()
    text = line[place:].strip()
    if PREFIX in text:
        words = _TOKEN.findall(text)
        labels += [word[len(PREFIX) :] for word in words if word.startswith(PREFIX)]
        text = " ".join(word for word in words if not word.startswith(PREFIX))
    return labels, text
