"""Rows that a tree node learns from beside those with a label below it: given by the user, or found by the search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.labelindex.tree import LabelTree
from labelwood.models.linear.tree_nodes import first_blocks
from labelwood.models.linear.weight_blocks import Rows, WeightBlocks, starts_of

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class NodeRows:
    """The rows of every node: node n has rows[start[n]] .. rows[start[n + 1] - 1], ascending."""

    start: Int64
    rows: Int32

    def of_levels(self, first: int, last: int) -> NodeRows:
        """The rows of the nodes first .. last - 1 alone."""
        low, high = int(self.start[first]), int(self.start[last])
        return NodeRows(self.start[first : last + 1] - low, self.rows[low:high])

    def moved(self, new_nodes: Int64, n_nodes: int) -> NodeRows:
        """The same rows in another tree of n_nodes: node n is new_nodes[n] there."""
        nodes = np.repeat(new_nodes, np.diff(self.start))
        return node_rows(self.rows, nodes, n_nodes)


def node_rows(rows: npt.NDArray[np.integer], nodes: npt.NDArray[np.integer], n_nodes: int) -> NodeRows:
    """Pairs (row, node) by node, each pair once."""
    if not len(rows):
        return NodeRows(np.zeros(n_nodes + 1, np.int64), np.zeros(0, np.int32))
    width = int(rows.max()) + 1
    keys = np.unique(nodes.astype(np.int64) * width + rows)
    return NodeRows(starts_of(np.bincount(keys // width, minlength=n_nodes)), (keys % width).astype(np.int32))


def merged(first: NodeRows, second: NodeRows) -> NodeRows:
    """The rows of both, node by node."""
    nodes = [np.repeat(np.arange(len(part.start) - 1), np.diff(part.start)) for part in (first, second)]
    return node_rows(np.concatenate([first.rows, second.rows]), np.concatenate(nodes), len(first.start) - 1)


def rows_above(tree: LabelTree, given: sparse.csr_matrix) -> NodeRows:
    """For a matrix of rows x labels: each row in the leaf of every label it names, and in all nodes above."""
    pairs = given.tocoo()
    rows, nodes = pairs.row.astype(np.int64), tree.leaf_of_labels[pairs.col].astype(np.int64)
    all_rows, all_nodes = [rows], [nodes]
    while len(nodes):
        nodes = tree.parent[nodes].astype(np.int64)
        rows, nodes = rows[nodes >= 0], nodes[nodes >= 0]
        all_rows.append(rows)
        all_nodes.append(nodes)
    return node_rows(np.concatenate(all_rows), np.concatenate(all_nodes), tree.n_nodes)


class Matching:
    """A beam search of all rows that goes down a tree level by level, as the levels get their classifiers."""

    def __init__(self, tree: LabelTree, rows: Rows, link: int, beam: int, n_threads: int | None) -> None:
        self._tree, self._rows, self._link = tree, rows, link
        self._threads = n_threads or 0
        self.nodes = np.full((len(rows), beam), -1, np.int32)
        self.nodes[:, 0] = 0
        self.scores = np.zeros((len(rows), beam), np.float32)

    def reached(self) -> NodeRows:
        """The rows at every node of the level that the search has come to (no rows elsewhere)."""
        row, place = np.nonzero(self.nodes >= 0)
        return node_rows(row, self.nodes[row, place], self._tree.n_nodes)

    def descend(self, level: int, blocks: WeightBlocks, first_block: int = 0) -> None:
        """Go from a level to the next; the blocks of the level's nodes begin at `first_block` of `blocks`."""
        tree = self._tree
        first, last = int(tree.level_starts[level]), int(tree.level_starts[level + 1])
        starts = first_blocks(tree)[first : last + 1]
        nodes, scores = np.empty_like(self.nodes), np.empty_like(self.scores)
        blocks.native.next_level(
            first, tree.first_child[first:last], starts - starts[0] + first_block, self._link, self._rows.indptr,
            self._rows.indices, self._rows.data, self._threads, self.nodes, self.scores, nodes, scores,
        )  # fmt: skip
        self.nodes, self.scores = nodes, scores


def matched_rows(
    tree: LabelTree, blocks: WeightBlocks, rows: Rows, link: int, beam: int, n_threads: int | None
) -> NodeRows:
    """The rows that a beam search through a trained tree brings to each node; the root has all of them."""
    search = Matching(tree, rows, link, beam, n_threads)
    rows_of_nodes = search.reached()
    starts = first_blocks(tree)
    for level in range(tree.max_depth):
        search.descend(level, blocks, int(starts[tree.level_starts[level]]))
        rows_of_nodes = merged(rows_of_nodes, search.reached())
    return rows_of_nodes


def best_leaves(
    tree: LabelTree, blocks: WeightBlocks, rows: Rows, link: int, beam: int, n_threads: int | None
) -> Int64:
    """The leaf with the best path score for every row, as far as a beam search looks."""
    search = Matching(tree, rows, link, beam, n_threads)
    leaves = np.full(len(rows), tree.leaves[0], np.int64)
    best = np.full(len(rows), -np.inf, np.float32)
    starts = first_blocks(tree)
    for level in range(tree.max_depth + 1):
        is_leaf = (search.nodes >= 0) & (tree.n_children[search.nodes] == 0)
        scores = np.where(is_leaf, search.scores, -np.inf)
        place = scores.argmax(axis=1)
        here = scores[np.arange(len(rows)), place]
        better = here > best
        leaves[better] = search.nodes[better, place[better]]
        best[better] = here[better]
        if level < tree.max_depth:
            search.descend(level, blocks, int(starts[tree.level_starts[level]]))
    return leaves


def child_scores(tree: LabelTree, blocks: WeightBlocks, rows: Rows, link: int, node: int) -> npt.NDArray[np.float32]:
    """What each child's classifier of an inner node says of the one row, in 0..1; empty for a leaf."""
    children = tree.children(node)
    if not len(children):
        return np.zeros(0, np.float32)
    search = Matching(tree, rows, link, len(children), 1)
    search.nodes[:, 0] = node
    level = int(tree.depth[node])
    search.descend(level, blocks, int(first_blocks(tree)[tree.level_starts[level]]))
    scores = np.empty(len(children), np.float32)
    scores[search.nodes[0] - children.start] = np.exp(search.scores[0])
    return scores
