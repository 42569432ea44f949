"""Groups: rows that belong together, such as those of one customer, and splits of rows that keep them on one side.

Rows of one group are alike in more than their labels. Held out one by one, they are answered by a model that has seen
their siblings, which says little about rows of groups that nobody has seen. Everything that holds rows out cuts its
order of the rows here.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood.errors import DataError

Ints = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]
LARGEST_SHARE = 0.5  # of the rows in one group: held out together, they would leave too little to learn from


def group_numbers(groups: Any, n_rows: int, most: float = LARGEST_SHARE) -> Ints:
    """The number of the group of each row, counted as they come; a row without one (None, NaN, "") is alone.

    most: the share of the rows that a group may have. DataError if one has more, or if a row lacks its value.
    """
    values = listed(groups)
    if len(values) != n_rows:
        raise DataError(f"there are {len(values)} groups for {n_rows} rows: give one for each row")
    known: dict[tuple[bool, Hashable], int] = {}
    keys = [(True, row) if is_alone(value) else (False, _key(value, row)) for row, value in enumerate(values)]
    numbers = np.array([known.setdefault(key, len(known)) for key in keys], np.int64)
    sizes = np.bincount(numbers, minlength=1)
    if n_rows > 1 and sizes.max() > most * n_rows:
        largest = values[int(np.flatnonzero(numbers == sizes.argmax())[0])]
        raise DataError(
            f"groups: {largest!r:.60} has {sizes.max():,} of {n_rows:,} rows; rows of a group are held out together, "
            f"so at most {most:.0%} of all may be in one (a row without a value is in no group)"
        )
    return numbers


def listed(groups: Any) -> list[Any]:
    """The groups as a list; DataError if they are no list."""
    if isinstance(groups, (str, bytes)):
        raise DataError(f"groups must be a list with a value for each row, but is the text {groups!r:.60}")
    try:
        return list(np.asarray(groups).tolist() if hasattr(groups, "dtype") else groups)
    except TypeError:
        raise DataError(f"groups must be a list with a value for each row, but is {groups!r:.60}") from None


def is_alone(value: Any) -> bool:
    """Whether a row with this value is in no group."""
    return not value.strip() if isinstance(value, str) else is_missing(value)


def is_missing(value: Any) -> bool:
    """True for what stands for an empty cell: None, NaN, NaT, and pandas' NA, which compares with nothing."""
    if value is None or type(value).__name__ == "NAType":
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # an array
        return False


def group_text(value: Any) -> str:
    """A group as text; whole numbers without a point, which a column of a data frame with empty cells gives them."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def _key(value: Any, row: int) -> Hashable:
    """What tells groups apart; DataError if it cannot."""
    if isinstance(value, str):
        return value.strip()
    try:
        hash(value)
    except TypeError:  # a list, or something that holds one
        raise DataError(f"groups, row {row}: must be a text or a number, but is {value!r:.60}") from None
    return value  # type: ignore[no-any-return]


def together(order: Ints, groups: Ints | None) -> Ints:
    """The rows of a random order with those of each group side by side; the order itself without groups.

    A group stands where the order has the first of its rows: where any of them comes first, large groups would be
    early, and most of what is held out.
    """
    if groups is None:
        return order
    place = np.empty(len(groups), np.int64)
    place[order] = np.arange(len(order))
    rows = np.sort(order)
    _, first, number = np.unique(groups[rows], return_index=True, return_inverse=True)
    stands = np.empty(len(groups), np.int64)
    stands[rows] = place[rows[first]][number]
    return order[np.argsort(stands[order], kind="stable")]


def stretches(order: Ints, size: int, n_parts: int, groups: Ints | None) -> list[Ints]:
    """The first n_parts stretches of an order of rows, `size` rows each; groups: of each row that `order` counts.

    With groups a stretch ends where a group does, as near to its size as may be; one that would be empty is left out,
    but never the first one. If all these rows are of one group, they are cut as rows without groups: there is no other
    one to hold out, or to learn from.
    """
    if groups is None or not _are_several(groups[order]):
        return [order[part * size : (part + 1) * size] for part in range(n_parts)]
    order = together(order, groups)
    ends = np.append(np.flatnonzero(np.diff(groups[order])) + 1, len(order))
    parts, begin = [], 0
    for part in range(1, n_parts + 1):
        place = min(int(np.searchsorted(ends, part * size)), len(ends) - 1)
        if place and part * size - ends[place - 1] <= ends[place] - part * size:
            place -= 1
        end = int(ends[place])
        if end > begin:
            parts.append(order[begin:end])
            begin = end
    return parts


def turns(n_rows: int, groups: Ints | None) -> Ints:
    """A number for each row, rising from 0: modulo the number of folds it is a row's fold.

    Rows of a group share one, unless all rows are of one group.
    """
    if groups is None or not _are_several(groups):
        return np.arange(n_rows, dtype=np.int64)
    _, first, number = np.unique(groups, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[number], np.int64)


def mean_error(values: Doubles, groups: Ints | None) -> Doubles:
    """The standard error of the mean of the rows' values (n_rows, ...), along the other axes.

    Rows of a group say less than as many others: what varies is the sum of each group. Of one group alone nothing is
    known but its rows.
    """
    sums = summed(values - values.mean(axis=0), groups)
    n = len(sums)
    return np.asarray(np.sqrt(np.square(sums).sum(axis=0) * n / max(1, n - 1)) / len(values), np.float64)


def summed(values: Any, groups: Ints | None) -> Any:
    """The sums of the rows' values (n_rows, ...) over each group, (n_groups, ...): what resampling draws.

    The values themselves without groups, or if all rows are of one: nothing is known but its rows.
    """
    if groups is None or not _are_several(groups):
        return values
    number = np.unique(groups, return_inverse=True)[1]
    sums = np.zeros((int(number.max()) + 1, *values.shape[1:]), values.dtype)
    np.add.at(sums, number, values)
    return sums


def _are_several(groups: Ints) -> bool:
    """Whether these rows are of more than one group."""
    return bool((groups != groups[:1]).any())
