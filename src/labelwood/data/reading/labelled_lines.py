"""Lines with the labels first, then a tab and the text: PECOS text2text and LibMultiLabel."""

from __future__ import annotations

import re

from labelwood.data.reading.columns import looks_like_header
from labelwood.data.reading.start import Start
from labelwood.data.reading.text_rows import TableOptions, TextRows, cells_text, filled_lines

_PECOS_LABELS = re.compile(r"(?:\d+(?:::[-+.\deE]+)?(?:,\d+(?:::[-+.\deE]+)?)*)?")


def is_pecos(start: Start) -> bool:
    """True if every line is label numbers, a tab and a text."""
    cells = start.tab_cells
    fits = all(len(row) == 2 and _PECOS_LABELS.fullmatch(row[0]) for row in cells)
    return fits and any(row[0] for row in cells)


def is_libmultilabel(start: Start) -> bool:
    """True if the lines have three cells and no header, or labels, cut by spaces alone, before a longer text."""
    cells = start.tab_cells
    if not cells or looks_like_header(cells[0]):
        return False
    widths = {len(row) for row in cells}
    if widths != {2}:
        return widths == {3}
    front = [row[0] for row in cells]
    shorter = sum(map(len, front)) < sum(len(row[1]) for row in cells)
    spaces_only = any(" " in labels for labels in front) and not any(
        mark in labels for labels in front for mark in "|;,"
    )
    return shorter and spaces_only


def read_pecos(options: TableOptions) -> TextRows:
    """The rows of `0,1,2<TAB>text` lines; the grades of `0::0.1,1::0.2<TAB>text` are dropped and reported."""
    rows = TextRows(options)
    graded = 0
    for number, line in filled_lines(options):
        labels, tab, text = line.partition("\t")
        if not tab:
            options.bad.report(number, "no tab: expected 0,1,2<TAB>text")
        elif not _PECOS_LABELS.fullmatch(labels):
            options.bad.report(number, f"labels must be numbers with commas between them, but are {labels[:40]!r}")
        else:
            graded += "::" in labels
            rows.add(number, text, [int(label.partition("::")[0]) for label in labels.split(",") if label])
    if graded:
        rows.notes.append(f"{graded} lines grade their labels; the grades are left out, every listed label counts")
    return rows


def read_libmultilabel(options: TableOptions) -> TextRows:
    """The rows of `lab1 lab2<TAB>text` or `id<TAB>lab1 lab2<TAB>text` lines."""
    rows = TextRows(options, separator=" ")
    width = 0
    for number, line in filled_lines(options):
        cells = line.split("\t")
        width = width or len(cells)
        if len(cells) != width or width not in (2, 3):
            expected = "labels<TAB>text or id<TAB>labels<TAB>text" if width not in (2, 3) else f"{width} as before"
            options.bad.report(number, f"{cells_text(cells)} between tabs, but expected {expected}")
            width = width if width in (2, 3) else 0
            continue
        rows.add(number, cells[-1], cells[-2], cells[0] if width == 3 else None)
    return rows
