"""A real Ray cluster on this machine: two nodes of one processor each, which are processes of their own."""

import pytest

pytest.importorskip("ray", reason="the extra [cluster] is not installed")

from ray.cluster_utils import Cluster

STORE = 150_000_000


@pytest.fixture(scope="package")
def cluster():
    running = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "object_store_memory": STORE, "include_dashboard": False},
    )
    yield running
    running.shutdown()


@pytest.fixture
def added_node(cluster):
    """A second node, which the test may kill."""
    node = cluster.add_node(num_cpus=1, object_store_memory=STORE)
    yield node
    if node in cluster.worker_nodes:
        cluster.remove_node(node)
