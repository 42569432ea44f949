"""TagReason: why a text gets a label, as words (or training rows) whose pushes add up to the score."""

from __future__ import annotations

from dataclasses import dataclass

from labelwood.models.explanation import Explanation, sum_text


@dataclass(frozen=True)
class Voter:
    """A training row that voted for the label: its number, the beginning of its text, and what its vote adds."""

    row: int
    text: str
    push: float


@dataclass(frozen=True)
class TagReason:
    """Why a text gets a label: its words with their contributions, strongest first, which with votes and rest add up.

    On a tree model the contributions of a word are summed over the nodes on the label's path; of several trees or
    models, weighted as their scores are. `sides` are what an ensemble goes by beside words, in words ("its name is in
    the text"). `rest` belongs to none of these: biases, and what words do only together.
    """

    label: str
    score: float
    words: tuple[tuple[str, float], ...]
    voters: tuple[Voter, ...]
    rest: float
    explanation: Explanation
    sides: tuple[tuple[str, float], ...] = ()

    def __repr__(self) -> str:
        """The label and its one line, as a notebook shows it."""
        return f"{self.label}: {self.text()}"

    def text(self, n: int = 5) -> str:
        """One line: the n strongest words with their signs, the rest, their sum, and the score it becomes."""
        pushes = list(self.words[:n])
        pushes += [(f"row {voter.row} ({voter.text[:40]!r})", voter.push) for voter in self.voters[:n]]
        return sum_text([*pushes, *self.sides], self.explanation)
