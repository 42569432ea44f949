"""Parent and child rules for answers: add the concepts above them, or keep the most specific ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from labelwood.errors import ParamError
from labelwood.vocabulary.vocabulary import Vocabulary

Answers = list[tuple[str, float]]


def add_ancestors(answers: Sequence[tuple[str, float]], vocabulary: Vocabulary) -> Answers:
    """The answers and every concept above one of them, which scores as its best answer does; best first."""
    scores = dict(answers)
    for label, score in answers:
        if label in vocabulary:
            for above in vocabulary.ancestors(label):
                scores[above] = max(score, scores.get(above, score))
    return sorted(scores.items(), key=lambda answer: (-answer[1], answer[0]))


def most_specific(answers: Sequence[tuple[str, float]], vocabulary: Vocabulary) -> Answers:
    """The answers without those that stand above another answer."""
    labels = {label for label, _ in answers}
    redundant = set()
    for label in labels:
        if label in vocabulary:
            # In a circle each is above the other: then all of them stay.
            redundant |= {
                above for above in vocabulary.ancestors(label) & labels if label not in vocabulary.ancestors(above)
            }
    return [(label, score) for label, score in answers if label not in redundant]


RULES: dict[str, Callable[[Sequence[tuple[str, float]], Vocabulary], Answers]] = {
    "ancestors": add_ancestors,
    "specific": most_specific,
}


def checked_rule(rule: str) -> str:
    """The same name; ParamError if there is no such rule."""
    if rule not in RULES:
        raise ParamError(f"unknown rule {rule!r}; known: {', '.join(RULES)}")
    return rule
