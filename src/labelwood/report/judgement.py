"""Judgement: how good assigned tags are, told in sentences that need no table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwood.data.groups import group_numbers
from labelwood.metrics.assigned import Interval, assigned_metrics, popular_answers
from labelwood.metrics.hits import hit_matrix
from labelwood.metrics.mistakes import Mistakes, mistakes
from labelwood.metrics.reliability import Reliability, reliability
from labelwood.topk import PAD, TopK

Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]  # title, columns, rows


@dataclass(frozen=True, eq=False)
class Judgement:
    """What was assigned against the truth.

    assigned, popular: precision, recall and F1 with intervals, of the tags that were given and of giving every row the
    same `n_popular` most frequent labels. given, true: tags a row. sure: how often answers of each probability are
    right. n_groups: the groups that the intervals draw; None if they draw rows.
    """

    assigned: Mapping[str, Interval]
    popular: Mapping[str, Interval]
    n_popular: int
    given: float
    true: float
    nothing: int
    sure: Reliability
    mistakes: Mistakes
    n_groups: int | None = None

    def sentences(self) -> list[str]:
        """The figures as sentences, the one that matters most first."""
        precision, recall, popular = self.assigned["precision"], self.assigned["recall"], self.popular
        same = "tag" if self.n_popular == 1 else f"{self.n_popular} tags"
        return [
            f"Of the tags it assigns, {_share(precision)} are right; it finds {_share(recall)} of the true ones. "
            f"Baseline, the most frequent {same} for every row: {popular['precision'].value:.0f}% right, "
            f"{popular['recall'].value:.0f}% found.",
            f"It assigns {self.given:.1f} tags a row where {self.true:.1f} are true"
            f"{self._without()}. F1 {self.assigned['f1'].value:.1f} "
            f"({self.assigned['f1'].low:.1f} to {self.assigned['f1'].high:.1f}). "
            f"Its probabilities are off by {100 * self.sure.error:.1f} points on average.{self._drawn()}",
        ]

    def _drawn(self) -> str:
        """What the intervals draw, if the rows have groups."""
        if self.n_groups is None:
            return ""
        if self.n_groups == 1:
            return " All rows are of one group, so the intervals draw single rows."
        return f" The intervals draw whole groups, {self.n_groups:,} of them."

    def _without(self) -> str:
        return f"; {self.nothing:,} {'row gets' if self.nothing == 1 else 'rows get'} none" if self.nothing else ""

    def mistake_tables(self, name: Callable[[int], str]) -> list[Table]:
        """(title, columns, rows) of the worst labels; kinds of mistakes that do not occur are left out."""
        worst = self.mistakes
        tables: list[Table] = [
            (
                "Labels it never gets right",
                ("label", "rows that have it"),
                [(name(label), f"{n:,}") for label, n in worst.never_right],
            ),
            (
                "Labels it suggests too often",
                ("label", "given", "true"),
                [(name(label), f"{given:,}", f"{true:,}") for label, given, true in worst.too_often],
            ),
            (
                "Given in place of another",
                ("true label, given label", "rows"),
                [(f"{name(true)} -> {name(given)}", f"{n:,}") for true, given, n in worst.confused],
            ),
        ]
        return [table for table in tables if table[2]]

    def figures(self, name: Callable[[int], str]) -> dict[str, Any]:
        """Everything for machines, with label names."""
        worst = self.mistakes
        return {
            "assigned": {key: figure._asdict() for key, figure in self.assigned.items()},
            "popular_baseline": {key: figure.value for key, figure in self.popular.items()},
            "tags_a_row": self.given,
            "true_tags_a_row": self.true,
            "rows_without_tags": self.nothing,
            "calibration_error": self.sure.error,
            **({} if self.n_groups is None else {"groups": self.n_groups}),
            "never_right": [{"label": name(label), "true": n} for label, n in worst.never_right],
            "too_often": [{"label": name(a), "given": given, "true": true} for a, given, true in worst.too_often],
            "confused": [{"true": name(a), "given": name(b), "rows": n} for a, b, n in worst.confused],
        }


def judged(
    given: TopK, ranked: TopK, y: Any, counts: npt.NDArray[np.int64], groups: Sequence[Any] | None = None
) -> Judgement:
    """The judgement of tags given to rows with true labels y.

    ranked: the best answers with probabilities, given or not, for the reliability. counts: training rows of the labels.
    groups: what group each row is of; the intervals then draw whole groups.
    """
    n_rows = len(given)
    true = float(y.nnz) / n_rows
    n_popular = max(1, round(true))
    answered = (given.labels != PAD).sum(axis=1)
    real = ranked.labels != PAD
    return Judgement(
        assigned_metrics(given, y, groups=groups),
        assigned_metrics(popular_answers(counts, n_rows, n_popular), y, n_resamples=1),
        n_popular,
        float(answered.sum()) / n_rows,
        true,
        int(np.count_nonzero(answered == 0)),
        reliability(ranked.scores[real], hit_matrix(ranked, y).hit[real]),
        mistakes(given, y),
        None if groups is None else len(np.unique(group_numbers(groups, n_rows, most=1.0))),
    )


def _share(figure: Interval) -> str:
    return f"{figure.value:.0f}% ({figure.low:.0f} to {figure.high:.0f})"
