"""StreamedRows: the parser of text rows for runs that must spare memory: what is parsed goes to files at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from labelwood._native import RowParser
from labelwood.scratch import GrowingArray, Scratch

MOST_FAULTS = 100


@dataclass
class StreamedRows:
    """Does what RowParser does, with a new parser for every block and the rows in growing files."""

    scratch: Scratch
    rules: dict[str, Any]
    faults: list[tuple[int, str]] = field(default_factory=list)
    stopped: bool = False
    n_lines: int = 0
    n_rows: int = 0
    n_bad: int = 0
    last_filled_row: int = -1
    duplicate_features: int = 0
    duplicate_labels: int = 0
    lowest_feature: int = np.iinfo(np.int64).max
    highest_feature: int = -1
    highest_label: int = -1

    def __post_init__(self) -> None:
        self._x_columns, self._y_columns = (self.scratch.growing(np.int32) for _ in range(2))
        self._x_values: GrowingArray = self.scratch.growing(np.float32)
        # Where rows begin, and bad rows: a few bytes a row.
        self._x_starts, self._y_starts = ([np.zeros(1, np.int64)] for _ in range(2))
        self._bad_rows: list[Any] = []

    def feed(self, text: Any, last: bool, n_threads: int) -> int:
        """Parse the whole lines of a block and give the number of bytes used; with `last` the rest is a line too."""
        parser = RowParser(**self.rules)
        used = parser.feed(text, last, n_threads)
        if parser.n_rows and not parser.stopped:
            self._take_rows(parser, n_threads)
        room = max(0, MOST_FAULTS - len(self.faults))
        self.faults += [(self.n_lines + line, message) for line, message in parser.faults[:room]]
        self.stopped = parser.stopped
        if parser.last_filled_row >= 0:
            self.last_filled_row = self.n_rows + parser.last_filled_row
        self.n_lines += parser.n_lines
        self.n_rows += parser.n_rows
        self.n_bad += parser.n_bad
        self.duplicate_features += parser.duplicate_features
        self.duplicate_labels += parser.duplicate_labels
        self.highest_label = max(self.highest_label, parser.highest_label)
        if parser.highest_feature >= 0:
            self.highest_feature = max(self.highest_feature, parser.highest_feature)
            self.lowest_feature = min(self.lowest_feature, parser.lowest_feature)
        return used

    def _take_rows(self, parser: RowParser, n_threads: int) -> None:
        x_starts, y_starts = np.empty(parser.n_rows + 1, np.int64), np.empty(parser.n_rows + 1, np.int64)
        x_columns, y_columns = np.empty(parser.x_size, np.int32), np.empty(parser.y_size, np.int32)
        x_values, bad_rows = np.empty(parser.x_size, np.float32), np.empty(parser.n_bad, np.int64)
        parser.assemble(x_starts, x_columns, x_values, y_starts, y_columns, bad_rows, n_threads)
        self._x_starts.append(x_starts[1:] + self._x_columns.size)
        self._y_starts.append(y_starts[1:] + self._y_columns.size)
        self._bad_rows.append(bad_rows + self.n_rows)
        self._x_columns.add(x_columns)
        self._x_values.add(x_values)
        self._y_columns.add(y_columns)

    def arrays(self) -> tuple[Any, Any, Any, Any, Any, Any]:
        """(x starts, x columns, x values, y starts, y columns, bad rows) of everything; nothing more may be fed."""
        return (
            np.concatenate(self._x_starts),
            self._x_columns.finished(),
            self._x_values.finished(),
            np.concatenate(self._y_starts),
            self._y_columns.finished(),
            np.concatenate([*self._bad_rows, np.zeros(0, np.int64)]),
        )
