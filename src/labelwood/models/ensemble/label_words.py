"""LabelWords: labels whose names stand in a row, by the words of its columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.matrices import column_ids, row_pointers
from labelwood.models.ensemble.pairs import restored_matrix
from labelwood.models.fit_input import TrainedOn
from labelwood.storage.schema import ArrayRule, Arrays, Schema

MOST_PROPOSED = 40  # labels of a row
LEAST_SHARE = 0.2  # of a name that must stand in the row to count as a sign
SMALLEST_SHARE = 0.5  # of a name that must stand in the row to make the label a candidate
WHOLE = 0.97  # a share from here on is a whole name
_PRIOR_MATCHES = 2.0  # matches that count as the usual ones when a label's own are judged
_BATCH = 2048
_WORD = re.compile(r"[^\W_]+")
_NAMESPACE = re.compile(r"^\w+:(?=\S)")  # the "p:" of "p:firefox"
_QUALIFIER = re.compile(r"(?<=\S)\s+\([^()]*\)$")  # the "(husbandry)" of "beekeeping (husbandry)"
# share: how much of the name stands in the row; strength: how much its words weigh there; right: how often the row had
# the label when its whole name stood there; matched: in how many training rows it did (log); mass: how rare the name's
# words are; words: how many it has; rank: among the names in the row
COLUMNS = ("share", "strength", "right", "matched", "mass", "words", "rank")

SCHEMA: Schema = {
    "column_starts": ArrayRule("int64", ("n_features+1",), low=0),
    "column_words": ArrayRule("int32", ("n_links",), low=0, below="n_words"),
    "word_starts": ArrayRule("int64", ("n_words+1",), low=0),
    "word_labels": ArrayRule("int32", ("n_uses",), low=0, below="n_labels"),
    "word_shares": ArrayRule("float32", ("n_uses",), low=0, finite=True),
    "mass": ArrayRule("float32", ("n_labels",), finite=True),
    "words": ArrayRule("float32", ("n_labels",), finite=True),
    "right": ArrayRule("float32", ("n_labels",), finite=True),
    "matched": ArrayRule("float32", ("n_labels",), finite=True),
}

Floats = npt.NDArray[np.float32]


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """The word without the endings of English plurals."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes", "oes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def words_of(text: str) -> list[str]:
    """The stems of all words of a text, in their order."""
    return [stem(word) for word in _WORD.findall(text.lower())]


def without_namespace(name: str) -> str:
    """The name of a label without what stands before a colon."""
    return _NAMESPACE.sub("", name)


def without_qualifier(name: str) -> str:
    """The name of a label without the brackets at its end, which tell it apart in a thesaurus and stand in no text."""
    return _QUALIFIER.sub("", name)


def usual_name(names: str) -> str:
    """The first of a label's names, which are one a line."""
    return names.partition("\n")[0]


def name_words(name: str) -> list[str]:
    """The stems of all words of a label's name, without the namespace before it."""
    return words_of(without_namespace(name))


@dataclass(frozen=True, eq=False)
class LabelWords:
    """The words of label names: which columns say them, and what share of each name they are."""

    columns: sparse.csr_matrix  # (n_features, n_words), ones
    names: sparse.csr_matrix  # (n_words, n_labels): shares, which sum to 1 for every label
    mass: Floats
    words: Floats
    right: Floats
    matched: Floats

    @classmethod
    def of(cls, label_names: Sequence[str], feature_names: Sequence[str], x: sparse.csr_matrix) -> LabelWords:
        """The words of the names, weighed by how rare they are among names and in the rows x."""
        numbers: dict[str, int] = {}
        owners, words = [], []
        for label, name in enumerate(label_names):
            for word in dict.fromkeys(name_words(without_qualifier(usual_name(name)))):
                owners.append(label)
                words.append(numbers.setdefault(word, len(numbers)))
        n_words, n_labels = len(numbers), len(label_names)
        links = [
            (column, numbers[word])
            for column, text in enumerate(feature_names)
            for word in dict.fromkeys(words_of(text))
            if word in numbers
        ]
        pairs = np.array(links, np.int64).reshape(-1, 2)
        columns = sparse.csr_matrix(
            (np.ones(len(pairs), np.float32), (pairs[:, 0], pairs[:, 1])), shape=(x.shape[1], n_words)
        )
        in_rows = np.bincount((_pattern(x) @ columns).indices, minlength=n_words)
        in_names = np.bincount(words, minlength=n_words)
        weights = np.log((n_labels + 1) / (in_names + 0.5)) * np.log((x.shape[0] + 1) / (in_rows + 0.5))
        weights = np.maximum(weights, 1e-3)
        use = sparse.csr_matrix((weights[words], (words, owners)), shape=(n_words, n_labels))
        mass = np.asarray(use.sum(axis=0)).ravel()
        use.data /= mass[use.indices]
        n_each = np.bincount(owners, minlength=n_labels)
        nothing = np.zeros(n_labels, np.float32)
        return cls(
            columns, use.astype(np.float32), mass.astype(np.float32), n_each.astype(np.float32), nothing, nothing
        )

    def judged(self, x: sparse.csr_matrix, y: sparse.csr_matrix) -> LabelWords:
        """The same words with how often a whole name was right in the rows x with labels y."""
        matched, right = np.zeros(self.names.shape[1]), np.zeros(self.names.shape[1])
        for begin in range(0, x.shape[0], _BATCH):
            share = self._shares(x[begin : begin + _BATCH])
            share.data = (share.data >= WHOLE).astype(np.float32)
            share.eliminate_zeros()
            matched += np.bincount(share.indices, minlength=len(matched))
            right += np.bincount(share.multiply(y[begin : begin + _BATCH]).tocsr().indices, minlength=len(right))
        usual = right.sum() / max(matched.sum(), 1)
        rate = (right + _PRIOR_MATCHES * usual) / (matched + _PRIOR_MATCHES)
        return replace(self, right=rate.astype(np.float32), matched=np.log1p(matched).astype(np.float32))

    def _shares(self, x: sparse.csr_matrix) -> sparse.csr_matrix:
        said = _pattern(x) @ self.columns
        said.data[:] = 1
        return said @ self.names

    def arrays(self) -> Arrays:
        """The words as the schema declares them."""
        return {
            "column_starts": row_pointers(self.columns), "column_words": column_ids(self.columns),
            "word_starts": row_pointers(self.names), "word_labels": column_ids(self.names),
            "word_shares": self.names.data, "mass": self.mass, "words": self.words,
            "right": self.right, "matched": self.matched,
        }  # fmt: skip

    @classmethod
    def restore(cls, arrays: Arrays, trained_on: TrainedOn) -> LabelWords:
        """The words of saved arrays; ModelFileError if they are no matrices."""
        starts = arrays["word_starts"]
        columns = restored_matrix(arrays["column_starts"], arrays["column_words"], None, len(starts) - 1, "words")
        shares = arrays["word_shares"]
        names = restored_matrix(starts, arrays["word_labels"], shares, trained_on.n_labels, "names")
        return cls(columns, names, *(arrays[name] for name in ("mass", "words", "right", "matched")))


def _pattern(x: sparse.csr_matrix) -> sparse.csr_matrix:
    return sparse.csr_matrix((np.ones(x.nnz, np.float32), x.indices, x.indptr), shape=x.shape)
