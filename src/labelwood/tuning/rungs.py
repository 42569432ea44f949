"""Which rows a trial learns from and which judge it: rungs of growing parts, and folds where rows are few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelwood.data.copies import copies_of
from labelwood.data.dataset import Dataset
from labelwood.data.groups import LARGEST_SHARE, group_numbers, stretches
from labelwood.data.keyed_random import keyed_order
from labelwood.errors import DataError

FEWEST_ROWS = 500  # with fewer, a few rows would decide which setting is better
MOST_VALIDATION, FOLDS, ENOUGH_VALIDATION = 5000, 3, 3000
# A part smaller than this says little about all rows, and an ensemble learns no ranker from fewer than 1,000.
SMALLEST_PART, PARTS = 2000, (9, 3)
_KEY = 1709  # of the order of the rows: other random choices with the same seed stay independent of it


@dataclass(frozen=True)
class Rung:
    """Trials of one size: how many rows they learn from, and the folds of validation rows that judge them."""

    rows: int
    folds: tuple[int, ...]


class SearchRows:
    """The rows of a search, in a random order: validation rows of each fold, and the others to learn from."""

    def __init__(self, data: Dataset, seed: int) -> None:
        """The rows of a data set; DataError if they are too few to choose anything by."""
        if data.n_rows < FEWEST_ROWS:
            raise DataError(
                f"{data.source}: a budget needs {FEWEST_ROWS} rows to choose settings by, but there are {data.n_rows}; "
                "leave it out"
            )
        self.data = data
        self.n_validation = min(data.n_rows // 5, MOST_VALIDATION)
        self.n_fit = data.n_rows - self.n_validation
        self._order = keyed_order(data.n_rows, seed, _KEY)
        # Parts of the rows are trained on: a group may be a larger share of a part than of all rows.
        if data.groups is not None:
            self._groups: npt.NDArray[np.int64] | None = group_numbers(data.groups, data.n_rows, LARGEST_SHARE / 2)
        else:  # as a tagger holds its rows out
            self._groups = None if data.x is not None else copies_of(data.texts or (), data.y)[0]
        self._judging = stretches(self._order, self.n_validation, FOLDS, self._groups)

    def rungs(self) -> list[Rung]:
        """From small parts to all rows that are not held out; at last more folds if validation rows are few."""
        parts = [self.n_fit // part for part in PARTS if self.n_fit // part >= SMALLEST_PART]
        rungs = [Rung(rows, (0,)) for rows in [*parts, self.n_fit]]
        if self.n_validation < ENOUGH_VALIDATION:
            rungs.append(Rung(self.n_fit, tuple(range(self.n_folds))))
        return rungs

    @property
    def n_folds(self) -> int:
        """How many times rows can be held out, others each time."""
        return len(self._judging)

    def validation(self, fold: int) -> Dataset:
        """The rows that judge in a fold."""
        return self._taken(self._judging[fold])

    def groups(self, folds: Sequence[int]) -> npt.NDArray[np.int64] | None:
        """The groups of the rows that judge in some folds, one fold after the other; None if rows have none."""
        if self._groups is None:
            return None
        return np.concatenate([self._groups[np.sort(self._judging[fold])] for fold in folds])

    def part(self, fold: int, rows: int) -> Dataset:
        """So many of the rows that are not held out in a fold; a larger part holds every smaller one."""
        behind = np.roll(self._order, -(fold + 1) * self.n_validation)
        others = behind[~np.isin(behind, self._judging[fold])]
        return self._taken(others[:rows])

    def _taken(self, places: Sequence[int] | npt.NDArray[np.int64]) -> Dataset:
        return self.data.take(np.sort(places))
