"""Answers beyond the model's own: new tags by their nearest examples, corrected texts, and tags that are not shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.matrices import normalized_rows
from labelwood.models.explanation import Contribution, Explanation, NodeScore
from labelwood.models.fitted import Fitted
from labelwood.tagger.kept_rows import KeptRows, text_hashes
from labelwood.tagger.label_states import LabelStates
from labelwood.topk import PAD, TopK, empty, joined

ROWS_AT_ONCE = 4_096
SPARE = 10  # labels asked for beyond those wanted, while some are hidden
CORRECTED = 1.0  # the least score of a label that a person gave to this very text


@dataclass(frozen=True, eq=False)
class LateAnswers:
    """What came after training, ready to answer.

    targets: for every label the one that is answered in its place, -1 for none. examples: the mean example of every
    label behind the model's, rows of length 1 or empty. corrected: hash of a text -> the labels it was given.
    """

    targets: npt.NDArray[np.int32]
    examples: sparse.csr_matrix
    corrected: dict[int, tuple[int, ...]]

    @classmethod
    def of(
        cls, model: Fitted[Any], names: Sequence[str], states: LabelStates, rows: KeptRows | None, width: int
    ) -> LateAnswers:
        """The late answers of a tagger; width: the columns of its words."""
        n_new = len(names) - model.n_labels
        targets = states.targets(names)
        if rows is None or not rows.n_pending:
            return cls(targets, sparse.csr_matrix((n_new, width), dtype=np.float32), {})
        pending = rows.pending()
        y = pending.y(len(names))
        mean = (y[:, model.n_labels :].T @ normalized_rows(pending.x(width))).tocsr().astype(np.float32)
        corrected = {
            int(text): tuple(sorted({int(targets[label]) for label in y[place].indices} - {PAD}))
            for place, text in enumerate(pending.arrays["texts"])
        }
        return cls(targets, normalized_rows(mean), corrected)

    @property
    def n_model(self) -> int:
        """The labels that the model knows."""
        return len(self.targets) - int(self.examples.shape[0])

    @property
    def plain(self) -> bool:
        """True if there is nothing to do: the model's answers are the tagger's."""
        hidden = np.array_equal(self.targets, np.arange(len(self.targets)))
        return hidden and not self.corrected and not self.examples.shape[0]

    # answering

    def predict(
        self,
        model: Fitted[Any],
        inputs: sparse.csr_matrix,
        x: sparse.csr_matrix,
        texts: Sequence[str],
        k: int,
        n_threads: int | None,
    ) -> TopK:
        """The k best labels; inputs: what the model takes, x: rows over all words, one for each text."""
        parts = []
        for begin in range(0, len(texts), ROWS_AT_ONCE):
            chunk = slice(begin, begin + ROWS_AT_ONCE)
            parts.append(self._corrected(self.predict_rows(model, inputs[chunk], x[chunk], k, n_threads), texts[chunk]))
        return joined(parts)

    def predict_rows(
        self, model: Fitted[Any], inputs: sparse.csr_matrix, x: sparse.csr_matrix, k: int, n_threads: int | None
    ) -> TopK:
        """The k best labels of rows whose texts are not known, so that no correction can be found."""
        return self._with_new(self._shown(model, inputs, k, n_threads), x, k)

    def _shown(self, model: Fitted[Any], inputs: sparse.csr_matrix, k: int, n_threads: int | None) -> TopK:
        """The model's answers with merged labels in one place and hidden ones left out."""
        n_labels = model.n_labels
        changed = bool((self.targets[:n_labels] != np.arange(n_labels)).any())
        width = min(k + SPARE if changed else k, n_labels)
        while True:
            top = model.predict(inputs, width, n_threads)
            if not changed:
                return top
            labels = _once(np.where(top.labels >= 0, self.targets[top.labels], PAD))
            answered = (labels >= 0).sum(axis=1)
            # A model that has no more to say answers with padding: asking for more would not help.
            short = (answered < min(k, n_labels)) & (top.labels[:, -1] >= 0)
            if width == n_labels or not short.any():
                return _best(labels, top.scores, k, top.nearness)
            width = min(2 * width, n_labels)

    def _with_new(self, top: TopK, x: sparse.csr_matrix, k: int) -> TopK:
        """The answers with the labels that only examples show, on the scale of the row's own scores."""
        n_new = self.examples.shape[0]
        if not n_new:
            return top.cut(k)
        cosines = (normalized_rows(x) @ self.examples.T).toarray()
        scores = _scores(top, cosines)
        new = np.tile(self.targets[self.n_model :], (len(top), 1))
        new[cosines <= 0] = PAD
        labels = _once(np.hstack([top.labels, new]))
        return _best(labels, np.hstack([top.scores, scores]), k, top.nearness)

    def _corrected(self, top: TopK, texts: Sequence[str]) -> TopK:
        """The answers, for a text that a person gave labels: these and no others."""
        if not self.corrected:
            return top
        for row, text in enumerate(text_hashes(texts).tolist()):
            given = self.corrected.get(text)
            if given is None:
                continue
            best = max(CORRECTED, float(top.scores[row, 0]) if top.labels[row, 0] >= 0 else CORRECTED)
            top.labels[row], top.scores[row] = PAD, -np.inf
            n = min(len(given), top.k)
            top.labels[row, :n], top.scores[row, :n] = given[:n], best
        return top

    def certain(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which texts a person gave labels, and nothing has learnt yet: what is answered there is no guess."""
        if not self.corrected:
            return np.zeros(len(texts), bool)
        return np.array([text in self.corrected for text in text_hashes(texts).tolist()], bool)

    # explaining

    def explain(
        self, model: Fitted[Any], inputs: sparse.csr_matrix, x: sparse.csr_matrix, label: int, n_threads: int | None
    ) -> Explanation:
        """Why one row gets a label that only examples show: the words it shares with them, which sum to the cosine."""
        row, example = normalized_rows(x), self.examples[label - self.n_model]
        shared = row.multiply(example).tocsr()
        weights = dict(zip(example.indices.tolist(), example.data.tolist(), strict=True))
        values = dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))
        parts = tuple(
            Contribution(0, feature, values[feature], weights[feature], push)
            for feature, push in zip(shared.indices.tolist(), shared.data.tolist(), strict=True)
        )
        cosine = math.fsum(part.contribution for part in parts)
        scores = _scores(self._shown(model, inputs, 1, n_threads), np.full((1, 1), cosine, np.float32))
        score = float(scores[0, 0])
        return Explanation(label, score, (NodeScore(0, cosine, math.log(score) if score > 0 else -math.inf),), parts)


def _scores(top: TopK, cosines: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The scores (n, n_new) of cosines with examples: the cosine itself, times the row's best score if that is above 1.

    CookingStackExchange, 40 tags left out of one-vs-all and taught by 674 rows, one draw, on its test rows: the cosine
    finds 99 of their 168 places in the top 5 (a full fit: 95), its square 44, at a P@5 of 30.95 and 30.70 (30.97).
    """
    best = np.where(top.labels[:, :1] >= 0, top.scores[:, :1], np.float32(1))
    return np.asarray(np.maximum(best, 1) * np.maximum(cosines, 0), np.float32)


def _once(labels: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """The labels of each row with all but the first of equal ones padded."""
    order = np.argsort(labels, axis=1, kind="stable")
    in_order = np.take_along_axis(labels, order, axis=1)
    again = np.zeros(labels.shape, bool)
    np.put_along_axis(again, order[:, 1:], in_order[:, 1:] == in_order[:, :-1], axis=1)
    return np.where(again, PAD, labels)


def _best(
    labels: npt.NDArray[np.int32],
    scores: npt.NDArray[np.float32],
    k: int,
    nearness: npt.NDArray[np.float32] | None,
) -> TopK:
    """The k best answers of each row, best first; equal scores go to the smaller label."""
    known = np.where(labels >= 0, scores, -np.inf)
    order = np.lexsort((np.where(labels >= 0, labels, np.iinfo(np.int32).max), -known), axis=1)[:, :k]
    top = empty(len(labels), max(k, order.shape[1]), nearness)
    top.labels[:, : order.shape[1]] = np.take_along_axis(labels, order, axis=1)
    top.scores[:, : order.shape[1]] = np.take_along_axis(known, order, axis=1)
    return top.cut(k)
