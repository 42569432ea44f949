"""Assignment: the rule by which labels are given, parsed from texts such as 'f1', 'precision=0.9' and 'count=4'."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from labelwood.errors import ParamError
from labelwood.wording import Argument, Message

# What each goal asks for; the number, where there is one, must lie above 0 and up to the bound given.
_PLAIN = ("f1", "f1-macro", "f1-sample")
_NUMBERED = {"precision": 1.0, "recall": 1.0, "count": 1000.0, "threshold": 1.0}
RULES = "f1, f1-macro, f1-sample, precision=0.9, recall=0.8, count=4, threshold=0.5"


@dataclass(frozen=True)
class Assignment:
    """Which labels a row is given: goal 'f1', 'f1-macro', 'f1-sample', or one of the others with a number.

    f1: the best F1 over all answers together. f1-macro: the best mean F1 of the labels. f1-sample: the best mean F1 of
    the rows. precision, recall: the share that is asked for, over all answers together. count: labels a row, on
    average. threshold: the labels whose probability is at least that.
    """

    goal: str
    number: float | None = None

    @classmethod
    def parse(cls, text: Any) -> Assignment:
        """The rule that a text names; ParamError lists the rules if it names none."""
        fault = Message(Argument("assign"), f" must be one of {RULES}, but is {text!r}")
        if not isinstance(text, str):
            raise ParamError(fault)
        goal, equals, written = text.strip().partition("=")
        if goal in _PLAIN and not equals:
            return cls(goal)
        if goal not in _NUMBERED:
            raise ParamError(fault)
        try:
            number = float(written)
        except ValueError:
            number = math.nan
        if not 0 < number <= _NUMBERED[goal]:
            example = {"count": "count=4", "threshold": "threshold=0.5"}.get(goal, f"{goal}=0.9")
            most = f"{goal} takes a number above 0 and up to {_NUMBERED[goal]:g}"
            raise ParamError(Message(Argument("assign"), f" {text!r}: {most}, such as {example}"))
        return cls(goal, number)

    def __str__(self) -> str:
        return self.goal if self.number is None else f"{self.goal}={self.number:g}"


def asked_threshold(assign: bool | str) -> float | None:
    """The probability from which on labels are given, if somebody who asks names one; None: by the learnt rule.

    ParamError for other rules: they are learnt in training, so answers cannot follow them on demand.
    """
    if not isinstance(assign, str):
        return None
    goal = assign.strip().partition("=")[0]
    if goal != "threshold":
        told = f" must be True, False or 'threshold=0.5', but is {assign!r}; other rules are learnt in training"
        raise ParamError(Message(Argument("assign"), told))
    return Assignment.parse(assign).number
