"""What 100 million labels would take: a label tree cut below its root into shards, simulated from measured costs.

    python benchmarks/scale/fan_out.py [--rows 33333 --labels 100000] [--total 100000000]

First, on a real tree: how many of a row's ten best labels lie in the f shards that the root finds most likely. Then
the largest measured point of docs/measurements/scale.csv is one shard: its training, memory, size and answer times
(log-normal through p50 and p99) are those of every shard. Queries come at random; each asks the root, then f shards at
once, on machines that serve one query after the other on each core, and waits for the last one.
"""

from __future__ import annotations

import argparse
import csv
import heapq
import math

import numpy as np
from points import FEATURES, LABELS_PER_ROW, NONZEROS, SWEEPS

import labelwood
from labelwood.data.madeup.synthetic import make_sparse_pair
from page import TABLE

FAN_OUTS = (1, 2, 3, 4, 6, 8, 12, 16)
NETWORK_MS = 0.3  # there and back inside one data centre
QUERIES = 20_000
Z99 = 2.326  # of the normal distribution


def main() -> None:
    """Measure the recall of asking some shards, then simulate the cluster."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=33_333)
    parser.add_argument("--labels", type=int, default=100_000)
    parser.add_argument("--asked", type=int, default=500, help="test rows that the recall is measured on")
    parser.add_argument("--total", type=int, default=100_000_000, help="labels of the simulated catalogue")
    parser.add_argument("--recall", type=float, default=0.99, help="of the ten best labels, which fan-out is for")
    parser.add_argument("--cores", type=int, default=2, help="of each machine; a machine holds one shard")
    options = parser.parse_args()
    found = recall_of_shards(options.rows, options.labels, options.asked)
    print(
        f"{options.labels:,} labels in {found.pop('shards'):.0f} shards (children of the root), {options.asked} rows:"
    )
    for fan_out, recall in found.items():
        print(f"  the {fan_out} most likely shards hold {100 * recall:.1f}% of the ten best labels")
    enough = next((int(f) for f, recall in found.items() if recall >= options.recall), max(FAN_OUTS))
    shard = largest_point()
    n_shards = math.ceil(options.total / int(shard["labels"]))
    rows = n_shards * int(shard["rows"])
    print(
        f"\n{options.total:,} labels, {rows:,} rows: {n_shards} shards like the measured point of "
        f"{int(shard['labels']):,} labels"
    )
    train, peak, size = (float(shard[name]) for name in ("train_cpu_s", "peak_mb", "model_mb"))
    print(
        f"  training: {n_shards * train / 3600:.1f} CPU hours, {train / 60:.0f} CPU minutes and {peak / 1000:.1f} GB "
        "a shard"
    )
    print(f"  model: {n_shards * size / 1000:.0f} GB, {size / 1000:.1f} GB a shard")
    p50, p99 = float(shard["p50_ms"]), float(shard["p99_ms"])
    print(f"  a shard answers in {p50:.3f} ms (p99 {p99:.3f}); the network takes {NETWORK_MS} ms; fan-out {enough}")
    for load in (0.1, 0.5, 0.8):
        rate, times = simulated(n_shards, options.cores, enough, p50, p99, load)
        print(
            f"  {100 * load:.0f}% busy: {rate:,.0f} queries a second, p50 {np.percentile(times, 50):.2f} ms, "
            f"p99 {np.percentile(times, 99):.2f} ms"
        )


def recall_of_shards(n_rows: int, n_labels: int, n_asked: int) -> dict[str, float]:
    """The share of the ten best labels of an exact search in the f most likely shards, for each f; and the shards."""
    train, test = make_sparse_pair(
        n_rows, n_asked, FEATURES, n_labels, labels_per_row=LABELS_PER_ROW, nnz_per_row=NONZEROS
    )
    model = labelwood.LinearTree(n_threads=1, exact=True).fit(train.x, train.y)
    state = model.fitted_
    tree = state.trees[0]
    roots = list(tree.children(0))
    shard = np.empty(n_labels, int)
    for number, node in enumerate(roots):
        shard[tree.labels_below(node)] = number
    top = model.predict(test.x, k=10)
    ranks = []
    for row in range(n_asked):
        likely = np.argsort(-state.child_scores(test.x[row], 0, 0), kind="stable")
        rank = np.empty(len(likely), int)
        rank[likely] = np.arange(len(likely))
        ranks.append(rank[shard[top.labels[row][top.labels[row] >= 0]]])
    all_ranks = np.concatenate(ranks)
    return {"shards": float(len(roots))} | {str(f): float((all_ranks < f).mean()) for f in FAN_OUTS}


def largest_point() -> dict[str, str]:
    """The measured point of labelwood with the most labels."""
    sizes = {(str(point.rows), str(point.labels)) for point in SWEEPS["both"]}
    with TABLE.open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["tool"].startswith("labelwood")]
    return max((row for row in rows if (row["rows"], row["labels"]) in sizes), key=lambda row: int(row["labels"]))


def simulated(n_shards: int, cores: int, fan_out: int, p50: float, p99: float, load: float) -> tuple[float, np.ndarray]:
    """(queries a second, milliseconds of each query) at a share of the time that the cores are busy."""
    random = np.random.default_rng(0)
    sigma = math.log(p99 / p50) / Z99
    mean = p50 * math.exp(sigma**2 / 2)
    rate = load * n_shards * cores / (fan_out * mean)  # queries a millisecond
    arrivals = np.cumsum(random.exponential(1 / rate, QUERIES))
    free = [[0.0] * cores for _ in range(n_shards)]
    times = np.empty(QUERIES)
    for query, arrival in enumerate(arrivals):
        last = arrival
        for shard in random.choice(n_shards, min(fan_out, n_shards), replace=False):
            start = max(arrival, free[shard][0])
            end = start + p50 * math.exp(sigma * random.standard_normal())
            heapq.heapreplace(free[shard], end)
            last = max(last, end)
        times[query] = last - arrival + NETWORK_MS
    return 1000 * rate, times


if __name__ == "__main__":
    main()
