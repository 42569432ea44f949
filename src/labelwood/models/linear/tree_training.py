"""The classifiers of one label tree: which rows each node learns from, at what cost, level by level where needed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.labelindex.tree import LabelTree
from labelwood.models.linear.block_edits import BlockRange, joined_blocks
from labelwood.models.linear.linear_tree_params import LINKS, LinearTreeParams
from labelwood.models.linear.part_training import train_in_parts
from labelwood.models.linear.tree_negatives import Matching, NodeRows, merged, rows_above
from labelwood.models.linear.tree_nodes import training_nodes
from labelwood.models.linear.weight_blocks import Nodes, Rows, SolverOptions, WeightBlocks
from labelwood.progress import Progress


@dataclass(frozen=True)
class TrainingRows:
    """What all trees of a forest learn from.

    label_costs: a factor for each label's positive rows, or None. row_cost: a factor for each row, or None.
    """

    rows: Rows
    n_features: int
    by_label: sparse.csc_matrix
    options: SolverOptions
    label_costs: npt.NDArray[np.float64] | None = None
    given_negatives: sparse.csr_matrix | None = None
    row_cost: npt.NDArray[np.float32] | None = None


@dataclass(frozen=True)
class MatchOptions:
    """How matcher-aware negatives are searched: link, beam, and whether they are the only negatives."""

    link: int
    beam: int
    alone: bool


def match_options(settings: LinearTreeParams) -> MatchOptions | None:
    """How matcher-aware negatives are searched, or None if there are none."""
    if settings.negatives == "tfn":
        return None
    return MatchOptions(LINKS.index(settings.link), settings.match_beam, alone=settings.negatives == "man")


def train_tree(
    data: TrainingRows, tree: LabelTree, match: MatchOptions | None, progress: Progress, what: str
) -> WeightBlocks:
    """The weight blocks of all nodes of the tree; with `match`, nodes also learn from rows that the search brings."""
    in_order = data.by_label[:, tree.label_order]
    nodes = costed(training_nodes(tree), tree, data.by_label, data.label_costs)
    given = None if data.given_negatives is None else rows_above(tree, data.given_negatives)
    if match is None:
        nodes = nodes if given is None else with_extra(nodes, given)
        return _trained(data, in_order, nodes, progress, what)
    search = Matching(tree, data.rows, match.link, match.beam, data.options.n_threads)
    parts = []
    for level in range(tree.max_depth + 1):
        reached = search.reached()
        extra = reached if given is None else merged(reached, given)
        chosen = np.arange(tree.level_starts[level], tree.level_starts[level + 1], dtype=np.int64)
        of_level = replace(with_extra(nodes, extra).take(chosen), extra_alone=match.alone)
        if len(of_level.child_bound) == len(chosen):  # every node of the level is a leaf of one label: nothing to train
            continue
        blocks = _trained(data, in_order, of_level, progress, f"{what}, level {level}")
        parts.append(BlockRange(blocks, 0, len(blocks.child_start) - 1))
        if level < tree.max_depth:
            search.descend(level, blocks)
    return joined_blocks(data.n_features, parts)


def _trained(
    data: TrainingRows, in_order: sparse.csc_matrix, nodes: Nodes, progress: Progress, what: str
) -> WeightBlocks:
    return train_in_parts(
        rows=data.rows,
        n_features=data.n_features,
        y_by_place=in_order,
        nodes=nodes,
        options=data.options,
        progress=progress,
        what=what,
        row_cost=data.row_cost,
    )


def with_extra(nodes: Nodes, extra: NodeRows) -> Nodes:
    """The nodes with these rows as further negatives."""
    return replace(nodes, extra_start=extra.start, extra_rows=extra.rows)


def costed(
    nodes: Nodes, tree: LabelTree, by_label: sparse.csc_matrix, label_costs: npt.NDArray[np.float64] | None
) -> Nodes:
    """The nodes with the cost of each child's positive rows: the mean over its labels, by their rows in by_label."""
    if label_costs is None:
        return nodes
    counts = np.diff(by_label.indptr)[tree.label_order].astype(np.float64)
    costs = label_costs[tree.label_order]
    rows_before = np.concatenate([[0], np.cumsum(counts)])
    cost_before = np.concatenate([[0], np.cumsum(counts * costs)])
    bounds = nodes.child_bound
    # The last bound of a node begins no child; its entry is never read.
    ends = np.append(bounds[1:], bounds[-1:])
    ends = np.maximum(ends, bounds)
    rows = rows_before[ends] - rows_before[bounds]
    cost = np.where(rows > 0, (cost_before[ends] - cost_before[bounds]) / np.maximum(rows, 1), 1.0)
    return replace(nodes, child_cost=cost.astype(np.float32))
