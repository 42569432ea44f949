"""The ELIAS index against its plain twin: edges, shortlists, coverage, pruning."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from labelwood import _native
from labelwood.models.neural.elias import index
from labelwood.models.neural.elias.calibration import RegressionTree, Scoring, log_q, voted_scores
from labelwood.models.neural.elias.search import LearnedIndex, top_of
from labelwood.topk import TopK

_spec = importlib.util.spec_from_file_location("elias_twin", Path(__file__).with_name("elias_twin.py"))
twin = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(twin)


def random_graph(random, n_clusters=6, width=5, n_labels=15):
    """A graph with rows of different length; some labels in several clusters."""
    edges = np.full((n_clusters, width), -1, np.int32)
    for c in range(n_clusters):
        n = random.integers(1, width + 1)
        edges[c, :n] = random.choice(n_labels, n, replace=False)
    return edges, random.normal(size=edges.shape).astype(np.float32)


def learned(random, edges, scores, *, dim=7, n_labels=15, beam=3, room=15, alpha=2.0):
    """An index over random weights; 4 input features."""
    encoder = {
        "table": random.normal(size=(4, dim)).astype(np.float32),
        "bias": np.zeros(dim, np.float32),
        "kind": np.array([0, 0], np.int32),
    }
    return LearnedIndex(
        encoder,
        random.normal(size=(dim, len(edges))).astype(np.float32),
        random.normal(size=len(edges)).astype(np.float32),
        edges,
        scores,
        scores,
        random.normal(size=(n_labels, dim)).astype(np.float32),
        random.normal(size=n_labels).astype(np.float32),
        alpha,
        1.0,
        beam,
        room,
    )


@pytest.fixture
def random():
    return np.random.default_rng(4)


def test_edges_are_a_clamped_softmax_over_stored_entries(random):
    edges, values = random_graph(random)
    for beta in (0.5, 2.0, 40.0):
        found = index.edge_scores(edges, values, beta)
        np.testing.assert_allclose(found, twin.edge_scores(edges, values, beta), rtol=1e-6)
        assert found.min() >= 0
        assert found.max() <= 1
        assert np.all(found.sum(axis=1) <= beta * (1 + 1e-6))
        assert np.all(found[edges < 0] == 0)
    # before any clamp the shares sum to one
    np.testing.assert_allclose(index.edge_scores(edges, values, 1.0).sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize(("beam", "room"), [(1, 15), (3, 15), (3, 4), (6, 15)])
def test_search_equals_the_twin(random, beam, room):
    edges, values = random_graph(random)
    found = learned(random, edges, index.edge_scores(edges, values, 2.0), beam=beam, room=room)
    rows = sparse.csr_matrix(random.normal(size=(20, 4)).astype(np.float32))
    vectors = found.vectors(rows)
    short = found.shortlist(rows)
    for row in range(20):
        scores = twin.cluster_scores(vectors[row], found.cluster_weight, found.cluster_bias, found.alpha)
        paths = twin.shortlist(scores, edges, found.edge_scores, beam, room)
        expected = twin.probabilities(vectors[row], paths, found.label_weight, found.label_bias)
        real = short.labels[row] >= 0
        assert short.labels[row][real].tolist() == sorted(expected)
        got = np.exp(short.log_p[row][real])
        np.testing.assert_allclose(got, [expected[label] for label in sorted(expected)], rtol=2e-4)


def test_everything_open_equals_the_dense_formula(random):
    """kappa = L, b = C, K = L: every label's probability is max over all clusters."""
    edges = np.tile(np.arange(15, dtype=np.int32), (6, 1))
    found = learned(
        random, edges, index.edge_scores(edges, random.normal(size=edges.shape).astype(np.float32), 4.0), beam=6
    )
    rows = sparse.csr_matrix(random.normal(size=(9, 4)).astype(np.float32))
    vectors = found.vectors(rows)
    short = found.shortlist(rows)
    clusters = found.cluster_scores(vectors)
    dense = (clusters[:, :, None] * found.edge_scores[None]).max(axis=1)
    dense /= 1 + np.exp(-(vectors @ found.label_weight.T + found.label_bias))
    np.testing.assert_array_equal(short.labels, np.tile(np.arange(15), (9, 1)))
    np.testing.assert_allclose(np.exp(short.log_p), dense, rtol=1e-4)


def test_a_partition_gives_the_union_of_the_beams_clusters(random):
    partition = np.array([0, 1, 2, 0, 1, 2, 3, 3], np.int32)
    edges = index.partition_edges(partition)
    found = learned(random, edges, (edges >= 0).astype(np.float32), n_labels=8, beam=2, room=8)
    rows = sparse.csr_matrix(random.normal(size=(10, 4)).astype(np.float32))
    vectors = found.vectors(rows)
    short = found.shortlist(rows)
    best, scores = found.best_clusters(vectors, 2)
    for row in range(10):
        real = short.labels[row] >= 0
        labels = short.labels[row][real]
        assert labels.tolist() == np.flatnonzero(np.isin(partition, best[row])).tolist()
        own = dict(zip(best[row].tolist(), scores[row].tolist(), strict=True))
        expected = [own[partition[label]] for label in labels]
        np.testing.assert_allclose(np.exp(short.log_path[row][real]), expected, rtol=1e-5)


# (layers, what is added to the output of the last one: see forward.py)
LAYERS = [((), 0), (("inner",), 1), (("inner",), 0), (("inner", "outer"), 1), (("outer",), 2), (("inner", "outer"), 2)]


@pytest.mark.parametrize(("layers", "added"), LAYERS)
@pytest.mark.parametrize("activation", [0, 1, 2])
def test_every_encoder_is_searched_as_it_is_computed(random, layers, added, activation):
    """The native search and the NumPy forward pass agree on encoders of all kinds; dim is no multiple of 16."""
    edges, values = random_graph(random)
    plain = learned(random, edges, index.edge_scores(edges, values, 2.0), dim=19)
    encoder = {**plain.encoder, "kind": np.array([activation, added], np.int32)}
    hidden = 23 if {"inner", "outer"} <= set(layers) else 19
    for name, shape in (("inner", (19, hidden)), ("outer", (hidden, 19))):
        if name in layers:
            encoder[name] = (0.3 * random.normal(size=shape)).astype(np.float32)
            encoder[f"{name}_bias"] = random.normal(size=shape[1]).astype(np.float32)
    found = replace(plain, encoder=encoder)
    rows = sparse.csr_matrix(random.normal(size=(37, 4)).astype(np.float32))
    short, vectors = found.shortlist(rows), found.vectors(rows)
    real = short.labels >= 0
    expected = vectors @ found.label_weight.T + found.label_bias
    expected = np.take_along_axis(expected, np.maximum(short.labels, 0), axis=1)
    np.testing.assert_allclose(short.logits[real], expected[real], rtol=1e-4, atol=1e-4)
    assert np.all(short.logits[~real] == 0)


def test_a_row_has_the_same_bits_in_any_batch(random):
    edges, values = random_graph(random)
    found = learned(random, edges, index.edge_scores(edges, values, 2.0), dim=33)
    rows = sparse.csr_matrix(random.normal(size=(50, 4)).astype(np.float32))
    together = found.shortlist(rows)
    for n_threads in (1, 2):
        for row in range(50):
            alone = found.shortlist(rows[row], n_threads=n_threads)
            for name in ("labels", "log_path", "logits"):
                assert getattr(alone, name)[0].tobytes() == getattr(together, name)[row].tobytes()


def test_an_index_that_does_not_fit_is_refused(random):
    edges, values = random_graph(random)
    found = learned(random, edges, values)
    with pytest.raises(ValueError, match="leads outside"):
        replace(found, edges=edges + 9).shortlist(sparse.csr_matrix((1, 4), dtype=np.float32))
    with pytest.raises(ValueError, match="clusters, edges and labels"):
        replace(found, label_weight=found.label_weight[:, :3].copy()).shortlist(sparse.csr_matrix((1, 4)))
    with pytest.raises(ValueError, match="outside the encoder's table"):
        found.shortlist(sparse.csr_matrix(np.ones((1, 5), np.float32)))


def test_blended_scores_equal_the_twin(random):
    tree = RegressionTree(
        np.array([2, 3, 4, -1, -1, -1, -1], np.int32),
        np.array([0.2, 1.5, 0.4, 0, 0, 0, 0]),
        np.array([1, 3, 5, 0, 0, 0, 0], np.int32),
        np.array([0, 0, 0, 0.1, 0.2, 0.6, 0.9]),
    )
    log_p = -random.exponential(size=(6, 9)).astype(np.float32)
    log_p[0, 3] = -np.inf
    log_p[1, 1] = -1e30
    log_q, counts = -random.exponential(size=(6, 9)), random.integers(0, 9, (6, 9))
    voted = random.uniform(size=(6, 9))
    for scoring in (Scoring(0.3, 1.0, tree, 0.6), Scoring(1.0, 0.5, tree, 0.0), Scoring(2.0, 1.0)):
        for q, votes in ((log_q, voted), (None, voted), (log_q, None)):
            found = scoring.scores(log_p, q, counts, votes)
            parts = (
                None if scoring.tree is None else [getattr(tree, n) for n in ("feature", "threshold", "left", "value")]
            )
            none = np.zeros((6, 9))
            columns = (log_p, none if q is None else q, counts, none if votes is None else votes)
            each = zip(*(column.ravel() for column in columns), strict=True)
            expected = [twin.blended(*pair, scoring.power_p, scoring.power_q, scoring.weight, parts) for pair in each]
            np.testing.assert_allclose(found.ravel(), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="leads outside itself"):
        Scoring(1.0, 1.0, replace(tree, left=np.zeros(7, np.int32)), 0.5).scores(log_p, None, counts)


def test_the_best_of_a_blend_are_its_best_scores(random):
    """fill_top equals sorting all scores; equal scores go to the smaller label, padding comes last."""
    labels = np.sort(np.stack([random.choice(30, 12, replace=False) for _ in range(8)]), axis=1).astype(np.int32)
    labels[2, 9:] = -1
    log_p = np.where(labels < 0, -np.inf, -random.exponential(size=(8, 12))).astype(np.float32)
    log_p[5, 3:7] = log_p[5, 3]
    margins, counts = random.normal(size=(8, 12)).astype(np.float32), random.integers(0, 9, 30)
    margins[5, 3:7] = margins[5, 3]
    constant = RegressionTree(np.array([-1], np.int32), np.zeros(1), np.zeros(1, np.int32), np.array([0.4]))
    for scoring in (Scoring(0.3, 1.0), Scoring(0.3, 1.0, constant, 0.6)):
        for given in (margins, None):
            top, best = np.empty((8, 11), np.int32), np.empty((8, 11), np.float32)
            scoring.fill_top((labels, log_p), given, counts, top, best)
            logs = None if given is None else log_q(given)
            expected = top_of(labels, scoring.scores(log_p, logs, counts[np.maximum(labels, 0)]), 11)
            np.testing.assert_array_equal(top, expected[0])
            np.testing.assert_array_equal(best, expected[1])
    with pytest.raises(ValueError, match="has no count"):
        scoring.fill_top((labels, log_p), None, counts[:9], top, best)


def _native_shortlist(edges, edge_score, scores, beam, room, n_labels, clusters=None, labels=None):
    shape = (len(scores), room)
    out = np.empty(shape, np.int32), np.empty(shape, np.int64), np.empty(shape, np.float32)
    _native.shortlist(edges, edge_score, n_labels, scores, beam, clusters, labels, *out, 1)
    return out


def test_the_best_path_wins_whatever_the_order(random):
    edges = np.array([[0, 1], [1, 0], [1, -1]], np.int32)
    edge_score = np.array([[0.5, 0.2], [0.9, 0.5], [0.3, 0]], np.float32)
    scores = np.array([[0.5, 0.4, 0.6]], np.float32)
    labels, paths, found = _native_shortlist(edges, edge_score, scores, 3, 2, 2)
    assert labels.tolist() == [[0, 1]]
    np.testing.assert_allclose(found, [[0.25, 0.36]])
    assert paths.tolist() == [[0, 2]]
    turned = _native_shortlist(edges[::-1].copy(), edge_score[::-1].copy(), scores[:, ::-1].copy(), 3, 2, 2)
    assert turned[0].tolist() == [[0, 1]]
    np.testing.assert_allclose(turned[2], found)


def test_forced_clusters_and_labels_are_kept(random):
    edges, values = random_graph(random, 8, 6, 30)
    edge_score = index.edge_scores(edges, values, 2.0)
    scores = random.uniform(size=(12, 8)).astype(np.float32)
    wanted = [random.choice(8, 2, replace=False) for _ in range(12)]
    forced = index.forced_ids(np.repeat(np.arange(12), 2), np.concatenate(wanted), 12)
    keep = [edges[clusters[0], 0] for clusters in wanted]
    kept = index.forced_ids(np.arange(12), keep, 12)
    labels, _, found = _native_shortlist(edges, edge_score, scores, 2, 4, 30, forced, kept)
    for row in range(12):
        expected = twin.shortlist(scores[row], edges, edge_score, 2, 4, wanted[row].tolist(), [keep[row]])
        real = labels[row] >= 0
        assert labels[row][real].tolist() == sorted(expected)
        assert keep[row] in labels[row]
        np.testing.assert_allclose(found[row][real], [expected[label] for label in sorted(expected)], rtol=1e-5)


def test_native_shortlists_refuse_what_does_not_fit(random):
    edges, values = random_graph(random)
    scores = np.ones((2, 6), np.float32)
    with pytest.raises(ValueError, match="leads outside"):
        _native_shortlist(edges, values, scores, 2, 4, int(edges.max()))
    with pytest.raises(ValueError, match="forced"):
        _native_shortlist(edges, values, scores, 2, 4, 15, index.forced_ids([0, 1], [0, 6], 2))
    with pytest.raises(ValueError, match="do not fit"):
        _native_shortlist(edges, values, scores[:, :5].copy(), 2, 4, 15)


def test_matching_equals_counting(random):
    y = (random.uniform(size=(30, 9)) < 0.2).astype(float)
    clusters = np.stack([random.choice(5, 3, replace=False) for _ in range(30)]).astype(np.int32)
    scores = random.uniform(size=(30, 3)).astype(np.float32)
    found = index.matching_matrix(clusters, scores, sparse.csr_matrix(y), 5)
    np.testing.assert_allclose(found.toarray(), twin.matching(clusters, scores, y, 5), rtol=1e-6)


@pytest.mark.parametrize("kappa", [3, 4, 8])
def test_every_label_finds_a_place(random, kappa):
    """Also labels that match nowhere, and when the graph is exactly full."""
    dense = random.uniform(size=(4, 12)) * (random.uniform(size=(4, 12)) < 0.5)
    dense[:, [2, 7]] = 0
    partition = np.arange(12, dtype=np.int32) % 4
    edges, n_inserted = index.initial_edges(sparse.csr_matrix(dense), partition, kappa)
    real = edges[edges >= 0]
    assert set(real.tolist()) == set(range(12))
    assert n_inserted >= 2
    for row in edges:
        own = row[row >= 0]
        assert len(set(own.tolist())) == len(own)
        assert np.all((row >= 0)[:-1] >= (row >= 0)[1:])


def test_clusters_keep_their_best_labels(random):
    dense = random.permutation(40).reshape(4, 10).astype(float) + 1
    edges, _ = index.initial_edges(sparse.csr_matrix(dense), np.zeros(10, np.int32), 9)
    for c in range(4):
        assert set(np.argsort(-dense[c])[:8].tolist()) <= set(edges[c].tolist())


def test_edges_start_from_the_share_of_a_labels_rows():
    matching = sparse.csr_matrix(np.array([[3.0, 0.0, 2.0, 0.0], [1.0, 0.0, 2.0, 5.0]]))
    edges = np.array([[0, 2, -1], [3, 0, 1]], np.int32)
    found = index.initial_values(edges, matching)
    wanted = index.EDGE_START * np.array([[0.75, 0.5, 0.0], [1.0, 0.25, 0.0]])
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert found.dtype == np.float32


def test_parents_are_the_strongest_clusters(random):
    edges, values = random_graph(random)
    scores = index.edge_scores(edges, values, 2.0)
    found = index.parents(edges, scores, 15)
    for label in range(15):
        places = [(scores[c, j], -c) for c, row in enumerate(edges) for j, other in enumerate(row) if other == label]
        assert found[label] == (-max(places)[1] if places else -1)


def test_pruning_of_nothing_changes_nothing(random):
    edges, values = random_graph(random)
    scores = index.edge_scores(edges, values, 2.0)
    for mask in (index.edges_above(edges, scores, 0.0), index.strongest_edges(edges, scores, edges.shape[1])):
        kept = index.kept_edges(edges, scores, mask)
        np.testing.assert_array_equal(kept[0], edges)
        np.testing.assert_array_equal(kept[1], scores)


def test_pruning_keeps_the_strong_edges(random):
    edges, values = random_graph(random)
    scores = index.edge_scores(edges, values, 2.0)
    strong, kept = index.kept_edges(edges, scores, index.edges_above(edges, scores, 0.4))
    assert kept[strong >= 0].min() >= 0.4
    assert (strong >= 0).sum() == ((edges >= 0) & (scores >= 0.4)).sum()
    top, _ = index.kept_edges(edges, scores, index.strongest_edges(edges, scores, 2))
    for c in range(6):
        order = sorted((-scores[c, j], label) for j, label in enumerate(edges[c]) if label >= 0)
        assert set(top[c][top[c] >= 0].tolist()) == {int(label) for _, label in order[:2]}


def test_a_partition_is_balanced(random):
    vectors = sparse.csr_matrix(random.normal(size=(37, 6)).astype(np.float32))
    found = index.label_partition(vectors, 4, seed=1)
    sizes = np.bincount(found)
    assert len(sizes) == 4
    assert sizes.max() - sizes.min() <= 1
    assert index.label_partition(vectors, 1, seed=1).tolist() == [0] * 37


def test_top_is_sorted_with_ties_to_the_smaller_label():
    labels = np.array([[2, 5, 9, -1]], np.int32)
    found, scores = top_of(labels, np.array([[0.5, 0.7, 0.7, 9.0]]), 4)
    assert found.tolist() == [[5, 9, 2, -1]]
    assert np.isneginf(scores[0, -1])


def test_votes_join_the_best_labels():
    """fill_top with votes equals the plain weighted sum; labels that only the others name take part."""
    random = np.random.default_rng(7)
    labels = np.sort(np.array([random.choice(30, 8, replace=False) for _ in range(60)]).astype(np.int32), axis=1)
    labels[5:9, 4:] = -1
    labels[9] = -1
    log_p = np.where(labels < 0, -np.inf, -random.exponential(size=labels.shape)).astype(np.float32)
    margins = random.normal(size=labels.shape).astype(np.float32)
    counts = random.integers(0, 50, 30)
    voted = np.array([random.choice(30, 6, replace=False) for _ in range(60)]).astype(np.int32)
    voted[20:30, 3:] = -1
    said = np.where(voted < 0, -np.inf, random.uniform(size=voted.shape)).astype(np.float32)
    asks = RegressionTree(
        np.array([4, -1, -1], np.int32), np.array([0.3, 0, 0]), np.array([1, 0, 0], np.int32), np.array([0, 0.1, 0.8])
    )
    for weight, scoring in ((0.0, Scoring(0.5, 1.0)), (0.3, Scoring(0.5, 1.0, asks, 0.6)), (1.0, Scoring(0.5, 1.0))):
        told = voted_scores(labels, TopK(voted, said))
        own = scoring.scores(log_p, log_q(margins), counts[np.maximum(labels, 0)], told)
        top, best = np.empty((60, 10), np.int32), np.empty((60, 10), np.float32)
        scoring.fill_top((labels, log_p), margins, counts, top, best, (weight, voted, said))
        for row in range(60):
            scores = {int(name): score for name, score in zip(labels[row], own[row], strict=True) if name >= 0}
            votes = {int(name): float(score) for name, score in zip(voted[row], said[row], strict=True) if name >= 0}
            wanted = twin.mixed_top(scores, votes, weight, 10)
            n = len(wanted)
            assert top[row].tolist() == [name for name, _ in wanted] + [-1] * (10 - n)
            np.testing.assert_allclose(best[row, :n], [score for _, score in wanted], rtol=1e-6)
    with pytest.raises(ValueError, match="votes must have one row per query"):
        scoring.fill_top((labels, log_p), margins, counts, top, best, (0.5, voted[:59], said[:59]))


def test_edges_may_start_from_random_numbers(random):
    edges, _ = random_graph(random)
    found = index.uniform_values(edges, 3)
    stored = found[edges != index.PAD]
    assert (found[edges == index.PAD] == 0).all()
    assert ((stored >= 0) & (stored < 1)).all()
    assert len(np.unique(stored)) == len(stored)
    np.testing.assert_array_equal(found, index.uniform_values(edges, 3))
    assert (found != index.uniform_values(edges, 4)).any()
