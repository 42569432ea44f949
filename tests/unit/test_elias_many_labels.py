"""ELIAS at 670,000 labels: memory grows with rows times shortlist, never with rows times labels."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from labelwood.models.neural.elias import index
from labelwood.models.neural.elias.calibration import choose_scoring, held_out
from labelwood.models.neural.elias.sizes import IndexSizes

N_LABELS = 670_000
DENSE = 1  # byte a row and label: the least that a dense table would take


def peak_of(run):
    """(what it gives, bytes at the peak that NumPy took meanwhile)."""
    tracemalloc.start()
    try:
        result = run()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_scoring_is_chosen_without_a_table_of_all_labels():
    random = np.random.default_rng(0)
    n_rows, room = 400, 100
    labels = np.sort(random.choice(N_LABELS, (n_rows, room), replace=False).astype(np.int32), axis=1)
    log_p = -random.exponential(size=labels.shape).astype(np.float32)
    log_q = -random.exponential(size=labels.shape)
    pointers = np.arange(0, 3 * n_rows + 1, 3)
    y = sparse.csr_matrix((np.ones(3 * n_rows, np.float32), labels[:, 10:13].ravel(), pointers), (n_rows, N_LABELS))
    counts = np.ones(N_LABELS, np.int64)

    def run():
        pairs = held_out(labels, log_p, log_q, y)
        return pairs, choose_scoring(pairs, counts, calibrate=True)

    (pairs, scoring), peak = peak_of(run)
    assert pairs.truth.sum() == 3 * n_rows
    assert scoring.tree is not None
    assert peak < DENSE * n_rows * N_LABELS / 10


def test_a_training_batch_makes_no_table_of_all_labels():
    torch = pytest.importorskip("torch", reason="torch is an optional dependency")
    from labelwood.models.neural.elias.network import IndexNetwork

    n_rows, n_clusters, room = 64, 670, 50
    edges = index.partition_edges((np.arange(N_LABELS) % n_clusters).astype(np.int32))
    sizes = IndexSizes(n_clusters, alpha=1.0, beta=1.0, kappa=1000, beam=2, shortlist=room)
    network = IndexNetwork(torch.nn.Identity(), 2, edges, sizes, np.zeros(N_LABELS, np.float32))
    network.set_parents((np.arange(N_LABELS) % n_clusters).astype(np.int32))
    true = np.arange(n_rows) * 1001
    y = sparse.csr_matrix((np.ones(n_rows, np.float32), true, np.arange(n_rows + 1)), (n_rows, N_LABELS))
    scores = torch.rand(n_rows, n_clusters)
    batch, peak = peak_of(lambda: network.shortlists(scores, y, room, True, 1))
    np.testing.assert_array_equal(batch.labels[batch.truth], true)
    assert peak < DENSE * n_rows * N_LABELS / 10
