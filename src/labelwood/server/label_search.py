"""LabelSearch: names by their beginning or by the beginning of a word in them, in microseconds for a million names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

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


class LabelSearch:
    """The names of labels, sorted by their beginnings and by those of their inner words."""

    def __init__(self, names: Sequence[str]) -> None:
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
