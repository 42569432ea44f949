"""How many labels are ever found, and how many rows get nothing right."""

from __future__ import annotations

import numpy as np

from labelwood.metrics.hits import Hits, Ints


def coverage(true_positives: Ints, truth: Ints) -> float:
    """coverage@k in per cent: the share of the labels in the truth that are hit in at least one row.

    true_positives, truth: hits within the first k places, and true rows, of each label (n_labels,).
    """
    n_labels = int(np.count_nonzero(truth))
    return 100.0 * int(np.count_nonzero(true_positives)) / n_labels if n_labels else 0.0


def abandonment(hits: Hits, k: int) -> float:
    """abandonment@k in per cent: the share of rows without a single hit in the first k places.

    A row without labels cannot be hit and counts as abandoned.
    """
    return 100.0 * float(np.mean(hits.upto(k) == 0))
