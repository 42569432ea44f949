"""What arrays a fitted state is made of, declared: saving, loading, copying and checks of damaged files follow it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from labelwood.errors import ModelFileError

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]
T = TypeVar("T")


@dataclass(frozen=True)
class ArrayRule:
    """What one array must be: its types, its sizes and what its numbers may be.

    shape: for every dimension a number, or a name with an optional "+1" ("n_labels", "n_blocks+1"): the same name is
    the same size in all arrays of a state. low, below: bounds of its numbers, the upper one exclusive; below may name a
    size, as shape does. Bounds are for small arrays: checking them reads the whole array. finite: neither infinite nor
    NaN.
    """

    dtype: str | tuple[str, ...]
    shape: tuple[str | int, ...]
    low: float | None = None
    below: float | str | None = None
    finite: bool = False
    optional: bool = False


Schema = Mapping[str, ArrayRule]
# The rule of a name that ends in ".": all arrays under that prefix belong to a part that checks them itself.
PART = ArrayRule((), ())
WHOLE = ("n_rows", "n_features", "n_labels")  # sizes that every part of a model shares


def prefixed(prefix: str, items: Mapping[str, T]) -> dict[str, T]:
    """The same arrays, or other items, under names that begin with the prefix."""
    return {prefix + name: item for name, item in items.items()}


def under(prefix: str, schema: Schema) -> dict[str, ArrayRule]:
    """The rules of a part whose arrays carry the prefix; sizes that are not the whole model's are the part's own."""

    def scoped(size: float | str | None) -> Any:
        return size if not isinstance(size, str) or size.partition("+")[0] in WHOLE else prefix + size

    def moved(rule: ArrayRule) -> ArrayRule:
        if rule is PART:
            return rule
        return replace(rule, shape=tuple(scoped(size) for size in rule.shape), below=scoped(rule.below))

    return {prefix + name: moved(rule) for name, rule in schema.items()}


def part(prefix: str, items: Mapping[str, T]) -> dict[str, T]:
    """The items whose names begin with the prefix, without it."""
    return {name[len(prefix) :]: item for name, item in items.items() if name.startswith(prefix)}


def as_optional(schema: Schema) -> dict[str, ArrayRule]:
    """The same rules for arrays that may be missing."""
    return {name: replace(rule, optional=True) for name, rule in schema.items()}


def check_arrays(schema: Schema, arrays: Mapping[str, Array], sizes: Mapping[str, int], where: str) -> dict[str, int]:
    """The sizes by name, known ones and those that the arrays show; ModelFileError if an array breaks its rule."""
    parts = tuple(name for name, rule in schema.items() if rule is PART)
    schema = {name: rule for name, rule in schema.items() if rule is not PART}
    unknown = sorted(name for name in set(arrays) - set(schema) if not name.startswith(parts))
    if unknown:
        raise ModelFileError(f"{where}: the array {unknown[0]!r:.80} does not belong to this model")
    known = dict(sizes)
    for name, rule in schema.items():
        if name not in arrays:
            if rule.optional:
                continue
            raise ModelFileError(f"{where}: the array {name!r} is missing")
        _check_kind(name, arrays[name], rule, known, where)
    for name, rule in schema.items():
        if name in arrays:
            _check_numbers(name, arrays[name], rule, known, where)
    return known


def whole_number(facts: Mapping[str, Any], name: str, low: int, high: int, where: str) -> int:
    """The fact of that name; ModelFileError unless it is a whole number in low..high."""
    value = facts[name]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ModelFileError(f"{where}: {name} must be a whole number {low}..{high}, but is {value!r:.60}")
    return value


def number(facts: Mapping[str, Any], name: str, low: float, where: str, *, low_open: bool = False) -> float:
    """The fact of that name; ModelFileError unless it is a finite number from low up (above low if low_open)."""
    value = facts[name]
    fine = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not fine or value < low or (low_open and value == low):
        raise ModelFileError(
            f"{where}: {name} must be a number {'above' if low_open else 'from'} {low:g}, but is {value!r:.60}"
        )
    return float(value)


def _check_kind(name: str, array: Array, rule: ArrayRule, known: dict[str, int], where: str) -> None:
    """Refuse another type or shape; a size that is not known yet is what the array shows."""
    allowed = (rule.dtype,) if isinstance(rule.dtype, str) else rule.dtype
    if array.dtype.name not in allowed or array.ndim != len(rule.shape):
        raise ModelFileError(
            f"{where}: the array {name!r} must be {' or '.join(allowed)} of shape {_written(rule.shape)}, "
            f"but is {array.dtype} of shape {array.shape}"
        )
    for size, expected in zip(array.shape, rule.shape, strict=True):
        if isinstance(expected, int):
            wanted = expected
        else:
            size_name, _, more = expected.partition("+")
            wanted = known.setdefault(size_name, size - int(more or 0)) + int(more or 0)
            if known[size_name] < 0:
                raise ModelFileError(f"{where}: the array {name!r} of shape {array.shape} has no {expected} places")
        if size != wanted:
            raise ModelFileError(
                f"{where}: the array {name!r} has the shape {array.shape}, but {_written(rule.shape)} asks for {wanted}"
            )


def _check_numbers(name: str, array: Array, rule: ArrayRule, known: Mapping[str, int], where: str) -> None:
    if array.size == 0:
        return
    if rule.finite and not np.isfinite(array).all():
        raise ModelFileError(f"{where}: the array {name!r} holds numbers that are not finite")
    below = _bound(rule.below, known)
    if rule.low is not None and not array.min() >= rule.low:
        raise ModelFileError(f"{where}: the array {name!r} holds {array.min()}, below {rule.low:g}")
    if below is not None and not array.max() < below:
        raise ModelFileError(f"{where}: the array {name!r} holds {array.max()}, but must stay below {below:g}")


def _bound(below: float | str | None, known: Mapping[str, int]) -> float | None:
    if not isinstance(below, str):
        return below
    size_name, _, more = below.partition("+")
    return known[size_name] + int(more or 0)


def _written(shape: tuple[str | int, ...]) -> str:
    return "(" + ", ".join(map(str, shape)) + ")"
