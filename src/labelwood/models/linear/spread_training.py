"""Classifiers trained in pieces that others do: ranges of nodes, joined to what training all at once gives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood import _native
from labelwood.matrices import column_ids, row_pointers
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
        pieces = [Piece(part) for part in _child_parts(nodes, spread.n_parts)]
    else:
        pieces = _node_pieces(
            nodes, y_by_place, len(rows), spread.n_parts, whole=nodes.extra_alone or not options.prune
        )
    costs = [float(work_of_nodes(piece.part.nodes, starts, len(rows)).sum()) for piece in pieces]
    shared = [spread.share(value) for value in (rows, y_by_place, row_cost)]
    jobs = [
        # Half floats are what the solver gives: a block made of them is the one that all children together would make.
        (
            n_features,
            replace(options, weights="half") if piece.is_cut else options,
            piece.part.nodes,
            piece.part.groups_before,
        )
        for piece in pieces
    ]
    trained = spread.map(train_part, shared, jobs, costs=costs, what=what, progress=progress)
    blocks = [WeightBlocks(n_features, arrays) for arrays in trained]
    whole = _merged(n_features, pieces, blocks, options.weights)
    if len(whole) == 1:
        return whole[0]
    return joined_blocks(n_features, [BlockRange(part, 0, len(part.child_start) - 1) for part in whole])


@dataclass(frozen=True)
class Piece:
    """What one job trains; is_cut: only some children of a block, and is_last: no others of them follow."""

    part: TrainingPart
    is_cut: bool = False
    is_last: bool = True


def _merged(
    n_features: int, pieces: Sequence[Piece], blocks: Sequence[WeightBlocks], weights: str
) -> list[WeightBlocks]:
    """The blocks of all pieces in their order, with those of one block made one."""
    whole: list[WeightBlocks] = []
    parts: list[WeightBlocks] = []
    for piece, trained in zip(pieces, blocks, strict=True):
        parts.append(trained)
        if not piece.is_last:
            continue
        if piece.is_cut:
            made = _native.merged_block([part.native for part in parts], weights == "int8")
            whole.append(WeightBlocks(n_features, made))
        else:
            whole.append(trained)
        parts = []
    return whole


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


def _node_pieces(nodes: Nodes, y_by_place: sparse.csc_matrix, n_rows: int, n_parts: int, *, whole: bool) -> list[Piece]:
    """Neighbouring nodes with about the same work in every piece; a node with more than that is cut, unless `whole`."""
    work = work_of_nodes(nodes, row_pointers(y_by_place), n_rows)
    groups = np.concatenate([[0], np.cumsum(-(-(np.diff(nodes.child_start) - 1) // GROUP))])
    fair = float(work.sum()) / n_parts
    large = [] if whole else np.flatnonzero((work > fair) & (np.diff(groups) > 1)).tolist()
    pieces: list[Piece] = []
    begin = 0
    for node in [*large, len(work)]:
        between = work[begin:node]
        if len(between) and between.sum() > 0:
            ranges = even_ranges(between.tolist(), max(1, round(float(between.sum()) / fair)))
            pieces += [
                Piece(
                    TrainingPart(
                        node_range(nodes, begin + first, begin + last), begin + first, int(groups[begin + first])
                    )
                )
                for first, last in ranges
            ]
        if node < len(work):
            pieces += _pieces_of_node(nodes, node, y_by_place, int(groups[node]), float(work[node]) / fair)
        begin = node + 1
    return pieces


def _pieces_of_node(
    nodes: Nodes, node: int, y_by_place: sparse.csc_matrix, groups_before: int, n_pieces: float
) -> list[Piece]:
    """The children of one node, some groups of 16 in every piece; a piece has children of one block only."""
    low, high = int(nodes.child_start[node]), int(nodes.child_start[node + 1])
    bounds = nodes.child_bound[low:high]
    starts, of_labels = row_pointers(y_by_place), column_ids(y_by_place)
    extra = nodes.extra_rows[int(nodes.extra_start[node]) : int(nodes.extra_start[node + 1])]
    # All rows of the node, as if they were negatives that somebody gave: those of other children are.
    rows = np.unique(np.concatenate([of_labels[int(starts[bounds[0]]) : int(starts[bounds[-1]])], extra]))
    n_children = high - low - 1
    n_blocks = -(-n_children // MAX_CHILDREN)
    per_block = min(MAX_CHILDREN // GROUP, max(1, round(n_pieces / n_blocks)))
    pieces = []
    for block in range(0, n_children, MAX_CHILDREN):
        end = min(block + MAX_CHILDREN, n_children)
        step = GROUP * math.ceil(math.ceil((end - block) / GROUP) / per_block)
        for first in range(block, end, step):
            last = min(first + step, end)
            some = replace(
                nodes,
                child_start=np.array([0, last - first + 1]),
                child_bound=bounds[first : last + 1],
                extra_start=np.array([0, len(rows)]),
                extra_rows=rows.astype(np.int32),
                child_cost=None if nodes.child_cost is None else nodes.child_cost[low + first : low + last + 1],
            )
            part = TrainingPart(some, node, groups_before + first // GROUP)
            pieces.append(Piece(part, is_cut=last - first < end - block, is_last=last == end))
    return pieces


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
