"""Answers of several models made one: weighted means of scores, and weights chosen by what they do for known rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.metrics.hits import hit_matrix
from labelwood.metrics.ranking import ndcg
from labelwood.topk import PAD, TopK

Int32 = npt.NDArray[np.int32]
Doubles = npt.NDArray[np.float64]

# Every member is asked for at least this many labels: one that it ranks low may win together with the others. A fixed
# number keeps the answers for a small k the beginning of those for a larger one.
MEMBER_LABELS = 50
SELECTION_ROUNDS = 20
_JUDGED_LABELS = 5


def united(lists: Sequence[tuple[Int32, Doubles]]) -> tuple[Int32, Doubles]:
    """(labels rising, -1 last; sums of their scores): the union of several lists (n, m) of labels with scores.

    Sums are taken in the order of the lists, within each row, so a row's sums do not depend on the other rows.
    """
    labels = np.concatenate([pair[0] for pair in lists], axis=1)
    scores = np.concatenate([pair[1] for pair in lists], axis=1)
    big = np.iinfo(np.int32).max
    keys = np.where(labels < 0, big, labels)
    order = np.argsort(keys, axis=1, kind="stable")
    keys, scores = np.take_along_axis(keys, order, axis=1), np.take_along_axis(scores, order, axis=1)
    total = np.where(keys == big, 0.0, scores)
    # Equal labels stand side by side, as many as there are lists at most: add the later ones to the first.
    first = np.concatenate([np.ones((len(keys), 1), bool), keys[:, 1:] != keys[:, :-1]], axis=1)
    summed = total.copy()
    for back in range(1, len(lists)):
        same = keys[:, back:] == keys[:, :-back]
        summed[:, :-back] += np.where(same, total[:, back:], 0.0)
    kept = first & (keys < big)
    place = np.argsort(~kept, axis=1, kind="stable")
    kept = np.take_along_axis(kept, place, axis=1)
    keys = np.where(kept, np.take_along_axis(keys, place, axis=1), PAD).astype(np.int32)
    return keys, np.where(kept, np.take_along_axis(summed, place, axis=1), 0.0)


def mean_scores(lists: Sequence[tuple[Int32, Doubles]]) -> tuple[Int32, Doubles]:
    """The union of several lists with mean scores; a label that one of them does not hold scores 0 there."""
    labels, sums = united(lists)
    return labels, sums / len(lists)


def mixed(answers: Sequence[TopK], weights: Doubles, k: int) -> TopK:
    """The k labels of every row with the largest weighted sum of scores; a label that is not answered scores 0."""
    weighted = zip(answers, weights, strict=True)
    labels, sums = united([(top.labels, top.scores.astype(np.float64) * weight) for top, weight in weighted])
    scores = np.where(labels == PAD, -np.inf, sums).astype(np.float32)
    order = np.lexsort((labels, -scores), axis=-1)[:, :k]  # padding scores least, so it stays last
    return TopK(np.take_along_axis(labels, order, axis=1), np.take_along_axis(scores, order, axis=1)).cut(k)


def score_of(top: TopK, label: int) -> float:
    """The score that the answers for a single row give the label; 0 if it is not among them."""
    places = np.flatnonzero(top.labels[0] == label)
    return float(top.scores[0, places[0]]) if len(places) else 0.0


def chosen_weights(answers: Sequence[TopK], y: sparse.csr_matrix) -> Doubles:
    """Weights summing to 1 by greedy selection: the best member first, then, again and again, whoever helps most.

    Judged by nDCG@5 on the true labels y. The best round's counts are the weights, so the mixture is at least as good
    as the best member here.
    """
    counts = np.zeros(len(answers))
    best_counts, best_value = counts, -1.0
    for _ in range(SELECTION_ROUNDS):
        values = []
        for number in range(len(answers)):
            trial = counts.copy()
            trial[number] += 1
            answered = mixed(answers, trial / trial.sum(), _JUDGED_LABELS)
            values.append(ndcg(hit_matrix(answered, y), [_JUDGED_LABELS])[_JUDGED_LABELS])
        winner = int(np.argmax(values))
        counts = counts.copy()
        counts[winner] += 1
        if values[winner] > best_value:
            best_counts, best_value = counts, values[winner]
    weights: Doubles = best_counts / best_counts.sum()
    return weights
