"""Explanation: why a model gives a row a label, as contributions that add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Contribution:
    """One push for or against a label: feature value times weight at one node (node 0 where there is no tree).

    feature is -1 for the bias. In a model of nearest neighbours, `row` is the training row that votes (else -1): value
    is the weight of its vote, weight its say (1).
    """

    node: int
    feature: int
    value: float
    weight: float
    contribution: float
    row: int = -1


@dataclass(frozen=True)
class NodeScore:
    """One classifier on the way to a label: its margin is the sum of its contributions; log_score is what it adds."""

    node: int
    margin: float
    log_score: float


@dataclass(frozen=True)
class Explanation:
    """Why `label` got `score`: for every node on its path, the contributions sum to the node's margin.

    The log scores of the nodes sum to log(score). `score` equals what `predict` returns for the label.
    """

    label: int
    score: float
    nodes: tuple[NodeScore, ...]
    contributions: tuple[Contribution, ...]

    @property
    def margin(self) -> float:
        """The margin of the last node: the label's own classifier."""
        return self.nodes[-1].margin if self.nodes else 0.0

    def top(self, n: int = 10, node: int | None = None) -> list[Contribution]:
        """The n strongest contributions of features, at one node or over the whole path, strongest first."""
        found = [c for c in self.contributions if c.feature >= 0 and (node is None or c.node == node)]
        return sorted(found, key=lambda c: (-abs(c.contribution), c.node, c.feature))[:n]

    def voters(self, n: int | None = None) -> list[Contribution]:
        """The training rows that voted for the label, strongest first; empty unless the model asks neighbours."""
        found = sorted((c for c in self.contributions if c.row >= 0), key=lambda c: (-c.contribution, c.row))
        return found[:n]

    def by_feature(self) -> dict[int, float]:
        """Feature -> its contribution summed over the path; -1 is the bias."""
        total: dict[int, float] = {}
        for c in self.contributions:
            total[c.feature] = total.get(c.feature, 0.0) + c.contribution
        return total

    def text(self, feature_names: Sequence[str] | None = None, n: int = 5) -> str:
        """One line: the strongest features with their signs."""
        parts = []
        for c in self.top(n):
            name = feature_names[c.feature] if feature_names is not None else f"feature {c.feature}"
            parts.append(f"{name} {c.contribution:+.2f}")
        parts += [f"training row {c.row} {c.contribution:+.2f}" for c in self.voters(n)]
        return ", ".join(parts) if parts else "no feature of this row has a weight for the label"
