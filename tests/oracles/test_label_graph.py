"""Label graphs and their vectors against plain NumPy, and what DXML needs of them (X1)."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from labelwood import _native
from labelwood.errors import DataError, ParamError
from labelwood.labelindex import graph as graphs
from labelwood.labelindex.graph import checked_graph, deepwalk, edge_graph, isolated_labels, label_graph, netmf

_spec = importlib.util.spec_from_file_location("walk_twin", Path(__file__).with_name("walk_twin.py"))
twin = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(twin)


def two_groups(n_rows=200, seed=0):
    """Labels 0-4 occur with each other, 5-9 with each other, 0 and 1 always together; 10 alone, 11 never."""
    random = np.random.default_rng(seed)
    y = np.zeros((n_rows, 12))
    for row in range(n_rows):
        first = 5 * (row % 2)
        y[row, first + random.choice(5, 2, replace=False)] = 1
    y[:, 1] = y[:, 0]
    y[:3] = 0
    y[:3, 10] = 1
    return sparse.csr_matrix(y)


def cosines(vectors):
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(lengths == 0, 1, lengths)
    return unit @ unit.T


def test_the_graph_is_y_transposed_times_y():
    y = two_groups()
    dense = (y.T @ y).toarray()
    np.testing.assert_array_equal(label_graph(y, self_weight=1.0).toarray(), dense)
    heavy = dense + 9 * np.diag(np.diag(dense))
    np.testing.assert_array_equal(label_graph(y, self_weight=10.0).toarray(), heavy)
    np.testing.assert_array_equal(
        label_graph(y, weighted=False, self_weight=2.0).toarray(), (dense > 0) + 1.0 * np.diag(np.diag(dense) > 0)
    )
    np.fill_diagonal(dense, 0)
    np.testing.assert_array_equal(label_graph(y).toarray(), dense)
    np.testing.assert_array_equal(label_graph(y, weighted=False).toarray(), dense > 0)
    with pytest.raises(ParamError, match="self_weight"):
        label_graph(y, self_weight=-1.0)


def test_long_rows_are_thinned():
    y = sparse.csr_matrix(np.ones((1, 30)))
    graph = label_graph(y, max_per_row=10)
    assert graph.nnz == 10 * 9
    assert (graph != label_graph(y, max_per_row=10, seed=1)).nnz > 0
    assert (graph != graph.T).nnz == 0


def test_edges_of_a_hierarchy():
    graph = edge_graph([(0, 1), (0, 2), (2, 2), (0, 1)], 4)
    np.testing.assert_array_equal(graph.toarray(), [[0, 2, 1, 0], [2, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(isolated_labels(graph), [False, False, False, True])
    assert edge_graph([], 3).nnz == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: edge_graph([(0, 4)], 4), r"edges\[0\] is \[0, 4\]"),
        (lambda: edge_graph([0, 1], 4), r"shape \(n_edges, 2\)"),
        (lambda: checked_graph(np.eye(3), 4), "there are 4 labels"),
        (lambda: checked_graph(-np.ones((2, 2)), 2), "from 0 up"),
        (lambda: checked_graph(np.triu(np.ones((2, 2))), 2), "symmetric"),
        (lambda: checked_graph("graph", 2), "sparse matrix or an array"),
    ],
)
def test_bad_graphs_are_refused(call, message):
    with pytest.raises(DataError, match=message):
        call()


@pytest.mark.parametrize(("window", "negatives"), [(1, 1.0), (3, 1.0), (5, 5.0)])
def test_netmf_factorises_its_matrix(window, negatives):
    graph = label_graph(two_groups(), self_weight=1.0)
    matrix = twin.netmf_matrix(graph.toarray(), window, negatives)
    vectors = netmf(graph, 12, window=window, negatives=negatives).astype(np.float64)
    # U sqrt(S): the rows' inner products are those of the positive square root of M^2.
    values, axes = np.linalg.eigh(matrix)
    np.testing.assert_allclose(vectors @ vectors.T, axes @ np.diag(np.abs(values)) @ axes.T, atol=1e-5)


def test_vectors_do_not_depend_on_the_sign_that_a_library_gives_an_axis(monkeypatch):
    graph = label_graph(two_groups(), self_weight=1.0)
    eigh = np.linalg.eigh
    plain = netmf(graph, 12)

    def turned(matrix):
        values, axes = eigh(matrix)
        return values, axes * np.where(np.arange(axes.shape[1]) % 2, -1, 1)

    monkeypatch.setattr(np.linalg, "eigh", turned)
    np.testing.assert_array_equal(netmf(graph, 12), plain)


def test_many_labels_give_nearly_the_exact_vectors(monkeypatch):
    random = np.random.default_rng(1)
    y = np.zeros((3000, 150))
    for row in range(3000):  # fifteen groups of ten labels
        y[row, 10 * (row % 15) + random.choice(10, 4, replace=False)] = 1
    graph = label_graph(y, self_weight=1.0)
    exact = netmf(graph, 20)
    monkeypatch.setattr(graphs, "DENSE_LABELS", 10)
    near = netmf(graph, 20)
    share = np.linalg.norm(near @ near.T - exact @ exact.T) / np.linalg.norm(exact @ exact.T)
    assert share < 0.1


@pytest.mark.parametrize("most_dense", [2_000, 10])
def test_labels_that_do_not_fit_into_the_vectors_are_zero(monkeypatch, most_dense):
    """Twenty lonely labels, five numbers: five have a direction, the others nothing, rather than chance."""
    monkeypatch.setattr(graphs, "DENSE_LABELS", most_dense)
    graph = sparse.diags(np.arange(1.0, 21.0)).tocsr()
    vectors = netmf(graph, 5)
    np.testing.assert_array_equal(np.flatnonzero(vectors.any(axis=1)), np.arange(5))  # log(vol / d): the rarest


@pytest.mark.parametrize("bad", [{"dim": 0}, {"window": 0}, {"negatives": 0}])
def test_netmf_refuses_nonsense(bad):
    with pytest.raises(ParamError):
        netmf(sparse.identity(3, format="csr"), **{"dim": 2, **bad})


@pytest.mark.parametrize("embed", [netmf, lambda graph, dim: deepwalk(graph, dim, n_walks=40, epochs=5)])
def test_labels_that_are_together_lie_together(embed):
    """X1: always together: cosine above 0.9; other components: lower than inside. With the model's self loops."""
    graph = label_graph(two_groups(), self_weight=1.0)
    found = cosines(embed(graph, 8))
    assert found[0, 1] > 0.9
    inside = np.mean([found[a, b] for g in (range(5), range(5, 10)) for a in g for b in g if a != b])
    outside = np.mean([found[a, b] for a in range(5) for b in range(5, 10)])
    assert outside < inside


def test_walks_follow_edges_and_their_weights():
    graph = sparse.csr_matrix(np.array([[0, 1, 3, 0], [1, 0, 0, 0], [3, 0, 0, 0], [0, 0, 0, 0]], float))
    walks = np.empty((4 * 4000, 2), np.int32)
    cumulative = np.array([1.0, 4.0, 1.0, 3.0])
    arrays = (graph.indptr.astype(np.int64), graph.indices.astype(np.int32), cumulative)
    _native.random_walks(*arrays, 4000, 7, 1, walks)
    np.testing.assert_array_equal(walks[:, 0], np.repeat(np.arange(4), 4000))
    second = walks[:4000, 1]
    assert set(second) == {1, 2}
    assert abs(np.mean(second == 2) - 0.75) < 0.03
    assert np.all(walks[4000:12000, 1] == 0)
    assert np.all(walks[12000:, 1] == -1)
    again = np.empty_like(walks)
    _native.random_walks(*arrays, 4000, 7, 2, again)
    assert again.tobytes() == walks.tobytes()


def test_skip_gram_takes_the_twins_steps():
    random = np.random.default_rng(2)
    walk = np.array([[0, 1, 2, 1, -1]], np.int32)
    vectors = random.standard_normal((3, 6)).astype(np.float32)
    contexts = random.standard_normal((3, 6)).astype(np.float32)
    expected = twin.skip_gram_without_negatives(walk, vectors, contexts, 2, 0.1)
    _native.skip_gram(walk, np.ones(3).cumsum(), 2, 0, 1, 0.1, 0, vectors, contexts)
    np.testing.assert_allclose(vectors, expected[0], rtol=1e-5)
    np.testing.assert_allclose(contexts, expected[1], rtol=1e-5)


def test_deepwalk_is_repeatable():
    graph = label_graph(two_groups())
    one, other = (deepwalk(graph, 5, n_threads=n) for n in (1, 2))
    assert one.tobytes() == other.tobytes()
    assert deepwalk(graph, 5, seed=1).tobytes() != one.tobytes()


def test_kernels_refuse_what_does_not_fit():
    with pytest.raises(ValueError, match="do not fit"):
        _native.random_walks(np.array([0, 1]), np.array([3], np.int32), np.ones(1), 1, 0, 1, np.empty((1, 2), np.int32))
    with pytest.raises(ValueError, match="do not fit"):
        _native.skip_gram(
            np.array([[7]], np.int32), np.ones(2), 1, 1, 1, 0.1, 0, np.zeros((2, 2), "f4"), np.zeros((2, 2), "f4")
        )
