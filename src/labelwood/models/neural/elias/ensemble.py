"""Several indexes asked together: the union of their shortlists with the mean of their final scores."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from labelwood.models.neural.elias.index import Int32

Doubles = npt.NDArray[np.float64]


def mean_scores(found: list[tuple[Int32, Doubles]]) -> tuple[Int32, Doubles]:
    """The union of several shortlists with mean scores; a label that one of them does not hold scores 0 there."""
    labels = np.concatenate([pair[0] for pair in found], axis=1)
    scores = np.concatenate([pair[1] for pair in found], axis=1)
    big = np.iinfo(np.int32).max
    keys = np.where(labels < 0, big, labels)
    order = np.argsort(keys, axis=1, kind="stable")
    keys, scores = np.take_along_axis(keys, order, axis=1), np.take_along_axis(scores, order, axis=1)
    total = np.where(keys == big, 0.0, scores)
    # Equal labels stand side by side, as many as there are members at most: add the later ones to the first.
    first = np.concatenate([np.ones((len(keys), 1), bool), keys[:, 1:] != keys[:, :-1]], axis=1)
    summed = total.copy()
    for back in range(1, len(found)):
        same = keys[:, back:] == keys[:, :-back]
        summed[:, :-back] += np.where(same, total[:, back:], 0.0)
    kept = first & (keys < big)
    place = np.argsort(~kept, axis=1, kind="stable")
    kept = np.take_along_axis(kept, place, axis=1)
    keys = np.where(kept, np.take_along_axis(keys, place, axis=1), -1).astype(np.int32)
    return keys, np.where(kept, np.take_along_axis(summed, place, axis=1) / len(found), 0.0)
