"""evaluate: every metric of a prediction in one call, from one hit matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood.errors import DataError, ParamError
from labelwood.matrices import as_labels
from labelwood.metrics import ranking
from labelwood.metrics.bands import BANDS, band_hits, mass_bands
from labelwood.metrics.classification import classification_above, classification_at, counts_at
from labelwood.metrics.coverage import abandonment, coverage
from labelwood.metrics.filters import without_pairs
from labelwood.metrics.hits import Hits, hit_matrix
from labelwood.metrics.propensity import inverse_propensity, label_counts, propensity_metrics
from labelwood.topk import TopK

DEFAULT_KS = (1, 3, 5)
RECALL_KS = (10, 50, 100)


def evaluate(
    top: TopK,
    y: Any,
    *,
    train_y: Any = None,
    n_train: int | None = None,
    ks: Sequence[int] | None = None,
    threshold: float | None = None,
    filter_pairs: npt.ArrayLike | None = None,
    A: float = 0.55,
    B: float = 1.5,
    per_band: bool = False,
    n_threads: int | None = None,
) -> dict[str, float]:
    """The metrics of a prediction against the true labels y (n_rows, n_labels): name -> per cent.

    For each k: "P@k", "R@k", "nDCG@k", "RP@k", "coverage@k", "abandonment@k", and "micro-", "macro-" and
    "sample-" with "P@k", "R@k" and "F1@k". With train_y (the training labels, or their counts per label and
    n_train) also "PSP@k", "PSnDCG@k" and "PSR@k"; A and B are the propensity constants. With a threshold
    also "micro-F1@t=0.5" and so on. With per_band also "P@k[head]", "R@k[head]", and the same for torso and
    tail: contributions that sum to P@k and R@k.

    ks: None means 1, 3, 5 (and R@10, R@50, R@100) as far as the prediction has places. An asked k beyond is
    a ParamError. filter_pairs: (row, label) pairs (m, 2) that are removed from prediction and truth before
    the first k answers are taken; the prediction must then hold spare places (predict with a larger k).
    docs/reference/metrics.md has every definition.
    """
    honest_width = top.k
    if filter_pairs is not None:
        # Judge the prediction as it came first: later, moved answers would name other places.
        hit_matrix(top, y, n_threads=n_threads)
        top, y, honest_width = without_pairs(top, as_labels(y), filter_pairs)
    wanted = _checked_ks(ks, top.k, honest_width)
    hits = hit_matrix(top, y, n_threads=n_threads)
    if train_y is None and n_train is not None:
        raise ParamError("n_train is given without train_y")
    counts = None if train_y is None else label_counts(train_y, n_train)
    if counts is not None and len(counts[0]) != hits.n_labels:
        raise DataError(f"train_y has {len(counts[0])} labels but y has {hits.n_labels}")

    figures = _ranking(hits, wanted, RECALL_KS if ks is None else (), honest_width)
    if counts is not None:
        weights = inverse_propensity(counts[0], A, B, n_train=counts[1])
        figures.update(propensity_metrics(hits, weights, wanted, n_threads=n_threads))
    for k, label_tally in counts_at(hits, wanted).items():
        figures[f"coverage@{k}"] = coverage(label_tally.hit, label_tally.truth)
        figures[f"abandonment@{k}"] = abandonment(hits, k)
        figures.update(classification_at(hits, k, label_tally))
    if threshold is not None:
        figures.update(classification_above(hits, threshold))
    if per_band:
        if counts is None:
            raise ParamError("per_band needs train_y: the bands are made from training counts")
        figures.update(_by_band(hits, counts[0], wanted))
    return figures


def _ranking(hits: Hits, ks: list[int], recall_ks: Sequence[int], width: int) -> dict[str, float]:
    gains = ranking.ndcg(hits, ks)
    figures = {f"P@{k}": ranking.precision(hits, k) for k in ks}
    figures.update({f"nDCG@{k}": gains[k] for k in ks})
    figures.update({f"R@{k}": ranking.recall(hits, k) for k in [*ks, *(k for k in recall_ks if k <= width)]})
    figures.update({f"RP@{k}": ranking.r_precision(hits, k) for k in ks})
    return figures


def _by_band(hits: Hits, counts: npt.NDArray[np.int64], ks: list[int]) -> dict[str, float]:
    bands = mass_bands(counts, len(BANDS))
    figures: dict[str, float] = {}
    for k in ks:
        for letter, parts in zip(("P", "R"), band_hits(hits, bands, len(BANDS), k), strict=True):
            figures.update({f"{letter}@{k}[{band}]": float(part) for band, part in zip(BANDS, parts, strict=True)})
    return figures


def _checked_ks(ks: Sequence[int] | None, k: int, honest_width: int) -> list[int]:
    """The k to report, ascending; ParamError if one is no whole number or beyond the prediction."""
    if ks is None:
        usable = [wanted for wanted in DEFAULT_KS if wanted <= honest_width]
        if not usable:
            why = "has no places" if k == 0 else "has a row without any answer left after the filter pairs"
            raise ParamError(f"the prediction {why}: predict with a larger k")
        return usable
    wanted = sorted(set(ks))
    if not wanted:
        raise ParamError("ks must name at least one k")
    for wanted_k in wanted:
        if isinstance(wanted_k, bool) or not isinstance(wanted_k, (int, np.integer)) or wanted_k < 1:
            raise ParamError(f"ks must be whole numbers from 1 up, but one is {wanted_k!r}")
    if wanted[-1] > k:
        raise ParamError(
            f"metrics at {wanted[-1]} need as many answers, but the prediction has k={k}: predict with a larger k"
        )
    if wanted[-1] > honest_width:
        raise ParamError(
            f"after the filter pairs some rows have only {honest_width} of their {k} answers left, "
            f"too few for metrics at {wanted[-1]}: predict with a larger k, so that spare answers can move up"
        )
    return [int(wanted_k) for wanted_k in wanted]
