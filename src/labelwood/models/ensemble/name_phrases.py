"""NamePhrases: where the names of labels stand in a text, word by word in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from labelwood.models.ensemble.label_words import name_words, words_of
from labelwood.models.ensemble.pairs import Floats
from labelwood.storage.schema import ArrayRule, Arrays, Schema
from labelwood.storage.words import packed, unpacked

LONGEST = 8  # words of a name that is looked for
N_BLOCKS = 3  # numbers of a label that a row of `rows` holds
_PRIOR_MATCHES = 2.0
# times: how often the name stands in the text; alone: not within a longer name; first: the place of the first word
# (log); right: how often the row had the label when its name stood there
COLUMNS = ("times", "alone", "first", "right")

SCHEMA: Schema = {
    "right": ArrayRule("float32", ("n_labels",), finite=True),
    "utf8": ArrayRule("uint8", ("n_bytes",)),
    "ends": ArrayRule("int64", ("n_labels",), low=0),
}


@dataclass(frozen=True, eq=False)
class NamePhrases:
    """The names of all labels, and how often each was right where it stood in a training text.

    label_names: the names of a label are one a line.
    """

    label_names: tuple[str, ...]
    right: Floats

    @classmethod
    def of(cls, label_names: tuple[str, ...]) -> NamePhrases:
        """The names, not judged yet."""
        return cls(label_names, np.zeros(len(label_names), np.float32))

    @cached_property
    def _labels_of(self) -> dict[str, list[int]]:
        """Words with blanks between -> the labels of that name."""
        labels: dict[str, list[int]] = {}
        for label, names in enumerate(self.label_names):
            for phrase in dict.fromkeys(" ".join(name_words(name)) for name in names.split("\n")):
                if 0 < len(phrase.split(" ")) <= LONGEST and phrase:
                    labels.setdefault(phrase, []).append(label)
        return labels

    @cached_property
    def _longest_from(self) -> dict[str, int]:
        """The first word of a name -> the words of the longest name that begins with it."""
        longest: dict[str, int] = {}
        for phrase in self._labels_of:
            words = phrase.split(" ")
            longest[words[0]] = max(longest.get(words[0], 0), len(words))
        return longest

    def rows(self, texts: Sequence[str]) -> sparse.csr_matrix:
        """CSR (n_texts, N_BLOCKS * n_labels): times, times alone + 1, place of the first word + 1."""
        n_labels = len(self.label_names)
        starts, columns, values = [0], [], []
        for text in texts:
            found: dict[int, list[float]] = {}
            for first, phrase, alone in self._phrases(words_of(text)):
                for label in self._labels_of[phrase]:
                    entry = found.setdefault(label, [0.0, 1.0, first + 1.0])
                    entry[0] += 1
                    entry[1] += alone
            labels = sorted(found)
            for block in range(N_BLOCKS):
                columns += [block * n_labels + label for label in labels]
                values += [found[label][block] for label in labels]
            starts.append(len(columns))
        return sparse.csr_matrix(
            (np.array(values, np.float32), np.array(columns, np.int32), np.array(starts)),
            shape=(len(texts), N_BLOCKS * n_labels),
        )

    def _phrases(self, words: list[str]) -> list[tuple[int, str, bool]]:
        """(place of the first word, name, whether no longer name holds it) of all names in the words."""
        found = []
        reach = 0  # where the longest names so far end
        longest_from = self._longest_from
        for first, word in enumerate(words):
            longest = longest_from.get(word)
            if longest is None:  # most words begin no name
                continue
            end_here = 0
            for n in range(min(longest, len(words) - first), 0, -1):
                phrase = " ".join(words[first : first + n])
                if phrase in self._labels_of:
                    end = first + n
                    found.append((first, phrase, end > max(reach, end_here)))
                    end_here = max(end_here, end)
            reach = max(reach, end_here)
        return found

    def judged(self, said: sparse.csr_matrix, y: sparse.csr_matrix) -> NamePhrases:
        """The same names with how often each was right; said: `rows` of texts with labels y."""
        times = said[:, : y.shape[1]]
        matched = np.bincount(times.indices, minlength=y.shape[1])
        right = np.bincount(times.multiply(y).tocsr().indices, minlength=y.shape[1])
        usual = right.sum() / max(matched.sum(), 1)
        rate = (right + _PRIOR_MATCHES * usual) / (matched + _PRIOR_MATCHES)
        return NamePhrases(self.label_names, rate.astype(np.float32))

    def arrays(self) -> Arrays:
        """What the schema declares."""
        utf8, ends = packed(self.label_names)
        return {"right": self.right, "utf8": utf8, "ends": ends}

    @classmethod
    def restore(cls, arrays: Arrays) -> NamePhrases:
        """The names of saved arrays; ModelFileError if they are no texts."""
        return cls(unpacked(arrays["utf8"], arrays["ends"]), arrays["right"])
