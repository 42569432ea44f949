"""trial_rows: which rows a small trial trains on, and which judge it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from labelwood.data.groups import stretches
from labelwood.data.keyed_random import keyed_order, keyed_uniform

# A trial trains a linear tree on so many rows: seconds, not minutes, on data of any size.
TRIAL_ROWS, HELD_OUT_ROWS = 20_000, 5_000
# Below this many held-out rows chance decides.
FEWEST_HELD_OUT = 200
Rows = npt.NDArray[np.int64]


def trial_rows(n_rows: int, seed: int, share: float = 0.1, groups: Rows | None = None) -> tuple[Rows, Rows]:
    """(rows to train on, rows that judge: that share, at most 5,000), the same for the same seed.

    groups: of each row; no group is on both sides.
    """
    share = min(share, HELD_OUT_ROWS / n_rows)
    if groups is None:
        held = np.flatnonzero(keyed_uniform(seed, np.arange(n_rows)) < share)
    else:
        (held,) = stretches(keyed_order(n_rows, seed), max(1, int(share * n_rows)), 1, groups)
    training = np.setdiff1d(np.arange(n_rows), held)
    step = max(1, -(-len(training) // TRIAL_ROWS))  # of one row, all may be held out
    return training[::step], np.sort(held if groups is None else held[:HELD_OUT_ROWS])
