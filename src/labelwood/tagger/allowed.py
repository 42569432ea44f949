"""Answers of the allowed labels alone: a row is asked for more until it has as many as wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from labelwood.topk import PAD, TopK, empty

FACTOR = 4  # how many times as many labels a row is asked for that has too few allowed ones


def allowed_answers(
    ask: Callable[[npt.NDArray[np.int64], int], TopK], allowed: npt.NDArray[np.bool_], n_rows: int, k: int
) -> TopK:
    """The k best allowed labels of each row, padded where there are fewer; ask: (rows, width) -> their answers."""
    answers, nearness = empty(n_rows, k), None
    open_rows = np.arange(n_rows)
    width = k
    while len(open_rows):
        width = min(width, len(allowed))
        top = ask(open_rows, width)
        if nearness is None:  # all rows are asked at first
            nearness = top.nearness
        kept = (top.labels != PAD) & allowed[np.maximum(top.labels, 0)]
        complete = (kept.sum(axis=1) >= k) | (width == len(allowed)) | (top.labels[:, -1] == PAD)
        places = np.cumsum(kept, axis=1) - 1  # where an allowed label goes in its row
        row, column = np.nonzero(kept & (places < k) & complete[:, None])
        target = open_rows[row], places[row, column]
        answers.labels[target] = top.labels[row, column]
        answers.scores[target] = top.scores[row, column]
        open_rows = open_rows[~complete]
        width *= FACTOR
    return replace(answers, nearness=nearness)
