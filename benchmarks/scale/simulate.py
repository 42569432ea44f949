"""A hundred million labels on a cluster, simulated from measured costs: training, and what a query waits for.

    python benchmarks/scale/simulate.py                                # prints what stands in docs/scale.md
    python benchmarks/scale/simulate.py --model DIR --data FILE        # measures first how many shards must be asked
    python benchmarks/scale/simulate.py --write                        # writes it there

Costs of one machine come from docs/measurements/scale.csv (the point with the most labels), shares of the stages from
benchmarks/scale/cluster.py. Training is scheduled as labelwood.cluster does it: pieces of neighbouring nodes
, the longest first, several threads for those that would last too long (`threads_of`). A search asks some
of the shards at once and waits for the last.
"""

import argparse
import csv
import heapq
import math
import re
from pathlib import Path

import numpy as np

import labelwood as lw
from labelwood.cluster.ray_spread import PARTS_OF_PROCESSOR, threads_of
from labelwood.models.linear.tree_choice import WIDER_ROOT, merged_levels

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "scale.md"
MAX_LEAF, ARITY, GROUP = 256, 256, 16
LABELS_A_ROW, FEATURES_A_ROW = 5, 75  # of the generated data
# Of one run of benchmarks/scale/cluster.py on synth-M, one node: label vectors, label tree, classifiers.
STAGES = {"vectors": 2.7, "tree": 9.5, "classifiers": 23.2}
NETWORK_BYTES_A_SECOND = 1.25e9  # assumed: 10 Gbit/s
ROUND_TRIP_MS = (0.2, 1.0)  # assumed: median and 99th percentile within a rack
QUERIES = 20_000
BEGIN, END = "<!-- simulated -->", "<!-- end of simulated -->"


def largest_point():
    with (ROOT / "docs" / "measurements" / "scale.csv").open() as lines:
        points = [row for row in csv.DictReader(lines) if row["tool"].startswith("labelwood")]
    return max(points, key=lambda row: (int(row["labels"]), -int(row["rows"])))


def levels(n_labels):
    """(nodes, children of each) of every level of a balanced tree, the leaves with their labels last."""
    binary = max(1, math.ceil(math.log2(max(2, n_labels / MAX_LEAF))))
    steps = merged_levels(n_labels, MAX_LEAF, ARITY, ARITY * WIDER_ROOT)
    shape, depth = [], 0
    while depth < binary:
        width = min(steps[min(len(shape), len(steps) - 1)], binary - depth)
        shape.append((2**depth, 2**width))
        depth += width
    return [*shape, (2**binary, math.ceil(n_labels / 2**binary))]


def work(n_labels):
    """Groups of 16 classifiers times nodes that a row comes to, level by level."""
    return [
        nodes * (1 - (1 - 1 / nodes) ** LABELS_A_ROW) * math.ceil(children / GROUP)
        for nodes, children in levels(n_labels)
    ]


def makespan(durations, threads, machines, cores):
    """When the last piece ends; pieces are given out in order, each to the machine that has the processors first."""
    free = [[0.0] * cores for _ in range(machines)]
    for heap in free:
        heapq.heapify(heap)
    last = 0.0
    for duration, n in zip(durations, threads, strict=True):
        start, machine = min((sorted(heap)[n - 1], number) for number, heap in enumerate(free))
        for _ in range(n):
            heapq.heapreplace(free[machine], start + duration)
        last = max(last, start + duration)
    return last


def training(n_labels, n_rows, cpu_seconds, machines, cores):
    """(seconds of sending the rows, of vectors and tree, of the classifiers)."""
    processors = machines * cores
    total = sum(STAGES.values())
    send = n_rows * FEATURES_A_ROW * 8 / NETWORK_BYTES_A_SECOND if machines > 1 else 0.0
    vectors = cpu_seconds * STAGES["vectors"] / total / processors
    binary = max(1, math.ceil(math.log2(n_labels / MAX_LEAF)))
    of_level = cpu_seconds * STAGES["tree"] / total / binary
    tree = sum(of_level / min(processors, 2**depth * cores) for depth in range(binary))
    classifiers = cpu_seconds * STAGES["classifiers"] / total
    costs, groups = [], []
    share = np.array(work(n_labels)) / sum(work(n_labels)) * classifiers
    for (nodes, children), seconds in zip(levels(n_labels), share, strict=True):
        pieces = min(nodes, max(1, round(seconds / classifiers * PARTS_OF_PROCESSOR * processors)))
        costs += [seconds / pieces] * pieces
        groups += [math.ceil(children / GROUP) * max(1, nodes // pieces)] * pieces
    threads = [min(n, g) for n, g in zip(threads_of(costs, [cores] * machines), groups, strict=True)]
    order = sorted(range(len(costs)), key=lambda place: -costs[place])
    ends = makespan([costs[p] / threads[p] for p in order], [threads[p] for p in order], machines, cores)
    return send, vectors + tree, ends


def lognormal(median, p99, size, rng):
    return median * np.exp(math.log(p99 / median) / 2.326 * rng.standard_normal(size))


def search(point, asked, rng):
    """Milliseconds of queries that ask so many shards at once and wait for the last, and their CPU."""
    shard = lognormal(float(point["p50_ms"]), float(point["p99_ms"]), (QUERIES, asked), rng)
    network = lognormal(*ROUND_TRIP_MS, (QUERIES, asked), rng)
    return (shard + network).max(axis=1), shard.sum(axis=1)


def found_in_best(model, data, asked):
    """The share of the five best labels of an exact search that lie below the best `asked` children of the root."""
    tree = model.fitted_.trees[0]
    rows = lw.read(data).take(slice(500))
    best = model.search(rows, 5, slack=0.0).top.labels
    child_of = np.searchsorted(tree.first_label[tree.children(0).start : tree.children(0).stop],
                               np.argsort(tree.label_order)[best], side="right") - 1  # fmt: skip
    ranks = []
    for row in range(rows.n_rows):
        scores = model.fitted_.child_scores(rows.x[row], 0, 0)
        rank = np.empty(len(scores), int)
        rank[np.argsort(-scores, kind="stable")] = np.arange(len(scores))
        ranks.append(rank[child_of[row]])
    return {n: float((np.array(ranks) < n).mean()) for n in asked}, len(tree.children(0))


def report(asked_of_model):
    point = largest_point()
    rng = np.random.default_rng(0)
    n_labels, n_rows = 100_000_000, 33_333_333
    cpu_a_row = float(point["train_cpu_s"]) / int(point["rows"])
    cpu = cpu_a_row * n_rows * sum(work(n_labels)) / sum(work(int(point["labels"])))
    measured_labels, bytes_a_label = int(point["labels"]), 1e6 * float(point["model_mb"]) / int(point["labels"])
    shape = ", ".join(f"{nodes:,} x {children}" for nodes, children in levels(n_labels))
    times = sum(work(n_labels)) / sum(work(measured_labels))
    p50, p99, seconds = (float(point[name]) for name in ("p50_ms", "p99_ms", "train_cpu_s"))
    lines = [
        f"Measured: {int(point['rows']):,} rows and {measured_labels:,} labels train in {seconds:.1f} CPU seconds; "
        f"a row alone takes {p50:.3f} ms (p99 {p99:.3f}); the model has {bytes_a_label:.0f} bytes a label. A tree over "
        f"100,000,000 labels has the levels {shape}, so a row comes to {times:.2f} times as many groups of "
        f"classifiers: **{cpu / 3600:.1f} CPU hours** for {n_rows:,} rows, and "
        f"a model of {1e-9 * n_labels * bytes_a_label:.0f} GB.",
        "",
        "| machines x cores | rows sent, s | vectors and tree, s | classifiers, s | together, min | of perfect |",
        "|---|---|---|---|---|---|",
    ]
    for machines, cores in ((1, 32), (4, 32), (16, 32), (64, 32)):
        send, tree, classifiers = training(n_labels, n_rows, cpu, machines, cores)
        together = send + tree + classifiers
        lines.append(
            f"| {machines} x {cores} | {send:.0f} | {tree:.0f} | {classifiers:.0f} | {together / 60:.1f} | "
            f"{cpu / (machines * cores) / together:.0%} |"
        )
    n_shards = n_labels // int(point["labels"])
    lines += [
        "",
        f"A service of {n_shards:,} shards of {int(point['labels']):,} labels; a router asks the best of them at once:",
        "",
        "| shards asked | median, ms | p99, ms | CPU of the shards, ms |",
        "|---|---|---|---|",
    ]
    for asked in (1, 4, 16, 64, n_shards):
        waited, used = search(point, asked, rng)
        lines.append(f"| {asked:,} | {np.median(waited):.2f} | {np.quantile(waited, 0.99):.2f} | {used.mean():.2f} |")
    if asked_of_model:
        found, n_children = asked_of_model
        words = ", ".join(f"{n}: {share:.1%}" for n, share in found.items())
        what = f"Share of the exact five best labels below the best n of a root's {n_children} children (measured)"
        lines += ["", f"{what}: {words}."]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    measured = found_in_best(lw.load(given.model), given.data, (1, 2, 4, 8, 16)) if given.model else None
    text = report(measured)
    print(text)
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        assert BEGIN in page
        new = re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{text}\n{END}", page, flags=re.DOTALL)
        PAGE.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
