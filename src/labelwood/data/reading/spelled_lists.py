"""Label cells that spell out a list: in JSON, as Python, NumPy or PostgreSQL print one, or as <a><b>."""

from __future__ import annotations

import ast
import csv
import json
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

_QUOTED = r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
# NumPy puts no commas between texts; Python would read 'a' 'b' as one text.
_NUMPY_TEXTS = re.compile(rf"\[\s*{_QUOTED}(?:\s+{_QUOTED})*\s*\]")
_NUMPY_NUMBERS = re.compile(r"\[\s*\d{1,18}(?:\s+\d{1,18})*\s*\]")
_ANGLED = re.compile(r"(?:\s*<[^<>]+>)+\s*")
_EMPTY_SETS = ("set()", "frozenset()")

Lists = Callable[[str], list[Any]]


def list_in_cell(text: str) -> list[Any] | None:
    """The list that [...] spells out in JSON, or as Python or NumPy print it (pandas writes such); None if neither."""
    if _NUMPY_TEXTS.fullmatch(text):
        items = [(_literal(item), item) for item in re.findall(_QUOTED, text)]
        # What looks like an escape may be none, as in a path of Windows.
        return [item[1:-1] if value is None else value for value, item in items]
    if _NUMPY_NUMBERS.fullmatch(text):
        return [int(item) for item in text[1:-1].split()]
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = _literal(text)
    return value if isinstance(value, list) else None


def lists_in(cells: Sequence[str]) -> tuple[Lists, str] | None:
    """How to read a column in which every filled cell spells out a list in the same brackets, and a note; else None."""
    filled = [text for cell in cells if (text := cell.strip())]
    for brackets, fits, items in (
        ("<>", lambda text: _ANGLED.fullmatch(text) is not None, _angled),
        ("[]", lambda text: text[0] == "[" and text[-1] == "]", _bracketed),
        ("{}", lambda text: (text[0] == "{" and text[-1] == "}") or text in _EMPTY_SETS, _bracketed),
        ("()", lambda text: isinstance(_literal(text), tuple), _bracketed),
    ):
        if filled and all(map(fits, filled)):
            return items, f"labels are lists in the cells, written in {brackets}"
    return None


def _angled(text: str) -> list[str]:
    return re.findall(r"<([^<>]+)>", text)


def _bracketed(text: str) -> list[Any]:
    """The items between brackets; words without quotes are cut at the commas."""
    if text in _EMPTY_SETS:
        return []
    listed = list_in_cell(text)
    if listed is not None:
        return listed
    value = _literal(text)
    if isinstance(value, dict):
        return [value]
    if isinstance(value, (list, tuple, set)):
        return list(value)
    inner = re.sub(r"[\r\n]", " ", text[1:-1].strip())
    try:
        return next(csv.reader([inner], skipinitialspace=True)) if inner else []
    except csv.Error:  # an item is longer than csv takes
        return inner.split(",")


def _literal(text: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of '\d', since 3.12 where users see it
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
