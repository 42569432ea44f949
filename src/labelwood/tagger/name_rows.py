"""Names of labels as rows: a tagger that learns from them knows the words of rare labels, and of those without a row.

What a name is worth depends on the data: titles of books hold the words of their subjects, while a package's
description holds the names of other packages. So held-out rows decide, with a linear tree with and without them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import ParamError
from labelwood.features.tfidf import TfidfVectorizer
from labelwood.metrics.hits import hit_matrix
from labelwood.metrics.ranking import discounts, ideal_dcg
from labelwood.models.base import SCORED_AT, Model
from labelwood.models.ensemble.label_words import without_namespace, without_qualifier
from labelwood.models.linear.linear_tree import LinearTree
from labelwood.tagger.trial_rows import FEWEST_HELD_OUT, trial_rows
from labelwood.vocabulary.vocabulary import Vocabulary

Floats = npt.NDArray[np.float64]
# Names must gain more than so many standard errors of nDCG@5: chance alone gains as much in one case of forty.
SURE = 2.0
MOST_NAMES = 200_000  # more would take longer than the texts they are tried with
JUDGING = 0.25  # of the rows: the gain may be small, and a trial takes seconds


@dataclass(frozen=True, eq=False)
class NameRows:
    """The names of labels as texts, and the label of each; a label may have several names, or none."""

    texts: tuple[str, ...]
    labels: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.texts)

    def y(self, n_labels: int) -> sparse.csr_matrix:
        """The label of each name, as ones (n_names, n_labels)."""
        starts = np.arange(len(self) + 1, dtype=np.int64)
        return sparse.csr_matrix((np.ones(len(self), np.float32), self.labels, starts), shape=(len(self), n_labels))

    def counts(self, n_labels: int) -> npt.NDArray[np.int32]:
        """How many names each label has."""
        return np.bincount(self.labels, minlength=n_labels).astype(np.int32)


NO_NAMES = NameRows((), np.zeros(0, np.int64))


def name_rows(label_names: Sequence[str], vocabulary: Vocabulary | None) -> NameRows:
    """The names of all labels: their own, or preferred and other names in the language of the vocabulary.

    What stands before a colon is no part of a name, nor are brackets at its end. A name without a letter is none.
    """
    called = label_names if vocabulary is None else vocabulary.called(label_names)
    texts, labels = [], []
    for label, names in enumerate(called):
        for text in dict.fromkeys(map(_said, names.split("\n"))):
            if any(map(str.isalpha, text)):
                texts.append(text)
                labels.append(label)
    return NameRows(tuple(texts), np.array(labels, np.int64))


def _said(name: str) -> str:
    """A name as a text would say it."""
    return without_qualifier(without_namespace(name)).replace("_", " ").strip(" :")


def check_may_learn(model: Model[Any, Any], asked: bool | None) -> None:
    """ParamError if names are asked for as rows of a model that reads them itself."""
    if asked and (model.takes_texts or model.reads_texts):
        raise ParamError(f"Tagger: {model.name} reads texts and label names itself; name_rows is for others")


def names_help(
    texts: Sequence[str],
    y: sparse.csr_matrix,
    names: NameRows,
    features: Mapping[str, Any],
    seed: int,
    groups: npt.NDArray[np.int64] | None = None,
) -> tuple[bool, str]:
    """(whether held-out rows are answered better by a tree that learns from the names too, a line that says so).

    The line is empty where names are left out. groups: of each text; those of one are on one side of the trial.
    """
    training, judging = trial_rows(len(texts), seed, JUDGING, groups)
    if len(judging) < FEWEST_HELD_OUT or not 0 < len(names) <= MOST_NAMES:
        return False, ""
    shown, asked, truth = [texts[row] for row in training], [texts[row] for row in judging], y[judging]
    plain = _row_scores(shown, y[training], asked, truth, features)
    with_names = sparse.vstack([y[training], names.y(y.shape[1])]).tocsr()
    taught = _row_scores([*shown, *names.texts], with_names, asked, truth, features)
    gains = taught - plain
    if gains.mean() <= SURE * gains.std() / math.sqrt(len(gains)):
        return False, ""
    figures = f"{100 * taught.mean():.1f} with them, {100 * plain.mean():.1f} without"
    return True, f"label names are learnt as rows: nDCG@{SCORED_AT} on held-out rows {figures}"


def _row_scores(
    texts: Sequence[str],
    y: sparse.csr_matrix,
    asked: Sequence[str],
    truth: sparse.csr_matrix,
    features: Mapping[str, Any],
) -> Floats:
    """The nDCG@5 of each asked row by a tree that was trained on the texts; 0 for a row without labels."""
    vectorizer = TfidfVectorizer(**features)
    tree = LinearTree(C=1.0, n_threads=vectorizer.n_threads).fit(vectorizer.fit_transform(texts), y)
    hits = hit_matrix(tree.predict(vectorizer.transform(asked), min(SCORED_AT, y.shape[1])), truth)
    gained = hits.hit @ discounts(hits.hit.shape[1])
    return np.asarray(gained / ideal_dcg(hits.n_true, SCORED_AT))
