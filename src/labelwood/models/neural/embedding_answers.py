"""Answers and reasons of models whose score is the cosine of a row's vector and a label's vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.models.explanation import Contribution, Explanation, NodeScore
from labelwood.models.neural.forward import ACTIVATIONS, LINEAR_SUM, gain, sparse_product
from labelwood.neighbors.index import NeighborIndex
from labelwood.topk import TopK

Floats = npt.NDArray[np.float32]
UNSEEN = np.float32(-1.0)  # the score of labels without a training row: below every other
_LEAST = np.nextafter(UNSEEN, np.float32(0))
_ROWS_AT_ONCE = 4096


def answers(
    vectors: Callable[[sparse.csr_matrix, int | None], Floats],
    x: sparse.csr_matrix,
    k: int,
    index: NeighborIndex | None,
    seen: npt.NDArray[np.int32],
    n_labels: int,
    n_threads: int | None,
) -> TopK:
    """The k best labels of rows: the nearest label vectors, then labels without a vector in their order."""
    labels = np.empty((x.shape[0], k), np.int32)
    scores = np.empty((x.shape[0], k), np.float32)
    near = min(k, len(seen))
    if near < k:
        unseen = np.setdiff1d(np.arange(n_labels, dtype=np.int32), seen)
        labels[:, near:] = unseen[: k - near]
        scores[:, near:] = UNSEEN
    if near and index is not None:
        for begin in range(0, x.shape[0], _ROWS_AT_ONCE):
            part = slice(begin, begin + _ROWS_AT_ONCE)
            places, cosines = index.search(vectors(x[part], n_threads), near, n_threads=n_threads)
            labels[part, :near] = seen[places]
            scores[part, :near] = np.clip(cosines, _LEAST, 1)
    return TopK(labels, scores)


def vector_reasons(
    arrays: Mapping[str, Any], unit: sparse.csr_matrix, row: sparse.csr_matrix, label: int, vector: Floats | None
) -> Explanation:
    """Why one row's vector has this cosine with a label's vector: feature by feature, adding up exactly.

    With the ReLUs that are on for this row, the map before its last scaling is linear in the features: a feature's
    contribution is its value times that linear weight, divided by the length of the row's vector. unit: the row
    scaled to length 1; row: as it came, for the values that are shown.
    """
    if vector is None:
        bias = Contribution(node=0, feature=-1, value=1.0, weight=float(UNSEEN), contribution=float(UNSEEN))
        return Explanation(label, float(UNSEEN), (NodeScore(0, float(UNSEEN), -np.inf),), (bias,))
    before = sparse_product(unit, arrays["table"])[0].astype(np.float64) + arrays["bias"]
    back = vector.astype(np.float64)
    shift = 0.0
    after = before
    if "outer" in arrays:
        outer = arrays["outer"].astype(np.float64)
        on = gain(before, ACTIVATIONS[int(arrays["kind"][0])])
        skip = int(arrays["kind"][1]) == LINEAR_SUM  # the map's linear part is added to what the ReLUs let through
        dim = len(back)
        after = (before * on) @ outer + arrays["outer_bias"] + (before[:dim] if skip else 0.0)
        shift = float(arrays["outer_bias"] @ back)
        through = (outer @ back) * on
        if skip:
            through[:dim] += back
        back = through
    length = float(np.sqrt(np.square(after).sum())) or 1.0
    shift = (shift + float(arrays["bias"] @ back)) / length
    pushes = arrays["table"][unit.indices].astype(np.float64) @ back / length * unit.data
    parts = [
        Contribution(0, int(feature), float(value), float(push / value), float(push))
        for feature, value, push in zip(row.indices, row.data, pushes, strict=True)
        if value != 0
    ]
    if shift:
        parts.append(Contribution(0, -1, 1.0, shift, shift))
    margin = float(pushes.sum()) + shift
    score = float(np.clip(margin, _LEAST, 1))
    return Explanation(label, score, (NodeScore(0, margin, np.log(score) if score > 0 else -np.inf),), tuple(parts))
