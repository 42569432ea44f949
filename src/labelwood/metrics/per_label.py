"""One line a label: how often it was right, wrong and missed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood.errors import DataError, ParamError
from labelwood.metrics.classification import counts_at
from labelwood.metrics.hits import hit_matrix
from labelwood.metrics.propensity import label_counts
from labelwood.topk import TopK


def per_label(
    top: TopK, y: Any, k: int, train_y: Any = None, *, n_train: int | None = None
) -> dict[str, npt.NDArray[Any]]:
    """The columns of a per-label table, arrays (n_labels,), for the first k answers of each row.

    "label": its number. "tp", "fp", "fn": rows where it was rightly given, wrongly given, missed.
    "precision", "recall", "f1": in per cent, 0 where the divisor is 0. "train_count": its training rows, if
    train_y is given.
    """
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= top.k:
        raise ParamError(f"k must be 1..{top.k} (the prediction's places), but is {k!r}; predict with a larger k")
    hits = hit_matrix(top, y)
    counts = counts_at(hits, [k])[k]
    precision, recall, f1 = counts.scores()
    table: dict[str, npt.NDArray[Any]] = {
        "label": np.arange(hits.n_labels),
        "tp": counts.hit,
        "fp": counts.predicted - counts.hit,
        "fn": counts.truth - counts.hit,
        "precision": 100.0 * precision,
        "recall": 100.0 * recall,
        "f1": 100.0 * f1,
    }
    if train_y is not None:
        trained, _ = label_counts(train_y, n_train)
        if len(trained) != hits.n_labels:
            raise DataError(f"train_y has {len(trained)} labels but y has {hits.n_labels}")
        table["train_count"] = trained
    return table
