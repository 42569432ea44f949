"""Hyper-parameters, declared once: a frozen dataclass whose fields carry range and help text.

Validation, JSON, CLI flags and the documentation's tables are all made from these declarations.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from labelwood.errors import ParamError, unknown_name

P = TypeVar("P", bound="Declared")
INFINITE = "infinite"  # how an infinite number is saved


@dataclass(frozen=True)
class Range:
    """What a parameter may be: numbers in an interval, or one of some words."""

    kind: type
    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    choices: tuple[str, ...] = ()
    optional: bool = False

    def __str__(self) -> str:
        if self.choices:
            text = "one of " + ", ".join(repr(choice) for choice in self.choices)
        elif self.kind is bool:
            text = "True or False"
        elif self.kind is str:
            text = "a string"
        else:
            noun = "a whole number" if self.kind is int else "a number"
            if math.isinf(self.low) and math.isinf(self.high):
                text = noun
            elif self.high >= 2**62:  # infinite, or as large as an integer can be stored
                text = f"{noun} {'above' if self.low_open else 'from'} {self.low:g}"
                text += "" if self.low_open else " up"
            else:
                text = f"{noun} {'above' if self.low_open else 'from'} {self.low:g} to {self.high:g}"
        return text + (" or None" if self.optional else "")

    def accepts(self, value: Any) -> bool:
        """True if the value is allowed."""
        if value is None:
            return self.optional
        if self.choices:
            return isinstance(value, str) and value in self.choices
        if self.kind is bool or self.kind is str:
            return isinstance(value, self.kind)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        if self.kind is int and not isinstance(value, int):
            return False
        inside = self.low < value if self.low_open else self.low <= value
        return not math.isnan(value) and inside and value <= self.high

    def parse(self, text: str) -> Any:
        """The value a command-line text stands for; ValueError if it is not of the right kind."""
        if self.optional and text.lower() in ("none", "null", ""):
            return None
        if self.kind is bool:
            if text.lower() in ("true", "yes", "1", "on"):
                return True
            if text.lower() in ("false", "no", "0", "off"):
                return False
            raise ValueError(text)
        if self.kind is int:
            return int(text)
        return float(text) if self.kind is float else text


def param(
    default: Any,
    help: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    low_open: bool = False,
    choices: tuple[str, ...] = (),
    kind: type | None = None,
) -> Any:
    """A dataclass field with default, range and one line of help; `kind` is needed only when the default is None."""
    allowed = Range(kind or type(default), low, high, low_open, choices, optional=default is None)
    return dataclasses.field(default=default, metadata={"range": allowed, "help": help})


@dataclass(frozen=True)
class Declared:
    """Base of everything that declares its parameters as fields made by `param`."""

    @classmethod
    def ranges(cls) -> dict[str, Range]:
        """Parameter name -> what it may be."""
        return {field.name: field.metadata["range"] for field in dataclasses.fields(cls)}

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Parameter name -> default value."""
        return {field.name: field.default for field in dataclasses.fields(cls)}

    @classmethod
    def check_names(cls, names: Mapping[str, Any], owner: str) -> None:
        """Refuse unknown names with the nearest known one."""
        known = cls.ranges()
        for name in names:
            if name not in known:
                raise ParamError(f"{owner}: {unknown_name('parameter', name, known)}")

    @classmethod
    def checked(cls: type[P], values: Mapping[str, Any], owner: str) -> P:
        """The validated parameter set; ParamError names the parameter, what came and what is allowed."""
        cls.check_names(values, owner)
        plain = {name: _plain(value) for name, value in values.items()}
        for name, allowed in cls.ranges().items():
            if name in plain and not allowed.accepts(plain[name]):
                raise ParamError(f"{owner}: {name} must be {allowed}, but is {values[name]!r}")
        return cls(**plain)

    @classmethod
    def parse(cls, assignments: list[str], owner: str) -> dict[str, Any]:
        """The values of command-line texts like 'C=0.5'."""
        values: dict[str, Any] = {}
        known = cls.ranges()
        for assignment in assignments:
            name, equals, text = assignment.partition("=")
            if not equals:
                raise ParamError(f"{owner}: expected key=value, but got {assignment!r}")
            cls.check_names({name: text}, owner)
            try:
                values[name] = known[name].parse(text)
            except ValueError:
                raise ParamError(f"{owner}: {name} must be {known[name]}, but is {text!r}") from None
        return values

    def as_dict(self) -> dict[str, Any]:
        """Parameter name -> value, ready for JSON."""
        return dataclasses.asdict(self)

    def as_given(self) -> dict[str, Any]:
        """Parameter name -> value, as the constructor takes it."""
        return self.as_dict()

    def saved(self) -> dict[str, Any]:
        """What is kept with what was learnt: all but n_threads, which changes nothing but the time it takes."""
        # JSON has no infinity
        return {
            name: INFINITE if value == math.inf else value
            for name, value in self.as_dict().items()
            if name != "n_threads"
        }

    @classmethod
    def from_saved(cls: type[P], values: Mapping[str, Any], owner: str) -> P:
        """The validated parameter set that `saved` gave; folders of earlier versions also name n_threads."""
        given = {name: math.inf if value == INFINITE else value for name, value in values.items()}
        given.pop("n_threads", None)
        return cls.checked(given, owner)

    @classmethod
    def table(cls) -> list[tuple[str, str, str, str]]:
        """(name, default, allowed, help) of every parameter, for help texts and documentation."""
        return [
            (field.name, repr(field.default), str(field.metadata["range"]), field.metadata["help"])
            for field in dataclasses.fields(cls)
        ]


@dataclass(frozen=True)
class Params(Declared):
    """Base of every model's hyper-parameters: seed and n_threads belong to all of them."""

    seed: int = param(0, "the same seed gives the same model", low=0, high=2**63 - 1)
    n_threads: int | None = param(None, "threads to use; None: all processors", low=1, high=4096, kind=int)


def _plain(value: Any) -> Any:
    """NumPy scalars as Python numbers, so that ranges and JSON see one kind."""
    item = getattr(value, "item", None)
    return item() if item is not None and getattr(value, "ndim", None) == 0 else value
