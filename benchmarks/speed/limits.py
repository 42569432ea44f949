"""How far the linear tree is from what the machine can do: bytes and operations it needs, and the time it takes.

    python benchmarks/speed/limits.py FOLDER ...

A folder holds X.train.npz, Y.train.npz and X.test.npz, as benchmarks/peers/compare.py keeps them. One thread; a C++
compiler is needed for machine.cpp. Times are processor time.
"""

from __future__ import annotations

import argparse
import heapq
import json
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import labelwood
from labelwood import _native
from labelwood.models.linear.fitted_tree import FittedLinearTree
from labelwood.models.linear.tree_nodes import first_blocks, training_nodes
from labelwood.models.linear.weight_blocks import ranked_rows

K = 10
SAMPLED = 100
SINGLE_ROWS = 3000
FULL_ROW = 255


def machine() -> dict[str, float]:
    """The figures of machine.cpp, compiled for this machine."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "machine"
        source = Path(__file__).with_name("machine.cpp")
        subprocess.run(["c++", "-O3", "-march=native", "-std=c++20", str(source), "-o", str(program)], check=True)
        figures: dict[str, float] = json.loads(subprocess.run([program], check=True, capture_output=True).stdout)
    return figures


@dataclass
class Reads:
    """What answers read: cache lines, bytes that were needed of them, and weights that were added."""

    blocks: int = 0
    lines: int = 0
    needed: int = 0
    weights: int = 0


def opened_blocks(state: FittedLinearTree, features: Any, values: Any) -> list[int]:
    """The blocks that a best-first search for K labels opens, in their order."""
    tree, blocks, slack = state.trees[0], state.blocks[0], state.slack
    first = first_blocks(tree)
    best: list[float] = []
    frontier, opened = [(0.0, 0)], []
    while frontier:
        score, node = heapq.heappop(frontier)
        if len(best) == K and -score - slack <= best[0]:
            break
        opened += range(int(first[node]), int(first[node + 1]))
        margins = [blocks.margins(block, features, values) for block in range(int(first[node]), int(first[node + 1]))]
        below = -score - np.maximum(0, 1 - np.concatenate(margins)) ** 3
        if tree.n_children[node]:
            for child, path in zip(tree.children(node), below.tolist(), strict=True):
                heapq.heappush(frontier, (-path, int(child)))
        else:
            best = sorted([*best, *below.tolist()])[-K:]
    return opened


def count_reads(state: FittedLinearTree, block: int, features: Any, reads: Reads) -> None:
    """Add what one row reads of one block."""
    blocks = state.blocks[0]
    a = blocks.arrays
    n_top = max(1, -(-blocks.n_features // 4096))
    n_children = int(a["child_start"][block + 1] - a["child_start"][block])
    words, payload = int(a["word_start"][block]), int(a["payload_start"][block])
    lines: set[tuple[str, int]] = set()
    for feature in features.tolist():
        word = feature >> 6
        top = int(a["top_bits"][block * n_top + (word >> 6)])
        if not top >> (word & 63) & 1:
            continue
        w = words + int(a["top_rank"][block * n_top + (word >> 6)]) + (top & ((1 << (word & 63)) - 1)).bit_count()
        lines |= {("words", 12 * w // 64), ("words", (12 * w + 11) // 64)}
        reads.needed += 12
        low, high, offset = (int(number) for number in a["words"][3 * w : 3 * w + 3])
        bits = low | high << 32
        if not bits >> (feature & 63) & 1:
            continue
        before, n_rows = (bits & ((1 << (feature & 63)) - 1)).bit_count(), bits.bit_count()
        codes = a["payload"][payload + offset : payload + offset + n_rows].tolist()
        sizes = [row_bytes(code, n_children) for code in codes]
        start = payload + offset + n_rows + sum(sizes[:before])
        places = [*range(payload + offset, payload + offset + before + 1), *range(start, start + sizes[before])]
        lines |= {("payload", place // 64) for place in places}
        reads.needed += len(places)
        reads.weights += n_children if codes[before] == FULL_ROW else codes[before]
    reads.blocks += 1
    reads.lines += len(lines)


def row_bytes(code: int, n_children: int) -> int:
    """The bytes of a row of weights in single bytes (native/models/linear/blocks.hpp)."""
    if code == FULL_ROW:
        return n_children
    return code + (code if code <= n_children // 8 else -(-n_children // 8))


def trained(x: sparse.csr_matrix, y: sparse.csr_matrix) -> tuple[labelwood.LinearTree, float, float]:
    """(model, processor seconds in the solver, passes over a node's rows, mean over groups of 16 children)."""
    spent, groups, passes = 0.0, 0, 0
    native = _native.train_nodes

    def counted(**options: Any) -> Any:
        nonlocal spent, groups, passes
        start = time.process_time()
        made = native(**options)
        spent += time.process_time() - start
        groups, passes = groups + made[1], passes + made[2]
        return made

    _native.train_nodes = counted
    try:
        model = labelwood.LinearTree(C=1.0, n_threads=1).fit(x, y)
    finally:
        _native.train_nodes = native
    return model, spent, passes / groups


def values_in_groups(state: FittedLinearTree, x: sparse.csr_matrix, y: sparse.csr_matrix) -> int:
    """The values of every node's rows times its groups of 16 children: what one pass over everything looks at."""
    tree = state.trees[0]
    by_place = y.tocsc()[:, tree.label_order]
    lengths = np.diff(x.indptr)
    nodes = training_nodes(tree)
    total = 0
    for node in range(tree.n_nodes):
        bounds = nodes.child_bound[nodes.child_start[node] : nodes.child_start[node + 1]]
        rows = np.unique(by_place.indices[by_place.indptr[bounds[0]] : by_place.indptr[bounds[-1]]])
        total += int(lengths[rows].sum()) * -(-(len(bounds) - 1) // 16)
    return total


def report(folder: Path, limits: dict[str, float]) -> None:
    """Print what training and answering need and take."""
    parts = ("X.train", "Y.train", "X.test")
    x, y, x_test = (sparse.csr_matrix(sparse.load_npz(folder / f"{part}.npz"), dtype=np.float32) for part in parts)
    model, solving, passes = trained(x, y)
    state = model.fitted_
    one_pass = values_in_groups(state, x, y)
    # A visit of a value reads 16 weights (64 bytes) and does 16 multiply-adds; rows at rest are not visited.
    most = one_pass * passes
    print(
        f"{folder.name}: training, solver {solving:.2f} s, {passes:.1f} passes, at most {most / 1e9:.2f}e9 values x 16"
    )
    print(f"  at most {32 * most / solving / 1e9:.1f} Gflop/s ({32 * most / solving / 1e7 / limits['gflops']:.0f}% of")
    print(f"  the peak) and {64 * most / solving / 1e9:.1f} GB/s of weights, from the caches")

    rows = ranked_rows(x_test, state.feature_rank, state.settings.normalize)
    reads = Reads()
    sample = np.random.default_rng(0).permutation(len(rows))[:SAMPLED]
    for row in sample:
        span = slice(int(rows.indptr[row]), int(rows.indptr[row + 1]))
        for block in opened_blocks(state, rows.indices[span], rows.data[span]):
            count_reads(state, block, rows.indices[span], reads)
    model.predict(x_test[:100], K)
    batch = []
    for _ in range(3):
        start = time.process_time()
        model.predict(x_test, K)
        batch.append((time.process_time() - start) / x_test.shape[0])
    single = [x_test[row] for row in range(min(SINGLE_ROWS, x_test.shape[0]))]
    start = time.process_time()
    for row in single:
        model.query(row.indices, row.data, K)
    alone = (time.process_time() - start) / len(single)
    blocks, lines, needed, weights = (figure / SAMPLED for figure in vars(reads).values())
    print(f"  a row: {blocks:.1f} blocks, {lines:.0f} lines, {needed:.0f} bytes needed, {weights:.0f} weights added")
    for title, spent in (("batch", min(batch)), ("single", alone)):
        micro = 1e6 * spent
        floor = {place: lines * limits[f"line_ns_{place}"] / 1e3 for place in ("256kb", "16mb", "64mb")}
        print(
            f"  {title} {micro:.1f} us: {64 * lines / micro / 1e3:.2f} GB/s of lines"
            f" ({6.4 * lines / micro / limits['triad_gb_s']:.0f}% of the triad),"
            f" {2 * weights / micro / 1e3:.2f} Gflop/s; the lines alone would take"
            f" {floor['256kb']:.1f} us from 256 KB, {floor['16mb']:.1f} from 16 MB, {floor['64mb']:.1f} from 64 MB",
            flush=True,
        )


def main() -> None:
    """Measure the machine, then each folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    folders = parser.parse_args().folders
    limits = machine()
    print(json.dumps(limits), flush=True)
    for folder in folders:
        report(folder, limits)


if __name__ == "__main__":
    main()
