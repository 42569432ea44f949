"""Weight blocks made from other weight blocks: joined, stored in bytes, cut down to a size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labelwood.errors import BudgetError, ModelFileError
from labelwood.memory import memory_text
from labelwood.models.linear.weight_blocks import WeightBlocks
from labelwood.scratch import release, room
from labelwood.storage.schema import Arrays

# A cut this close below the budget is good enough: each try rebuilds all blocks.
_CLOSE = 0.98
_LARGEST_HALF_BITS = 0x7C00  # bits of the half float infinity: the bits of positive halves grow with their value


@dataclass(frozen=True)
class BlockRange:
    """Blocks first .. last - 1 of some weight blocks."""

    blocks: WeightBlocks
    first: int
    last: int


def joined_blocks(n_features: int, parts: Sequence[BlockRange]) -> WeightBlocks:
    """The blocks of all parts in a row, as blocks over n_features features (at least as many as any part has).

    ModelFileError if some hold bytes and others half floats, as those of a damaged folder may.
    """
    if len({"scale" in part.blocks.arrays for part in parts}) > 1:
        raise ModelFileError("the weight blocks are damaged: some have scales, others have none")
    words_of = max(1, -(-n_features // 4096))
    pieces: dict[str, list[np.ndarray]] = {}
    for part in parts:
        for name, array in _slices(part, words_of).items():
            pieces.setdefault(name, []).append(array)
    arrays: Arrays = {}
    for name, arrays_of_parts in pieces.items():
        # The lengths of blocks come in; where each begins goes out.
        joined = room(sum(map(len, arrays_of_parts)), arrays_of_parts[0].dtype)
        np.concatenate(arrays_of_parts, out=joined)
        release(joined, *arrays_of_parts)
        arrays[name] = np.concatenate([[0], np.cumsum(joined)]).astype(np.int64) if name.endswith("_start") else joined
    return WeightBlocks(n_features, arrays)


def _slices(part: BlockRange, n_top: int) -> Arrays:
    """The arrays of a range of blocks: lengths in place of starts, top bitmaps widened to n_top words."""
    a, first, last = part.blocks.arrays, part.first, part.last
    sliced: Arrays = {}
    for name in ("child_start", "word_start", "payload_start"):
        sliced[name] = np.diff(a[name][first : last + 1])
    part_top = max(1, -(-part.blocks.n_features // 4096))
    widen = ((0, 0), (0, n_top - part_top))
    bits = a["top_bits"].reshape(-1, part_top)[first:last]
    rank = a["top_rank"].reshape(-1, part_top)[first:last]
    sliced["top_bits"] = np.pad(bits, widen).ravel()
    rank = np.pad(rank, widen)
    rank[:, part_top:] = sliced["word_start"][:, None]  # all words of the block come before the added, empty ones
    sliced["top_rank"] = rank.ravel()
    for name, start, unit in (
        ("bias", "child_start", 1),
        ("scale", "child_start", 1),
        ("words", "word_start", 3),
        ("payload", "payload_start", 1),
    ):
        if name in a:
            sliced[name] = a[name][unit * int(a[start][first]) : unit * int(a[start][last])]
    return sliced


def stored_as(blocks: WeightBlocks, weights: str, n_threads: int | None, prune: float = 0.0) -> WeightBlocks:
    """The same classifiers without weights below `prune`, as "half" floats or "int8" bytes."""
    if (weights == "int8") == ("scale" in blocks.arrays) and not prune:
        return blocks
    return WeightBlocks(blocks.n_features, blocks.native.rebuilt(prune, weights == "int8", n_threads or 0))


def within_budget(
    blocks: Sequence[WeightBlocks], weights: str, budget: int, n_threads: int | None
) -> list[WeightBlocks]:
    """The blocks stored as asked, with as many of the largest weights as fit into `budget` bytes; BudgetError if none.

    One threshold for all of them: a weight means the same in every classifier.
    """
    whole = [stored_as(part, weights, n_threads) for part in blocks]
    if _size(whole) <= budget:
        return whole
    low, high = 0, _LARGEST_HALF_BITS
    best: list[WeightBlocks] | None = None
    while high - low > 1:
        middle = (low + high) // 2
        prune = float(np.array(middle, np.uint16).view(np.float16))
        tried = [stored_as(part, weights, n_threads, prune) for part in blocks]
        size = _size(tried)
        if size > budget:
            low = middle
            continue
        best, high = tried, middle
        if size >= _CLOSE * budget:
            break
    if best is None:
        best = [stored_as(part, weights, n_threads, float("inf")) for part in blocks]
        if _size(best) > budget:
            raise BudgetError(
                f"LinearTree: even without a single weight the classifiers need {memory_text(_size(best))}, "
                f"but size_budget leaves {memory_text(max(budget, 0))} for them"
            )
    return best


def _size(blocks: Sequence[WeightBlocks]) -> int:
    return sum(array.nbytes for part in blocks for array in part.arrays.values())
