"""KNN: the labels of the nearest training rows, by cosine over the columns they share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.data.groups import stretches
from labelwood.data.keyed_random import keyed_order
from labelwood.matrices import column_ids, normalized_rows, row_pointers
from labelwood.models.base import Model
from labelwood.models.ensemble.pairs import restored_matrix
from labelwood.models.explanation import Contribution, Explanation, NodeScore
from labelwood.models.fit_input import FitInput, TrainedOn
from labelwood.models.fitted import Fitted
from labelwood.models.neural.neighbor_votes import NEIGHBORS, VoteRule, best_labels, chosen_rule, vote_weights, voted
from labelwood.params import Params, param
from labelwood.storage.schema import ArrayRule, Arrays, Schema, number, whole_number
from labelwood.topk import TopK

_PRODUCTS_AT_ONCE = 1 << 22  # cosines of a block of rows with all training rows
_MOST_HELD = 1_000  # rows that choose how neighbours vote
_FEWEST_HELD = 30
_FALLBACK = VoteRule(10, 0.1, 0.0)
_NO_VECTORS = np.zeros((0, 1), np.float32)  # votes alone: no label has a vector


@dataclass(frozen=True)
class KNNParams(Params):
    """Parameters of knn."""

    n_neighbors: int | None = param(
        None, "training rows that vote; None: chosen on held-out rows", low=1, high=100_000, kind=int
    )
    temperature: float | None = param(
        None,
        "a neighbour votes with exp(cosine / temperature), inf: all alike; None: chosen",
        low=0,
        low_open=True,
        kind=float,
    )


@dataclass(frozen=True, eq=False)
class FittedKNN(Fitted[KNNParams]):
    """The training rows at length 1, their labels, and how neighbours vote."""

    name = "knn"
    rows: sparse.csr_matrix
    y: sparse.csr_matrix
    rule: VoteRule
    _columns: sparse.csr_matrix = field(init=False, repr=False)  # (n_features, n_rows)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "_columns", self.rows.T.tocsr())

    def predict(self, x: sparse.csr_matrix, k: int, n_threads: int | None = None) -> TopK:
        """The k labels with the most votes; labels without a vote are no answers."""
        near = nearest_rows(normalized_rows(x), self._columns, self.rule.k)
        return best_labels(voted(near.labels, near.scores, self.y, self.rule, _NO_VECTORS, _NO_VECTORS), k)

    def explain(self, row: sparse.csr_matrix, label: int, n_threads: int | None = None) -> Explanation:
        """The neighbours that vote for the label, each with the weight of its vote."""
        near = nearest_rows(normalized_rows(row), self._columns, self.rule.k)
        weights = vote_weights(near.scores, self.rule.temperature)[0]
        parts = [
            Contribution(0, -1, weight, 1.0, weight, row=place)
            for place, weight in zip(near.labels[0].tolist(), weights.tolist(), strict=True)
            if place >= 0 and label in self.y.indices[self.y.indptr[place] : self.y.indptr[place + 1]]
        ]
        score = math.fsum(part.contribution for part in parts)
        log_score = math.log(score) if score > 0 else -math.inf
        return Explanation(label, score, (NodeScore(0, score, log_score),), tuple(parts))

    def structure(self) -> dict[str, float]:
        """How many rows there are and how many vote."""
        return {"rows": float(self.rows.shape[0]), "neighbours that vote": float(self.rule.k)}

    @classmethod
    def schema(cls, settings: KNNParams, facts: Mapping[str, Any]) -> Schema:
        """The rows and their labels as CSR."""
        return {
            "row_starts": ArrayRule("int64", ("n_rows+1",), low=0),
            "columns": ArrayRule("int32", ("n_values",), low=0, below="n_features"),
            "values": ArrayRule("float32", ("n_values",), finite=True),
            "label_starts": ArrayRule("int64", ("n_rows+1",), low=0),
            "labels": ArrayRule("int32", ("n_given",), low=0, below="n_labels"),
        }

    def arrays(self) -> Arrays:
        """The rows and their labels."""
        return {
            "row_starts": row_pointers(self.rows), "columns": column_ids(self.rows), "values": self.rows.data,
            "label_starts": row_pointers(self.y), "labels": column_ids(self.y),
        }  # fmt: skip

    def facts(self) -> dict[str, Any]:
        """How neighbours vote."""
        temperature = self.rule.temperature
        return {"n_neighbors": self.rule.k, "temperature": None if math.isinf(temperature) else temperature}

    @classmethod
    def restore(cls, settings: KNNParams, trained_on: TrainedOn, arrays: Arrays, facts: Mapping[str, Any]) -> FittedKNN:
        """The state of saved rows; ModelFileError if they do not fit together."""
        starts, columns, values = arrays["row_starts"], arrays["columns"], arrays["values"]
        rows = restored_matrix(starts, columns, values, trained_on.n_features, "knn: rows")
        y = restored_matrix(arrays["label_starts"], arrays["labels"], None, trained_on.n_labels, "knn: labels of rows")
        temperature = facts["temperature"]
        rule = VoteRule(
            whole_number(facts, "n_neighbors", 1, 1 << 30, cls.name),
            math.inf if temperature is None else number(facts, "temperature", 0, cls.name, low_open=True),
            0.0,
        )
        return cls(settings, trained_on, rows, y, rule)


class KNN(Model[KNNParams, FittedKNN]):
    """Gives a row the labels of its nearest training rows by cosine; a score is the share of votes.

    Exact: every row that shares a column is compared. Nothing is trained but how many neighbours vote and how much
    nearer ones count, on held-out rows. The KNN of DXML's tables 2 and 4 has all neighbours alike: temperature=inf.
    """

    name = "knn"
    Parameters = KNNParams
    FittedState = FittedKNN
    explains_by_rows = True

    @staticmethod
    def _train(settings: KNNParams, data: FitInput) -> FittedKNN:
        rows = normalized_rows(data.x)
        return FittedKNN(
            settings, data.trained_on(), rows, data.y.copy(), _vote_rule(settings, rows, data.y, data.groups)
        )

    @staticmethod
    def _training_memory(settings: KNNParams, data: FitInput) -> int:
        return int(40 * data.x.nnz + 16 * data.y.nnz + 24 * _PRODUCTS_AT_ONCE)


def nearest_rows(queries: sparse.csr_matrix, columns: sparse.csr_matrix, k: int) -> TopK:
    """The k training rows with the largest cosines for each query, as a TopK over rows; equal ones to the smaller.

    queries: unit rows. columns (n_features, n_rows): the training rows, transposed.
    """
    n_rows = columns.shape[1]
    at_once = max(1, _PRODUCTS_AT_ONCE // max(1, n_rows))
    parts = [
        best_labels(sparse.csr_matrix(queries[begin : begin + at_once] @ columns), k)
        for begin in range(0, queries.shape[0], at_once)
    ]
    scores = np.vstack([part.scores for part in parts])
    labels = np.vstack([part.labels for part in parts])
    return TopK(labels, np.where(labels < 0, -np.inf, scores).astype(np.float32))


def _vote_rule(
    settings: KNNParams, rows: sparse.csr_matrix, y: sparse.csr_matrix, groups: npt.NDArray[np.int64] | None
) -> VoteRule:
    """How neighbours vote: as set, else as held-out rows like it best."""
    k, temperature = settings.n_neighbors, settings.temperature
    if k is not None and temperature is not None:
        return VoteRule(k, temperature, 0.0)
    labelled = np.flatnonzero(np.diff(y.indptr))
    order = labelled[keyed_order(len(labelled), settings.seed, 0x6B6E6E)]
    held, seen = _split(order, groups)
    if len(held) < _FEWEST_HELD:
        return VoteRule(
            _FALLBACK.k if k is None else k, _FALLBACK.temperature if temperature is None else temperature, 0.0
        )
    near = nearest_rows(rows[held], rows[seen].T.tocsr(), k or min(max(NEIGHBORS), len(seen)))
    fixed = (k, temperature, 0.0)
    return chosen_rule(near.labels, near.scores, y[seen], _NO_VECTORS, _NO_VECTORS, y[held], fixed)[0]


def _split(
    order: npt.NDArray[np.int64], groups: npt.NDArray[np.int64] | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(held, seen): a tenth of the rows, 1,000 at most, and the others."""
    n_held = min(_MOST_HELD, len(order) // 10)
    (held,) = stretches(order, n_held, 1, groups)
    return np.sort(held[:_MOST_HELD]), np.setdiff1d(order, held)
