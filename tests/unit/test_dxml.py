"""DXML: targets, votes, the index that grows, and the properties X2 to X6."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.errors import DataError, ModelFileError
from labelwood.labelindex.graph import edge_graph, label_graph
from labelwood.models.neural import label_targets
from labelwood.models.neural.label_targets import graph_vectors, new_label_vectors, row_targets
from labelwood.models.neural.neighbor_votes import VoteRule, best_labels, chosen_rule, vote_weights, voted
from labelwood.models.neural.point_index import PointIndex, kmeans_centroids
from labelwood.models.persistence import restored, state_of
from labelwood.neighbors.store import unit_rows

pytest.importorskip("torch")
QUICK = {"n_threads": 1, "hidden": 32, "epochs": 15, "n_neighbors": 5, "temperature": 0.1, "blend": 0.0}


def grouped(n_rows=120, n_features=30, n_labels=6, seed=0):
    """Rows whose label decides which features they have."""
    random = np.random.default_rng(seed)
    label = random.integers(0, n_labels, n_rows)
    x = 0.2 * random.random((n_rows, n_features))
    x[np.arange(n_rows)[:, None], 5 * label[:, None] + np.arange(5)] += 1
    y = np.zeros((n_rows, n_labels))
    y[np.arange(n_rows), label] = 1
    y[np.arange(n_rows), (label + 1) % n_labels] = random.random(n_rows) < 0.5
    return sparse.csr_matrix(x.astype(np.float32)), sparse.csr_matrix(y)


def same_state(one, other):
    ours, theirs = one.fitted_.arrays(), other.fitted_.arrays()
    assert set(ours) == set(theirs)
    for name in ours:
        assert ours[name].tobytes() == theirs[name].tobytes(), name
    np.testing.assert_array_equal(one.label_counts_, other.label_counts_)
    assert (one.n_rows_, one.n_labels_) == (other.n_rows_, other.n_labels_)


def test_targets_are_means_of_label_vectors():
    """X2: one label: its own vector; the order of labels does not matter."""
    vectors = unit_rows(np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32))
    y = sparse.csr_matrix(np.array([[0, 1, 0, 0, 0], [1, 0, 1, 0, 0], [0, 0, 0, 0, 0]], np.float32))
    targets = row_targets(y, vectors)
    np.testing.assert_allclose(targets[0], vectors[1], atol=1e-6)
    mean = (vectors[0] + vectors[2]) / 2
    np.testing.assert_allclose(targets[1], mean / np.linalg.norm(mean), atol=1e-6)
    np.testing.assert_array_equal(targets[2], 0)
    order = np.array([3, 0, 4, 1, 2])
    np.testing.assert_allclose(row_targets(y[:, order], vectors[order]), targets, atol=1e-6)
    np.testing.assert_allclose(row_targets(y, vectors, unit=False)[1], mean, atol=1e-6)


def test_labels_without_a_place_in_the_graph_lie_with_labels_of_similar_rows(monkeypatch):
    """However the work is cut, the lonely label 6 lies with label 2, whose rows have the same features."""
    x, y = grouped()
    wide = sparse.hstack([y, sparse.csr_matrix((120, 2))], format="lil")
    wide[np.flatnonzero(y.toarray()[:, 2])[:3]] = np.eye(8)[6]
    graph = edge_graph([(0, 1), (1, 2), (3, 4), (4, 5)], 8)
    parameters = lw.DXML.Parameters(window=2, n_threads=1)
    found, lengths = graph_vectors(graph, x, sparse.csr_matrix(wide), parameters)
    assert lengths.shape == (8,)
    assert lengths[6] == lengths[7] == lengths[:6].mean()  # those without a vector of their own
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)  # label 7 has no rows: any direction
    near = found[:7] @ found[6]
    assert min(near[:3]) > max(near[3:6])
    monkeypatch.setattr(label_targets, "_PRODUCTS_AT_ONCE", 1)
    np.testing.assert_allclose(graph_vectors(graph, x, sparse.csr_matrix(wide), parameters)[0], found, atol=1e-6)


def test_raw_targets_keep_the_lengths_of_the_label_vectors(monkeypatch):
    """What the network is taught is the plain mean of DeepWalk's vectors, while answers compare unit vectors."""
    from labelwood.models.neural import dxml_training

    x, y = grouped()
    taught = {}
    trained_network = dxml_training.trained_network

    def listening(rows, targets, settings, number, progress):
        taught[settings.targets] = targets
        return trained_network(rows, targets, settings, number, progress)

    monkeypatch.setattr(dxml_training, "trained_network", listening)
    settings = {**QUICK, "embedding": "deepwalk", "n_models": 1, "epochs": 1}
    for kind in ("unit", "raw"):
        model = lw.DXML(targets=kind, **settings).fit(x, y)
        np.testing.assert_allclose(np.linalg.norm(model.fitted_.label_vectors, axis=1), 1, atol=1e-5)
    unit, lengths = graph_vectors(label_graph(y, self_weight=10), x, y, lw.DXML.Parameters(**settings))
    np.testing.assert_allclose(np.linalg.norm(taught["unit"], axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(taught["raw"], row_targets(y, unit * lengths[:, None], unit=False), atol=1e-6)


def test_dropout_stands_where_it_is_asked_for():
    """Behind the last layer (the paper's figure 1) it leaves out outputs; in the hidden layer it never zeroes one."""
    from labelwood.models.neural.dxml_training import Regressor
    from labelwood.models.neural.sampling import row_batch

    batch = row_batch(sparse.csr_matrix(np.ones((50, 8), np.float32)), np.arange(50))
    zeros = {}
    for place in ("hidden", "output"):
        network = Regressor(8, 20, lw.DXML.Parameters(hidden=32, dropout=0.5, dropout_at=place))
        zeros[place] = float((network(batch) == 0).float().mean())
        assert not (network.eval()(batch) == 0).any()
    assert zeros["hidden"] == 0
    assert 0.4 < zeros["output"] < 0.6


def test_first_weights_begin_where_they_are_asked_for():
    from labelwood.models.neural.dxml_training import Regressor

    settings = {"hidden": 64, "residual": False}
    usual = Regressor(200, 20, lw.DXML.Parameters(**settings, optimizer="sgd"))
    asked = Regressor(200, 20, lw.DXML.Parameters(**settings, start=0.05, bias_start=0.1, out_start=8.0))
    assert usual.encoder.table.weight.std().item() * 64**0.5 == pytest.approx(1, rel=0.05)
    assert asked.encoder.table.weight.std().item() * 64**0.5 == pytest.approx(0.05, rel=0.05)
    assert (usual.encoder.block.bias == 0).all()
    assert (asked.encoder.block.bias == 0.1).all()
    assert usual.out.weight.abs().max().item() == pytest.approx(64**-0.5, rel=0.05)
    assert asked.out.weight.abs().max().item() == pytest.approx(8 * 64**-0.5, rel=0.05)


def test_of_equal_votes_those_of_nearer_rows_win():
    """As the paper's preset votes: of two labels with one vote each the nearer row's; two votes beat a near one."""
    y = sparse.csr_matrix(np.array([[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]], np.float32))
    nothing = np.zeros((1, 1), np.float32)
    ids, cosines = np.array([[3, 1, 2]], np.int32), np.array([[0.9, 0.1, -0.9]], np.float32)
    two, three = (
        best_labels(voted(ids, cosines, y, VoteRule(k, 1000.0, 0.0), nothing, nothing), 2).labels.tolist()
        for k in (2, 3)
    )
    assert two == [[2, 1]]
    assert three == [[1, 2]]


def test_smooth_l1_is_the_piecewise_formula():
    """X3: at |d| = 0, just below and above 1, and 3; the gradient is never larger than 1."""
    import torch

    from labelwood.models.neural.losses import smooth_l1_loss

    for d in (0.0, 1 - 1e-3, 1 + 1e-3, -3.0, 3.0):
        found = torch.tensor([[d]], requires_grad=True)
        loss = smooth_l1_loss(found, torch.zeros(1, 1))
        assert loss.item() == pytest.approx(0.5 * d * d if abs(d) <= 1 else abs(d) - 0.5, abs=1e-6)
        loss.backward()
        assert found.grad.item() == pytest.approx(np.clip(d, -1, 1), abs=1e-6)
    two = smooth_l1_loss(torch.tensor([[1.0, 2.0], [0.0, 0.0]]), torch.zeros(2, 2))
    assert two.item() == pytest.approx((0.5 + 1.5) / 2)  # summed over dimensions, averaged over rows


def test_vote_weights():
    weights = vote_weights(np.array([[0.9, 0.8, -np.inf], [-np.inf] * 3], np.float32), 0.1)
    np.testing.assert_allclose(weights[0, :2], np.array([np.e, 1]) / (np.e + 1), rtol=1e-5)
    np.testing.assert_array_equal(weights[1], 0)
    even = vote_weights(np.array([[0.9, 0.1]], np.float32), np.inf)
    np.testing.assert_array_equal(even, [[0.5, 0.5]])


def test_votes_are_shares_and_the_blend_adds_cosines():
    y = sparse.csr_matrix(np.array([[1, 1, 0], [0, 1, 0]], np.float32))
    ids, cosines = np.array([[0, 1, -1]], np.int32), np.array([[0.5, 0.5, -np.inf]], np.float32)
    vectors, row = np.eye(3, dtype=np.float32), np.array([[1, 0, 0]], np.float32)
    plain = voted(ids, cosines, y, VoteRule(3, 0.1, 0.0), row, vectors)
    np.testing.assert_allclose(plain.toarray(), [[0.5, 1.0, 0.0]])
    blended = voted(ids, cosines, y, VoteRule(3, 0.1, 0.8), row, vectors)
    np.testing.assert_allclose(blended.toarray(), [[1.3, 1.0, 0.0]], rtol=1e-6)
    assert best_labels(blended, 2).labels.tolist() == [[0, 1]]


def test_the_rule_with_the_best_answers_is_chosen():
    y = sparse.csr_matrix(np.eye(6, 2, dtype=np.float32) + np.eye(6, 2, -2) + np.eye(6, 2, -4))
    ids = np.array([[0, 1, 3, 5, 2]] * 4, np.int32)  # the nearest is right, most of the others are not
    cosines = np.array([[0.99, 0.5, 0.4, 0.3, 0.2]] * 4, np.float32)
    truth = sparse.csr_matrix(np.array([[1, 0]] * 4, np.float32))
    rows, vectors = np.zeros((4, 2), np.float32), np.zeros((2, 2), np.float32)
    rule, p1 = chosen_rule(ids, cosines, y, rows, vectors, truth, (None, None, None))
    assert p1 == 100
    assert rule.temperature < np.inf
    assert chosen_rule(ids, cosines, y, rows, vectors, truth, (5, np.inf, 0.0))[1] == 0


def points_and_labels(n=60, seed=1):
    random = np.random.default_rng(seed)
    points = unit_rows(random.standard_normal((n, 7)).astype(np.float32))
    return points, sparse.csr_matrix((random.random((n, 5)) < 0.4).astype(np.float32))


def test_one_cluster_is_exact_and_a_point_finds_itself():
    """X4: with one cluster the neighbours are those of an exact search; k=1 gives a training point its own labels."""
    points, y = points_and_labels()
    index = PointIndex.of(points, y, np.arange(60), kmeans_centroids(points, 1, 0, 1))
    ids, _ = index.nearest(points, 4, 1, 1)
    np.testing.assert_array_equal(ids, np.argsort(-(points @ points.T), axis=1, kind="stable")[:, :4])
    top = best_labels(voted(ids, np.ones((60, 4), np.float32), y, VoteRule(1, 0.1, 0.0), points, points), 5)
    for row, answers in enumerate(top):
        assert {label for label, _ in answers} == set(y[row].indices)


def test_probing_every_cluster_is_exact_and_one_is_a_part():
    points, y = points_and_labels(200)
    whole = PointIndex.of(points, y, np.arange(200), kmeans_centroids(points, 1, 0, 1))
    parted = PointIndex.of(points, y, np.arange(200), kmeans_centroids(points, 6, 0, 1))
    np.testing.assert_array_equal(parted.nearest(points, 5, 6, 1)[0], whole.nearest(points, 5, 1, 1)[0])
    ids, _ = parted.nearest(points, 200, 1, 1)
    assert np.all((ids >= 0).sum(axis=1) < 200)
    assert np.all(np.diff(parted.starts) > 0)


def test_an_index_that_grew_is_the_one_built_at_once():
    """X5, on the index alone."""
    points, y = points_and_labels(90)
    centroids = kmeans_centroids(points[:40], 4, 0, 1)
    once = PointIndex.of(points, y, np.arange(90), centroids)
    grown = PointIndex.of(points[:40], y[:40], np.arange(40), centroids)
    for row in range(40, 90):
        grown = grown.grown(points[row : row + 1], y[row : row + 1], np.array([row]))
    for name, array in once.arrays().items():
        assert array.tobytes() == grown.arrays()[name].tobytes(), name


@pytest.fixture(scope="module")
def half():
    x, y = grouped()
    return lw.DXML(n_clusters=3, **QUICK).fit(x[:60], y[:60])


def copy_of(model, folder):
    model.save(folder)
    return lw.load(folder)


def test_rows_added_one_by_one_or_at_once_give_the_same_model(half, tmp_path):
    """X5, on the model: frozen network and centroids."""
    x, y = grouped()
    wide = sparse.hstack([y, sparse.csr_matrix((120, 2))], format="lil")
    wide[70:80, 6] = 1  # a new label, and one without a row
    wide = wide.tocsr()
    once = copy_of(half, tmp_path / "a").partial_fit(x[60:], wide[60:])
    steps = copy_of(half, tmp_path / "b")
    for row in range(60, 120):
        steps.partial_fit(x[row], wide[row])
    same_state(once, steps)
    assert once.n_labels_ == 8
    assert once.n_rows_ == 120
    top = once.predict(x[70:80], k=3)
    assert np.mean([6 in row for row in top.labels]) > 0.5
    for one, other in zip(once.predict(x, k=5).scores, steps.predict(x, k=5).scores, strict=True):
        np.testing.assert_array_equal(one, other)
    same_state(copy_of(once, tmp_path / "c"), once)


def test_the_network_does_not_change_when_rows_are_added(half, tmp_path):
    x, y = grouped()
    grown = copy_of(half, tmp_path / "a").partial_fit(x[60:], y[60:])
    for name, array in half.fitted_.arrays().items():
        if name.startswith(("network", "label_vectors", "index.centroids")):
            assert array.tobytes() == grown.fitted_.arrays()[name].tobytes(), name


def test_a_new_label_lies_where_its_companions_lie():
    vectors = np.eye(3, dtype=np.float32)
    y = sparse.csr_matrix(np.array([[1, 0, 0, 1, 0], [0, 1, 0, 1, 0]], np.float32))
    found = new_label_vectors(y, vectors, 2)
    np.testing.assert_allclose(found, [[np.sqrt(0.5), np.sqrt(0.5), 0], [0, 0, 0]], atol=1e-6)


def test_partial_fit_refuses_what_does_not_fit(half):
    x, y = grouped()
    with pytest.raises(DataError, match="the model knows 6 labels"):
        half.partial_fit(x[:2], y[:2, :5])
    with pytest.raises(DataError, match="requires y"):
        half.partial_fit(x[:2])
    with pytest.raises(DataError, match="3 rows but y has 2"):
        half.partial_fit(x[:3], y[:2])


def test_partial_fit_trains_an_untrained_model():
    x, y = grouped()
    one, other = lw.DXML(**QUICK).partial_fit(x, y), lw.DXML(**QUICK).fit(x, y)
    same_state(one, other)


def test_new_labels_of_a_model_with_names_need_names(tmp_path):
    x, y = grouped()
    names = [f"label {i}" for i in range(6)]
    model = lw.DXML(**QUICK).fit(lw.Dataset(x, y, label_names=names))
    wide = sparse.hstack([y, sparse.csr_matrix(np.ones((120, 1)))], format="csr")
    with pytest.raises(DataError, match="1 labels are new"):
        model.partial_fit(x, wide)
    with pytest.raises(DataError, match="in the model but"):
        model.partial_fit(lw.Dataset(x, wide, label_names=["other", *names]))
    model.partial_fit(lw.Dataset(x, wide, label_names=[*names, "new"]))
    assert model.label_names_ == (*names, "new")


def test_a_non_linear_network_beats_a_linear_one_on_exclusive_or():
    """X6: which label is right depends on two features together."""
    random = np.random.default_rng(3)
    bits = random.integers(0, 2, (400, 2))
    x = np.hstack([bits, 1 - bits]).astype(np.float32) + 0.05 * random.random((400, 4)).astype(np.float32)
    y = np.eye(2)[bits[:, 0] ^ bits[:, 1]]
    rule = {"n_threads": 1, "hidden": 64, "epochs": 60, "input_dropout": 0.0, "dropout": 0.0, "learning_rate": 0.01}
    # One label of the nearest 150 rows: a map that cannot tell the corners apart cannot gather a corner's rows.
    rule |= {"n_neighbors": 150, "temperature": float("inf"), "blend": 0.0, "self_weight": 1.0}
    share = {}
    for nonlinear in (True, False):
        model = lw.DXML(nonlinear=nonlinear, **rule).fit(x[:300], y[:300])
        best = model.predict(x[300:], k=1).labels[:, 0]
        share[nonlinear] = float(np.mean(y[np.arange(300, 400), best]))
    assert share[True] > 0.95
    assert share[False] < share[True] - 0.1


def test_an_explanation_names_the_rows_that_voted(half):
    x, y = grouped()
    label = int(half.predict(x[0], k=1).labels[0, 0])
    why = half.explain(x[0], label)
    assert why.voters()
    assert all(y[voter.row, label] for voter in why.voters())
    assert sum(voter.contribution for voter in why.voters()) == pytest.approx(why.score)
    assert "training row" in why.text()


def test_a_graph_of_the_users_own_is_used():
    x, y = grouped()
    tree = edge_graph([(0, 1), (1, 2), (3, 4), (4, 5)], 6)
    model = lw.DXML(window=3, **QUICK).fit(x, y, label_graph=tree)
    vectors = model.fitted_.label_vectors
    nearness = vectors @ vectors.T
    assert nearness[0, 2] > nearness[0, 3] + 0.3
    with pytest.raises(DataError, match="there are 6 labels"):
        model.fit(x, y, label_graph=np.eye(3))


@pytest.mark.parametrize(
    "change",
    [{"embedding": "deepwalk"}, {"out_norm": False}, {"optimizer": "sgd", "learning_rate": 0.05}, {"n_models": 2}],
)
def test_variants_learn(change):
    x, y = grouped()
    model = lw.DXML(**{**QUICK, "epochs": 40, **change}).fit(x[:100], y[:100])
    found = lw.evaluate(model.predict(x[100:], 1), y[100:])
    assert found["P@1"] > 70


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_trained_labels", 7),
        ("n_models", 0),
        ("n_models", 2),
        ("n_models", 10**9),
        ("n_neighbors", 0),
        ("n_neighbors", 2.0),
        ("temperature", -1),
        ("blend", -1),
        ("blend", True),
    ],
)
def test_damaged_facts_are_refused(half, name, value):
    fields, arrays = state_of(half.fitted_)
    with pytest.raises(ModelFileError):
        restored({**fields, "facts": {**fields["facts"], name: value}}, arrays, "folder")


def test_damaged_points_are_refused(half):
    fields, arrays = state_of(half.fitted_)

    def changed(name, place, value):
        array = arrays[name].copy()
        array[place] = value
        return {**arrays, name: array}

    out = np.ones((32, 5), np.float32)
    for damaged in (
        changed("index.ids", 0, 99),
        changed("index.ids", 0, arrays["index.ids"][1]),
        changed("index.starts", 1, 10**6),
        changed("index.rows", 0, half.n_rows_),
        changed("index.y_indptr", 1, -1),
        changed("index.y_indices", 0, 6),
        {**arrays, "network0.out": out, "network0.out_bias": out[0]},
        {**arrays, "index.points": arrays["index.points"][:, :8], "index.centroids": arrays["index.centroids"][:, :8]},
    ):
        with pytest.raises(ModelFileError):
            restored(fields, damaged, "folder")


def test_rows_are_added_by_label_names_and_ids(tmp_path):
    x, y = grouped()
    names = [f"label {i}" for i in range(6)]
    named = lw.DXML(**QUICK).fit(lw.Dataset(x, y, label_names=names))
    before = named.fitted_
    named.partial_fit(x[:2], [["label 4", "brand new"], []])
    assert named.label_names_ == (*names, "brand new")
    assert named.n_rows_ == 122
    assert before.n_labels == 6  # the state before is as it was
    assert [names[label] for label in before.index.y[0].indices] == [names[label] for label in y[0].indices]
    numbered = lw.DXML(**QUICK).fit(x, [[10 * (label + 1) for label in row.indices] for row in y])
    numbered.partial_fit(x[:1], [[20, 5]])
    assert numbered.classes_.tolist() == [10, 20, 30, 40, 50, 60, 5]
    assert copy_of(numbered, tmp_path / "m").classes_.tolist() == numbered.classes_.tolist()
    assert sorted(numbered.fitted_.index.y[120].indices) == [1, 6]
    with pytest.raises(DataError, match="as lists of ids"):
        numbered.partial_fit(x[:1], np.ones((1, 8)))
    with pytest.raises(DataError, match="knows none"):
        numbered.partial_fit(x[:1], [["a name"]])
    plain = lw.DXML(**QUICK).fit(x, y)
    assert plain.partial_fit(x[:1], [[6]]).classes_.tolist() == list(range(7))


def test_the_blend_is_part_of_the_reasons_and_of_the_scale():
    x, y = grouped()
    model = lw.DXML(**{**QUICK, "blend": 0.8, "n_models": 2}).fit(x, y)
    top = model.predict(x[:10], 6)
    assert top.scores.max() > 1
    for row, answers in enumerate(top):
        for label, score in answers:
            why = model.explain(x[row], label)
            assert why.score == pytest.approx(score, abs=1e-6)
            blended = [part for part in why.contributions if part.row < 0]
            assert [part.weight for part in blended] == [0.8]
    likely = model.predict_proba(x[:10]).toarray()
    np.testing.assert_allclose(likely[0, top.labels[0, 0]], top.scores[0, 0] / 1.8, rtol=1e-6)
    assert lw.DXML.explains_by_rows


def test_prediction_needs_no_torch(half, tmp_path):
    half.save(tmp_path / "model")
    code = (
        "import sys, numpy as np, labelwood\n"
        f"model = labelwood.load({str(tmp_path / 'model')!r})\n"
        "model.predict(np.ones((2, 30)), 3)\nmodel.partial_fit(np.ones((1, 30)), np.ones((1, 6)))\n"
        "assert 'torch' not in sys.modules and 'faiss' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
