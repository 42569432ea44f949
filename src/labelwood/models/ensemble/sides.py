"""Sides: all that propose labels for a row, and the table of what they know about every candidate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.matrices import column_ids, row_pointers
from labelwood.models.ensemble import label_words, name_phrases, near_rows, together
from labelwood.models.ensemble.boosting import BoostedTrees
from labelwood.models.ensemble.label_words import LabelWords
from labelwood.models.ensemble.name_phrases import NamePhrases
from labelwood.models.ensemble.near_rows import NearRows
from labelwood.models.ensemble.pairs import Floats, Keys
from labelwood.models.ensemble.together import Together
from labelwood.models.fit_input import FitInput
from labelwood.models.fitted import Fitted
from labelwood.topk import TopK, empty

MODEL_LABELS = 50  # labels that the model inside is asked for
_MODEL = ("score", "rank", "of the best")
_LABEL = ("label rows",)
_ROW = ("features", "best score", "closest row")
_MADE = ("sides",)
# The columns of the table, in the order of native/models/ensemble/candidates.hpp.
GROUPS = (
    ("words", _MODEL), ("similar rows", near_rows.COLUMNS), ("name", label_words.COLUMNS + name_phrases.COLUMNS),
    ("beside", together.COLUMNS), ("frequency", _LABEL), ("row", _ROW), ("agreement", _MADE),
)  # fmt: skip
COLUMNS = tuple(f"{group}: {column}" for group, columns in GROUPS for column in columns)


@dataclass(frozen=True, eq=False)
class Sides:
    """A model, the nearest rows, the words of label names (if there are names) and companions of labels.

    Rows come as `Ranked.inputs` gives them: features, and behind them where names stand in the texts, if there are
    texts.
    """

    model: Fitted[Any]
    near: NearRows
    names: LabelWords | None
    beside: Together
    label_counts: npt.NDArray[np.int64]
    phrases: NamePhrases | None = None  # where names stand in texts, if there are texts
    _native: _native.CandidateSides = field(init=False, repr=False)

    def __post_init__(self) -> None:
        sides = _native.CandidateSides(self.model.n_features, np.log1p(self.label_counts).astype(np.float32))
        sides.near(**self.near.arrays(), n_near=near_rows.N_NEAR)
        sides.beside(**self.beside.arrays(), n_sure=together.N_SURE, most_proposed=together.MOST_PROPOSED)
        if self.names is not None:
            sides.names(
                **self.names.arrays(), least_share=label_words.LEAST_SHARE, smallest_share=label_words.SMALLEST_SHARE,
                whole=label_words.WHOLE, most_proposed=label_words.MOST_PROPOSED,
            )  # fmt: skip
        if self.phrases is not None:
            sides.phrases(**self.phrases.arrays())
        object.__setattr__(self, "_native", sides)

    @classmethod
    def of(cls, model: Fitted[Any], data: FitInput, said: sparse.csr_matrix | None) -> Sides:
        """The sides of training rows, with a model that was trained on them; said: where names stand in their texts."""
        names = None
        if data.label_names is not None and data.feature_names is not None:
            names = LabelWords.of(data.label_names, data.feature_names, data.x).judged(data.x, data.y)
        counts = np.bincount(data.y.indices, minlength=data.n_labels).astype(np.int64)
        phrases = None
        if data.label_names is not None and said is not None:
            phrases = NamePhrases.of(data.label_names).judged(said, data.y)
        return cls(model, NearRows.of(data.x, data.y), names, Together.of(data.y), counts, phrases)

    def table(self, rows: sparse.csr_matrix, n_threads: int | None) -> tuple[Keys, Floats]:
        """(keys row * n_labels + label of all candidates, rising; what is known of each, (n, len(COLUMNS)))."""
        top = self._answers(rows, n_threads)
        counts, labels, table = self._native.table(*self._asked(rows), top.labels, top.scores, 1, n_threads or 0)
        places = np.repeat(np.arange(rows.shape[0], dtype=np.int64), counts)
        return places * len(self.label_counts) + labels, table

    def best(self, rows: sparse.csr_matrix, k: int, ranker: BoostedTrees, n_threads: int | None) -> TopK:
        """The k candidates of every row that the ranker finds most likely, with their probabilities."""
        top = self._answers(rows, n_threads)
        best = empty(rows.shape[0], k)
        self._native.top_k(
            ranker.native, *self._asked(rows), top.labels, top.scores, 1, n_threads or 0, best.labels, best.scores
        )
        return best

    def _asked(
        self, rows: sparse.csr_matrix
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32], int]:
        return row_pointers(rows), column_ids(rows), rows.data, self.model.n_features

    def _answers(self, rows: sparse.csr_matrix, n_threads: int | None) -> TopK:
        """What the model says of the features."""
        n_features = self.model.n_features
        x = rows if rows.shape[1] == n_features else rows[:, :n_features]
        return self.model.predict(self.model.inputs(x, None), min(MODEL_LABELS, len(self.label_counts)), n_threads)
