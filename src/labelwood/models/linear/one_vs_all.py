"""One-vs-all: an independent linear classifier for every label; exact, and the yardstick for every faster model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import ModelFileError
from labelwood.models.base import WeighedModel
from labelwood.models.explanation import Explanation, NodeScore
from labelwood.models.fit_input import FitInput, TrainedOn
from labelwood.models.fitted import Fitted
from labelwood.models.linear.linear_reasons import classifier_reasons, columns_of_ranks
from labelwood.models.linear.part_training import train_in_parts
from labelwood.models.linear.weight_blocks import (
    BLOCKS,
    FEATURE_RANK,
    LOSSES,
    Nodes,
    WeightBlocks,
    rank_features,
    ranked_rows,
    solver_options,
    training_memory,
)
from labelwood.params import Params, param
from labelwood.storage.schema import Arrays, Schema, under
from labelwood.topk import TopK, empty


@dataclass(frozen=True)
class OneVsAllParams(Params):
    """Parameters of one-vs-all."""

    C: float = param(1.0, "cost of an error: larger fits the training rows closer", low=0, low_open=True)
    rare_power: float = param(
        0.25, "a label with n rows gets the cost C (20 / n)^rare_power; 0: all labels the same", low=0, high=2
    )
    loss: str = param("squared-hinge", "what an error costs", choices=LOSSES)
    eps: float = param(0.1, "stop when no dual gradient is larger", low=0, low_open=True)
    max_passes: int = param(100, "stop after this many passes over the rows", low=1)
    bias: float = param(1.0, "value of the constant feature; 0: no bias", low=0)
    prune: float = param(0.01, "weights smaller than this are dropped", low=0)
    normalize: bool = param(True, "scale rows to length 1 first")


@dataclass(frozen=True, eq=False)
class FittedOneVsAll(Fitted[OneVsAllParams]):
    """The weights of all classifiers, as blocks over features in the order of feature_rank."""

    name = "one-vs-all"
    feature_rank: npt.NDArray[np.int32]
    blocks: WeightBlocks

    # answering

    def predict(self, x: sparse.csr_matrix, k: int, n_threads: int | None = None) -> TopK:
        """The k labels with the largest margins of every row."""
        rows = ranked_rows(x, self.feature_rank, self.settings.normalize)
        top = empty(x.shape[0], k)
        self.blocks.native.top_k(rows.indptr, rows.indices, rows.data, top.labels, top.scores, n_threads or 0)
        self._to_scores(top.scores)
        return top

    def explain(self, row: sparse.csr_matrix, label: int, n_threads: int | None = None) -> Explanation:
        """The label's classifier: bias and features add up to its margin, the link makes that the score."""
        rows = ranked_rows(row, self.feature_rank, self.settings.normalize)
        columns = columns_of_ranks(self.feature_rank, self.blocks.n_features)
        parts = classifier_reasons(self.blocks, label, 0, rows, columns)
        margin = sum(part.contribution for part in parts)
        log_score = -float(np.logaddexp(0.0, -self._slope() * margin))  # finite even where the score is 0
        return Explanation(label, math.exp(log_score), (NodeScore(0, margin, log_score),), tuple(parts))

    def _slope(self) -> float:
        return 2.0 if self.settings.loss == "squared-hinge" else 1.0

    def _to_scores(self, margins: npt.NDArray[np.float32]) -> None:
        """Turn margins into scores in (0, 1), in place and keeping their order."""
        np.multiply(margins, -self._slope(), out=margins)
        with np.errstate(over="ignore"):  # margins below -44: exp is inf and the score 0, as it should be
            np.exp(margins, out=margins)
        np.add(margins, 1, out=margins)
        np.reciprocal(margins, out=margins)

    # storage

    @classmethod
    def schema(cls, settings: OneVsAllParams, facts: Mapping[str, Any]) -> Schema:
        """The place of every feature, and the weight blocks."""
        return {"feature_rank": FEATURE_RANK, **under("blocks.", BLOCKS)}

    def arrays(self) -> Arrays:
        """The places of the features and the weights."""
        return {"feature_rank": self.feature_rank, **self.blocks.to_arrays()}

    @classmethod
    def restore(
        cls, settings: OneVsAllParams, trained_on: TrainedOn, arrays: Arrays, facts: Mapping[str, Any]
    ) -> FittedOneVsAll:
        """The state of saved weights; ModelFileError if they are not one classifier a label."""
        rank = arrays["feature_rank"]
        blocks = WeightBlocks.from_arrays(int(rank.max(initial=-1)) + 1, arrays)
        if blocks.child_start[-1] != trained_on.n_labels:
            raise ModelFileError(f"one-vs-all: {blocks.child_start[-1]} classifiers for {trained_on.n_labels} labels")
        return cls(settings, trained_on, rank, blocks)


class OneVsAll(WeighedModel[OneVsAllParams, FittedOneVsAll]):
    """A linear classifier for every label, solved 16 at a time by dual coordinate descent (Hsieh et al., ICML 2008).

    Scores lie in (0, 1): sigmoid(2 margin) for the squared hinge, the estimated probability sigmoid(margin) for the
    logistic loss. A label without a training row always comes last.
    """

    name = "one-vs-all"
    Parameters = OneVsAllParams
    FittedState = FittedOneVsAll

    @staticmethod
    def _train(settings: OneVsAllParams, data: FitInput) -> FittedOneVsAll:
        rank = rank_features(data.x)
        rows = ranked_rows(data.x, rank, settings.normalize)
        bounds = np.arange(data.n_labels + 1, dtype=np.int64)
        nodes = Nodes(
            np.array([0, data.n_labels + 1]), bounds, np.zeros(2, np.int64), np.zeros(0, np.int32), all_rows=True
        )
        blocks = train_in_parts(
            rows=rows,
            n_features=int(rank.max(initial=-1)) + 1,
            y_by_place=data.y.tocsc(),
            nodes=nodes,
            options=solver_options(settings, settings.C),
            progress=data.progress,
            what="groups of labels",
            row_cost=data.row_weights,
        )
        return FittedOneVsAll(settings, data.trained_on(), rank, blocks)

    @staticmethod
    def _training_memory(settings: OneVsAllParams, data: FitInput) -> int:
        return training_memory(data.x, data.y, settings.n_threads, per_weight=60)
