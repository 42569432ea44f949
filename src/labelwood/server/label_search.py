"""LabelSearch: names by their beginning or by the beginning of a word in them, in microseconds for a million names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelwood.vocabulary.vocabulary import Vocabulary

# Bytes of each entry that are sorted. Longer questions look through the names that share them.
_KEY_BYTES = 24
_Entries = tuple[npt.NDArray[np.bytes_], npt.NDArray[np.int32], npt.NDArray[np.int32]]  # keys, labels, places
_WORD_STARTS = re.compile(r"(?<=[\W_])[^\W_]")


def plain_form(text: str) -> str:
    """The text as it is compared: lower case, without accents, blanks made single."""
    folded = text.casefold()
    if not folded.isascii():
        folded = "".join(c for c in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(c))
    return " ".join(folded.split())


@dataclass(frozen=True, slots=True)
class FoundName:
    """A name in a vocabulary: the id that it belongs to, and the name as it is written."""

    concept: str
    text: str


class LabelSearch:
    """The names of labels, sorted by their beginnings and by those of their inner words."""

    def __init__(self, names: Sequence[str], concepts: Sequence[FoundName] | None = None) -> None:
        self.concepts = concepts  # what each name stands for; None: names are labels
        self._names = [plain_form(name) for name in names]
        whole = np.arange(len(names), dtype=np.int32)
        labels, places = [], []
        for label, name in enumerate(self._names):
            for match in _WORD_STARTS.finditer(name):
                labels.append(label)
                places.append(match.start())
        self._whole = self._sorted(whole, np.zeros(len(names), np.int32))
        self._inner = self._sorted(np.array(labels, np.int32), np.array(places, np.int32))

    def _sorted(self, labels: npt.NDArray[np.int32], places: npt.NDArray[np.int32]) -> _Entries:
        keys = np.fromiter(
            (
                self._names[label][place : place + _KEY_BYTES].encode()[:_KEY_BYTES]
                for label, place in zip(labels.tolist(), places.tolist(), strict=True)
            ),
            dtype=f"S{_KEY_BYTES}",
            count=len(labels),
        )
        order = np.argsort(keys, kind="stable")
        return keys[order], labels[order], places[order]

    def find_names(self, question: str, limit: int) -> list[FoundName]:
        """The labels that `find` finds, each once and with the first of its names that fits."""
        if self.concepts is None:
            raise ValueError("this search knows labels by number")
        wanted = limit
        while True:
            places = self.find(question, wanted)
            names: dict[str, FoundName] = {}
            for place in places:
                names.setdefault(self.concepts[place].concept, self.concepts[place])
            if len(names) >= limit or len(places) < wanted:
                return list(names.values())[:limit]
            wanted *= 2

    def find(self, question: str, limit: int) -> list[int]:
        """The labels whose names begin with the question, in order of their names, then those with such a word."""
        asked = plain_form(question)
        labels: dict[int, None] = {}
        for keys, numbers, places in (self._whole, self._inner):
            low, high = self._range(keys, asked)
            for entry in range(low, high):
                if len(labels) >= limit:
                    break
                label = int(numbers[entry])
                if self._names[label].startswith(asked, int(places[entry])):
                    labels[label] = None
        return list(labels)

    @staticmethod
    def _range(keys: npt.NDArray[np.bytes_], asked: str) -> tuple[int, int]:
        first = asked.encode()[:_KEY_BYTES]
        if not first:
            return 0, len(keys)
        low = int(np.searchsorted(keys, np.bytes_(first), "left"))
        after = first.ljust(_KEY_BYTES, b"\xff")
        return low, int(np.searchsorted(keys, np.bytes_(after), "right"))


def searched_names(labels: Sequence[str], vocabulary: Vocabulary | None) -> LabelSearch:
    """A search over labels, or over all names of a vocabulary in all its languages and over labels outside it."""
    if vocabulary is None:
        return LabelSearch(labels)
    gone = set(np.flatnonzero(vocabulary.deprecated).tolist())
    entries = [
        FoundName(concept, name)
        for names in vocabulary.names
        for place, (concept, name) in enumerate(zip(vocabulary.ids, names, strict=True))
        if name and place not in gone
    ]
    others = [name for name in vocabulary.others if name.concept not in gone]
    entries += [FoundName(vocabulary.ids[name.concept], name.text) for name in others]
    named = {entry.concept for entry in entries}
    unnamed = [concept for place, concept in enumerate(vocabulary.ids) if place not in gone]
    outside = [label for label in labels if label not in vocabulary]
    entries += [FoundName(label, label) for label in [*unnamed, *outside] if label not in named]
    return LabelSearch([entry.text for entry in entries], entries)
