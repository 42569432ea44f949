"""HierarchicalXC: a tree of labels that come together, a classifier for each child, probabilities along the path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.labelindex.agglomerative import DISTANCES, TIES, cooccurrence_tree
from labelwood.labelindex.tree import TREE, LabelTree
from labelwood.labelspace.pifa import label_features
from labelwood.matrices import normalized_rows
from labelwood.models.base import Model
from labelwood.models.explanation import Contribution, Explanation, NodeScore
from labelwood.models.fit_input import FitInput, TrainedOn
from labelwood.models.fitted import Fitted
from labelwood.models.linear.linear_reasons import classifier_reasons, columns_of_ranks
from labelwood.models.linear.linear_tree_params import LINKS
from labelwood.models.linear.part_training import train_in_parts
from labelwood.models.linear.tree_nodes import first_blocks, label_filter, n_classifiers, search_tree, training_nodes
from labelwood.models.linear.tree_reasons import LOWEST_SCORE, log_score, path_classifiers
from labelwood.models.linear.weight_blocks import (
    BLOCKS,
    FEATURE_RANK,
    LOSSES,
    Rows,
    WeightBlocks,
    rank_features,
    ranked_rows,
    solver_options,
    training_memory,
)
from labelwood.models.linear_encoding import encoded, linear_encoding
from labelwood.models.neural.neuralxc_sizes import network_sizes
from labelwood.models.neural.runtime import require_torch
from labelwood.models.row_codes import RowCode, code_schema, gaussian_waves
from labelwood.params import Params, param
from labelwood.storage.schema import Arrays, Schema, part, prefixed, under
from labelwood.topk import TopK, empty

NO_CODE = RowCode()
LINEAR, NEURAL = "linear", "neural"
AUTOENCODERS = (LINEAR, NEURAL)


@dataclass(frozen=True)
class HierarchicalXCParams(Params):
    """Parameters of hierarchicalxc."""

    distance: str = param("jaccard", "how far apart labels are: by shared rows", choices=DISTANCES)
    ties: str = param("rounds", "how clusters without a shared row are joined", choices=TIES)
    encoding_dim: int = param(0, "width of an autoencoder's code as input; 0: the features themselves", low=0)
    autoencoder: str = param(
        LINEAR, "what makes the code: a linear autoencoder in closed form, or NeuralXC's network", choices=AUTOENCODERS
    )
    encoding_epochs: int = param(20, "epochs of the neural autoencoder", low=1, high=100_000)
    kernel_features: int = param(
        0, "classifiers of a Gaussian kernel, by so many random features of it; 0: linear classifiers", low=0
    )
    gamma: float | None = param(
        None, "the kernel is exp(-gamma |a - b|^2); None: from the variance of its inputs", low=0, low_open=True,
        kind=float,
    )  # fmt: skip
    C: float = param(1.0, "cost of an error: larger fits the training rows closer", low=0, low_open=True)
    rare_power: float = param(
        0.15, "a label with n rows gets the cost C (20 / n)^rare_power; 0: all labels the same", low=0, high=2
    )
    loss: str = param("squared-hinge", "what an error costs", choices=LOSSES)
    eps: float = param(0.1, "stop when no dual gradient is larger", low=0, low_open=True)
    max_passes: int = param(20, "stop after this many passes over a node's rows", low=1)
    bias: float = param(1.0, "value of the constant feature; 0: no bias", low=0)
    prune: float = param(0.05, "weights smaller than this are dropped", low=0)
    normalize: bool = param(True, "scale rows to length 1 first")
    link: str = param("hinge3", "how a margin becomes a log score", choices=LINKS)


# "Extreme Classification using Autoencoders", section 4: an autoencoder "identical to that in NeuralXC", whose code has
# 256 numbers on Bibtex; complete linkage on negative counts of shared rows (4.1); classifiers of the same cost for all
# labels, in the authors' code SVMs with a Gaussian kernel and scikit-learn's defaults (C = 1). `traverse` answers as
# the paper does. Epochs and the number of random features are ours.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": {
        "distance": "counts",
        "ties": "chain",
        "encoding_dim": 256,
        "autoencoder": NEURAL,
        "kernel_features": 1000,
        "C": 1.0,
        "rare_power": 0.0,
        "prune": 0.0,
    }
}


@dataclass(frozen=True, eq=False)
class FittedHierarchicalXC(Fitted[HierarchicalXCParams]):
    """The tree, the weights of its classifiers, and what these see of a row.

    feature_rank: the number of every feature, or coordinate of the code, in the blocks.
    """

    name = "hierarchicalxc"
    feature_rank: npt.NDArray[np.int32]
    tree: LabelTree
    blocks: WeightBlocks
    code: RowCode = NO_CODE
    _forest: _native.Forest = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        forest = _native.Forest([self.blocks.native], [search_tree(self.tree, self.blocks)], self.feature_rank)
        object.__setattr__(self, "_forest", forest)

    # answering

    def predict(self, x: sparse.csr_matrix, k: int, n_threads: int | None = None) -> TopK:
        """The k best labels of every row, found exactly."""
        return self._searched(x, k, n_threads)[0]

    def _searched(
        self, x: sparse.csr_matrix, k: int, n_threads: int | None, answered: npt.NDArray[np.bool_] | None = None
    ) -> tuple[TopK, npt.NDArray[np.int32]]:
        """(answers, nodes looked at for each row); answered: a mask over labels, None for all."""
        rows = ranked_rows(self.code.of(x), self.feature_rank, self.settings.normalize)
        top, n_blocks = empty(x.shape[0], k), np.zeros(x.shape[0], np.int32)
        everything = (np.zeros(0, np.uint8), np.zeros(0, np.uint8))
        places, nodes = everything if answered is None else label_filter(self.tree, answered)
        self._forest.top_k(
            rows.indptr, rows.indices, rows.data, LINKS.index(self.settings.link), 0, 0, k, places, nodes,
            top.labels, top.scores, n_blocks, n_threads or 0,
        )  # fmt: skip
        return top, n_blocks

    def search_figures(self, x: sparse.csr_matrix, k: int, n_threads: int | None = None) -> dict[str, float]:
        """What k answers cost, mean per row: depth of the deepest ("depth@k") and tree nodes looked at ("nodes@k")."""
        top, n_blocks = self._searched(x, k, n_threads)
        depths = np.where(top.labels >= 0, self.tree.depth_of_labels()[top.labels], 0).max(axis=1)
        return {f"depth@{k}": float(depths.mean()), f"nodes@{k}": float(n_blocks.mean())}

    def structure(self) -> dict[str, float]:
        """Nodes and depth of the tree."""
        counts = self.trained_on.label_counts
        weights = counts if counts.any() else np.ones(self.n_labels)
        return {
            "nodes": self.tree.n_nodes,
            "deepest label": self.tree.max_depth,
            "expected depth": self.tree.expected_depth(weights),
        }

    def traversed(self, x: sparse.csr_matrix, n_threads: int | None = None) -> sparse.csr_matrix:
        """The labels that each row reaches from the root by the children whose classifiers say yes: CSR of ones."""
        rows = ranked_rows(self.code.of(x), self.feature_rank, self.settings.normalize)
        tree, n_below = self.tree, n_classifiers(self.tree)
        first = self.blocks.child_start[first_blocks(tree)[:-1]]
        row, node = np.arange(x.shape[0]), np.zeros(x.shape[0], np.int64)
        reached: list[npt.NDArray[np.int64]] = []
        while len(row):
            # Every open (row, node) has a slot for each child's classifier.
            counts = n_below[node]
            place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            row, node = np.repeat(row, counts), np.repeat(node, counts)
            yes = self._margins(rows, row, first[node] + place, x.shape[0], n_threads) > 0
            row, node, place = row[yes], node[yes], place[yes]
            in_leaf = tree.n_children[node] == 0
            found = tree.label_order[tree.first_label[node[in_leaf]] + place[in_leaf]]
            reached.append(row[in_leaf] * self.n_labels + found)
            row, node = row[~in_leaf], tree.first_child[node[~in_leaf]] + place[~in_leaf]
            # A child with one label is that label, and has no classifier below.
            alone = (tree.n_children[node] == 0) & (tree.n_labels_in[node] == 1)
            reached.append(row[alone] * self.n_labels + tree.label_order[tree.first_label[node[alone]]])
            row, node = row[~alone], node[~alone]
        pairs = np.sort(np.concatenate([np.zeros(0, np.int64), *reached]))
        ones = (np.ones(len(pairs), np.int8), (pairs // self.n_labels, pairs % self.n_labels))
        return sparse.csr_matrix(ones, shape=(x.shape[0], self.n_labels))

    def _margins(
        self,
        rows: Rows,
        row: npt.NDArray[np.int64],
        classifier: npt.NDArray[np.int64],
        n_rows: int,
        n_threads: int | None,
    ) -> npt.NDArray[np.float32]:
        """The margins of (row, classifier) pairs, which come row after row."""
        counts = np.bincount(row, minlength=n_rows)
        slot = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        asked = np.full((n_rows, int(counts.max(initial=0))), -1, np.int32)
        asked[row, slot] = classifier
        margins = np.empty(asked.shape, np.float32)
        self.blocks.native.margins_of(rows.indptr, rows.indices, rows.data, asked, margins, n_threads or 0)
        return margins[row, slot]

    # explanations

    def explain(self, row: sparse.csr_matrix, label: int, n_threads: int | None = None) -> Explanation:
        """The classifiers on the label's path: what each feature adds to their margins, and the scores these become.

        A network or a kernel between features and classifiers adds to a margin as one part that belongs to no feature.
        """
        codes = ranked_rows(self.code.of(row), self.feature_rank, self.settings.normalize)
        columns = columns_of_ranks(self.feature_rank, self.blocks.n_features)
        nodes: list[NodeScore] = []
        parts: list[Contribution] = []
        path_score = 0.0
        for node, classifier in path_classifiers(self.tree, self.blocks, label):
            pushes = classifier_reasons(self.blocks, classifier, node, codes, columns)
            if not self.code.is_linear:
                pushes = _as_one(pushes)
            elif self.code.encoder is not None:
                pushes = _by_feature(pushes, row, self.code.encoder, self.settings.normalize)
            margin = sum(push.contribution for push in pushes)
            below = max(LOWEST_SCORE, path_score + log_score(self.settings.link, margin))
            nodes.append(NodeScore(node, margin, below - path_score))
            parts += pushes
            path_score = below
        alone = np.zeros(self.n_labels, bool)
        alone[label] = True
        # From the search itself, to the bit.
        score = float(self._searched(row, 1, n_threads, alone)[0].scores[0, 0])
        return Explanation(label, score, tuple(nodes), tuple(parts))

    # storage

    @classmethod
    def schema(cls, settings: HierarchicalXCParams, facts: Mapping[str, Any]) -> Schema:
        """The code if there is one, the place of every feature or coordinate, the tree and the weight blocks."""
        is_neural, waves = settings.autoencoder == NEURAL, bool(settings.kernel_features)
        encoded, rank = bool(settings.encoding_dim), FEATURE_RANK
        if encoded or waves:
            size = "n_waves" if waves else "n_code"
            rank = replace(FEATURE_RANK, shape=(size,), below=size)
        rules = code_schema(linear=encoded and not is_neural, network=encoded and is_neural, waves=waves)
        return {**rules, "feature_rank": rank, **under("tree.", TREE), **under("blocks.", BLOCKS)}

    def arrays(self) -> Arrays:
        """The places of the features, the tree, the weights, and the code if there is one."""
        arrays: Arrays = {"feature_rank": self.feature_rank, **self.blocks.to_arrays(), **self.code.to_arrays()}
        arrays.update(prefixed("tree.", self.tree.to_arrays()))
        return arrays

    @classmethod
    def restore(
        cls, settings: HierarchicalXCParams, trained_on: TrainedOn, arrays: Arrays, facts: Mapping[str, Any]
    ) -> FittedHierarchicalXC:
        """The state of a saved tree; ModelFileError if the weights are not its own."""
        rank = arrays["feature_rank"]
        tree = LabelTree.from_arrays(part("tree.", arrays))
        blocks = WeightBlocks.from_arrays(int(rank.max(initial=-1)) + 1, arrays)
        code = RowCode.from_arrays(arrays, trained_on.n_features, cls.name)
        return cls(settings, trained_on, rank, tree, blocks, code)


class HierarchicalXC(Model[HierarchicalXCParams, FittedHierarchicalXC]):
    """A binary tree by complete linkage on co-occurrence, with a classifier for each child.

    A node's rows are those with a label below it, its targets whether some are below the left and the right child. The
    score of a label is the product along its path, and the k best are found exactly, best first. With encoding_dim the
    classifiers see the code of an autoencoder in place of the features; with kernel_features they are those of a
    Gaussian kernel, else linear.
    """

    name = "hierarchicalxc"
    Parameters = HierarchicalXCParams
    FittedState = FittedHierarchicalXC
    PRESETS = PRESETS

    def traverse(self, x: Any) -> sparse.csr_matrix:
        """The set of labels of each row, CSR of ones (n_rows, n_labels), by yes and no alone, as in the paper.

        From the root down, a row goes into every child whose classifier says yes: none, one or both. The labels it
        reaches are the answer; there may be none.
        """
        state = self.fitted_
        return state.traversed(self._rows(x), self._threads())

    @classmethod
    def trains_by_epochs(cls, settings: Params) -> bool:
        """True with a neural autoencoder."""
        if not isinstance(settings, HierarchicalXCParams):
            return False
        return settings.encoding_dim > 0 and settings.autoencoder == NEURAL

    @staticmethod
    def _train(settings: HierarchicalXCParams, data: FitInput) -> FittedHierarchicalXC:
        code = _trained_code(settings, data)
        codes = code.of(data.x)
        rank = rank_features(codes)
        tree = cooccurrence_tree(data.y, distance=settings.distance, ties=settings.ties, progress=data.progress)
        blocks = train_in_parts(
            rows=ranked_rows(codes, rank, settings.normalize),
            n_features=int(rank.max(initial=-1)) + 1,
            y_by_place=data.y.tocsc()[:, tree.label_order],
            nodes=training_nodes(tree),
            options=solver_options(settings, settings.C),
            progress=data.progress,
            what="classifiers",
        )
        return FittedHierarchicalXC(settings, data.trained_on(), rank, tree, blocks, code)

    @staticmethod
    def _training_memory(settings: HierarchicalXCParams, data: FitInput) -> int:
        # pairs of labels that share a row, as Python dictionaries on both sides; classifiers on every level of the tree
        x, y = data.x, data.y
        sizes = np.diff(y.indptr).astype(np.int64)
        pairs = min(int((sizes * sizes).sum()), y.shape[1] ** 2)
        codes = 16 * x.shape[0] * max(settings.encoding_dim, settings.kernel_features)
        if settings.encoding_dim and settings.autoencoder == NEURAL:
            widths = network_sizes(int(x.shape[1]), data.n_labels).input
            codes += 400_000_000 + 40 * sum(a * b for a, b in pairwise(widths))
        levels = 2 * int(np.ceil(np.log2(y.shape[1] + 1)))
        weights = 14 * label_features(x, y, settings.n_threads) * min(levels, 4)
        return int(training_memory(x, y, settings.n_threads, per_weight=14) + 250 * pairs + codes + weights)


def _trained_code(settings: HierarchicalXCParams, data: FitInput) -> RowCode:
    """What the classifiers are to see of the rows."""
    code = NO_CODE
    if settings.encoding_dim and settings.autoencoder == NEURAL:
        require_torch("HierarchicalXC(autoencoder='neural')")
        from labelwood.models.neural.input_autoencoder import trained_encoder

        widths = (*network_sizes(int(data.x.shape[1]), data.n_labels).input[:-1], settings.encoding_dim)
        code = RowCode(network=trained_encoder(data.x, widths, settings.encoding_epochs, settings.seed, data.progress))
    elif settings.encoding_dim:
        code = RowCode(linear_encoding(normalized_rows(data.x), settings.encoding_dim, settings.seed))
    if settings.kernel_features:
        waves, phases = gaussian_waves(
            code.before_waves(data.x), settings.kernel_features, settings.gamma, settings.seed
        )
        code = replace(code, waves=waves, phases=phases)
    return code


def _as_one(reasons: list[Contribution]) -> list[Contribution]:
    """The bias as it is, and all coordinates of the code together, which belong to no feature."""
    bias, *of_code = reasons
    push = sum(reason.contribution for reason in of_code)
    return [bias, Contribution(bias.node, -1, 1.0, push, push)]


def _by_feature(
    reasons: list[Contribution], row: sparse.csr_matrix, encoder: npt.NDArray[np.float32], normalize: bool
) -> list[Contribution]:
    """What the features add to a margin, from what the coordinates of their code do; the bias stays as it is.

    The code is linear in the features, but for its length: a feature's share of every coordinate is known.
    """
    bias, *of_code = reasons
    code = encoded(normalized_rows(row), encoder)
    length = float(np.sqrt(np.square(code.data, dtype=np.float64).sum())) if normalize else 1.0
    scaled = normalized_rows(row).data / (length or 1.0)
    coordinates = [reason.feature for reason in of_code]
    weights = np.array([reason.weight for reason in of_code], np.float64)
    pushes = scaled * (encoder[row.indices][:, coordinates].astype(np.float64) @ weights)
    features = zip(row.indices.tolist(), row.data.tolist(), pushes.tolist(), strict=True)
    return [bias, *(Contribution(bias.node, c, v, push / v, push) for c, v, push in features if v != 0)]
