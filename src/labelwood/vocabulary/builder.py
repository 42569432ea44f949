"""Statements about concepts, in any order -> a Vocabulary."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from labelwood.vocabulary.vocabulary import OtherName, Pairs, Vocabulary


@dataclass
class Statements:
    """What a file says about concepts; ids are told apart by their text alone."""

    concepts: dict[str, None] = field(default_factory=dict)  # in the order in which they come
    preferred: dict[tuple[str, str], str] = field(default_factory=dict)  # (id, language) -> name
    others: dict[tuple[str, str, str], None] = field(default_factory=dict)  # (id, language, name)
    broader: dict[tuple[str, str], None] = field(default_factory=dict)  # (id, broader id)
    members: dict[tuple[str, str], None] = field(default_factory=dict)  # (id, scheme)
    deprecated: set[str] = field(default_factory=set)

    def built(self) -> Vocabulary:
        """The vocabulary; statements about ids that are no concepts are left out."""
        number = {concept: place for place, concept in enumerate(self.concepts)}
        languages = tuple(sorted({language for concept, language in self.preferred if concept in number}))
        names = [[""] * len(number) for _ in languages]
        for (concept, language), name in self.preferred.items():
            if concept in number:
                names[languages.index(language)][number[concept]] = name
        others = tuple(
            OtherName(number[concept], languages.index(language), name)
            for concept, language, name in self.others
            if concept in number and language in languages and self.preferred.get((concept, language)) != name
        )
        links = [
            (number[low], number[high])
            for low, high in self.broader
            if low in number and high in number and low != high
        ]
        schemes = tuple(sorted({scheme for concept, scheme in self.members if concept in number}))
        scheme_number = {scheme: place for place, scheme in enumerate(schemes)}
        members = [(number[concept], scheme_number[scheme]) for concept, scheme in self.members if concept in number]
        return Vocabulary(
            tuple(number),
            languages,
            tuple(map(tuple, names)),
            others,
            _pairs(links),
            schemes,
            _pairs(members),
            np.array([concept in self.deprecated for concept in number], bool),
            "en" if "en" in languages else next(iter(languages), ""),
        )


def _pairs(pairs: Iterable[tuple[int, int]]) -> Pairs:
    return np.array(sorted(pairs), np.int32).reshape(-1, 2)
