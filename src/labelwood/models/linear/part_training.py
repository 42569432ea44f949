"""Training in parts, where it is long enough: each part is a step that a run which goes on need not repeat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.matrices import column_ids, row_pointers
from labelwood.models.linear.block_edits import BlockRange, joined_blocks
from labelwood.models.linear.spread_training import spread_blocks
from labelwood.models.linear.training_parts import TrainingPart, training_parts, work_of_nodes
from labelwood.models.linear.weight_blocks import GROUP, Earlier, Nodes, Rows, SolverOptions, WeightBlocks, train_blocks
from labelwood.progress import Callback, Progress
from labelwood.scratch import current_scratch, give_back, put_away
from labelwood.spreading import current_spread
from labelwood.storage.steps import Key, current_steps


def train_in_parts(
    rows: Rows,
    n_features: int,
    y_by_place: sparse.csc_matrix,
    nodes: Nodes,
    options: SolverOptions,
    progress: Progress,
    what: str,
    earlier: Earlier | None = None,
    row_cost: npt.NDArray[np.float32] | None = None,
) -> WeightBlocks:
    """What `train_blocks` gives, bit for bit; in parts where steps are kept, and without those kept already."""
    spread = current_spread()
    if spread.n_parts > 1 and earlier is None:
        return spread_blocks(spread, rows, n_features, y_by_place, nodes, options, progress, what, row_cost)
    steps = current_steps()
    if steps is None and current_scratch() is None:
        return train_blocks(rows, n_features, y_by_place, nodes, options, progress, what, earlier, row_cost)
    starts = row_pointers(y_by_place)
    parts = training_parts(nodes, starts, len(rows), len(rows.data), whole_nodes=earlier is not None)
    shared = Key("blocks").add(n_features, rows.indptr, rows.indices, rows.data)
    shared.add(rows.numbers is not None, *([] if rows.numbers is None else [rows.numbers]))
    shared.add(rows.scale is not None, *([] if rows.scale is None else [rows.scale]))
    shared.add(starts, column_ids(y_by_place))
    shared.add({name: value for name, value in asdict(options).items() if name != "n_threads"})
    shared.add(row_cost is not None, *([] if row_cost is None else [row_cost]))
    if earlier is not None:
        shared.add(earlier.first_new_row, *(earlier.blocks.arrays[name] for name in sorted(earlier.blocks.arrays)))
    shown = _Shown(progress, what, parts, starts, len(rows))
    trained = []
    for number, part in enumerate(parts):
        of_part = _earlier_of(earlier, part)

        def make(part: TrainingPart = part, of_part: Earlier | None = of_part, number: int = number) -> dict[str, Any]:
            shifted = Callback(lambda _, done, all_of_part: shown.step(number, done / max(1, all_of_part)))
            return train_blocks(
                rows,
                n_features,
                y_by_place,
                part.nodes,
                options,
                shifted,
                what,
                of_part,
                row_cost,
                groups_before=part.groups_before,
            ).arrays

        made = make() if steps is None else steps.arrays(_with_nodes(shared.copy(), part, of_part), make)
        trained.append(WeightBlocks(n_features, {name: put_away(array) for name, array in made.items()}))
        del made
        give_back()
        shown.step(number, 1.0)
    return _joined(n_features, trained)


def _with_nodes(key: Key, part: TrainingPart, earlier: Earlier | None) -> Key:
    nodes = part.nodes
    key.add(part.groups_before, nodes.all_rows, nodes.extra_alone, nodes.child_start, nodes.child_bound)
    key.add(nodes.extra_start, nodes.extra_rows)
    key.add(nodes.child_cost is not None, *([] if nodes.child_cost is None else [nodes.child_cost]))
    return key if earlier is None else key.add(earlier.first_block, earlier.n_children)


def _earlier_of(earlier: Earlier | None, part: TrainingPart) -> Earlier | None:
    """The earlier weights of a part's nodes."""
    if earlier is None:
        return None
    its = slice(part.first_node, part.first_node + len(part.nodes.child_start) - 1)
    return replace(earlier, first_block=earlier.first_block[its], n_children=earlier.n_children[its])


class _Shown:
    """Progress over all parts, by their work: the first groups of a tree take longest, and counting them would lie."""

    def __init__(
        self,
        progress: Progress,
        what: str,
        parts: Sequence[TrainingPart],
        label_start: npt.NDArray[np.int64],
        n_rows: int,
    ) -> None:
        work = [float(work_of_nodes(part.nodes, label_start, n_rows).sum()) for part in parts]
        self._before = np.concatenate([[0], np.cumsum(work)]) / max(1.0, sum(work))
        self._total = sum(int((-(-(np.diff(part.nodes.child_start) - 1) // GROUP)).sum()) for part in parts)
        self._progress, self._what = progress, what

    def step(self, part: int, share: float) -> None:
        done = self._before[part] + share * (self._before[part + 1] - self._before[part])
        self._progress.step(self._what, round(done * self._total), self._total)


def _joined(n_features: int, parts: Sequence[WeightBlocks]) -> WeightBlocks:
    if len(parts) == 1:
        return parts[0]
    return joined_blocks(n_features, [BlockRange(part, 0, len(part.child_start) - 1) for part in parts])
