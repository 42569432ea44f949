"""HierarchicalXC: a tree of labels that come together, a classifier for each child, probabilities along the path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
from labelwood.params import Params, param
from labelwood.storage.schema import ArrayRule, Arrays, Schema, part, prefixed, under
from labelwood.topk import TopK, empty


@dataclass(frozen=True)
class HierarchicalXCParams(Params):
    """Parameters of hierarchicalxc."""

    distance: str = param("jaccard", "how far apart labels are: by shared rows", choices=DISTANCES)
    ties: str = param("rounds", "how clusters without a shared row are joined", choices=TIES)
    encoding_dim: int = param(0, "width of a linear autoencoder's code as input; 0: the features themselves", low=0)
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


# "Extreme Classification using Autoencoders", section 4: complete linkage on negative counts of shared rows, plain
# classifiers of the same cost for all labels; the code of its autoencoder has 256 numbers on Bibtex. The classifiers
# there are SVMs with a Gaussian kernel, here linear ones. `traverse` answers as the paper does.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": {"distance": "counts", "ties": "chain", "encoding_dim": 256, "C": 1.0, "rare_power": 0.0, "prune": 0.0}
}


@dataclass(frozen=True, eq=False)
class FittedHierarchicalXC(Fitted[HierarchicalXCParams]):
    """The tree, the weights of its classifiers, and the encoder (n_features, dim) whose codes they see, if any.

    feature_rank: the number of every feature, or coordinate of the code, in the blocks.
    """

    name = "hierarchicalxc"
    feature_rank: npt.NDArray[np.int32]
    tree: LabelTree
    blocks: WeightBlocks
    encoder: npt.NDArray[np.float32] | None = None
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
        rows = ranked_rows(_codes(x, self.encoder), self.feature_rank, self.settings.normalize)
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
        rows = ranked_rows(_codes(x, self.encoder), self.feature_rank, self.settings.normalize)
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
        """The classifiers on the label's path: what each feature adds to their margins, and the scores these become."""
        codes = ranked_rows(_codes(row, self.encoder), self.feature_rank, self.settings.normalize)
        columns = columns_of_ranks(self.feature_rank, self.blocks.n_features)
        nodes: list[NodeScore] = []
        parts: list[Contribution] = []
        path_score = 0.0
        for node, classifier in path_classifiers(self.tree, self.blocks, label):
            pushes = classifier_reasons(self.blocks, classifier, node, codes, columns)
            if self.encoder is not None:
                pushes = _by_feature(pushes, row, self.encoder, self.settings.normalize)
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
        """The encoder if there is one, the place of every feature or coordinate, the tree and the weight blocks."""
        rules = {"feature_rank": FEATURE_RANK}
        if settings.encoding_dim:
            rules = {
                "encoder": ArrayRule("float32", ("n_features", "n_coordinates")),
                "feature_rank": replace(FEATURE_RANK, shape=("n_coordinates",), below="n_coordinates"),
            }
        return {**rules, **under("tree.", TREE), **under("blocks.", BLOCKS)}

    def arrays(self) -> Arrays:
        """The places of the features, the tree, the weights, and the encoder if there is one."""
        arrays: Arrays = {"feature_rank": self.feature_rank, **self.blocks.to_arrays()}
        arrays.update(prefixed("tree.", self.tree.to_arrays()))
        if self.encoder is not None:
            arrays["encoder"] = self.encoder
        return arrays

    @classmethod
    def restore(
        cls, settings: HierarchicalXCParams, trained_on: TrainedOn, arrays: Arrays, facts: Mapping[str, Any]
    ) -> FittedHierarchicalXC:
        """The state of a saved tree; ModelFileError if the weights are not its own."""
        rank = arrays["feature_rank"]
        tree = LabelTree.from_arrays(part("tree.", arrays))
        blocks = WeightBlocks.from_arrays(int(rank.max(initial=-1)) + 1, arrays)
        return cls(settings, trained_on, rank, tree, blocks, arrays["encoder"] if settings.encoding_dim else None)


class HierarchicalXC(Model[HierarchicalXCParams, FittedHierarchicalXC]):
    """A binary tree by complete linkage on co-occurrence, with a linear classifier for each child.

    A node's rows are those with a label below it, its targets whether some are below the left and the right child. The
    score of a label is the product along its path, and the k best are found exactly, best first. With encoding_dim the
    classifiers see the code of a linear autoencoder in place of the features.
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

    @staticmethod
    def _train(settings: HierarchicalXCParams, data: FitInput) -> FittedHierarchicalXC:
        encoder = None
        if settings.encoding_dim:
            encoder = linear_encoding(normalized_rows(data.x), settings.encoding_dim, settings.seed)
        codes = _codes(data.x, encoder)
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
        return FittedHierarchicalXC(settings, data.trained_on(), rank, tree, blocks, encoder)

    @staticmethod
    def _training_memory(settings: HierarchicalXCParams, data: FitInput) -> int:
        # pairs of labels that share a row, as Python dictionaries on both sides; classifiers on every level of the tree
        x, y = data.x, data.y
        sizes = np.diff(y.indptr).astype(np.int64)
        pairs = min(int((sizes * sizes).sum()), y.shape[1] ** 2)
        codes = 8 * x.shape[0] * settings.encoding_dim
        levels = 2 * int(np.ceil(np.log2(y.shape[1] + 1)))
        weights = 14 * label_features(x, y, settings.n_threads) * min(levels, 4)
        return int(training_memory(x, y, settings.n_threads, per_weight=14) + 250 * pairs + codes + weights)


def _codes(x: sparse.csr_matrix, encoder: npt.NDArray[np.float32] | None) -> sparse.csr_matrix:
    """What the classifiers see: the rows, or their codes."""
    return x if encoder is None else encoded(normalized_rows(x), encoder)


def _by_feature(
    reasons: list[Contribution], row: sparse.csr_matrix, encoder: npt.NDArray[np.float32], normalize: bool
) -> list[Contribution]:
    """What the features add to a margin, from what the coordinates of their code do; the bias stays as it is.

    The code is linear in the features, but for its length: a feature's share of every coordinate is known.
    """
    bias, *of_code = reasons
    code = _codes(row, encoder)
    length = float(np.sqrt(np.square(code.data, dtype=np.float64).sum())) if normalize else 1.0
    scaled = normalized_rows(row).data / (length or 1.0)
    coordinates = [reason.feature for reason in of_code]
    weights = np.array([reason.weight for reason in of_code], np.float64)
    pushes = scaled * (encoder[row.indices][:, coordinates].astype(np.float64) @ weights)
    features = zip(row.indices.tolist(), row.data.tolist(), pushes.tolist(), strict=True)
    return [bias, *(Contribution(bias.node, c, v, push / v, push) for c, v, push in features if v != 0)]
