"""LabelLetters: labels whose names share runs of characters with a text: other forms and parts of their words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from labelwood.matrices import column_ids, normalized_rows, row_pointers
from labelwood.models.ensemble.label_words import usual_name, without_namespace
from labelwood.models.ensemble.pairs import restored_matrix
from labelwood.models.ensemble.text_view import TextView
from labelwood.models.fit_input import TrainedOn
from labelwood.storage.schema import ArrayRule, Arrays, Schema

LEAST_SHARE = 0.3  # of a name that must be in the text to count as a sign
MOST_PROPOSED = 15  # labels by the share of their names, and as many by the cosine
# Runs of more names than this say little and cost most of the search: they are left out.
LARGEST_SHARE, ALWAYS_KEPT = 0.01, 50
# share: how much of the name is in the text; cosine: how much of the text is the name; the ranks by both
COLUMNS = ("letters", "letters cosine", "letters rank", "letters cosine rank")

# Of folders of earlier versions; since then the runs are made of the names when a folder is loaded.
SCHEMA: Schema = {
    "starts": ArrayRule(("int32", "int64"), ("n_runs+1",), low=0),
    "labels": ArrayRule("int32", ("n_uses",), low=0, below="n_labels"),
    "weights": ArrayRule("float32", ("n_uses",), low=0, finite=True),
}


@dataclass(frozen=True, eq=False)
class LabelLetters:
    """weights (n_runs, n_labels): tf-idf of the runs in the names; the squares of every label sum to 1."""

    weights: sparse.csr_matrix

    @classmethod
    def of(cls, label_names: Sequence[str], view: TextView, n_threads: int | None) -> LabelLetters:
        """The runs of the names, as `NamePhrases` keeps them, that the view has columns for."""
        names = [without_namespace(usual_name(names)) for names in label_names]
        runs = view.rows(names, n_threads)
        n_names = np.bincount(runs.indices, minlength=runs.shape[1])
        runs.data[n_names[runs.indices] > max(ALWAYS_KEPT, LARGEST_SHARE * len(names))] = 0
        runs.eliminate_zeros()
        return cls(normalized_rows(runs).T.tocsr().astype(np.float32))

    def arrays(self) -> Arrays:
        """The runs as the kernels take them."""
        weights = self.weights
        return {"starts": row_pointers(weights), "labels": column_ids(weights), "weights": weights.data}

    @classmethod
    def restore(cls, arrays: Arrays, trained_on: TrainedOn) -> LabelLetters:
        """The runs of saved arrays; ModelFileError if they are no matrix."""
        starts, labels, weights = (arrays[name] for name in ("starts", "labels", "weights"))
        return cls(restored_matrix(starts, labels, weights, trained_on.n_labels, "letters of names"))
