"""What a variant is worth: the bytes of its folder, the time of a row asked alone, and its answers to known rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.data.keyed_random import keyed_order
from labelwood.errors import DataError
from labelwood.metrics.hits import hit_matrix
from labelwood.metrics.ranking import ndcg, precision
from labelwood.models.base import SCORED_AT, Model
from labelwood.models.linear.fitted_tree import FittedLinearTree
from labelwood.models.persistence import state_of
from labelwood.storage.schema import Arrays
from labelwood.tagger.fitted import FittedTagger
from labelwood.tagger.tagger import Tagger
from labelwood.topk import PAD, TopK

MOST_ROWS = 2000  # that judge: differences of a tenth of a point need no more
TIMED_ROWS, WARM_UP = 200, 20
PASSES, QUICK_SECONDS = 3, 0.5  # a row counts with its fastest pass, where a pass is quick
Trained = Tagger | Model[Any, Any]


@dataclass(frozen=True)
class Judged:
    """One variant's figures; accuracy and first: nDCG@5 and P@1, per cent; same: of the original's five answers."""

    n_bytes: int
    milliseconds: float
    accuracy: float
    first: float
    same: float


class Judge:
    """Rows with known labels, and how a tagger or model is asked about them.

    Texts or features that the caller gives; else training rows that the folder keeps, as the model sees them: their
    figures flatter, but show what a cut changes.
    """

    def __init__(self, original: Trained, data: Dataset | None, y: sparse.csr_matrix | None, seed: int = 0) -> None:
        """The judge of variants of an original; y: the labels of data in its numbering. DataError without any rows."""
        self.seen = data is None
        if data is None:
            data, y = _kept_rows(original)
        assert y is not None
        labelled = np.flatnonzero(np.diff(y.indptr))
        places = np.sort(labelled[keyed_order(len(labelled), seed)[:MOST_ROWS]])
        if not len(places):
            raise DataError(f"{data.source}: no row has a label, so there is nothing to measure with")
        self._data, self._y = data.take(places), y[places]
        self._of_texts = isinstance(original, Tagger) and not self.seen
        self._usual = self._answers(original)

    @property
    def n_rows(self) -> int:
        """How many rows judge."""
        return self._data.n_rows

    def judged(self, trained: Trained, n_bytes: int) -> Judged:
        """The figures of a variant whose folder takes so many bytes."""
        top = self._answers(trained)
        hits = hit_matrix(top, self._y)
        usual = self._usual.labels
        same = (usual[:, :, None] == top.labels[:, None, :]).any(axis=2) | (usual == PAD)
        return Judged(
            n_bytes,
            self.milliseconds(trained),
            ndcg(hits, [SCORED_AT])[SCORED_AT],
            precision(hits, 1),
            100 * float(np.mean(same)),
        )

    def _answers(self, trained: Trained) -> TopK:
        if self._of_texts:
            assert isinstance(trained, Tagger)
            return trained.predict_top(self._data.texts or (), SCORED_AT)
        model = trained.model_ if isinstance(trained, Tagger) else trained
        return model.predict(self._data, SCORED_AT)

    def milliseconds(self, trained: Trained) -> float:
        """The median time of a row that is asked alone."""
        ask: Callable[[int], object]
        n = min(TIMED_ROWS, self.n_rows)
        if self._of_texts:
            assert isinstance(trained, Tagger)
            texts = self._data.texts or ()
            ask = lambda row: trained.predict([texts[row]], SCORED_AT)  # noqa: E731
        else:
            model = trained.model_ if isinstance(trained, Tagger) else trained
            rows = [self._data.take([row]) for row in range(n)] if self._data.texts is not None else None
            alone = [self._data.features()[row] for row in range(n)] if rows is None else rows
            ask = lambda row: model.predict(alone[row], SCORED_AT)  # noqa: E731
        for row in range(min(WARM_UP, n)):
            ask(row)
        passes: list[list[float]] = []
        while not passes or (len(passes) < PASSES and sum(passes[0]) < QUICK_SECONDS):
            seconds = []
            for row in range(n):
                start = time.perf_counter()
                ask(row)
                seconds.append(time.perf_counter() - start)
            passes.append(seconds)
        return 1000 * float(np.median(np.min(passes, axis=0)))


def arrays_of(trained: Trained) -> Arrays:
    """All arrays that a folder would hold."""
    state = trained.fitted_
    return (state.state() if isinstance(state, FittedTagger) else state_of(state))[1]


def _kept_rows(original: Trained) -> tuple[Dataset, sparse.csr_matrix]:
    """(the training rows that are kept, their labels); DataError if there are none, or the model needs texts."""
    state = original.fitted_
    if isinstance(state, FittedTagger):
        if state.rows is not None and len(state.rows) and not state.model.saw_texts:
            x = state.rows.x(state.words.n_features)[:, : state.model.n_features]
            y = state.rows.y(len(state.label_names))[:, : state.model.n_labels]
            return Dataset(x, y, source="the rows in the folder"), y
        why = "its model reads texts" if state.model.saw_texts else "it keeps no rows"
    elif isinstance(state, FittedLinearTree) and state.kept_rows is not None:
        return Dataset(state.kept_rows.x, state.kept_rows.y, source="the rows in the folder"), state.kept_rows.y
    else:
        why = "it keeps no rows"
    raise DataError(f"there is nothing to measure with: {why}; give rows with known labels (--data FILE)")
