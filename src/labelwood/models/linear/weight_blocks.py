"""Compressed weights of linear classifiers, shared by one-vs-all and the label tree: training, storage, queries.

Inside, features are numbered by falling training frequency: the common ones then share cache lines. `feature_rank` maps
a column of x to that number, or to -1 if training never saw the column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import DataError, ModelFileError
from labelwood.labelspace.pifa import label_features
from labelwood.matrices import column_ids, row_pointers, unit_scales
from labelwood.progress import Progress
from labelwood.scratch import room
from labelwood.storage.schema import ArrayRule, Arrays, Schema, part

LOSSES = ("squared-hinge", "logistic")
WEIGHTS = ("half", "int8")
# The margin of a label without a single training row: below any trained one that matters, so it comes last.
UNTRAINED_MARGIN = -10.0
MAX_CHILDREN = 256  # classifiers in one block
GROUP = 16  # classifiers that are solved together
_PREFIX = "blocks."
# For every column of x its number in the blocks; -1: never seen in training.
FEATURE_RANK = ArrayRule("int32", ("n_features",), low=-1, below="n_features")
# The weights themselves are not looked at, so that a mapped file loads at once; a NaN there only sinks its label.
BLOCKS: Schema = {
    "child_start": ArrayRule("int64", ("n_blocks+1",)),
    "bias": ArrayRule("float32", ("n_children",), finite=True),
    "scale": ArrayRule("float32", ("n_children",), finite=True, optional=True),
    "top_bits": ArrayRule("uint64", ("n_top",)),
    "top_rank": ArrayRule("uint32", ("n_top",)),
    "payload_start": ArrayRule("int64", ("n_blocks+1",)),
    "payload": ArrayRule(("uint8", "uint16"), ("n_payload",)),
    "word_start": ArrayRule("int64", ("n_blocks+1",)),
    "words": ArrayRule(("uint32", "uint64"), ("n_words",)),
    # Folders of earlier versions have these too, words of uint64 and a payload of uint16.
    "row_start": ArrayRule("int64", ("n_blocks+1",), optional=True),
    "row_offset": ArrayRule("uint16", ("n_offsets",), optional=True),
}
# Of all values: the solver's sums and products then stay far from the end of float32.
_LARGEST_SQUARE = 1e30
_PIECE = 1 << 20  # entries that are counted at a time


@dataclass(frozen=True)
class SolverOptions:
    """How the classifiers are solved: loss, stopping rule, costs, pruning."""

    loss: str
    eps: float
    max_passes: int
    bias: float
    prune: float
    cost_positive: float
    cost_negative: float
    rare_power: float
    seed: int
    n_threads: int
    cluster_cost: float = 1.0
    weights: str = "half"


class LinearSettings(Protocol):
    """The settings that every linear model declares."""

    @property
    def loss(self) -> str:
        """What an error costs."""

    @property
    def eps(self) -> float:
        """When to stop."""

    @property
    def max_passes(self) -> int:
        """When to stop at the latest."""

    @property
    def bias(self) -> float:
        """The value of the constant feature."""

    @property
    def prune(self) -> float:
        """Weights smaller than this are dropped."""

    @property
    def rare_power(self) -> float:
        """How much more an error of a rare label costs."""

    @property
    def seed(self) -> int:
        """The order of the rows."""

    @property
    def n_threads(self) -> int | None:
        """The threads to use."""


def solver_options(
    settings: LinearSettings,
    cost: float,
    *,
    positive: float = 1.0,
    negative: float = 1.0,
    cluster: float = 1.0,
    weights: str = "half",
) -> SolverOptions:
    """The solver's options from the settings that every linear model declares, and the cost of an error.

    positive, negative: factors of the two costs; cluster: of both, for a child with several labels. weights:
    what the solved weights are stored as, one of WEIGHTS.
    """
    return SolverOptions(
        loss=settings.loss,
        eps=settings.eps,
        max_passes=settings.max_passes,
        bias=settings.bias,
        prune=settings.prune,
        cost_positive=cost * positive,
        cost_negative=cost * negative,
        rare_power=settings.rare_power,
        cluster_cost=cluster,
        seed=settings.seed,
        n_threads=settings.n_threads or 0,
        weights=weights,
    )


@dataclass(frozen=True)
class Rows:
    """Feature rows in the blocks' numbering, unknown features dropped.

    Where there are `numbers`, indices are columns instead, and their features are the numbers; where there is a
    `scale`, the values of each row are still to be multiplied by it. Training takes such rows, queries do not.
    """

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    data: npt.NDArray[np.float32]
    numbers: npt.NDArray[np.int32] | None = None
    scale: npt.NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.indptr) - 1


@dataclass(frozen=True)
class Nodes:
    """Tree nodes to train: node n has children over label places child_bound[child_start[n]] .. (m + 1 bounds each).

    extra_rows: negatives beside the rows with a label below the node; with extra_alone they are the only negatives.
    child_cost: beside child_bound, factors of the cost of each child's positive rows.
    """

    child_start: npt.NDArray[np.int64]
    child_bound: npt.NDArray[np.int64]
    extra_start: npt.NDArray[np.int64]
    extra_rows: npt.NDArray[np.int32]
    all_rows: bool = False
    extra_alone: bool = False
    child_cost: npt.NDArray[np.float32] | None = None

    def take(self, chosen: npt.NDArray[np.int64]) -> Nodes:
        """Some of the nodes, in the order given."""
        bounds = segments(self.child_start, chosen)
        extra = segments(self.extra_start, chosen)
        return Nodes(
            starts_of(np.diff(self.child_start)[chosen]),
            self.child_bound[bounds],
            starts_of(np.diff(self.extra_start)[chosen]),
            self.extra_rows[extra],
            self.all_rows,
            self.extra_alone,
            None if self.child_cost is None else self.child_cost[bounds],
        )


def starts_of(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Where segments of these lengths begin when they follow each other, then their sum."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def segments(starts: npt.NDArray[np.int64], chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The places of the chosen segments, one segment after the other."""
    lengths = np.diff(starts)[chosen]
    begins = np.repeat(starts[:-1][chosen] - (np.cumsum(lengths) - lengths), lengths)
    return (begins + np.arange(int(lengths.sum()))).astype(np.int64)


@dataclass(frozen=True)
class Earlier:
    """Weights to start from: first_block (-1: none) and n_children of every node in `blocks`.

    They are taken as the solution for the rows before first_new_row.
    """

    blocks: WeightBlocks
    first_block: npt.NDArray[np.int64]
    n_children: npt.NDArray[np.int64]
    first_new_row: int


def rank_features(x: sparse.csr_matrix) -> npt.NDArray[np.int32]:
    """For every column its place by falling frequency; -1 for columns without a value."""
    counts = np.zeros(x.shape[1], np.int64)
    for begin in range(0, x.nnz, _PIECE):  # bincount makes int64 of what it counts
        counts += np.bincount(x.indices[begin : begin + _PIECE], minlength=x.shape[1])
    order = np.argsort(-counts, kind="stable")
    rank = np.full(x.shape[1], -1, np.int32)
    used = order[counts[order] > 0]
    rank[used] = np.arange(len(used), dtype=np.int32)
    return rank


def ranked_rows(x: sparse.csr_matrix, feature_rank: npt.NDArray[np.int32], normalize: bool) -> Rows:
    """The rows of x (scaled to length 1 if asked) in the numbering of feature_rank."""
    # One place more than entries: the kernel writes an entry before it knows whether to keep it.
    starts = np.empty(x.shape[0] + 1, np.int64)
    features, scaled = room(x.nnz + 1, np.int32), room(x.nnz + 1, np.float32)
    data = np.ascontiguousarray(x.data, dtype=np.float32)
    kept = _native.ranked_rows(row_pointers(x), column_ids(x), data, feature_rank, normalize, starts, features, scaled)
    return Rows(starts, features[:kept], scaled[:kept])


def training_rows(x: sparse.csr_matrix, feature_rank: npt.NDArray[np.int32], normalize: bool) -> Rows:
    """The rows that ranked_rows gives, for training alone: the arrays of x itself where they will do, without a copy.

    feature_rank must know every column that x uses.
    """
    scale = unit_scales(x) if normalize else None
    if normalize and scale is None:
        return ranked_rows(x, feature_rank, normalize)
    return Rows(row_pointers(x), column_ids(x), x.data, feature_rank, scale)


def training_memory(
    x: sparse.csr_matrix, y: sparse.csr_matrix, n_threads: int | None, per_weight: int, copies: int = 2
) -> int:
    """The bytes of training linear classifiers at its peak, from above.

    So many copies of the rows and what else grows with them, each thread's weights and duals of 16 labels, and
    per_weight bytes for every feature that occurs in a label's rows, which is what the number of weights grows with.
    """
    threads = n_threads or _native.max_threads()
    scratch = threads * (72 * (x.shape[1] + 1) + 72 * x.shape[0])
    return int(32_000_000 + (8 * copies + 8) * x.nnz + scratch + per_weight * label_features(x, y, n_threads))


def spared_memory(x: sparse.csr_matrix, n_threads: int | None) -> int:
    """The bytes of training in slices with the rows in files, beside what grows with the labels; from above."""
    threads = n_threads or _native.max_threads()
    return int(64_000_000 + 24 * x.nnz + threads * (72 * (x.shape[1] + 1) + 72 * x.shape[0]))


def train_blocks(
    rows: Rows,
    n_features: int,
    y_by_place: sparse.csc_matrix,
    nodes: Nodes,
    options: SolverOptions,
    progress: Progress,
    what: str,
    earlier: Earlier | None = None,
    row_cost: npt.NDArray[np.float32] | None = None,
    groups_before: int = 0,
) -> WeightBlocks:
    """The weight blocks of the nodes' child classifiers; column p of y_by_place holds the rows of label place p.

    row_cost: factors of the cost of each row's errors (default: 1). A row of cost 2 counts as if it came twice, one of
    cost 0 as if it were not there. groups_before: groups of 16 children before these nodes, if they are a part of more.
    """
    with np.errstate(over="ignore"):
        square = 0.0 if rows.scale is not None else float(np.dot(rows.data, rows.data))
    if not square <= _LARGEST_SQUARE:
        raise DataError(
            f"the feature values are too large: the sum of their squares is {square:.3g}, allowed is "
            f"{_LARGEST_SQUARE:g}; scale them, or set normalize=True"
        )
    arrays, _, _ = _native.train_nodes(
        indptr=rows.indptr,
        indices=rows.indices,
        data=rows.data,
        n_features=n_features,
        label_start=row_pointers(y_by_place),
        label_rows=column_ids(y_by_place),
        row_cost=row_cost,
        child_start=nodes.child_start,
        child_bound=nodes.child_bound,
        extra_start=nodes.extra_start,
        extra_rows=nodes.extra_rows,
        all_rows=nodes.all_rows,
        extra_alone=nodes.extra_alone,
        child_cost=nodes.child_cost,
        loss=LOSSES.index(options.loss),
        eps=options.eps,
        max_passes=options.max_passes,
        bias=options.bias,
        prune=options.prune,
        untrained=UNTRAINED_MARGIN,
        cost_positive=options.cost_positive,
        cost_negative=options.cost_negative,
        rare_power=options.rare_power,
        cluster_cost=options.cluster_cost,
        seed=options.seed,
        n_threads=options.n_threads,
        bytes=options.weights == "int8",
        start_blocks=None if earlier is None else earlier.blocks.native,
        start_first_block=None if earlier is None else earlier.first_block,
        start_children=None if earlier is None else earlier.n_children,
        first_new_row=0 if earlier is None else earlier.first_new_row,
        groups_before=groups_before,
        numbers=rows.numbers,
        row_scale=rows.scale,
        progress=lambda done, total: progress.step(what, done, total),
    )
    return WeightBlocks(n_features, arrays)


class WeightBlocks:
    """Blocks of up to 256 sibling classifiers over arrays that may be memory-mapped."""

    def __init__(self, n_features: int, arrays: Mapping[str, Any]) -> None:
        self.n_features = n_features
        self.arrays: Arrays = dict(arrays)
        self.native = _native.WeightBlocks(n_features, **self.arrays)
        self.child_start = self.arrays["child_start"]

    def to_arrays(self, prefix: str = _PREFIX) -> Arrays:
        """The arrays under the names they are saved by."""
        return {prefix + name: array for name, array in self.arrays.items()}

    @classmethod
    def from_arrays(cls, n_features: int, arrays: Arrays, prefix: str = _PREFIX) -> WeightBlocks:
        """The blocks of a saved model; ModelFileError if the arrays do not fit together."""
        own = part(prefix, arrays)
        try:
            return cls(n_features, _native.converted_blocks(n_features, **own) if "row_offset" in own else own)
        except (TypeError, ValueError, KeyError) as error:
            raise ModelFileError(f"the weight blocks are damaged: {error}") from error

    def margins(
        self, block: int, features: npt.NDArray[np.int32], values: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.float32]:
        """The margins of one row under all classifiers of a block."""
        out = np.empty(int(self.child_start[block + 1] - self.child_start[block]), np.float32)
        self.native.block_margins(block, features, values, out)
        return out

    def weights_of(self, child: int, features: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.float32], float]:
        """The weights of one classifier for the given features, and its bias."""
        block = int(np.searchsorted(self.child_start, child, side="right")) - 1
        place = child - int(self.child_start[block])
        unit = np.ones(1, np.float32)
        bias = float(self.arrays["bias"][child])
        # One feature at a time through the prediction kernel: what is explained is what is predicted.
        margins = [self.margins(block, features[i : i + 1], unit)[place] for i in range(len(features))]
        return np.array(margins, np.float32) - np.float32(bias), bias
