"""Labels that join a shortlist: what the ranker finds by itself, where the index did not look."""

from __future__ import annotations

import numpy as np

from labelwood.models.neural.elias.index import PAD, Floats, Int32

UNKNOWN_LOG_P = -20.0  # of a label that joins an empty shortlist


def with_candidates(labels: Int32, log_p: Floats, candidates: Int32) -> tuple[Int32, Floats]:
    """(labels, log p) with the candidates (n, m) of every row put in their places; labels ascend, -1 padded.

    A label that the index did not find is as likely, to the index, as the least likely one that it found.
    """
    n_rows, room = labels.shape
    shape = (n_rows, room + candidates.shape[1])
    united, likely = np.full(shape, PAD, np.int32), np.full(shape, -np.inf, np.float32)
    for row in range(n_rows):
        n_own = int(np.count_nonzero(labels[row] != PAD))
        own, found = labels[row, :n_own], candidates[row]
        new = found
        lowest = UNKNOWN_LOG_P
        if n_own:
            place = np.minimum(np.searchsorted(own, found), n_own - 1)
            new = found[own[place] != found]
            lowest = float(log_p[row, :n_own].min())
        both = np.concatenate([own, new])
        order = np.argsort(both, kind="stable")
        united[row, : len(both)] = both[order]
        likely[row, : len(both)] = np.concatenate([log_p[row, :n_own], np.full(len(new), lowest, np.float32)])[order]
    return united, likely
