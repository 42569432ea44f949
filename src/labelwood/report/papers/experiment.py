"""What an experiment of a paper is: its variants, what was printed of them, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ANSWERS = "answers"  # the group of figures that every model has


@dataclass(frozen=True)
class Variant:
    """One line of a table or one point of a figure: a model, the preset it begins with, and what is changed in it.

    printed_as: the line of the paper it is to be compared with, "" where the paper has none. curve: the line of a
    figure that it is a point of.
    """

    title: str
    model: str
    preset: str | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    printed_as: str = ""
    curve: str = ""


@dataclass(frozen=True)
class Printed:
    """What a paper prints: the data set by its catalogue name, the line, and the values by metric."""

    data: str
    line: str
    values: Mapping[str, float]


@dataclass(frozen=True)
class Picture:
    """A figure: the metrics of its two axes; log: equal ratios across are equal distances.

    also: more metrics of the axis up, each a curve of its own.
    """

    across: str
    up: str
    log: bool = False
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    name: "table 2". where: its place in the paper. group: which of a run's groups of figures it shows; other groups
    than ANSWERS have lines of their own, one for each part of a run. n_splits: random splits the paper averages over;
    n_seeds: how often a variant is trained on one split here.
    """

    name: str
    what: str
    where: str
    data: tuple[str, ...]
    variants: tuple[Variant, ...]
    metrics: tuple[str, ...]
    printed: tuple[Printed, ...] = ()
    group: str = ANSWERS
    n_splits: int = 1
    n_seeds: int = 1
    picture: Picture | None = None
    note: str = ""

    def values_printed(self, data: str, line: str) -> Mapping[str, float]:
        """What the paper prints of a line on a data set, by metric; empty if nothing."""
        return next((row.values for row in self.printed if (row.data, row.line) == (data, line)), {})


@dataclass(frozen=True)
class Paper:
    """A paper: the name the command knows it by, its title, and its experiments."""

    name: str
    title: str
    experiments: tuple[Experiment, ...]


def printed(data: str, metrics: tuple[str, ...], lines: Mapping[str, tuple[float, ...]]) -> tuple[Printed, ...]:
    """The lines of one data set's table: line -> values in the order of the metrics."""
    return tuple(Printed(data, line, dict(zip(metrics, values, strict=True))) for line, values in lines.items())
