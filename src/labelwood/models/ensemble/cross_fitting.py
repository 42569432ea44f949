"""Training of the ranked sides: the ranker learns from answers that the sides give to rows they have not seen."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from labelwood.models.ensemble.boosting import BoostedTrees
from labelwood.models.ensemble.members import PlannedMember
from labelwood.models.ensemble.name_phrases import NamePhrases
from labelwood.models.ensemble.pairs import beside_each_other
from labelwood.models.ensemble.params import EnsembleParams
from labelwood.models.ensemble.ranked import Ranked, hits_of
from labelwood.models.ensemble.sides import COLUMNS, Sides
from labelwood.models.fit_input import FitInput

SMALLEST_ROWS = 1000  # a ranker of fewer rows would learn their accidents
# With this many times ranker_rows, one part that is held out leaves enough rows to train on.
_ONE_PART = 4
_PARTS = 3
_PAIRS = 250  # candidates of a row, from above, for the estimate of memory


def rows_suffice(n_rows: int) -> bool:
    """Whether there are enough rows to learn a ranker from."""
    return n_rows >= SMALLEST_ROWS


def ranked_sides(settings: EnsembleParams, planned: PlannedMember, data: FitInput) -> Ranked:
    """The sides, trained on all rows, and a ranker that learnt from cross-fitted answers."""
    features, hits = [], []
    said = None
    if data.texts is not None and data.label_names is not None:
        said = NamePhrases.of(data.label_names).rows(data.texts)
    parts = held_parts(data.x.shape[0], settings.ranker_rows, settings.seed)
    for number, (held, kept) in enumerate(parts, start=1):
        taught = data.take(kept)
        model = planned.trained(taught, f"part {number} of {len(parts)}")
        said_there = None if said is None else said[kept]
        rows = data.x[held] if said is None else beside_each_other(data.x[held], said[held])
        keys, table = Sides.of(model, taught, said_there).table(rows, settings.n_threads)
        features.append(table)
        hits.append(hits_of(keys, data.y[held]))
    data.progress.step("ranker", 0, 1)
    ranker = BoostedTrees.fit(np.concatenate(features), np.concatenate(hits), settings.seed, settings.n_threads)
    data.progress.step("ranker", 1, 1)
    model = planned.trained(data, planned.model.name)
    return Ranked(Sides.of(model, data, said), ranker)


def held_parts(n_rows: int, ranker_rows: int, seed: int) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """(rows to ask about, rows to train on) for every part; no row is in both."""
    order = np.random.default_rng(seed).permutation(n_rows)
    if n_rows >= _ONE_PART * ranker_rows:
        return [(np.sort(order[:ranker_rows]), np.sort(order[ranker_rows:]))]
    parts = []
    for number in range(_PARTS):
        held = order[number::_PARTS]
        kept = np.setdiff1d(order, held)
        parts.append((np.sort(held[: -(-ranker_rows // _PARTS)]), kept))
    return parts


def ranking_memory(settings: EnsembleParams, data: FitInput) -> int:
    """The bytes of the ranked sides and of the ranker's training, from above."""
    n_pairs = min(settings.ranker_rows, data.x.shape[0]) * _PAIRS
    rows = 3 * 12 * (data.x.nnz + data.y.nnz)  # those of a part, by row and by column
    return int(n_pairs * (2 * 4 * len(COLUMNS) + 60) + rows)
