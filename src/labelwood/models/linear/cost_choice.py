"""How hard a linear model should fit its rows: the cost C that answers held-out rows best, where trying is cheap."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.groups import stretches
from labelwood.metrics.hits import hit_matrix
from labelwood.metrics.ranking import precision
from labelwood.progress import Progress
from labelwood.topk import TopK

DEFAULT_COST = 1.0
COSTS = (DEFAULT_COST, 0.7, 1.4, 0.5)  # of equally good ones the first
# Numbers of x times labels up to which all costs are tried: seconds.
CHEAP_WORK = 1e9
# Beyond it the cost follows the length of the rows: 1 for rows with this many features, and so on by this power, within
# these bounds. A row of many features has a small value for each, and its margin is the sum of many small weights.
USUAL_FEATURES, FEATURES_POWER = 50, 0.25
LEAST_COST, MOST_COST = 0.5, 2.0
# Fewer rows say nothing about the cost.
SMALLEST_ROWS = 1000
HOLDOUT = 0.2
# Rounds of holding out go on until so many rows were asked: then differences of half a point are seen.
ENOUGH_ASKED = 2500

RowNumbers = npt.NDArray[np.int64]


def is_worth_choosing(x: sparse.csr_matrix, y: sparse.csr_matrix, work: float = CHEAP_WORK) -> bool:
    """True if the rows are enough to tell costs apart and few enough to try them all.

    work: numbers of x times labels, at most.
    """
    return bool(x.shape[0] >= SMALLEST_ROWS and y.nnz > 0 and float(x.nnz) * y.shape[1] <= work)


def usual_cost(x: sparse.csr_matrix) -> float:
    """The cost that suits rows with as many features as those of x; DEFAULT_COST where rows are few."""
    if x.shape[0] < SMALLEST_ROWS:
        return DEFAULT_COST
    features = x.nnz / x.shape[0]
    return round(float(np.clip((features / USUAL_FEATURES) ** FEATURES_POWER, LEAST_COST, MOST_COST)), 2)


def chosen_cost(
    y: sparse.csr_matrix,
    answers: Callable[[float, RowNumbers, RowNumbers], TopK],
    seed: int,
    progress: Progress,
    costs: Sequence[float] = COSTS,
    groups: RowNumbers | None = None,
) -> float:
    """The cost with the best mean of P@1, P@3 and P@5; answers(cost, kept, held) trains on kept, asks held.

    Not nDCG@5: it chooses smaller costs, which gain at the fifth place what they lose at the first. groups: of each
    row; rows of one are held out together.
    """
    n_held = max(1, int(HOLDOUT * y.shape[0]))
    rounds = -(-ENOUGH_ASKED // n_held)
    quality = np.zeros(len(costs))
    for number in range(rounds):
        order = np.random.default_rng((seed, number)).permutation(y.shape[0])
        held = np.sort(stretches(order, n_held, 1, groups)[0])
        kept = np.setdiff1d(order, held)
        for place, cost in enumerate(costs):
            progress.step("choosing C", number * len(costs) + place, rounds * len(costs))
            hits = hit_matrix(answers(cost, kept, held), y[held])
            # Of a model with two labels there is no third answer: the places that are there count.
            quality[place] += sum(precision(hits, min(k, hits.top.k)) for k in (1, 3, 5))
    progress.step("choosing C", rounds * len(costs), rounds * len(costs))
    return costs[int(np.argmax(quality))]
