"""What the index of ELIAS adds on held-out rows to scoring all labels with the ranker's own classifiers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.metrics.hits import hit_matrix
from labelwood.metrics.ranking import precision, recall
from labelwood.models.neural.elias.ranker import Ranker
from labelwood.models.neural.elias.search import top_of
from labelwood.models.neural.elias.tree_votes import Scored
from labelwood.topk import TopK

PLACES = 100
ALIKE = 0.5  # points of P@1 and of P@5: below, the answers are alike
METRICS = ("P@1", "P@5", "R@100")


@dataclass(frozen=True)
class IndexGain:
    """Per cent of METRICS on n_rows held-out rows: of the whole model, and of the ranker asked for all labels.

    time_share: the part of index and ranker's training time that the ranker took.
    """

    n_rows: int
    whole: tuple[float, float, float]
    all_labels: tuple[float, float, float]
    time_share: float

    def sentence(self, *, same_columns: bool) -> str:
        """What it says to a person; same_columns: `one-vs-all` can be given the columns that the ranker sees."""
        gains = [a - b for a, b in zip(self.whole, self.all_labels, strict=True)]
        told = ", ".join(f"{gain:+.1f} to {metric}" for gain, metric in zip(gains, METRICS, strict=True))
        said = f"on {self.n_rows:,} held-out rows the index adds {told} over scoring all labels with the same columns"
        if gains[0] >= ALIKE or gains[1] >= ALIKE or not same_columns:
            return said
        return f"{said}; `one-vs-all` answers alike in about {max(1, round(100 * self.time_share))} % of the time"


def index_gain(
    ranker: Ranker,
    rows: sparse.csr_matrix,
    y: sparse.csr_matrix,
    scored: Scored,
    time_share: float,
    n_threads: int | None,
) -> IndexGain:
    """The gain on held-out rows; scored: their labels and scores by the whole model. The ranker must know all labels.

    Memory grows with rows x 100, whatever the number of labels.
    """
    k = min(PLACES, y.shape[1])
    whole = TopK(*top_of(*scored, k))
    return IndexGain(rows.shape[0], _figures(whole, y), _figures(ranker.best(rows, k, n_threads), y), time_share)


def _figures(top: TopK, y: sparse.csr_matrix) -> tuple[float, float, float]:
    labelled: npt.NDArray[np.int64] = np.flatnonzero(np.diff(y.indptr))
    if not len(labelled):
        return 0.0, 0.0, 0.0
    hits = hit_matrix(top, y)
    return precision(hits, 1), precision(hits, min(5, top.k)), recall(hits, top.k)
