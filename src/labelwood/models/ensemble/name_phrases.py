"""NamePhrases: where the names of labels stand in a text, word by word in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from labelwood import _native
from labelwood.models.ensemble.label_words import name_words, without_qualifier
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
        bare = tuple("\n".join(map(without_qualifier, names.split("\n"))) for names in label_names)
        return cls(bare, np.zeros(len(bare), np.float32))

    def look_for(self, rows: _native.TextRows) -> None:
        """Let rows of texts say where the names stand."""
        labels: dict[str, list[int]] = {}
        for label, names in enumerate(self.label_names):
            for words in {" ".join(found): len(found) for found in map(name_words, names.split("\n"))}.items():
                if 0 < words[1] <= LONGEST:
                    labels.setdefault(words[0], []).append(label)
        starts = np.concatenate([[0], np.cumsum([len(of_name) for of_name in labels.values()], dtype=np.int64)])
        flat = np.fromiter((label for of_name in labels.values() for label in of_name), np.int32)
        rows.names(tuple(labels), starts.astype(np.int64), flat, len(self.label_names))

    def rows(self, texts: Sequence[str], n_threads: int | None) -> sparse.csr_matrix:
        """CSR (n_texts, N_BLOCKS * n_labels): times, times alone + 1, place of the first word + 1."""
        finder = _native.TextRows(0)
        self.look_for(finder)
        no_features = np.zeros(0, np.int32), np.zeros(0, np.float32)
        starts, columns, values = finder.rows(
            np.zeros(len(texts) + 1, np.int64), *no_features, tuple(texts), n_threads or 0
        )
        return sparse.csr_matrix((values, columns, starts), shape=(len(texts), N_BLOCKS * len(self.label_names)))

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
