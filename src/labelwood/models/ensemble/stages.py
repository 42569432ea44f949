"""The stages of an ensemble's training, and how long they are beside each other: what the time left goes by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from labelwood.models.ensemble.cross_fitting import JUDGED_ROWS, RANKER, SIDES, START, held_parts
from labelwood.models.ensemble.dense_rows import tries_static
from labelwood.models.ensemble.left_out import shares_of_parts
from labelwood.models.ensemble.params import EnsembleParams
from labelwood.models.ensemble.text_view import KINDS
from labelwood.models.fit_input import FitInput
from labelwood.models.registry import AUTO
from labelwood.progress import Stage

# Seconds that a ranker takes for a row, and one round of judging views in parts of that: CookingStackExchange,
# EURLEX57K and YSO-Finna-fi, 3,000 to 6,000 rows, one thread, 1.8 to 2.4 ms and 0.4 to 0.5. The rows decide, not the
# data; the machine shows when the first of them is over. Sides differ more between data than anything could foretell.
_RANKER_SECONDS, _JUDGING = 0.002, 0.45

Ints = npt.NDArray[np.int64]


def stages_of(settings: EnsembleParams, data: FitInput) -> list[Stage]:
    """What `ranked_sides` goes through."""
    n_rows = data.x.shape[0]
    parts = held_parts(n_rows, settings.ranker_rows, settings.seed, data.groups)
    lessons = sum(len(held) for held, _ in parts)
    n_doubted = len(KINDS) if data.texts is not None and settings.views == AUTO else 0
    n_doubted += tries_static(settings, data)
    stages = [Stage(START, 0.0, 0.0), *(Stage(SIDES, len(kept)) for _, kept in parts)]
    if n_doubted:
        stages.append(_ranker(_JUDGING * (1 + n_doubted) * min(lessons, JUDGED_ROWS)))
    return [*stages, _ranker(lessons), Stage(SIDES, n_rows)]


def stages_without(settings: EnsembleParams, data: FitInput, parts: Sequence[Ints]) -> list[Stage]:
    """What `ranked_without` goes through."""
    n_rows = data.x.shape[0]
    lessons = held_parts(n_rows, settings.ranker_rows, settings.seed, data.groups)
    stages = [Stage(SIDES, len(kept) * (1 - 1 / max(len(parts), 2))) for _, kept in lessons]
    rows = np.concatenate([held for held, _ in lessons])
    for share in shares_of_parts(rows, parts):
        left_out = np.concatenate([parts[number] for number in share.tolist()])
        stages.append(_ranker(int(np.count_nonzero(~np.isin(rows, left_out)))))
        stages += [Stage(SIDES, n_rows - len(parts[number])) for number in share.tolist()]
    return stages


def _ranker(rows: float) -> Stage:
    return Stage(RANKER, rows, _RANKER_SECONDS)
