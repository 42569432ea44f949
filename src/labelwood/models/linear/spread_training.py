"""Classifiers trained in pieces that others do: ranges of nodes, joined to what training all at once gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.matrices import row_pointers
from labelwood.models.linear.block_edits import BlockRange, joined_blocks
from labelwood.models.linear.training_parts import TrainingPart, node_range, work_of_nodes
from labelwood.models.linear.weight_blocks import (
    GROUP,
    MAX_CHILDREN,
    Nodes,
    Rows,
    SolverOptions,
    WeightBlocks,
    train_blocks,
)
from labelwood.progress import SILENT, Progress
from labelwood.spreading import Spread, even_ranges


def spread_blocks(
    spread: Spread,
    rows: Rows,
    n_features: int,
    y_by_place: sparse.csc_matrix,
    nodes: Nodes,
    options: SolverOptions,
    progress: Progress,
    what: str,
    row_cost: npt.NDArray[np.float32] | None = None,
) -> WeightBlocks:
    """What `train_blocks` gives, byte for byte, from pieces that the spread does; each machine gets the rows once."""
    starts = row_pointers(y_by_place)
    if nodes.all_rows and len(nodes.child_start) == 2:
        parts = _child_parts(nodes, spread.n_parts)
    else:
        parts = _node_parts(nodes, starts, len(rows), spread.n_parts)
    costs = [float(work_of_nodes(part.nodes, starts, len(rows)).sum()) for part in parts]
    shared = [spread.share(value) for value in (rows, y_by_place, row_cost)]
    jobs = [(n_features, options, part.nodes, part.groups_before) for part in parts]
    trained = spread.map(train_part, shared, jobs, costs=costs, what=what, progress=progress)
    blocks = [WeightBlocks(n_features, arrays) for arrays in trained]
    if len(blocks) == 1:
        return blocks[0]
    return joined_blocks(n_features, [BlockRange(part, 0, len(part.child_start) - 1) for part in blocks])


def train_part(
    rows: Rows,
    y_by_place: sparse.csc_matrix,
    row_cost: npt.NDArray[np.float32] | None,
    n_features: int,
    options: SolverOptions,
    nodes: Nodes,
    groups_before: int,
    *,
    n_threads: int | None = None,
) -> dict[str, Any]:
    """The arrays of the weight blocks of some nodes."""
    return train_blocks(
        rows,
        n_features,
        y_by_place,
        nodes,
        replace(options, n_threads=n_threads or 0),
        SILENT,
        "",
        row_cost=row_cost,
        groups_before=groups_before,
    ).arrays


def _node_parts(nodes: Nodes, starts: npt.NDArray[np.int64], n_rows: int, n_parts: int) -> list[TrainingPart]:
    """Neighbouring nodes with about the same work in every part."""
    work = work_of_nodes(nodes, starts, n_rows)
    groups = np.concatenate([[0], np.cumsum(-(-(np.diff(nodes.child_start) - 1) // GROUP))])
    return [
        TrainingPart(node_range(nodes, first, last), first, int(groups[first]))
        for first, last in even_ranges(work.tolist(), n_parts)
    ]


def _child_parts(nodes: Nodes, n_parts: int) -> list[TrainingPart]:
    """The children of the only node, whole blocks of them in every part."""
    n_children = int(nodes.child_start[1]) - 1
    ranges = even_ranges([1.0] * -(-n_children // MAX_CHILDREN), n_parts)
    bounds = [(first * MAX_CHILDREN, min(last * MAX_CHILDREN, n_children)) for first, last in ranges]
    return [
        TrainingPart(
            replace(
                nodes,
                child_start=np.array([0, last - first + 1]),
                child_bound=nodes.child_bound[first : last + 1],
                child_cost=None if nodes.child_cost is None else nodes.child_cost[first : last + 1],
            ),
            0,
            first // GROUP,
        )
        for first, last in bounds
    ]
