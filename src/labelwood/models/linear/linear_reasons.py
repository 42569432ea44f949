"""The reasons of linear classifiers: what each feature of a row adds to a margin."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from labelwood.errors import ModelFileError
from labelwood.models.explanation import Contribution
from labelwood.models.linear.weight_blocks import Rows, WeightBlocks


def columns_of_ranks(feature_rank: npt.NDArray[np.int32], n_features: int) -> npt.NDArray[np.int64]:
    """The column of x behind every feature number of the blocks: the inverse of feature_rank."""
    columns = np.full(n_features, -1, np.int64)
    known = feature_rank >= 0
    columns[feature_rank[known]] = np.flatnonzero(known)
    return columns


def classifier_reasons(
    blocks: WeightBlocks, classifier: int, node: int, row: Rows, columns: npt.NDArray[np.int64]
) -> list[Contribution]:
    """What the bias and every feature of a row add to the margin of one classifier; together they are the margin."""
    weights, bias = blocks.weights_of(classifier, row.indices)
    if not np.all(np.isfinite(weights)):
        raise ModelFileError(f"the weights of classifier {classifier} are damaged: some are not finite")
    reasons = [Contribution(node, -1, 1.0, bias, bias)]
    for feature, value, weight in zip(columns[row.indices].tolist(), row.data.tolist(), weights.tolist(), strict=True):
        if weight != 0:
            reasons.append(Contribution(node, feature, value, weight, value * weight))
    return reasons
