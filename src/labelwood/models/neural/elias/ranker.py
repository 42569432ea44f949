"""The sparse ranker of ELIAS++: a linear classifier for every label that judges what the index puts on the shortlist.

Labels are solved 16 at a time, in blocks of neighbouring labels of the partition. While that is affordable every row
is a negative for every label it lacks; beyond that, a block learns from the rows of its labels and from the rows that
have one of them on their shortlist, which are the mistakes it will be asked about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import ModelFileError
from labelwood.models.linear.cost_choice import DEFAULT_COST, RowNumbers, chosen_cost, is_worth_choosing
from labelwood.models.linear.part_training import train_in_parts
from labelwood.models.linear.weight_blocks import (
    BLOCKS,
    MAX_CHILDREN,
    Earlier,
    Nodes,
    SolverOptions,
    WeightBlocks,
    rank_features,
    ranked_rows,
)
from labelwood.models.neural.elias.index import Floats, Int32
from labelwood.models.neural.elias.search import LearnedIndex, UnitRows, top_of
from labelwood.models.neural.elias.settings import LOGISTIC, SHORTLIST, SQUARED_HINGE, ELIASParams
from labelwood.progress import SILENT, Progress
from labelwood.storage.schema import ArrayRule, Arrays, Schema
from labelwood.topk import TopK

# Labels times non-zeros up to which every row is a negative of every label: some four minutes on two cores.
ALL_NEGATIVES_WORK = 1.5e11
UNKNOWN_LOG_P = -20.0  # of a label that joins an empty shortlist
RANKER_SHORTLIST = 100  # labels of a training row that become negatives
# Numbers of x times labels up to which costs are tried: a minute or two.
CHEAP_WORK = 1e10
LARGE_BLOCKS = 16_000_000  # bytes of weights, above which a row alone reads a copy in the order of the features
COST_FACTORS = (1.0, 0.5, 2.0, 0.25)  # of equally good ones the first


def told_margins(margins: Floats, loss: str) -> Floats:
    """The margins on the scale of q = exp(-max(0, 1 - margin)^3), by which every margin is read.

    Those of a logistic loss, whose q is the sigmoid, are replaced by the margins with the same q.
    """
    if loss != LOGISTIC:
        return margins
    return np.asarray(1 - np.cbrt(np.logaddexp(0.0, -margins.astype(np.float64))), np.float32)


class Ranker:
    """One linear classifier per label; `order` holds the label of every classifier, loss what they were trained by.

    Margins are given on one scale (`told_margins`).
    """

    def __init__(self, feature_rank: Int32, order: Int32, blocks: WeightBlocks, loss: str = SQUARED_HINGE) -> None:
        self.feature_rank, self.order, self.blocks, self.loss = feature_rank, order, blocks, loss
        self.place = np.empty(len(order) + 1, np.int32)
        self.place[order] = np.arange(len(order), dtype=np.int32)
        self.place[-1] = -1  # of padding, label -1

    def margins(self, x: sparse.csr_matrix | UnitRows, labels: Int32, n_threads: int | None = None) -> Floats:
        """The margins (n, room) of the labels (n, room) of every row; 0 where a label is -1."""
        rows = ranked_rows(x, self.feature_rank, True)
        margins = np.empty(labels.shape, np.float32)
        places = self.place[labels]
        by_feature = self._by_feature if len(labels) == 1 and self._is_large else None
        self.blocks.native.margins_of(rows.indptr, rows.indices, rows.data, places, margins, n_threads or 0, by_feature)
        return told_margins(margins, self.loss)

    @cached_property
    def _is_large(self) -> bool:
        """True if the blocks do not fit into the caches: a shortlist touches a third of them, each in many places.

        Blocks that differ in size, as no training makes them, have no such copy.
        """
        sizes = np.diff(self.blocks.child_start)
        return bool(self.blocks.arrays["payload"].nbytes > LARGE_BLOCKS and np.all(sizes[:-1] == sizes[0]))

    @cached_property
    def _by_feature(self) -> Any:
        """A copy of the blocks in the order of the features, made for the first row that comes alone."""
        return _native.BlocksByFeature(self.blocks.native)

    def best(self, x: sparse.csr_matrix | UnitRows, k: int, n_threads: int | None = None) -> TopK:
        """The k labels with the largest margins of every row."""
        rows = ranked_rows(x, self.feature_rank, True)
        places, margins = np.empty((x.shape[0], k), np.int32), np.empty((x.shape[0], k), np.float32)
        self.blocks.native.top_k(rows.indptr, rows.indices, rows.data, places, margins, n_threads or 0)
        return TopK(self.order[places], told_margins(margins, self.loss))

    def judged(
        self,
        x: sparse.csr_matrix | UnitRows,
        labels: Int32,
        log_p: Floats,
        n_candidates: int,
        n_threads: int | None = None,
    ) -> tuple[Int32, Floats, Floats]:
        """(labels, log p, margins) of shortlists (n, room), with the n_candidates best labels of the ranker added.

        A label that joins is as likely, to the index, as the least likely one on the row's shortlist.
        """
        if not n_candidates:
            return labels, log_p, self.margins(x, labels, n_threads)
        rows = ranked_rows(x, self.feature_rank, True)
        shape = (labels.shape[0], labels.shape[1] + n_candidates)
        united, likely, margins = np.empty(shape, np.int32), np.empty(shape, np.float32), np.empty(shape, np.float32)
        self.blocks.native.judge(
            self.order, self.place, rows.indptr, rows.indices, rows.data, labels, log_p, UNKNOWN_LOG_P, united, likely,
            margins, n_threads or 0,
        )  # fmt: skip
        return united, likely, told_margins(margins, self.loss)

    def to_arrays(self) -> Arrays:
        """The arrays, as `ranker_schema` tells them."""
        return {"feature_rank": self.feature_rank, "order": self.order, **self.blocks.to_arrays("")}

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_labels: int, loss: str = SQUARED_HINGE) -> Ranker:
        """The ranker of saved arrays, which keep their schema; ModelFileError if they do not fit together."""
        weights = dict(arrays)
        rank, order = weights.pop("feature_rank"), weights.pop("order")
        if not np.array_equal(np.sort(order), np.arange(n_labels)):
            raise ModelFileError(f"elias: the ranker's order does not hold each of {n_labels} labels once")
        blocks = WeightBlocks.from_arrays(int(rank.max(initial=-1)) + 1, weights, "")
        if blocks.child_start[-1] != n_labels:
            raise ModelFileError(f"elias: {blocks.child_start[-1]} rankers for {n_labels} labels")
        return cls(rank, order, blocks, loss)


def ranker_schema(inputs: str | int) -> Schema:
    """The arrays of a ranker that sees so many columns (a size)."""
    return {
        "feature_rank": ArrayRule("int32", (inputs,), low=-1, below=inputs),
        "order": ArrayRule("int32", ("n_labels",), low=0, below="n_labels"),
        **BLOCKS,
    }


def judged_rows(
    index: LearnedIndex,
    ranker: Ranker | None,
    rows: sparse.csr_matrix | UnitRows,
    n_candidates: int,
    n_threads: int | None,
    most: int | None = None,
    named: Int32 | None = None,
    seen: sparse.csr_matrix | UnitRows | None = None,
) -> tuple[Int32, Floats, Floats | None]:
    """(labels, log p, margins of the ranker if there is one) of the rows' shortlists.

    most: with a ranker, so many labels of a shortlist, the most likely ones; None: all. named (n, m): labels that join.
    seen: the rows as the index sees them, if it has a text encoder of its own.
    """
    short = index.shortlist(rows if seen is None else seen, n_threads=n_threads)
    if ranker is None:
        return short.labels, short.log_p, None
    return ranker.judged(rows, *narrowed(short.labels, short.log_p, most, named), n_candidates, n_threads)


def narrowed(labels: Int32, log_p: Floats, most: int | None, named: Int32 | None = None) -> tuple[Int32, Floats]:
    """(labels rising, -1 last; log p): the most likely of shortlists (n, room), and the labels (n, m) named by others.

    most None: all. A named label that is not on the row's shortlist is as likely, to the index, as the least likely one
    there.
    """
    n_rows, room = labels.shape
    if named is None:
        if most is None or most >= room:
            return labels, log_p
        named = np.empty((n_rows, 0), np.int32)
    shape = (n_rows, (room if most is None else min(most, room)) + named.shape[1])
    kept, likely = np.empty(shape, np.int32), np.empty(shape, np.float32)
    _native.narrow_shortlists(labels, log_p, named, UNKNOWN_LOG_P, kept, likely)
    return kept, likely


@dataclass(frozen=True)
class RankerPlan:
    """What the ranker learns from: the number of every column (-1: unused), negatives, and the cost of an error."""

    feature_rank: Int32
    all_negatives: bool
    cost: float


def ranker_plan(
    x: sparse.csr_matrix,
    y: sparse.csr_matrix,
    n_features: int,
    settings: ELIASParams,
    progress: Progress,
    groups: RowNumbers | None = None,
) -> RankerPlan:
    """The plan for rows x, whose columns from n_features on are text vectors; groups: of each row.

    All columns and all rows as negatives if that is affordable; else the features alone, if that is; else all columns
    and the rows that the indexes confuse.
    """
    rank, n_labels = rank_features(x), y.shape[1]
    if settings.negatives == SHORTLIST:
        return RankerPlan(rank, False, DEFAULT_COST if settings.C is None else settings.C)
    affordable = n_labels * float(x.nnz) <= ALL_NEGATIVES_WORK
    if not affordable and 0 < n_features < x.shape[1]:
        features = sparse.csr_matrix(x[:, :n_features])
        if n_labels * float(features.nnz) <= ALL_NEGATIVES_WORK:
            unused = np.full(x.shape[1] - n_features, -1, np.int32)
            rank, affordable = np.concatenate([rank_features(features), unused]), True
    # Features and text vector have length 1 each, but the row is scaled to length 1: that halves the squared length of
    # its features, which a cost belongs to.
    scale = 2.0 if 0 < n_features < x.shape[1] else 1.0
    plan = RankerPlan(rank, affordable, scale * DEFAULT_COST if settings.C is None else settings.C)
    if settings.C is not None or not affordable or not is_worth_choosing(x, y, CHEAP_WORK):
        return plan

    def answers(cost: float, kept: RowNumbers, held: RowNumbers) -> TopK:
        partition = np.arange(n_labels, dtype=np.int32)
        trial = train_ranker(
            x[kept], y[kept], partition, None, ranker_options(settings, cost), SILENT, feature_rank=rank
        )
        return trial.best(x[held], min(5, n_labels), settings.n_threads)

    costs = [scale * factor for factor in COST_FACTORS]
    return replace(plan, cost=chosen_cost(y, answers, settings.seed, progress, costs, groups))


def train_ranker(
    x: sparse.csr_matrix,
    y: sparse.csr_matrix,
    partition: Int32,
    shortlists: Sequence[Int32] | None,
    options: SolverOptions,
    progress: Progress,
    *,
    feature_rank: Int32 | None = None,
    earlier: Ranker | None = None,
    n_earlier: int = 0,
) -> Ranker:
    """The ranker of rows x with labels y; shortlists: label arrays (n_rows, m), or None: all rows are negatives.

    earlier: a ranker of the first n_earlier rows, of the same partition and feature_rank; training starts from it.
    """
    order = np.argsort(partition, kind="stable").astype(np.int32)
    rank = rank_features(x) if feature_rank is None else feature_rank
    rows = ranked_rows(x, rank, True)
    in_order = y.tocsc()[:, order]
    nodes = ranker_nodes(order, y.shape[0], shortlists)
    start = None
    if earlier is not None:
        sizes = np.diff(nodes.child_start) - 1
        first = np.concatenate([[0], np.cumsum(-(-sizes // MAX_CHILDREN))[:-1]]).astype(np.int64)
        start = Earlier(earlier.blocks, first, sizes, n_earlier)
    blocks = train_in_parts(rows, int(rank.max(initial=-1)) + 1, in_order, nodes, options, progress, "ranker", start)
    return Ranker(rank, order, blocks, options.loss)


def ranker_of(
    rows: sparse.csr_matrix,
    y: sparse.csr_matrix,
    partition: Int32,
    indexes: Sequence[tuple[LearnedIndex, sparse.csr_matrix]],
    plan: RankerPlan,
    settings: ELIASParams,
    progress: Progress,
    earlier: Ranker | None = None,
    n_earlier: int = 0,
) -> Ranker:
    """The ranker of the rows by the plan; where not all rows are negatives, those that the indexes shortlist are.

    indexes: with the rows as each of them sees them.
    earlier: the ranker of the first n_earlier rows, which all-negatives training then starts from.
    """
    options, rank = ranker_options(settings, plan.cost), plan.feature_rank
    if plan.all_negatives:
        return train_ranker(
            rows, y, partition, None, options, progress, feature_rank=rank, earlier=earlier, n_earlier=n_earlier
        )
    shortlists = []
    for index, seen in indexes:
        parts = [
            top_of(short.labels, short.log_p, RANKER_SHORTLIST)[0]
            for _, short in index.shortlists(seen, settings.n_threads)
        ]
        shortlists.append(np.concatenate(parts))
    return train_ranker(rows, y, partition, shortlists, options, progress, feature_rank=rank)


def ranker_nodes(order: Int32, n_rows: int, shortlists: Sequence[Int32] | None) -> Nodes:
    """All labels as one node; with shortlists 256 a node, with the rows that have one of them on a shortlist as extra.

    Blocks of 256 labels are right for queries too: a shortlist touches half of the blocks of 32, but one row then took
    twice the time on EURLEX57K, which is spent on finding features in blocks.
    """
    n_labels = len(order)
    size = n_labels if shortlists is None else MAX_CHILDREN
    firsts = np.arange(0, n_labels, size)
    sizes = np.minimum(size, n_labels - firsts)
    starts = np.concatenate([[0], np.cumsum(sizes + 1)])
    bounds = np.concatenate([np.arange(a, a + n + 1) for a, n in zip(firsts, sizes, strict=True)]).astype(np.int64)
    if shortlists is None:
        return Nodes(starts, bounds, np.zeros(len(firsts) + 1, np.int64), np.zeros(0, np.int32), all_rows=True)
    block = np.empty(n_labels, np.int64)
    block[order] = np.arange(n_labels) // size
    pairs = [np.unique(_block_rows(labels, block, n_rows)) for labels in shortlists]
    keys = np.unique(np.concatenate(pairs))
    extra = np.concatenate([[0], np.cumsum(np.bincount(keys // n_rows, minlength=len(firsts)))]).astype(np.int64)
    return Nodes(starts, bounds, extra, (keys % n_rows).astype(np.int32))


def _block_rows(labels: Int32, block: npt.NDArray[np.int64], n_rows: int) -> npt.NDArray[np.int64]:
    row, place = np.nonzero(labels >= 0)
    keys: npt.NDArray[np.int64] = block[labels[row, place]] * n_rows + row
    return keys


def ranker_options(settings: ELIASParams, cost: float) -> SolverOptions:
    """How the ranker is solved: the settings of one-vs-all."""
    return SolverOptions(
        loss=settings.ranker_loss,
        eps=0.1,
        max_passes=100,
        bias=1.0,
        prune=settings.prune,
        cost_positive=cost,
        cost_negative=cost,
        rare_power=settings.rare_power,
        seed=settings.seed,
        n_threads=settings.n_threads or 0,
    )
