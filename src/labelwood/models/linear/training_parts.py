"""Nodes cut into parts that are trained one after the other and are, joined, what training all at once gives."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from labelwood.models.linear.weight_blocks import GROUP, MAX_CHILDREN, Nodes
from labelwood.scratch import current_scratch

Int64 = npt.NDArray[np.int64]

# Numbers of gathered rows times groups of 16 children: about two seconds of one core (200,000 rows, 100,000 labels).
WORK_OF_PART = 1.5e9
MOST_PARTS = 64  # a run that was killed has lost 1.6% of the work at most
FINER = 8  # where memory is to be spared: times as many parts, while there are not too many


@dataclass(frozen=True)
class TrainingPart:
    """Nodes from first_node on, or some children of one node; groups_before: groups of 16 children before them."""

    nodes: Nodes
    first_node: int
    groups_before: int


def training_parts(
    nodes: Nodes, label_start: Int64, n_rows: int, n_values: int, *, whole_nodes: bool = False
) -> list[TrainingPart]:
    """The parts of about WORK_OF_PART each, at most MOST_PARTS of them; the same for any number of threads.

    label_start: where the rows of each label place begin, then the end. n_values: of all rows together. whole_nodes:
    the children of a node stay together even if it is the only one.
    """
    work = work_of_nodes(nodes, label_start, n_rows) * (n_values / max(1, n_rows))
    wanted = WORK_OF_PART if current_scratch() is None else WORK_OF_PART / FINER
    limit = max(wanted, float(work.sum()) / MOST_PARTS)
    if nodes.all_rows and len(work) == 1 and not whole_nodes:
        return list(_parts_of_children(nodes, float(work[0]), limit))
    groups = np.concatenate([[0], np.cumsum(-(-_n_children(nodes) // GROUP))])
    ends = _ends(work, limit)
    return [
        TrainingPart(node_range(nodes, first, last), first, int(groups[first]))
        for first, last in itertools.pairwise([0, *ends])
        if groups[last] > groups[first] or len(ends) == 1  # leaves of one label have no classifier, and no block
    ]


def work_of_nodes(nodes: Nodes, label_start: Int64, n_rows: int) -> npt.NDArray[np.float64]:
    """For every node the rows that it gathers, from above, times its groups of 16 children."""
    groups = -(-_n_children(nodes) // GROUP)
    if nodes.all_rows:
        return np.asarray(n_rows * groups, np.float64)
    low = nodes.child_bound[nodes.child_start[:-1]]
    high = nodes.child_bound[nodes.child_start[1:] - 1]
    rows = label_start[high] - label_start[low] + np.diff(nodes.extra_start)
    return np.asarray(np.minimum(rows, n_rows) * groups, np.float64)


def node_range(nodes: Nodes, first: int, last: int) -> Nodes:
    """The nodes first .. last - 1 alone."""
    low, high = int(nodes.child_start[first]), int(nodes.child_start[last])
    extra_low, extra_high = int(nodes.extra_start[first]), int(nodes.extra_start[last])
    return replace(
        nodes,
        child_start=nodes.child_start[first : last + 1] - low,
        child_bound=nodes.child_bound[low:high],
        extra_start=nodes.extra_start[first : last + 1] - extra_low,
        extra_rows=nodes.extra_rows[extra_low:extra_high],
        child_cost=None if nodes.child_cost is None else nodes.child_cost[low:high],
    )


def _n_children(nodes: Nodes) -> Int64:
    return np.diff(nodes.child_start) - 1


def _ends(work: npt.NDArray[np.float64], limit: float) -> list[int]:
    """Where parts end: as soon as they hold `limit`; the last ends with the nodes."""
    part = (np.cumsum(work) - work) // limit  # by where a node's own work begins
    return [*(np.flatnonzero(np.diff(part)) + 1).tolist(), len(work)]


def _parts_of_children(nodes: Nodes, work: float, limit: float) -> Iterator[TrainingPart]:
    """One node that takes all rows, whole blocks of children at a time."""
    n_children = int(_n_children(nodes)[0])
    n_blocks = -(-n_children // MAX_CHILDREN)
    n_parts = min(n_blocks, max(1, int(work // limit)))
    bounds = [n_blocks * part // n_parts * MAX_CHILDREN for part in range(n_parts)] + [n_children]
    for first, last in itertools.pairwise(bounds):
        some = replace(
            nodes,
            child_start=np.array([0, last - first + 1]),
            child_bound=nodes.child_bound[first : last + 1],
            child_cost=None if nodes.child_cost is None else nodes.child_cost[first : last + 1],
        )
        yield TrainingPart(some, 0, first // GROUP)
