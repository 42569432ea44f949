"""Ranked sides that have not learnt from some rows, which they then answer as they would answer new ones.

Held-out rows need sides of their own, trained on all other rows, and a ranker whose lessons had none of them. Which
rows the sides of the lessons had seen does not matter: only the labels of lessons teach a ranker what is right.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from labelwood.models.ensemble.boosting import BoostedTrees
from labelwood.models.ensemble.cross_fitting import chosen_texts, held_parts, learnt_once, trained_sides
from labelwood.models.ensemble.members import PlannedMember
from labelwood.models.ensemble.params import EnsembleParams
from labelwood.models.ensemble.ranked import Ranked
from labelwood.models.fit_input import FitInput

# Share of the lessons that a ranker does without so that several parts have one ranker: it takes longer than the sides.
MOST_LEFT_OUT = 0.5

Ints = npt.NDArray[np.int64]


def lesson_rows(settings: EnsembleParams, n_rows: int, groups: Ints | None = None) -> Ints:
    """The rows that the ranker of all rows learns from, in the order of its lessons."""
    return np.concatenate([held for held, _ in held_parts(n_rows, settings.ranker_rows, settings.seed, groups)])


def ranked_without(
    settings: EnsembleParams,
    planned: Mapping[str, PlannedMember],
    data: FitInput,
    parts: Sequence[Ints],
    like: Ranked | None = None,
) -> Iterator[Ranked]:
    """For each part sides that are trained on all other rows, with a ranker that none of its rows has taught.

    planned: as in `learnt`. like: what has learnt from all rows: its choice of views is taken over, and its ranker
    where no row of any part was one of its lessons.
    """
    n_rows = data.x.shape[0]
    rows = lesson_rows(settings, n_rows, data.groups)
    is_held = np.isin(rows, np.concatenate(parts))
    rankers: tuple[BoostedTrees | None, BoostedTrees]
    if like is not None and not is_held.any():
        lessons, rankers = None, (like.first, like.ranker)
        texts, by_label, _ = chosen_texts(settings, data, like.sides)
    else:
        learned = learnt_once(settings, planned, data, None if like is None else like.sides)
        lessons, texts, by_label = learned.lessons, learned.texts, learned.by_label
    n_rankers = max(1, math.ceil(is_held.mean() / MOST_LEFT_OUT))
    for share in np.array_split(np.arange(len(parts)), n_rankers):
        if lessons is not None and len(share):
            left_out = np.concatenate([parts[number] for number in share])
            data.progress.step("ranker", 0, 1)
            rankers = lessons.take(~np.isin(rows, left_out)).rankers(settings)
            data.progress.step("ranker", 1, 1)
        for number in share.tolist():
            kept, what = np.setdiff1d(np.arange(n_rows), parts[number]), f"model {number + 1} of {len(parts)}: "
            sides = trained_sides(settings, planned, data.take(kept), texts.take(kept), by_label, what, n_rows)
            if lessons is None and like is not None and sides.columns != like.sides.columns:
                # A model of an earlier version had other sides.
                yield from ranked_without(settings, planned, data, parts)
                return
            yield Ranked(sides, rankers[1], rankers[0])
