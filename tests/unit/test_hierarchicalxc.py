"""HierarchicalXC and its agglomerative tree (H1 to H3)."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import linkage

import labelwood as lw
from labelwood.errors import ModelFileError, ParamError
from labelwood.labelindex.agglomerative import cooccurrence_tree
from labelwood.models.linear.tree_nodes import training_nodes
from labelwood.models.linear_encoding import encoded, linear_encoding
from labelwood.models.persistence import restored, state_of


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(3)
    y = sparse.csr_matrix((random.random((80, 13)) < 0.2).astype(np.float32))
    x = sparse.csr_matrix(y.toarray() @ np.eye(13, 20) + 0.05 * random.random((80, 20)))
    return x, y


def jaccard(y):
    both = (y.T @ y).toarray()
    counts = np.diag(both)
    return both / np.maximum(counts[:, None] + counts[None, :] - both, 1)


def partitions(tree):
    return {frozenset(tree.labels_below(node).tolist()) for node in range(tree.n_nodes)}


class TestTree:
    @pytest.mark.parametrize("distance", ["jaccard", "counts"])
    @pytest.mark.parametrize("ties", ["rounds", "chain"])
    def test_leaves_are_the_labels_and_inner_nodes_one_less(self, rows, distance, ties):
        tree = cooccurrence_tree(rows[1], distance=distance, ties=ties)
        assert len(tree.leaves) == 13
        assert tree.n_nodes == 2 * 13 - 1
        assert set(tree.n_children.tolist()) == {0, 2}

    def test_labels_that_always_come_together_are_merged_first(self):
        y = np.zeros((12, 6))
        y[:4, [1, 4]] = 1
        y[2:8, 0] = 1
        y[6:, [2, 3]] = 1
        y[11, 5] = y[10, 3] = 1
        y[11, 3] = 0
        assert frozenset({1, 4}) in partitions(cooccurrence_tree(y))

    def test_equals_scipy_where_distances_differ(self):
        """Every pair shares some rows, all similarities differ: the dendrogram of complete linkage on all pairs."""
        random = np.random.default_rng(8)
        y = sparse.csr_matrix((random.random((3000, 9)) < np.linspace(0.3, 0.7, 9)).astype(np.float32))
        apart = 1 - jaccard(y)
        condensed = apart[np.triu_indices(9, 1)]
        assert len(np.unique(condensed)) == len(condensed)
        merged = [frozenset({label}) for label in range(9)]
        for one, other, _, _ in linkage(condensed, "complete"):
            merged.append(merged[int(one)] | merged[int(other)])
        for ties in ("rounds", "chain"):
            assert partitions(cooccurrence_tree(y, ties=ties)) == set(merged)

    def test_a_cluster_is_as_near_as_its_farthest_pair(self):
        """0-1 and 1-2 share rows, 0-2 none: after 0-1 is merged, 2 has no neighbour left, so nothing is near."""
        y = np.array([[1, 1, 0]] * 5 + [[0, 1, 1]] * 2 + [[1, 0, 0], [0, 0, 1]])
        assert frozenset({0, 1}) in partitions(cooccurrence_tree(y, ties="chain"))

    def test_rounds_are_shallower_than_chains(self):
        y = sparse.csr_matrix(np.eye(64))  # nothing comes together
        assert cooccurrence_tree(y, ties="rounds").max_depth == 6
        assert cooccurrence_tree(y, ties="chain").max_depth == 63

    def test_awkward_labels(self):
        assert cooccurrence_tree(np.zeros((3, 1))).n_nodes == 1
        assert cooccurrence_tree(np.zeros((3, 4))).n_nodes == 7
        assert cooccurrence_tree(np.ones((3, 4))).n_nodes == 7
        with pytest.raises(ParamError, match="unknown distance 'cosine'"):
            cooccurrence_tree(np.ones((2, 2)), distance="cosine")
        with pytest.raises(ParamError, match="ties"):
            cooccurrence_tree(np.ones((2, 2)), ties="never")

    def test_many_labels_in_little_memory(self):
        """30,000 labels: all pairs would take 3.6 GB; the graph of those that meet takes a few MB."""
        random = np.random.default_rng(1)
        columns = (random.integers(0, 10_000, 20_000)[:, None] * 3 + np.arange(3)).ravel()
        y = sparse.csr_matrix((np.ones(60_000), (np.repeat(np.arange(20_000), 3), columns)), shape=(20_000, 30_000))
        tree = cooccurrence_tree(y)
        assert tree.n_nodes == 59_999
        below = partitions_of_size(tree, 3)
        seen = np.unique(columns // 3)
        assert len(below & {frozenset(range(3 * t, 3 * t + 3)) for t in seen.tolist()}) == len(seen)


def partitions_of_size(tree, size):
    nodes = np.flatnonzero(tree.n_labels_below == size)
    return {frozenset(tree.labels_below(node).tolist()) for node in nodes}


class TestModel:
    def test_node_rows_and_targets_are_those_of_brute_force(self, rows):
        """H1: child bounds over the tree's label order say who is left and right; rows are those with a label below."""
        _, y = rows
        tree = cooccurrence_tree(y)
        nodes = training_nodes(tree)
        in_order = y.toarray()[:, tree.label_order]
        for node in np.flatnonzero(tree.n_children > 0):
            bounds = nodes.child_bound[nodes.child_start[node] : nodes.child_start[node + 1]]
            assert len(bounds) == 3
            for child, (low, high) in zip(tree.children(node), pairwise(bounds), strict=True):
                ours = in_order[:, low:high].any(axis=1)
                truth = y.toarray()[:, tree.labels_below(child)].any(axis=1)
                np.testing.assert_array_equal(ours, truth)

    def test_perfect_classifiers_give_the_true_labels(self):
        """H2: a feature for each label: the right labels of every row come before all others."""
        random = np.random.default_rng(0)
        y = (random.random((150, 10)) < 0.25).astype(np.float32)
        model = lw.HierarchicalXC(C=100.0, prune=0.0, max_passes=500, eps=1e-3, normalize=False, n_threads=1)
        top = model.fit(y, y).predict(y, k=10)
        for row in range(150):
            right = set(np.flatnonzero(y[row]))
            assert set(top.labels[row, : len(right)].tolist()) == right

    def test_encodings_are_those_of_the_best_linear_autoencoder(self, rows):
        x = sparse.csr_matrix(rows[0], dtype=np.float32)
        encoder = linear_encoding(x, 6, seed=0)
        u, s, v = np.linalg.svd(x.toarray(), full_matrices=False)
        best = (u[:, :6] * s[:6]) @ v[:6]
        np.testing.assert_allclose(encoded(x, encoder) @ encoder.T, best, atol=1e-4)
        np.testing.assert_allclose(encoder.T @ encoder, np.eye(6), atol=1e-5)

    def test_encoded_rows_are_learnt_explained_and_saved(self, rows, tmp_path):
        x, y = rows
        model = lw.HierarchicalXC(encoding_dim=8, n_threads=1).fit(x, y)
        hits = y[np.arange(80), model.predict(x, k=1).labels[:, 0]].sum()
        assert hits > 1.5 * y.sum(axis=0).max()
        label = int(model.predict(x[3], k=1).labels[0, 0])
        why = model.explain(x[3], label)
        assert why.score == pytest.approx(float(model.predict(x[3], k=1).scores[0, 0]), rel=1e-3)
        assert {c.feature for c in why.contributions} <= {-1, *x[3].indices.tolist()}
        model.save(tmp_path / "m")
        assert lw.load(tmp_path / "m").explain(x[3], label) == why

    def test_figures_and_damage(self, rows):
        x, y = rows
        model = lw.HierarchicalXC(n_threads=1).fit(x, y)
        assert model.search_figures(x, 2)["depth@2"] <= model.structure()["deepest label"]
        assert model.search_figures(x[:0]) == {}
        fields, arrays = state_of(model.fitted_)
        with pytest.raises(ModelFileError, match="'feature_rank' has the shape"):
            restored(fields, {**arrays, "feature_rank": arrays["feature_rank"][:-1]}, "here")


class TestTraversal:
    def test_labels_are_those_whose_whole_path_says_yes(self, rows):
        """None, one or both children, as section 4 of the paper; compared with the margins of every label's path."""
        x, y = rows
        for settings in ({}, {"encoding_dim": 6}):
            model = lw.HierarchicalXC(n_threads=1, **settings).fit(x, y)
            reached = model.traverse(x[:12]).toarray()
            wanted = [[min(node.margin for node in model.explain(row, label).nodes) > 0 for label in range(13)]
                      for row in x[:12]]  # fmt: skip
            np.testing.assert_array_equal(reached, wanted)
            assert reached.any()
            assert not reached.all()

    def test_a_row_may_reach_nothing(self, rows):
        x, y = rows
        nothing = lw.HierarchicalXC(n_threads=1).fit(x, y).traverse(sparse.csr_matrix((2, 20)))
        assert nothing.shape == (2, 13)

    @pytest.mark.parametrize("n_labels", [1, 2])
    def test_few_labels(self, rows, n_labels):
        x, y = rows
        model = lw.HierarchicalXC(n_threads=1).fit(x, y[:, :n_labels])
        assert model.traverse(x).shape == (80, n_labels)


def test_only_a_neural_autoencoder_trains_by_epochs():
    by_epochs = lw.HierarchicalXC.trains_by_epochs
    assert not by_epochs(lw.HierarchicalXC()._settings())
    assert not by_epochs(lw.HierarchicalXC(encoding_dim=8)._settings())
    assert by_epochs(lw.HierarchicalXC(encoding_dim=8, autoencoder="neural")._settings())
    assert lw.GLaS.trains_by_epochs(lw.GLaS()._settings())
