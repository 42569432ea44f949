"""Losses on scores. `row` and `label` are the pairs of `sampling.label_batch`: the true labels of a batch."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import softplus

NEVER = -1e30  # instead of -inf, whose gradients are not numbers


def margin_loss(positive: Tensor, negative: Tensor, valid: Tensor, margin: float) -> Tensor:
    """The mean over valid (row, negative) pairs of [negative - positive + margin]+.

    positive (n,): the score of one true label of each row; negative (n, m); valid (n, m): False where a negative is
    in truth a label of the row.
    """
    violations = torch.relu(negative - positive[:, None] + margin) * valid
    return total(violations) / valid.sum().clamp(min=1)


def mined_margin_loss(
    positive: Tensor, negative: Tensor, valid: Tensor, margin: float, hardest: int, reduction: str = "mean"
) -> Tensor:
    """The margin loss on each row's `hardest` highest-scoring valid negatives (stochastic negative mining).

    reduction: "mean" over the pairs that are kept, or "sum" over them.
    """
    hardest = min(hardest, negative.shape[1])
    scores, place = negative.masked_fill(~valid, NEVER).topk(hardest, dim=1)
    kept = valid.gather(1, place)
    violations = torch.relu(scores - positive[:, None] + margin) * kept
    summed = total(violations)
    return summed if reduction == "sum" else summed / kept.sum().clamp(min=1)


def softmax_loss(scores: Tensor, row: Tensor, label: Tensor, hidden: tuple[Tensor, Tensor] | None = None) -> Tensor:
    """The softmax cross-entropy of every true label against all labels that are not true, averaged by row.

    scores (n, n_labels). The row's other true labels are no part of the denominator: labels do not compete with
    labels that are also right. A row weighs the same whatever its number of labels. hidden: all true (rows, labels),
    if `row` and `label` are some of them.
    """
    others = _log_sum_of_others(scores, *((row, label) if hidden is None else hidden))
    return _pairs_against(scores[row, label], others, row, scores.shape[0])


def sampled_softmax_loss(
    positive: Tensor, row: Tensor, negative: Tensor, valid: Tensor, log_expected: Tensor
) -> Tensor:
    """softmax_loss with sampled negatives.

    positive (n_pairs,): the scores of the true labels, `row` their rows; negative (n, m): scores of the same m sampled
    labels for every row; valid (n, m): False where the label is true for the row; log_expected (m,): the logarithm of
    how often the label is expected in the sample, subtracted so that the sum estimates the one over all labels.
    """
    others = (negative - log_expected).masked_fill(~valid, NEVER).logsumexp(dim=1)
    return _pairs_against(positive, others, row, negative.shape[0])


def smooth_l1_loss(vectors: Tensor, wanted: Tensor, beta: float = 1.0) -> Tensor:
    """Huber's loss: quadratic up to `beta`, then linear; summed over the dimensions and averaged over the rows."""
    distance = (vectors - wanted).abs()
    each = torch.where(distance < beta, 0.5 * distance * distance / beta, distance - 0.5 * beta)
    return total(each) / max(1, vectors.shape[0])


def total(matrix: Tensor) -> Tensor:
    """The sum of all elements, row by row: in one order for any number of threads, which a plain sum is not."""
    return matrix.sum(dim=1).sum()


def _log_sum_of_others(scores: Tensor, row: Tensor, label: Tensor) -> Tensor:
    hidden = torch.zeros_like(scores, dtype=torch.bool)
    hidden[row, label] = True
    return scores.masked_fill(hidden, NEVER).logsumexp(dim=1)


def _pairs_against(positive: Tensor, others: Tensor, row: Tensor, n_rows: int) -> Tensor:
    """The mean over rows of the mean over their pairs of -log(e^positive / (e^positive + e^others))."""
    # Not bincount, which looks for the largest row first: a GPU would wait for that.
    counts = torch.zeros(n_rows, dtype=torch.int64, device=row.device).index_add_(0, row, torch.ones_like(row))
    counts = counts.clamp(min=1)
    each = softplus(others[row] - positive) / counts[row]
    return each.sum() / max(1, n_rows)
