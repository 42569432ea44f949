"""ELIAS's network: gradients, teaching, stages; needs torch."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood.models.mixing import mean_scores
from labelwood.models.neural.elias import index
from labelwood.models.neural.elias.calibration import Scoring
from labelwood.models.neural.elias.settings import ELIASParams
from labelwood.models.neural.elias.sizes import IndexSizes, index_sizes
from labelwood.progress import SILENT

torch = pytest.importorskip("torch", reason="torch is an optional dependency")

N_LABELS, DIM = 10, 6


class Through(torch.nn.Module):
    """An encoder that hands dense vectors through."""

    def forward(self, vectors):
        return vectors


def network(edges, values, sizes):
    from labelwood.models.neural.elias.network import IndexNetwork

    torch.manual_seed(0)
    made = IndexNetwork(Through(), DIM, edges, sizes, np.full(N_LABELS, -1, np.float32))
    torch.nn.init.normal_(made.label_weight)
    if values is not None:
        made.set_edges(edges, values)
    return made


@pytest.fixture
def random():
    return np.random.default_rng(6)


@pytest.fixture
def graph(random):
    """Four clusters of five labels, every label somewhere, with values and sizes that clamp nothing."""
    edges = np.stack([(np.arange(5) * 2 + c) % N_LABELS for c in range(4)]).astype(np.int32)
    values = random.uniform(size=edges.shape).astype(np.float32)
    return edges, values, IndexSizes(4, alpha=0.9, beta=1.5, kappa=5, beam=2, shortlist=N_LABELS)


def losses(made, vectors, y, teach=True):
    clusters = made.cluster_scores(vectors)
    batch = made.shortlists(clusters, y, made.sizes.shortlist, teach, 1)
    return batch, made.losses(vectors, clusters, batch, 1)


def test_the_losses_are_those_of_the_paper(random, graph):
    made = network(*graph)
    made.parents = index.parents(made.edges, made.edge_scores().detach().numpy(), N_LABELS)
    y = (random.uniform(size=(7, N_LABELS)) < 0.3).astype(np.float32)
    vectors = torch.from_numpy(random.normal(size=(7, DIM)).astype(np.float32))
    batch, (classification, shortlist) = losses(made, vectors, sparse.csr_matrix(y))
    logits = (vectors @ made.label_weight.T + made.label_bias[:, 0]).detach()
    total = pull = 0.0
    for row in range(7):
        for place, label in enumerate(batch.labels[row]):
            if label < 0:
                continue
            score = float(batch.scores[row, place])
            p = score / (1 + np.exp(-float(logits[row, label])))
            total -= np.log(p) if y[row, label] else np.log(1 - p)
            pull -= np.log(score) if y[row, label] else 0
    most = y.sum(axis=1).max()
    assert float(classification.detach()) == pytest.approx(total / (7 * N_LABELS), rel=1e-4)
    assert float(shortlist.detach()) == pytest.approx(pull / (7 * most), rel=1e-4)


def test_gradients_are_finite_differences(random, graph):
    made = network(*graph)
    y = sparse.csr_matrix((random.uniform(size=(5, N_LABELS)) < 0.3).astype(np.float32))
    vectors = torch.from_numpy(random.normal(size=(5, DIM)).astype(np.float32))
    made.parents = index.parents(made.edges, made.edge_scores().detach().numpy(), N_LABELS)

    def value():
        classification, shortlist = losses(made, vectors, y)[1]
        return classification + 0.05 * shortlist

    value().backward()
    for name in ("label_weight", "label_bias", "edge_values", "clusters.weight"):
        parameter = made.get_parameter(name)
        gradient = parameter.grad.to_dense() if parameter.grad.is_sparse else parameter.grad
        for _ in range(6):
            place = tuple(int(random.integers(n)) for n in parameter.shape)
            step = 2e-2
            with torch.no_grad():
                parameter[place] += step
                up = float(value())
                parameter[place] -= 2 * step
                down = float(value())
                parameter[place] += step
            assert float(gradient[place]) == pytest.approx((up - down) / (2 * step), abs=3e-4), (name, place)


def test_clamped_scores_get_no_push(random, graph):
    edges, values, sizes = graph
    made = network(edges, values, replace(sizes, alpha=1000.0, beta=1000.0))  # everything is at its cap
    y = sparse.csr_matrix(np.eye(5, N_LABELS, dtype=np.float32))
    vectors = torch.from_numpy(random.normal(size=(5, DIM)).astype(np.float32))
    classification, shortlist = losses(made, vectors, y, teach=False)[1]
    (classification + shortlist).backward()
    assert float(made.edge_values.grad.abs().max()) == 0
    assert float(made.clusters.weight.grad.abs().max()) == 0
    assert float(made.label_weight.grad.to_dense().abs().max()) > 0


def test_true_labels_are_always_taught(random, graph):
    edges, values, sizes = graph
    made = network(edges, values, replace(sizes, beam=1, shortlist=4))
    made.parents = index.parents(edges, made.edge_scores().detach().numpy(), N_LABELS)
    y = sparse.csr_matrix((random.uniform(size=(40, N_LABELS)) < 0.2).astype(np.float32))
    vectors = torch.from_numpy(random.normal(size=(40, DIM)).astype(np.float32))
    batch, _ = losses(made, vectors, y)
    n_true = np.minimum(np.diff(y.indptr), 4)
    np.testing.assert_array_equal(batch.truth.sum(axis=1), n_true)
    untaught, _ = losses(made, vectors, y, teach=False)
    assert untaught.truth.sum() < batch.truth.sum()


def test_a_stage_2_of_clamped_partition_edges_is_stage_1(random):
    partition = np.arange(N_LABELS, dtype=np.int32) % 3
    edges = index.partition_edges(partition)
    sizes = IndexSizes(3, alpha=1.0, beta=float(edges.shape[1]), kappa=edges.shape[1], beam=2, shortlist=N_LABELS)
    made = network(edges, None, sizes)
    vectors = torch.from_numpy(random.normal(size=(8, DIM)).astype(np.float32))
    y = sparse.csr_matrix((8, N_LABELS))
    first, _ = losses(made, vectors, y, teach=False)
    made.set_edges(edges, np.full(edges.shape, 0.5, np.float32))
    second, _ = losses(made, vectors, y, teach=False)
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.scores, second.scores)


def test_an_empty_cluster_harms_nothing(random):
    edges = np.array([[0, 1], [-1, -1]], np.int32)
    made = network(edges, np.zeros((2, 2), np.float32), IndexSizes(2, 1.0, 0.5, 2, 2, 2))
    vectors = torch.from_numpy(random.normal(size=(3, DIM)).astype(np.float32))
    _, (classification, shortlist) = losses(made, vectors, sparse.csr_matrix(np.eye(3, N_LABELS, dtype=np.float32)))
    (classification + shortlist).backward()
    assert torch.isfinite(made.edge_values.grad).all()
    assert float(made.edge_scores().detach()[1].abs().max()) == 0


def problem(random, n_rows=1200, n_labels=30, n_features=60):
    """Rows that show their labels by three words each, in noise."""
    own = random.choice(n_features, size=(n_labels, 3))
    x, y = np.zeros((n_rows, n_features), np.float32), np.zeros((n_rows, n_labels), np.float32)
    for row in range(n_rows):
        labels = random.choice(n_labels, random.integers(1, 4), replace=False)
        y[row, labels] = 1
        for label in labels:
            x[row, own[label]] += random.uniform(0.3, 1, 3)
        x[row, random.choice(n_features, 6)] += random.uniform(0, 0.6, 6)
    return sparse.csr_matrix(x), sparse.csr_matrix(y)


QUICK = {"dim": 32, "warm_epochs": 1, "stage1_epochs": 2, "stage2_epochs": 2, "n_threads": 1}


@pytest.fixture(scope="module")
def fitted():
    x, y = problem(np.random.default_rng(1))
    return labelwood.ELIAS(**QUICK, n_models=2).fit(x[:1100], y[:1100]), x[1100:], y[1100:]


def test_elias_plus_plus_end_to_end(fitted, tmp_path):
    model, x, y = fitted
    assert labelwood.evaluate(model.predict(x), y)["P@1"] > 80
    assert all(member.scoring.tree is not None for member in model.fitted_.members)
    model.save(tmp_path / "m")
    again = labelwood.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(x).scores, model.predict(x).scores)
    for row in range(3):
        label, score = next(iter(model.predict(x[row], k=1)))[0]
        why = model.explain(x[row], label)
        assert why.score == pytest.approx(score)
        assert [share.name for share in why.shares[:2]] == ["index 1", "index 2"]
        for share in why.shares[:2]:
            log_scores = [node.log_score for node in share.explanation.nodes]
            assert sum(log_scores) == pytest.approx(np.log(share.explanation.score), abs=1e-5)


def test_prediction_needs_no_torch(fitted, tmp_path):
    model, x, _ = fitted
    model.save(tmp_path / "m")
    sparse.save_npz(tmp_path / "x.npz", x)
    code = (
        "import sys, labelwood; from scipy import sparse\n"
        f"top = labelwood.load({str(tmp_path / 'm')!r}).predict(sparse.load_npz({str(tmp_path / 'x.npz')!r}))\n"
        "assert 'torch' not in sys.modules and top.labels.shape[1] == 5"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_an_ensemble_of_equals_is_each_of_them(fitted):
    model, x, _ = fitted
    short = model.fitted_.members[0].index.shortlist(x)
    one = short.labels, np.exp(short.log_p.astype(np.float64))
    labels, scores = mean_scores([one, one, one])
    width = one[0].shape[1]
    np.testing.assert_array_equal(labels[:, :width], one[0])
    np.testing.assert_allclose(scores[:, :width], np.where(one[0] < 0, 0, one[1]), rtol=1e-12)
    assert np.all(labels[:, width:] == -1)


def test_pruning_a_model(fitted, tmp_path):
    model, x, _ = fitted
    before = model.predict(x)
    for same in (model.pruned(threshold=0.0), model.pruned(top=1000), model.pruned(threshold=0.0, renormalize=True)):
        np.testing.assert_array_equal(same.predict(x).labels, before.labels)
        np.testing.assert_allclose(same.predict(x).scores, before.scores, rtol=1e-4)
    edges = model.structure()["edges"]
    kept, stronger = model.pruned(threshold=0.2), model.pruned(threshold=0.2, renormalize=True)
    assert kept.structure()["edges"] == stronger.structure()["edges"] < edges
    for one, other in zip(kept.fitted_.members, stronger.fitted_.members, strict=True):
        assert np.all(other.index.edge_scores >= one.index.edge_scores - 1e-6)
    np.testing.assert_array_equal(model.predict(x).scores, before.scores)  # the model itself is as it was
    kept.save(tmp_path / "m")
    np.testing.assert_array_equal(labelwood.load(tmp_path / "m").predict(x).scores, kept.predict(x).scores)
    for bad in ({}, {"top": 3, "threshold": 0.1}):
        with pytest.raises(labelwood.ParamError, match="one of them"):
            model.pruned(**bad)


def test_means_count_a_missing_label_as_nothing():
    one = np.array([[1, 4, -1]], np.int32), np.array([[0.2, 0.6, 0.0]])
    two = np.array([[2, 4, 7]], np.int32), np.array([[0.4, 0.2, 0.1]])
    labels, scores = mean_scores([one, two])
    assert labels[0, :4].tolist() == [1, 2, 4, 7]
    np.testing.assert_allclose(scores[0, :4], [0.1, 0.2, 0.4, 0.05])


def test_plain_elias_has_no_ranker():
    x, y = problem(np.random.default_rng(3), 300)
    model = labelwood.ELIAS(**QUICK, ranker=False, calibration=False).fit(x, y)
    assert model.fitted_.ranker is None
    assert model.fitted_.members[0].scoring == Scoring()
    assert not any(name.startswith("ranker") for name in model.fitted_.arrays())


def test_lists_of_negatives_instead_of_all_rows(monkeypatch):
    from labelwood.models.neural.elias import ranker

    monkeypatch.setattr(ranker, "ALL_NEGATIVES_WORK", 0)
    x, y = problem(np.random.default_rng(1))
    model = labelwood.ELIAS(**QUICK).fit(x[:1100], y[:1100])
    assert labelwood.evaluate(model.predict(x[1100:]), y[1100:])["P@1"] > 80


def test_figures_for_people(fitted):
    model, _, _ = fitted
    found = model.structure()
    assert found["indexes"] == 2
    assert found["clusters"] == index_sizes(30, ELIASParams()).n_clusters
    assert found["edges"] >= 30


def test_one_cluster_is_one_vs_all_with_the_same_encoder():
    x, y = problem(np.random.default_rng(3), 300)
    settings = {**QUICK, "warm_epochs": 0, "stage2_epochs": 0, "n_clusters": 1, "shortlist": 30}
    model = labelwood.ELIAS(**settings, ranker=False, calibration=False).fit(x, y)
    found = model.fitted_.members[0].index
    short = found.shortlist(x[:5])
    np.testing.assert_array_equal(short.labels, np.tile(np.arange(30), (5, 1)))
    assert np.all(short.log_path == 0)


def test_parents_of_all_labels_are_visited_unless_there_is_a_limit(graph):
    """Row 0 has all labels, whose parents are three clusters or more; the beam alone visits two."""
    made = network(*graph)
    made.parents = index.parents(made.edges, made.edge_scores().detach().numpy(), N_LABELS)
    clusters = made.cluster_scores(torch.zeros(1, DIM))
    y = sparse.csr_matrix(np.ones((1, N_LABELS), np.float32))
    visited = {}
    for limit in (0, 1):
        made.max_parents = limit
        batch = made.shortlists(clusters, y, N_LABELS, True, 1)
        visited[limit] = set((batch.paths[batch.labels >= 0] // made.edges.shape[1]).tolist())
    assert visited[0] >= set(made.parents.tolist())
    assert visited[1] < visited[0]


def test_weights_decay_and_biases_do_not():
    from labelwood.models.neural.elias.staged import Trainer

    x = sparse.random(40, 12, 0.4, format="csr", random_state=1, dtype=np.float32)
    y = sparse.random(40, 6, 0.3, format="csr", random_state=2, dtype=np.float32)
    for bias_decay in (True, False):
        settings = ELIASParams(dim=4, residual=True, label_decay=0.2, weight_decay=0.1, bias_decay=bias_decay)
        trainer = Trainer(x, y, IndexSizes(2, 1.0, 1.0, 6, 2, 6), settings, 0, SILENT)
        made = trainer._network(np.array([0, 0, 0, 1, 1, 1], np.int32))
        decay = {id(p): group.weight_decay for group in trainer._groups(made) for p in group.parameters}
        assert set(decay) == {id(p) for p in made.parameters()}
        assert decay[id(made.label_weight)] == 0.2
        assert decay[id(made.label_bias)] == 0
        assert decay[id(made.clusters.weight)] == 0.1
        assert decay[id(made.clusters.bias)] == (0.1 if bias_decay else 0)
