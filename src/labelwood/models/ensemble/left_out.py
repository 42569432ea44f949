"""Ranked sides that have not learnt from some rows, which they then answer as they would answer new ones.

Held-out rows need sides of their own, trained on all other rows, and a ranker whose lessons had none of them. The sides
of its lessons do without a part of the rows, too: a ranker says how sure it is by what sides said that had seen two
thirds of the rows, and sides that have seen all of them say it louder. With lessons of all rows the step between the
two would be too small, and probabilities would come out too low.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from labelwood.errors import DataError
from labelwood.models.ensemble.cross_fitting import RANKER, SIDES, held_parts, learnt, trained_sides
from labelwood.models.ensemble.members import PlannedMember
from labelwood.models.ensemble.params import EnsembleParams
from labelwood.models.ensemble.ranked import Ranked
from labelwood.models.ensemble.sides import Sides
from labelwood.models.fit_input import FitInput
from labelwood.progress import begin_stage

# Share of the lessons that a ranker does without, so that few rankers do for all parts: they take longer than sides.
MOST_LEFT_OUT = 0.4

Ints = npt.NDArray[np.int64]


def lesson_rows(settings: EnsembleParams, n_rows: int, groups: Ints | None = None) -> Ints:
    """The rows that the ranker of all rows learns from, in the order of its lessons."""
    return np.concatenate([held for held, _ in held_parts(n_rows, settings.ranker_rows, settings.seed, groups)])


def shares_of_parts(rows: Ints, parts: Sequence[Ints]) -> list[Ints]:
    """The numbers of the parts that share a ranker; rows: those that there are lessons about.

    As few rankers as MOST_LEFT_OUT allows, but more where large groups would leave one of them few lessons. DataError
    if one has none.
    """

    def left(share: Ints) -> npt.NDArray[np.bool_]:
        return ~np.isin(rows, np.concatenate([parts[number] for number in share]))

    fewest = max(1, math.ceil(np.isin(rows, np.concatenate(parts)).mean() / MOST_LEFT_OUT))
    for n_rankers in range(min(fewest, len(parts)), len(parts)):
        shares = np.array_split(np.arange(len(parts)), n_rankers)
        if min(left(share).mean() for share in shares) >= 1 - 2 * MOST_LEFT_OUT:
            return shares
    alone = [np.array([number]) for number in range(len(parts))]
    if min(left(share).sum() for share in alone) < 2:
        raise DataError("groups: they are so few and large that held-out ones leave the ranker nothing to learn from")
    return alone


def ranked_without(
    settings: EnsembleParams,
    planned: Mapping[str, PlannedMember],
    data: FitInput,
    parts: Sequence[Ints],
    like: Sides | None = None,
) -> Iterator[Ranked]:
    """For each part sides that are trained on all other rows, with a ranker that none of its rows has taught.

    planned, like: as in `learnt`.
    """
    n_rows = data.x.shape[0]
    of_lessons = []
    for number, (held, kept) in enumerate(held_parts(n_rows, settings.ranker_rows, settings.seed, data.groups)):
        fewer = np.setdiff1d(kept, parts[number % len(parts)])
        of_lessons.append((held, fewer if 2 * len(fewer) > len(kept) else kept))  # a part may be one large group
    rows = np.concatenate([held for held, _ in of_lessons])
    shares = shares_of_parts(rows, parts)
    learned = learnt(settings, planned, data, like, of_lessons)
    for share in shares:
        taught = ~np.isin(rows, np.concatenate([parts[number] for number in share]))
        begin_stage(data.progress, RANKER)
        data.progress.step("ranker", 0, 1)
        first, ranker = learned.lessons.take(taught).rankers(settings)
        data.progress.step("ranker", 1, 1)
        for number in share.tolist():
            begin_stage(data.progress, SIDES)
            kept, what = np.setdiff1d(np.arange(n_rows), parts[number]), f"model {number + 1} of {len(parts)}, "
            left, texts = data.take(kept), learned.texts.take(kept)
            sides = trained_sides(settings, learned.planned, left, texts, learned.by_label, what, n_rows)
            yield Ranked(sides, ranker, first)
