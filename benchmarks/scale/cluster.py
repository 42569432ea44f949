"""How much faster two nodes of one core are than one such node, and whether all write the same bytes.

    python benchmarks/scale/cluster.py DATA [--trees N] [--alone] [--rows N]

Starts a Ray cluster on this machine: a head of one core, then a second node of one core. Trains a linear tree on one
node, then on two; --alone: without a cluster first, on one thread. Wall-clock seconds; the machine should be quiet and
have two cores.
"""

import argparse
import hashlib
import os
import time
from pathlib import Path

os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 (15 otherwise: whatever else runs would come first)

from ray.cluster_utils import Cluster

import labelwood as lw
from labelwood.cluster.connection import connected
from labelwood.models.persistence import state_of
from labelwood.progress import Callback

STORE = 2_000_000_000


def digest(model):
    total = hashlib.sha256()
    for name, array in sorted(state_of(model.fitted_)[1].items()):
        total.update(name.encode() + array.tobytes())
    return total.hexdigest()[:16]


def measured(title, train):
    begun, steps = time.perf_counter(), {}

    def step(what, done, total):
        steps[what] = time.perf_counter() - begun

    model = train(Callback(step))
    seconds = time.perf_counter() - begun
    load = os.getloadavg()[0]
    ended = ", ".join(f"{what} {second:.1f}" for what, second in steps.items())
    print(f"{title}: {seconds:.1f} s, load {load:.1f}, arrays {digest(model)}; ended after {ended}", flush=True)
    return seconds, digest(model)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--trees", type=int, default=1)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--alone", action="store_true")
    asked = parser.parse_args()
    data = lw.read(asked.data)
    if asked.rows:
        data = data.take(slice(asked.rows))
    print(f"{asked.data}: {data.n_rows} rows, {data.n_labels} labels, {asked.trees} tree(s)", flush=True)

    def train(progress):
        return lw.LinearTree(n_trees=asked.trees, n_threads=1).fit(data, progress=progress)

    results = [measured("one thread, no cluster", train)] if asked.alone else []
    node = {"num_cpus": 1, "object_store_memory": STORE}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    try:
        for n_nodes in (1, 2):
            if n_nodes == 2:
                cluster.add_node(**node)
            with connected(cluster.address) as spread:
                spread.map(_warm, [], [(number,) for number in range(2 * n_nodes)])  # worker processes are there
                results.append(measured(f"{n_nodes} node(s) of one core", train))
    finally:
        cluster.shutdown()
    (one, _), (two, _) = results[-2:]
    same = len({arrays for _, arrays in results}) == 1
    print(f"two nodes are {one / two:.2f} times as fast as one; same bytes: {same}")


def _warm(number, *, n_threads=None):
    import labelwood.models.linear.linear_tree  # noqa: F401

    time.sleep(0.5)
    return number


if __name__ == "__main__":
    main()
