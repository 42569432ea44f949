"""The fitted state of a linear tree: a forest of label trees that answers, explains, and knows how it is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.errors import DataError, ModelFileError, ParamError
from labelwood.labelindex.tree import TREE, LabelTree
from labelwood.matrices import as_features, single_row
from labelwood.models.explanation import Explanation, Share, combined
from labelwood.models.fit_input import TrainedOn
from labelwood.models.fitted import Fitted
from labelwood.models.linear.kept_rows import KEPT_ROWS, KeptRows
from labelwood.models.linear.linear_tree_params import LINKS, LinearTreeParams, SearchResult
from labelwood.models.linear.tree_negatives import child_scores
from labelwood.models.linear.tree_nodes import label_filter, search_tree
from labelwood.models.linear.tree_reasons import path_explanation
from labelwood.models.linear.weight_blocks import BLOCKS, FEATURE_RANK, WeightBlocks, ranked_rows
from labelwood.storage.schema import ArrayRule, Arrays, Schema, part, prefixed, under
from labelwood.topk import TopK, checked_k, empty

Int32 = npt.NDArray[np.int32]
# For every place of a label in the trees, and for every node, whether it may be answered; empty: all of them.
Filter = tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]

# Each tree of a forest is asked for this many more labels than wanted: a label that one tree ranks low may still win.
SPARE_LABELS = 5
# It is sure of those wanted, at least of five; the others are the best of the blocks that it had to open anyway. Being
# sure of all opened twice as many blocks at the same P@k within 0.05; sure of one, P@1 was 0.1 to 0.2 smaller.
SURE_LABELS = 5
_NO_FILTER: Filter = (np.zeros(0, np.uint8), np.zeros(0, np.uint8))
_RETIRED = ArrayRule("int32", ("n_retired",), low=0, below="n_labels", optional=True)


@dataclass(frozen=True, eq=False)
class FittedLinearTree(Fitted[LinearTreeParams]):
    """One or more label trees with the weights of their classifiers.

    A label's score is the mean over the trees of exp of the sum of link(margin) along its path, in (0, 1].
    feature_rank: the number of every column of x in the blocks. C: the cost that the classifiers were trained with.
    retired: labels that are never answered. kept_rows: the training rows, if the settings ask to keep them.
    slack, nodes: those of a search that is told nothing else; 0: exact. A node is opened only if it could better the
    last of the k labels by a factor of e^slack; below the root of each tree, k + nodes of them at most. Where their
    number is limited, a node above other nodes counts lead less than its log score.
    """

    name = "linear-tree"
    trees: tuple[LabelTree, ...]
    blocks: tuple[WeightBlocks, ...]
    feature_rank: Int32
    C: float
    retired: Int32 = field(default_factory=lambda: np.zeros(0, np.int32))
    kept_rows: KeptRows | None = None
    slack: float = 0.0
    nodes: int = 0
    lead: float = 0.0
    # What queries read again and again.
    _forest: _native.Forest = field(init=False, repr=False)
    _standing: Filter = field(init=False, repr=False)
    _link: int = field(init=False, repr=False)
    _width: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        searched = [search_tree(tree, weights) for tree, weights in zip(self.trees, self.blocks, strict=True)]
        forest = _native.Forest([weights.native for weights in self.blocks], searched, self.feature_rank)
        object.__setattr__(self, "_forest", forest)
        object.__setattr__(self, "_link", LINKS.index(self.settings.link))
        object.__setattr__(self, "_width", self.n_labels)
        standing = _NO_FILTER
        if len(self.retired):
            mask = np.ones(self.n_labels, bool)
            mask[self.retired] = False
            standing = self._filter_of(mask)
        object.__setattr__(self, "_standing", standing)

    # answering

    def predict(self, x: sparse.csr_matrix, k: int, n_threads: int | None = None, max_nodes: int = 0) -> TopK:
        """The k best labels of every row, retired ones left out.

        max_nodes: nodes of each tree that are opened below its root, at most; 0: as many as the state wants.
        """
        return self._searched(
            x, k, self.settings.beam, self._standing, slack=self.slack, max_nodes=max_nodes or self._max_nodes(k),
            n_sure=self._n_sure(k), n_threads=n_threads,
        )[0]  # fmt: skip

    def search(
        self,
        x: sparse.csr_matrix,
        k: int,
        *,
        allow: Iterable[int] | None = None,
        deny: Iterable[int] | None = None,
        beam: int | None = None,
        max_blocks: int = 0,
        slack: float | None = None,
        max_nodes: int = 0,
        n_threads: int | None = None,
    ) -> SearchResult:
        """The k best labels of every row with what they cost; see LinearTree.search."""
        told_nothing = all(given is None for given in (beam, allow, deny, slack)) and not (max_blocks or max_nodes)
        width = checked_k(k, self.n_labels)
        if told_nothing:
            slack, max_nodes = self.slack, self._max_nodes(min(width, self.n_labels))
        slack = slack or 0.0
        for name, value in (("slack", slack), ("max_nodes", max_nodes)):
            if not value >= 0:
                raise ParamError(f"{name} must be a number from 0 up, but is {value!r}")
        top, n_blocks = self._searched(
            x,
            min(width, self.n_labels),
            self.settings.beam if beam is None else beam,
            self._filters(allow, deny),
            max_blocks=max_blocks,
            slack=slack,
            max_nodes=max_nodes,
            n_sure=self._n_sure(min(width, self.n_labels)) if told_nothing else 0,
            n_threads=n_threads,
        )
        depths = np.mean([tree.depth_of_labels() for tree in self.trees], axis=0)
        deepest = np.where(top.labels >= 0, depths[top.labels], 0).max(axis=1, initial=0)
        return SearchResult(top.cut(width), n_blocks, deepest)

    def query(
        self, columns: npt.NDArray[np.int32], values: npt.NDArray[np.float32], k: int = 5
    ) -> tuple[Int32, npt.NDArray[np.float32]]:
        """(labels, scores) of one row given by its rising columns and their values; see LinearTree.query."""
        if type(k) is not int or not 0 < k <= self._width:
            k = min(checked_k(k, self._width), self._width)
        labels, scores = np.empty(k, np.int32), np.empty(k, np.float32)
        n_found = self._asked(columns, values, labels, scores, k) if self._standing is _NO_FILTER else -1
        if n_found < 0:
            top = self.predict(as_features(single_row(columns, values, self.n_features)), k)
            labels, scores, n_found = top.labels[0], top.scores[0], int((top.labels[0] >= 0).sum())
        return (labels, scores) if n_found == k else (labels[:n_found], scores[:n_found])

    def one_row(self, x: Any, k: Any, max_nodes: int = 0) -> TopK | None:
        """What `predict` gives for a plain float32 CSR row, without a batch's checks and copies; else None."""
        if (
            self._standing is not _NO_FILTER
            or type(x) not in (sparse.csr_matrix, sparse.csr_array)
            or type(k) is not int
            or x.shape != (1, self.trained_on.n_features)
            or x.data.dtype != np.float32
            or x.indices.dtype != np.int32
            or not 1 <= k <= self._width
        ):
            return None
        n = x.indptr[1]  # scipy may keep arrays longer than the row
        top = empty(1, k)
        n_found = self._asked(x.indices[:n], x.data[:n], top.labels[0], top.scores[0], k, max_nodes)
        return top if n_found >= 0 else None

    def _asked(
        self,
        columns: npt.NDArray[np.int32],
        values: npt.NDArray[np.float32],
        labels: Int32,
        scores: npt.NDArray[np.float32],
        k: int,
        max_nodes: int = 0,
    ) -> int:
        """How many labels were found and written for a row; -1 if the row needs the general way."""
        settings = self.settings
        n_found: int = self._forest.query(
            columns, values, settings.normalize, self._link, settings.beam, self._k_each(k), labels, scores,
            self.slack, max_nodes or self._max_nodes(k), self._n_sure(k), self.lead,
        )  # fmt: skip
        return n_found

    def _searched(
        self,
        x: sparse.csr_matrix,
        k: int,
        beam: int,
        answered: Filter,
        *,
        max_blocks: int = 0,
        slack: float = 0.0,
        max_nodes: int = 0,
        n_sure: int = 0,
        n_threads: int | None = None,
    ) -> tuple[TopK, Int32]:
        """(answers, blocks evaluated for each row)."""
        rows = ranked_rows(x, self.feature_rank, self.settings.normalize)
        top = empty(x.shape[0], k)
        n_blocks = np.zeros(x.shape[0], np.int32)
        self._forest.top_k(
            rows.indptr, rows.indices, rows.data, self._link, beam, max_blocks, self._k_each(k), *answered,
            top.labels, top.scores, n_blocks, n_threads or 0, slack, max_nodes, n_sure, self.lead,
        )  # fmt: skip
        return top, n_blocks

    def _k_each(self, k: int) -> int:
        return k if len(self.trees) == 1 else min(k + SPARE_LABELS, self._width)

    def _n_sure(self, k: int) -> int:
        """How many labels each tree is sure of when it is told nothing else; 0: all that it names."""
        return 0 if self.settings.exact else max(k, SURE_LABELS)

    def _max_nodes(self, k: int) -> int:
        """How many nodes of each tree are opened below its root when it is told nothing else; 0: no limit."""
        return self.nodes + k if self.nodes else 0

    # filters

    def _filters(self, allow: Iterable[int] | None, deny: Iterable[int] | None) -> Filter:
        if allow is None and deny is None:
            return self._standing
        mask = np.full(self.n_labels, allow is None)
        for labels, value in ((allow, True), (deny, False), (self.retired, False)):
            if labels is not None:
                mask[self.checked_labels(labels, "the filter")] = value
        return self._filter_of(mask)

    def _filter_of(self, mask: npt.NDArray[np.bool_]) -> Filter:
        of_trees = [label_filter(tree, mask) for tree in self.trees]
        return np.concatenate([places for places, _ in of_trees]), np.concatenate([nodes for _, nodes in of_trees])

    def checked_labels(self, labels: Iterable[int], what: str) -> npt.NDArray[np.int64]:
        """The labels as an array; DataError if one of them is none of the model's."""
        chosen = np.asarray(list(labels), dtype=np.int64)
        bad = chosen[(chosen < 0) | (chosen >= self.n_labels)]
        if len(bad):
            raise DataError(f"label {bad[0]} of {what} is outside 0..{self.n_labels - 1}")
        return chosen

    def with_retired(self, retired: npt.NDArray[np.integer[Any]]) -> FittedLinearTree:
        """The same trees with exactly these labels retired."""
        return replace(self, retired=np.unique(retired).astype(np.int32))

    def child_scores(self, x: sparse.csr_matrix, tree: int, node: int) -> npt.NDArray[np.float32]:
        """How probable each child of a node finds itself for the one row x, given that the row is at the node."""
        rows = ranked_rows(x, self.feature_rank, self.settings.normalize)
        return child_scores(self.trees[tree], self.blocks[tree], rows, self._link, node)

    # figures

    def search_figures(self, x: sparse.csr_matrix, k: int, n_threads: int | None = None) -> dict[str, float]:
        """What k answers cost, mean per row: depth of the deepest ("depth@k") and weight blocks read ("blocks@k")."""
        answers = self.search(x, k, n_threads=n_threads)
        return {f"depth@{k}": float(answers.depth.mean()), f"blocks@{k}": float(answers.n_blocks.mean())}

    def repeated_settings(self) -> LinearTreeParams:
        """The settings with the cost that was chosen."""
        return replace(self.settings, C=self.C)

    def structure(self) -> dict[str, float]:
        """Nodes, depth, leaf sizes and expected depth of the trees (means over several); see docs/methods."""
        counts = self.trained_on.label_counts
        weights = counts if counts.any() else np.ones(self.n_labels)
        sizes = np.concatenate([tree.n_labels_in[tree.leaves] for tree in self.trees])
        return {
            "C": self.C,
            "slack": self.slack,
            "nodes opened beside one a label": self.nodes,
            "lead of leaves": self.lead,
            "trees": len(self.trees),
            "nodes": int(sum(tree.n_nodes for tree in self.trees)),
            "leaves": len(sizes),
            "largest arity": max(tree.arity for tree in self.trees),
            "deepest leaf": max(tree.max_depth for tree in self.trees),
            "smallest leaf": int(sizes.min()),
            "mean leaf": float(sizes.mean()),
            "largest leaf": int(sizes.max()),
            "expected depth": float(np.mean([tree.expected_depth(weights) for tree in self.trees])),
        }

    # explanations

    def explain(self, row: sparse.csr_matrix, label: int, n_threads: int | None = None) -> Explanation:
        """The classifiers on the label's path; of several trees the mean over their paths, one share a tree.

        The score is the one of an exact search in which every tree names the label, as for k = n_labels. With a smaller
        k, or with a beam, a tree of a forest may leave the label out, and `predict` then counts 0 for it.
        """
        rows = ranked_rows(row, self.feature_rank, self.settings.normalize)
        paths = [
            path_explanation(tree, weights, self.feature_rank, rows, label, self.settings.link)
            for tree, weights in zip(self.trees, self.blocks, strict=True)
        ]
        score = self._score(row, label, n_threads)
        if len(paths) == 1:
            return replace(paths[0], score=score)
        weight = 1 / len(paths)
        return combined(label, score, [Share(f"tree {n}", weight, path) for n, path in enumerate(paths, start=1)])

    def _score(self, row: sparse.csr_matrix, label: int, n_threads: int | None) -> float:
        """The label's score from the search itself, to the bit, even if the label is retired."""
        alone = np.zeros(self.n_labels, bool)
        alone[label] = True
        return float(self._searched(row, 1, 0, self._filter_of(alone), n_threads=n_threads)[0].scores[0, 0])

    # storage

    @classmethod
    def schema(cls, settings: LinearTreeParams, facts: Mapping[str, Any]) -> Schema:
        """The place of every feature, a tree and its weight blocks for each tree, retired labels, kept rows."""
        rules = {"feature_rank": FEATURE_RANK, "retired": _RETIRED}
        for number in range(settings.n_trees):
            rules.update(under(f"tree{number}.", TREE))
            rules.update(under(f"blocks{number}.", BLOCKS))
        if settings.keep_rows:
            rules.update(under("rows.", KEPT_ROWS))
        return rules

    def arrays(self) -> Arrays:
        """The places of the features, the trees and their weights, and what else there is."""
        arrays: Arrays = {"feature_rank": self.feature_rank}
        for number, (tree, weights) in enumerate(zip(self.trees, self.blocks, strict=True)):
            arrays.update(prefixed(f"tree{number}.", tree.to_arrays()))
            arrays.update(weights.to_arrays(f"blocks{number}."))
        if len(self.retired):
            arrays["retired"] = self.retired
        if self.kept_rows is not None:
            arrays.update(prefixed("rows.", self.kept_rows.to_arrays()))
        return arrays

    def facts(self) -> dict[str, Any]:
        """The cost of an error, given or chosen, and the bounds of the search."""
        return {"C": self.C, "slack": self.slack, "nodes": self.nodes, "lead": self.lead}

    @classmethod
    def restore(
        cls, settings: LinearTreeParams, trained_on: TrainedOn, arrays: Arrays, facts: Mapping[str, Any]
    ) -> FittedLinearTree:
        """The state of saved trees; ModelFileError if they do not fit together."""
        cost = facts.get("C", settings.C)  # a folder of an earlier version has it among the parameters
        if isinstance(cost, bool) or not isinstance(cost, (int, float)) or not 0 < cost < np.inf:
            raise ModelFileError(f"linear-tree: the cost C must be a number above 0, but is {cost!r:.60}")
        bounds = {name: facts.get(name, 0) for name in ("slack", "nodes", "lead")}  # earlier versions searched exactly
        for name, value in bounds.items():
            kinds = int if name == "nodes" else (int, float)
            if isinstance(value, bool) or not isinstance(value, kinds) or not 0 <= value < 2**31:
                raise ModelFileError(f"linear-tree: {name} must be a number from 0 up, but is {value!r:.60}")
        rank = arrays["feature_rank"]
        n_features = int(rank.max(initial=-1)) + 1
        numbers = range(settings.n_trees)
        return cls(
            settings,
            trained_on,
            trees=tuple(LabelTree.from_arrays(part(f"tree{number}.", arrays)) for number in numbers),
            blocks=tuple(WeightBlocks.from_arrays(n_features, arrays, f"blocks{number}.") for number in numbers),
            feature_rank=rank,
            C=cost,
            retired=arrays.get("retired", np.zeros(0, np.int32)),
            kept_rows=KeptRows.from_arrays(part("rows.", arrays), trained_on) if settings.keep_rows else None,
            **bounds,
        )
