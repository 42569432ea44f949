"""Parent and child rules for answers: add the concepts above them, or keep the most specific ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from labelwood.errors import ParamError
from labelwood.topk import PAD, TopK
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


def ruled(top: TopK, names: Sequence[str], vocabulary: Vocabulary, rule: str) -> tuple[TopK, list[str]]:
    """(the answers after a rule, the names by number): concepts that are no labels get numbers behind the labels."""
    apply, numbers = RULES[checked_rule(rule)], {name: number for number, name in enumerate(names)}
    rows = []
    for row in top:
        answers = apply([(names[label], score) for label, score in row], vocabulary)
        rows.append([(numbers.setdefault(name, len(numbers)), score) for name, score in answers])
    width = max([top.k, *map(len, rows)])
    labels, scores = np.full((len(rows), width), PAD, np.int32), np.full((len(rows), width), -np.inf, np.float32)
    for place, row in enumerate(rows):
        for column, (label, score) in enumerate(row):
            labels[place, column], scores[place, column] = label, score
    return TopK(labels, scores), list(numbers)
