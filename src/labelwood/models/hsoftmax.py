"""HSoftmax: fastText's model on any label tree: mean vectors of the features, logistic decisions down the tree."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.data.keyed_random import keyed_order
from labelwood.errors import DataError, ModelFileError, ParamError
from labelwood.labelindex.build import build_tree
from labelwood.labelindex.codes import CODES, LabelCodes, label_codes
from labelwood.labelindex.interpolated import ROUNDINGS
from labelwood.labelindex.tree import LabelTree
from labelwood.labelspace.frequencies import cover_frequencies, label_frequencies
from labelwood.labelspace.pifa import label_vectors
from labelwood.matrices import column_ids, normalized_rows, row_pointers
from labelwood.models.base import Model
from labelwood.models.explanation import Contribution, Explanation, NodeScore
from labelwood.models.fit_input import FitInput, TrainedOn, checked_input
from labelwood.models.fitted import Fitted
from labelwood.models.linear.linear_reasons import columns_of_ranks
from labelwood.models.linear.weight_blocks import FEATURE_RANK, Rows, ranked_rows
from labelwood.models.vector_storage import STORAGES, StoredVectors, vector_rules
from labelwood.params import Params, param
from labelwood.progress import SILENT, Progress
from labelwood.storage.schema import Arrays, Schema
from labelwood.topk import TopK, empty

BY_NUMBER, BY_CHANCE = "number", "chance"
TIES = (BY_NUMBER, BY_CHANCE)
TREES = ("huffman", "interpolated", "balanced", "fano", "random")
LOSSES = ("plt", "hs")
WEIGHTINGS = ("values", "equal")
LANES = 16  # the native code works on 16 floats at once
LOWEST_SCORE = 1e-37  # the native search lets no product along a path fall below


@dataclass(frozen=True)
class HSoftmaxParams(Params):
    """Parameters of hsoftmax."""

    tree: str = param("interpolated", "the label tree, if fit is not given one", choices=TREES)
    balance_ratio: float = param(
        1.0, "interpolated tree: 0 balanced, 1 weighted by frequency, large: Fano's code", low=0
    )
    cover: str = param(
        "marginal", "which of its labels a row counts for, where frequency rules", choices=("marginal", "greedy")
    )
    ties: str = param(
        BY_NUMBER, "Huffman's tree: labels of equal frequency come by number, or by chance as in fastText", choices=TIES
    )
    smoothing: float = param(0.1, "interpolated tree, gamma: what every label weighs besides its frequency", low=0)
    rounding: str = param(
        "nearest", "where the one label goes that a split would cut: to its nearer side, or left", choices=ROUNDINGS
    )
    round_each: bool = param(True, "that label is placed in every iteration of a split; False: after the last")
    loss: str = param("plt", "plt: all labels of a row; hs: one drawn at every visit, as fastText", choices=LOSSES)
    dim: int = param(128, "length of the vectors", low=1, high=4096)
    epochs: int = param(25, "visits of every row", low=1, high=100_000)
    rate: float = param(0.2, "learning rate of the first step; falls to 0 in a straight line", low=0, low_open=True)
    start: float = param(
        1.0,
        "the features' vectors start uniform in +-start / sqrt(dim); fastText's is 1 / sqrt(dim)",
        low=0,
        low_open=True,
    )
    shuffle: bool = param(True, "rows come in another order every time; False: as they are given, as in fastText")
    min_count: int = param(1, "features in fewer training rows are left out", low=1)
    weighting: str = param(
        "values", "what a feature counts in the mean: its value, or all the same", choices=WEIGHTINGS
    )
    storage: str = param("half", "how the vectors are kept: 4, 2 or 1 byte a number", choices=STORAGES)


PRESETS: Mapping[str, Mapping[str, Any]] = {
    # fastText's supervised defaults (its args.cc) with the loss hs: Huffman's tree, vectors start in +-1 / dim,
    # rows in the order of the file; labels of equal frequency lie in the tree as an unstable sort leaves them.
    "fasttext": {
        "tree": "huffman",
        "ties": BY_CHANCE,
        "loss": "hs",
        "dim": 100,
        "epochs": 5,
        "rate": 0.1,
        "start": 100**-0.5,
        "shuffle": False,
        "min_count": 1,
        "weighting": "values",
        "storage": "float",
    },
    # Baharav et al., CIKM 2021, sections 5.4.2 and 5.4.3; balance_ratio (lambda') is varied there, 0 is its start.
    "paper": {
        "tree": "interpolated",
        "balance_ratio": 0.0,
        "cover": "marginal",
        "smoothing": 0.1,
        "round_each": True,
        "loss": "hs",
        "dim": 128,
        "epochs": 200,
        "rate": 0.5,
        "start": 128**-0.5,
        "shuffle": False,
        "min_count": 2,
        "weighting": "values",
        "storage": "float",
    },
}


@dataclass(frozen=True, eq=False)
class FittedHSoftmax(Fitted[HSoftmaxParams]):
    """Vectors of the features (the last one is the constant's), and those of the decisions at the tree's places.

    feature_rank: the vector of every column of x, -1 for columns that are left out.
    """

    name = "hsoftmax"
    feature_rank: npt.NDArray[np.int32]
    codes: LabelCodes
    vectors: StoredVectors
    decisions: StoredVectors
    _search: _native.HierarchicalSoftmax = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        codes, vectors, decisions = self.codes, self.vectors, self.decisions
        search = _native.HierarchicalSoftmax(
            codes.child, codes.place_of_label, codes.place_of_inner,
            vectors.data, vectors.scale, decisions.data, decisions.scale, self.settings.loss == "plt",
        )  # fmt: skip
        object.__setattr__(self, "_search", search)

    # answering

    def predict(self, x: sparse.csr_matrix, k: int, n_threads: int | None = None) -> TopK:
        """The k most probable labels of every row."""
        return self._answers(x, k, n_threads)[0]

    def _answers(self, x: sparse.csr_matrix, k: int, n_threads: int | None) -> tuple[TopK, npt.NDArray[np.int32]]:
        """(answers, nodes looked at for each row)."""
        rows, bias = self.mean_rows(x)
        top = empty(x.shape[0], k)
        n_visited = np.zeros(x.shape[0], np.int32)
        self._search.top_k(
            rows.indptr, rows.indices, rows.data, bias, top.labels, top.scores, n_visited, n_threads or 0
        )
        return top, n_visited

    def mean_rows(self, x: sparse.csr_matrix) -> tuple[Rows, npt.NDArray[np.float32]]:
        """(rows, bias): what each feature, and the constant, counts in the mean of its row."""
        ranked = ranked_rows(without_zeros(x), self.feature_rank, normalize=False)
        return mean_weights(ranked, self.settings.weighting)

    def search_figures(self, x: sparse.csr_matrix, k: int, n_threads: int | None = None) -> dict[str, float]:
        """What k answers cost, mean per row: depth of the deepest ("depth@k") and tree nodes looked at ("nodes@k")."""
        top, n_visited = self._answers(x, k, n_threads)
        depths = self.codes.depths()[top.labels].max(axis=1)
        return {f"depth@{k}": float(depths.mean()), f"nodes@{k}": float(n_visited.mean())}

    def structure(self) -> dict[str, float]:
        """Size and depth of the tree and of the vectors; expected depth: decisions a drawn training label costs."""
        depths = self.codes.depths()
        counts = self.trained_on.label_counts
        weights = counts if counts.any() else np.ones(self.n_labels)
        return {
            "vectors": self.vectors.n_rows,
            "decisions": self.decisions.n_rows,
            "dimension": self.settings.dim,
            "deepest label": int(depths.max()),
            "expected depth": float(weights @ depths / weights.sum()),
        }

    # explanations

    def explain(self, row: sparse.csr_matrix, label: int, n_threads: int | None = None) -> Explanation:
        """The decisions on the label's path: what each feature adds to their margins, and the chances these become."""
        rows, bias = self.mean_rows(row)
        used = np.append(rows.indices, self.vectors.n_rows - 1)
        shares = np.append(rows.data, bias)
        vectors = self.vectors.floats(used)  # (n_used, dim)
        columns = np.append(columns_of_ranks(self.feature_rank, self.vectors.n_rows - 1)[rows.indices], -1)
        values = np.append(np.asarray(row[0, columns[:-1]].todense()).ravel(), 1.0)
        nodes: list[NodeScore] = []
        parts: list[Contribution] = []
        score = 1.0
        for place in self.codes.path(label):
            decision, sign = (place, 1.0) if self.settings.loss == "plt" else (place >> 1, 1.0 if place & 1 else -1.0)
            pushes = sign * shares * (vectors @ self.decisions.floats(np.array([decision]))[0])
            if not np.isfinite(pushes).all():
                raise ModelFileError(f"the vectors of label {label} are damaged: some are not finite")
            margin = float(pushes.sum(dtype=np.float64))
            below = max(LOWEST_SCORE, score * math.exp(-float(np.logaddexp(0, -margin))))
            nodes.append(NodeScore(place, margin, math.log(below / score)))
            score = below
            parts += [
                Contribution(place, int(c), float(v), float(p / v), float(p))
                for c, v, p in zip(columns, values, pushes.astype(np.float64), strict=True)
            ]
        return Explanation(label, score, tuple(nodes), tuple(parts))

    # storage

    @classmethod
    def schema(cls, settings: HSoftmaxParams, facts: Mapping[str, Any]) -> Schema:
        """The vector of every feature, the codes of the tree, and both kinds of vectors."""
        return {
            "feature_rank": FEATURE_RANK,
            **CODES,
            **vector_rules("vectors", settings.storage),
            **vector_rules("decisions", settings.storage),
        }

    def arrays(self) -> Arrays:
        """The places of the features, the tree, and the vectors as they are stored."""
        return {
            "feature_rank": self.feature_rank,
            **self.codes.to_arrays(),
            **self.vectors.to_arrays("vectors"),
            **self.decisions.to_arrays("decisions"),
        }

    @classmethod
    def restore(
        cls, settings: HSoftmaxParams, trained_on: TrainedOn, arrays: Arrays, facts: Mapping[str, Any]
    ) -> FittedHSoftmax:
        """The state of saved vectors; ModelFileError if there is not one for each feature in use."""
        rank, vectors = arrays["feature_rank"], StoredVectors.from_arrays(arrays, "vectors")
        if int(rank.max(initial=-1)) + 2 != vectors.n_rows:
            raise ModelFileError(f"hsoftmax: {vectors.n_rows} vectors do not fit the features in use")
        codes = LabelCodes.from_arrays(arrays, trained_on.n_labels)
        return cls(settings, trained_on, rank, codes, vectors, StoredVectors.from_arrays(arrays, "decisions"))


class HSoftmax(Model[HSoftmaxParams, FittedHSoftmax]):
    """The mean of the features' vectors, answered by logistic decisions down a binary label tree (fastText, any tree).

    Scores are products of chances along the path, in (0, 1]; with loss="hs" those of all labels sum to 1. The k best
    are found exactly, best first. Training is plain stochastic gradient descent. With n_threads=1 the same seed gives
    the same bytes; several threads write to the same vectors without locks (Hogwild), so every run differs a little.

    Joulin et al., Bag of Tricks for Efficient Text Classification, EACL 2017; Wydmuch et al., A no-regret
    generalization of hierarchical softmax to extreme multi-label classification, NeurIPS 2018 (plt);
    Baharav et al., CIKM 2021 (tree).
    """

    name = "hsoftmax"
    Parameters = HSoftmaxParams
    FittedState = FittedHSoftmax
    PRESETS = PRESETS
    text_features = "bag"
    repeatable_with_threads = False

    def fit(
        self,
        x: Any,
        y: Any = None,
        *,
        tree: LabelTree | None = None,
        groups: Any = None,
        memory: int | None = None,
        progress: Progress = SILENT,
    ) -> HSoftmax:
        """The model itself, trained; see Model.fit. tree: any label tree in place of the parameter's.

        Nodes of a given tree with more than two children are cut in two by Huffman's rule.
        """
        return self._learn(checked_input(x, y, tree=tree, groups=groups, progress=progress), memory)

    @staticmethod
    def _train(settings: HSoftmaxParams, data: FitInput) -> FittedHSoftmax:
        x, y = without_zeros(data.x), data.y
        rank = frequency_ranks(np.bincount(x.indices, minlength=x.shape[1]), settings.min_count)
        rows, bias = mean_weights(ranked_rows(x, rank, normalize=False), settings.weighting)
        codes = _trained_codes(settings, data, x)
        stride = -(-settings.dim // LANES) * LANES
        n_used = int(rank.max(initial=-1)) + 1
        vectors = first_vectors(n_used + 1, settings.dim, stride, settings.start, settings.seed)
        plt = settings.loss == "plt"
        decisions = np.zeros((codes.n_inner * (2 if plt else 1), stride), np.float32)
        order = np.flatnonzero(np.diff(y.indptr)).astype(np.int32)
        if codes.n_inner and len(order):
            _native.hsoftmax_fit(
                rows.indptr, rows.indices, rows.data, bias, row_pointers(y), column_ids(y),
                codes.child, codes.place_of_label, codes.place_of_inner, vectors, decisions, order,
                plt=plt, rate=settings.rate, epochs=settings.epochs, seed=settings.seed,
                n_threads=settings.n_threads or 0, shuffle=settings.shuffle,
                progress=lambda done, total: data.progress.step("rows", done, total),
            )  # fmt: skip
        if not (np.isfinite(vectors).all() and np.isfinite(decisions).all()):
            raise ParamError(f"hsoftmax: training ran out of bounds at rate={settings.rate!r}; try a smaller rate")
        stored, decided = (StoredVectors.of(floats, settings.storage) for floats in (vectors, decisions))
        return FittedHSoftmax(settings, data.trained_on(), rank, codes, stored, decided)

    @staticmethod
    def _training_memory(settings: HSoftmaxParams, data: FitInput) -> int:
        # floats in training beside what is kept; two copies of the rows; the label vectors of the tree
        x, y = data.x, data.y
        stride = -(-settings.dim // LANES) * LANES
        counts = np.bincount(x.indices, minlength=x.shape[1])
        n_vectors = int(np.count_nonzero(counts >= settings.min_count)) + 1 + 2 * y.shape[1]
        vectors = 8 * stride * n_vectors
        grouped = int(np.diff(x.indptr)[np.repeat(np.arange(y.shape[0]), np.diff(y.indptr))].sum()) if y.nnz else 0
        return int(32_000_000 + vectors + 32 * x.nnz + 12 * min(grouped, x.shape[1] * y.shape[1]) + 200 * y.shape[1])


def _trained_codes(settings: HSoftmaxParams, data: FitInput, x: sparse.csr_matrix) -> LabelCodes:
    """The binary codes of the tree given, or of the one that the settings ask for; x: the rows without zeros."""
    y, kind, tree = data.y, settings.tree, data.tree
    frequencies = label_frequencies(y) if y.nnz else np.ones(y.shape[1])
    if tree is None:
        wanted: dict[str, Any] = {}
        if kind in ("balanced", "interpolated"):
            wanted["vectors"] = label_vectors(tree_rows(x), y, n_threads=settings.n_threads)
        if kind == "interpolated":
            wanted["balance_ratio"] = settings.balance_ratio
            wanted["smoothing"] = settings.smoothing
            wanted["rounding"] = settings.rounding
            wanted["round_each"] = settings.round_each
            if settings.balance_ratio > 1 and y.nnz:
                wanted["cover_frequencies"] = cover_frequencies(y, settings.cover)
        # Neighbours by number are often alike; the tree must not profit or suffer from how labels are numbered.
        by_chance = kind == "huffman" and settings.ties == BY_CHANCE
        numbers = keyed_order(y.shape[1], settings.seed, 0x74696573) if by_chance else np.arange(y.shape[1])
        tree = build_tree(
            kind,
            frequencies=frequencies[numbers],
            n_labels=y.shape[1],
            max_leaf=1,
            seed=settings.seed,
            n_threads=settings.n_threads,
            progress=data.progress,
            **wanted,
        )
        if by_chance:
            tree = replace(tree, label_order=numbers[tree.label_order].astype(np.int32))
    if tree.n_labels != y.shape[1]:
        raise DataError(f"the given tree has {tree.n_labels} labels, but y has {y.shape[1]}")
    return label_codes(tree, frequencies)


def without_zeros(x: sparse.csr_matrix) -> sparse.csr_matrix:
    """The same matrix without stored zeros, which would count as features of the row; a copy only if there are some."""
    if np.all(x.data):
        return x
    x = x.copy()
    x.eliminate_zeros()
    return x


def frequency_ranks(counts: npt.NDArray[Any], min_count: int) -> npt.NDArray[np.int32]:
    """For every feature its place by falling count, so that common vectors share pages; -1 below min_count."""
    order = np.argsort(-counts, kind="stable")
    used = order[counts[order] >= min_count]
    rank = np.full(len(counts), -1, np.int32)
    rank[used] = np.arange(len(used), dtype=np.int32)
    return rank


def first_vectors(n: int, dim: int, stride: int, start: float, seed: int) -> npt.NDArray[np.float32]:
    """Vectors (n, stride) of dim numbers, uniform in +-start / sqrt(dim), and zeros.

    Their length, start / sqrt(3), does not depend on dim. Decisions start at 0, and vectors move only along decisions:
    the shorter they are, the longer nothing is learned. fastText's +-1 / dim costs several epochs at dim 100.
    """
    vectors = np.zeros((n, stride), np.float32)
    vectors[:, :dim] = np.random.default_rng(seed).random((n, dim), np.float32) * 2 - 1
    vectors *= np.float32(start / math.sqrt(dim))
    return vectors


def mean_weights(rows: Rows, weighting: str) -> tuple[Rows, npt.NDArray[np.float32]]:
    """(rows, bias): what each feature counts in the mean of its row, and the constant feature.

    The constant feature, fastText's end of line, counts as much as the mean feature; the sizes of all sum to 1.
    """
    counts = np.diff(rows.indptr)
    # Scaled by the row's largest value first: sums of very large or very small values stay within range.
    sizes = np.abs(rows.data) if weighting == "values" else np.ones(len(rows.data), np.float32)
    signs = np.sign(rows.data) if weighting == "values" else 1.0
    filled = counts > 0
    starts = rows.indptr[:-1][filled]
    largest = np.ones(len(counts), np.float32)
    if len(starts):
        largest[filled] = np.maximum.reduceat(sizes, starts)
    sizes = sizes / np.repeat(largest, counts)
    sums = np.zeros(len(counts), np.float64)
    if len(starts):
        sums[filled] = np.add.reduceat(sizes.astype(np.float64), starts)
    n = np.maximum(counts, 1)
    total = np.where(sums > 0, sums * (n + 1) / n, 1.0)  # sum and one more of the mean size
    data = (signs * sizes / np.repeat(total, counts)).astype(np.float32)
    bias = np.where(sums > 0, 1 / (n + 1), 1.0).astype(np.float32)
    return Rows(rows.indptr, rows.indices, data), bias


def tree_rows(x: sparse.csr_matrix) -> sparse.csr_matrix:
    """The rows that label vectors come from: unit length, features weighted by the inverse of their row frequency."""
    n_rows = x.shape[0]
    counts = np.bincount(x.indices, minlength=x.shape[1])
    idf = np.log((1 + n_rows) / (1 + counts)).astype(np.float32) + np.float32(1)
    scaled = normalized_rows(x)  # first to length 1: products of extreme values stay finite
    weighted = sparse.csr_matrix((scaled.data * idf[x.indices], x.indices, x.indptr), shape=x.shape)
    return normalized_rows(weighted)
