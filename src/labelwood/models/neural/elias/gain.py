"""What the index of ELIAS adds on held-out rows to scoring all labels with the ranker's own classifiers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.groups import mean_error
from labelwood.metrics.hits import hit_matrix
from labelwood.models.neural.elias.ranker import Ranker
from labelwood.models.neural.elias.search import top_of
from labelwood.models.neural.elias.tree_votes import Scored
from labelwood.topk import TopK

PLACES = 100
ALIKE = 0.5  # points of P@1 and of P@5: below, the answers are alike
METRICS = ("P@1", "P@5", "R@100")
Points = tuple[float, float, float]


@dataclass(frozen=True)
class IndexGain:
    """What the whole model has more than the ranker asked for all labels: points of METRICS on n_rows held-out rows.

    margins: half of the 95 % interval of each gain, from the differences row by row. time_share: the part of index and
    ranker's training time that the ranker took.
    """

    n_rows: int
    gains: Points
    margins: Points
    time_share: float

    def sentence(self, *, same_columns: bool) -> str:
        """What it says to a person; same_columns: `one-vs-all` can be given the columns that the ranker sees."""
        told = ", ".join(
            f"{gain:+.1f} (+-{margin:.1f}) to {metric}"
            for gain, margin, metric in zip(self.gains, self.margins, METRICS, strict=True)
        )
        said = f"on {self.n_rows:,} held-out rows the index adds {told} over scoring all labels with the same columns"
        precise = zip(self.gains[:2], self.margins[:2], strict=True)
        if not same_columns or any(gain >= ALIKE and gain > margin for gain, margin in precise):
            return said
        share = max(1, round(100 * self.time_share))
        return f"{said}; as far as these rows can tell, `one-vs-all` answers alike in about {share} % of the time"


def index_gain(
    ranker: Ranker,
    rows: sparse.csr_matrix,
    y: sparse.csr_matrix,
    scored: Scored,
    time_share: float,
    n_threads: int | None,
    groups: npt.NDArray[np.int64] | None = None,
) -> IndexGain:
    """The gain on held-out rows; scored: their labels and scores by the whole model. The ranker must know all labels.

    groups: of each row; rows of one group count little more than one row. Memory grows with rows x 100, whatever the
    number of labels.
    """
    k = min(PLACES, y.shape[1])
    whole = TopK(*top_of(*scored, k))
    differences = _by_row(whole, y) - _by_row(ranker.best(rows, k, n_threads), y)
    margins = 1.96 * mean_error(differences, groups)
    return IndexGain(len(differences), _points(differences.mean(axis=0)), _points(margins), time_share)


def _by_row(top: TopK, y: sparse.csr_matrix) -> npt.NDArray[np.float64]:
    """METRICS of every row, (n, 3), in per cent."""
    hits = hit_matrix(top, y)
    true = np.maximum(1, hits.n_true)
    first = min(5, top.k)
    return 100.0 * np.stack([hits.upto(1), hits.upto(first) / first, hits.upto(top.k) / true], axis=1)


def _points(values: npt.NDArray[np.float64]) -> Points:
    p1, p5, r100 = values.tolist()
    return p1, p5, r100
