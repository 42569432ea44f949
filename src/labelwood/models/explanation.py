"""Explanation: why a model gives a row a label, as contributions that add up to the score that it predicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Contribution:
    """One push for or against a label: feature value times weight at one node (node 0 where there is no tree).

    feature is -1 for the bias. In a model of nearest neighbours, `row` is the training row that votes (else -1): value
    is the weight of its vote, weight its say (1). side: in a model of several sides, what the side that pushes says.
    """

    node: int
    feature: int
    value: float
    weight: float
    contribution: float
    row: int = -1
    side: str = ""


@dataclass(frozen=True)
class NodeScore:
    """One classifier on the way to a label: its margin is the sum of its contributions; log_score is what it adds."""

    node: int
    margin: float
    log_score: float


@dataclass(frozen=True)
class Share:
    """What one of several models, trees or indexes adds to a score: weight times the score of its explanation."""

    name: str
    weight: float
    explanation: Explanation


@dataclass(frozen=True)
class Explanation:
    """Why `label` got `score`, which is what `predict` gives.

    One way: for every node on the label's path the contributions sum to the node's margin, and the log scores of the
    nodes sum to log(score). Several that are averaged (trees of a forest, members of an ensemble): `shares` hold one
    explanation each, score = sum of weight * share's score, and contributions are those of the shares times weight.
    """

    label: int
    score: float
    nodes: tuple[NodeScore, ...]
    contributions: tuple[Contribution, ...]
    shares: tuple[Share, ...] = ()

    @property
    def margin(self) -> float:
        """The margin of the last node: the label's own classifier; of several, their weighted sum."""
        if self.shares:
            return math.fsum(share.weight * share.explanation.margin for share in self.shares)
        return self.nodes[-1].margin if self.nodes else 0.0

    @property
    def total(self) -> float:
        """The sum of all contributions."""
        return math.fsum(c.contribution for c in self.contributions)

    def top(self, n: int = 10, node: int | None = None) -> list[Contribution]:
        """The n strongest contributions of features, at one node or over the whole path, strongest first."""
        of_features = [c for c in self.contributions if c.feature >= 0 and (node is None or c.node == node)]
        return sorted(of_features, key=lambda c: (-abs(c.contribution), c.node, c.feature))[:n]

    def voters(self, n: int | None = None) -> list[Contribution]:
        """The training rows that voted for the label, strongest first; empty unless the model asks neighbours."""
        votes = sorted((c for c in self.contributions if c.row >= 0), key=lambda c: (-c.contribution, c.row))
        return votes[:n]

    def by_feature(self) -> dict[int, float]:
        """Feature -> its contribution summed over the path; -1 is all that belongs to no feature."""
        total: dict[int, float] = {}
        for c in self.contributions:
            total[c.feature] = total.get(c.feature, 0.0) + c.contribution
        return total

    def text(self, feature_names: Sequence[str] | None = None, n: int = 5) -> str:
        """One line: the strongest features with their signs, the rest, their sum, and the score it becomes."""
        sums = self.by_feature()
        sums.pop(-1, None)
        strongest = sorted(sums.items(), key=lambda item: (-abs(item[1]), item[0]))[:n]
        named = [(f"feature {f}" if feature_names is None else feature_names[f], push) for f, push in strongest]
        named += [(f"training row {vote.row}", vote.contribution) for vote in self.voters(n)]
        return sum_text([*named, *self.sides()], self)

    def sides(self) -> list[tuple[str, float]]:
        """What sides of an ensemble say and push that belongs to no single feature."""
        return [(c.side, c.contribution) for c in self.contributions if c.side and c.feature < 0]


def sum_text(pushes: Sequence[tuple[str, float]], explanation: Explanation) -> str:
    """The visible sum: "pasta +1.20, sauce +0.45, rest -0.22 = +1.43 -> score 0.946"."""
    rest = explanation.total - math.fsum(push for _, push in pushes)
    parts = [f"{name} {push:+.2f}" for name, push in pushes]
    if abs(rest) >= 0.005 or not parts:
        parts.append(f"rest {rest:+.2f}")
    return f"{', '.join(parts)} = {explanation.total:+.2f} -> {way_text(explanation)}"


def way_text(explanation: Explanation) -> str:
    """From the sum to the score: the chances along a path, or the mean of several, as far as there are some."""
    if explanation.shares:
        parts = " + ".join(f"{share.weight:.2g} x {share.explanation.score:.3f}" for share in explanation.shares)
        return f"{parts} = score {explanation.score:.3f}"
    if len(explanation.nodes) > 1:
        chances = " x ".join(f"{math.exp(min(node.log_score, 700.0)):.3f}" for node in explanation.nodes)
        return f"{chances} = score {explanation.score:.3f}"
    return f"score {explanation.score:.3f}"


def combined(label: int, score: float, shares: Sequence[Share]) -> Explanation:
    """The explanation of a weighted sum of scores; score: what `predict` gives for it."""
    parts = [
        replace(c, weight=c.weight * share.weight, contribution=c.contribution * share.weight)
        for share in shares
        for c in share.explanation.contributions
    ]
    return Explanation(label, score, (), tuple(parts), tuple(shares))
