"""Sides: all that propose labels for a row, and the table of what they know about every candidate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.models.ensemble import label_words, name_phrases, near_rows, together
from labelwood.models.ensemble.label_words import LabelWords
from labelwood.models.ensemble.name_phrases import NamePhrases
from labelwood.models.ensemble.near_rows import NearRows
from labelwood.models.ensemble.pairs import Floats, Keys, Pairs, candidates, looked_up, pairs_of_answers
from labelwood.models.ensemble.together import Together
from labelwood.models.fit_input import FitInput
from labelwood.models.fitted import Fitted

MODEL_LABELS = 50  # labels that the model inside is asked for
_MODEL = ("score", "rank", "of the best")
_MODEL_MISSING = (0.0, 99.0, 0.0)
_LABEL = ("label rows",)
_ROW = ("features", "best score", "closest row")
_MADE = ("sides",)
GROUPS = (
    ("words", _MODEL), ("similar rows", near_rows.COLUMNS), ("name", label_words.COLUMNS + name_phrases.COLUMNS),
    ("beside", together.COLUMNS), ("frequency", _LABEL), ("row", _ROW), ("agreement", _MADE),
)  # fmt: skip
COLUMNS = tuple(f"{group}: {column}" for group, columns in GROUPS for column in columns)
GROUP_OF = tuple(group for group, columns in GROUPS for _ in columns)


@dataclass(frozen=True, eq=False)
class Sides:
    """A model, the nearest rows, the words of label names (if there are names) and companions of labels."""

    model: Fitted[Any]
    near: NearRows
    names: LabelWords | None
    beside: Together
    label_counts: npt.NDArray[np.int64]
    phrases: NamePhrases | None = None  # where names stand in texts, if there are texts

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

    def table(self, x: sparse.csr_matrix, said: sparse.csr_matrix | None, n_threads: int | None) -> tuple[Keys, Floats]:
        """(keys row * n_labels + label of all candidates, rising; what is known of each, (n, len(COLUMNS))).

        x: features without stored zeros; said: where names stand in the texts, if there are texts.
        """
        n_labels = len(self.label_counts)
        top = self.model.predict(self.model.inputs(x, None), min(MODEL_LABELS, n_labels), n_threads)
        keys, scores, ranks = pairs_of_answers(top, n_labels)
        best = np.maximum(np.where(np.isfinite(top.scores[:, 0]), top.scores[:, 0], 0), 1e-9)
        by_model = Pairs(keys, np.column_stack([scores, ranks, scores / best[keys // n_labels]]).astype(np.float32))
        by_rows, closest = self.near.pairs(x, n_threads)
        by_company = self.beside.pairs(top)
        nothing = Pairs(np.zeros(0, np.int64), np.zeros((0, 0), np.float32))
        by_name = nothing if self.names is None else self.names.pairs(x)
        by_phrase = nothing if self.phrases is None or said is None else self.phrases.pairs(said)
        parts: list[tuple[Pairs, tuple[float, ...]]] = [
            (by_model, _MODEL_MISSING), (by_rows, near_rows.MISSING), (by_name, label_words.MISSING),
            (by_phrase, name_phrases.MISSING), (by_company, together.MISSING),
        ]  # fmt: skip
        keys = candidates([pairs for pairs, _ in parts])
        columns = [looked_up(keys, pairs, missing) for pairs, missing in parts]
        rows, labels = keys // n_labels, keys % n_labels
        known = (columns[0][:, 0] > 0).astype(np.float32) + (columns[1][:, 0] > 0) + (columns[2][:, 0] >= 0.5)
        plain = [np.log1p(self.label_counts[labels]), np.diff(x.indptr)[rows], best[rows], closest[rows], known]
        return keys, np.ascontiguousarray(np.column_stack([*columns, *plain]), dtype=np.float32)
