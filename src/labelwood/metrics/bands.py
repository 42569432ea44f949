"""Head, torso and tail: labels in bands of equal positive mass, and what each band adds to a metric."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood.errors import DataError, ParamError
from labelwood.metrics.hits import Floats, Hits, Ints, hit_matrix
from labelwood.metrics.propensity import label_counts
from labelwood.topk import TopK

BANDS = ("head", "torso", "tail")


def mass_bands(counts: npt.ArrayLike, n_bands: int = 10) -> Ints:
    """The band 0..n_bands-1 of each label (n_labels,): band 0 holds the most frequent labels.

    Labels are sorted by training count, most frequent first (ties: smaller label first), and cut where the
    cumulative count passes each n-th of the whole, so the bands have equal mass within one label, not equal
    numbers of labels. A label goes where the middle of its mass lies; labels without training rows go to the
    last band.
    """
    if isinstance(n_bands, bool) or not isinstance(n_bands, (int, np.integer)) or n_bands < 1:
        raise ParamError(f"n_bands must be a whole number from 1 up, but is {n_bands!r}")
    mass = np.asarray(counts, dtype=np.int64)
    total = int(mass.sum())
    if mass.ndim != 1 or total == 0 or int(mass.min()) < 0:
        raise DataError("bands need a 1-d array of training counts with at least one label that occurs")
    order = np.lexsort((np.arange(len(mass)), -mass))
    ordered = mass[order]
    twice_middle = 2 * np.cumsum(ordered) - ordered
    bands = np.empty(len(mass), np.int64)
    bands[order] = np.minimum(twice_middle * n_bands // (2 * total), n_bands - 1)
    return bands


def band_hits(hits: Hits, bands: Ints, n_bands: int, k: int) -> tuple[Floats, Floats]:
    """(parts of P@k, parts of R@k) in per cent, each (n_bands,): they sum to P@k and R@k."""
    rows, places = np.nonzero(hits.hit[:, :k])
    of_hit = bands[hits.top.labels[rows, places]]
    shares = 1.0 / np.maximum(1, hits.n_true)
    precision = np.bincount(of_hit, minlength=n_bands).astype(np.float64) * (100.0 / (hits.n_rows * k))
    recall = np.bincount(of_hit, weights=shares[rows], minlength=n_bands) * (100.0 / hits.n_rows)
    return np.asarray(precision, np.float64), np.asarray(recall, np.float64)


def band_report(
    top: TopK, y: Any, train_y: Any, *, k: int, n_bands: int = 10, n_train: int | None = None
) -> dict[str, npt.NDArray[Any]]:
    """What each band of labels gives, as arrays (n_bands,), most frequent band first.

    "labels": labels in the band. "mass": their training positives. "truth": their positives in y. "hits":
    how many of those are among the first k answers. "found": hits / truth in per cent. "P@k" and "R@k" (with
    the number for k): the band's contributions, which sum to P@k and R@k.
    """
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= top.k:
        raise ParamError(f"k must be 1..{top.k} (the prediction's places), but is {k!r}; predict with a larger k")
    hits = hit_matrix(top, y)
    counts, _ = label_counts(train_y, n_train)
    if len(counts) != hits.n_labels:
        raise DataError(f"train_y has {len(counts)} labels but y has {hits.n_labels}")
    bands = mass_bands(counts, n_bands)
    precision, recall = band_hits(hits, bands, n_bands, k)
    truth = np.bincount(bands[hits.y.indices], minlength=n_bands)
    n_hits = np.bincount(bands[hits.top.labels[:, :k][hits.hit[:, :k] == 1]], minlength=n_bands)
    return {
        "labels": np.bincount(bands, minlength=n_bands),
        "mass": np.bincount(bands, weights=counts, minlength=n_bands).astype(np.int64),
        "truth": truth,
        "hits": n_hits,
        "found": 100.0 * n_hits / np.maximum(1, truth),
        f"P@{k}": precision,
        f"R@{k}": recall,
    }
