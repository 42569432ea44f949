"""The numbers behind ELIAS's figures, and the figures."""

import json

import numpy as np
import pytest
from scipy import sparse
from typer.testing import CliRunner

import labelwood
from labelwood.models.neural.elias.analysis import (
    clusters_per_label,
    decile_recall,
    kept_partition_edges,
    label_deciles,
    plane,
    recall_curve,
)


@pytest.fixture
def random():
    return np.random.default_rng(8)


def test_deciles_hold_a_tenth_each_within_one_label(random):
    counts = random.zipf(1.5, 2000).clip(max=300)
    deciles = label_deciles(counts)
    masses = np.bincount(deciles, weights=counts, minlength=10)
    assert np.abs(masses - counts.sum() / 10).max() <= counts.max()
    order = np.argsort(-counts, kind="stable")
    assert np.all(np.diff(deciles[order]) >= 0)
    assert set(deciles.tolist()) == set(range(10))


def test_labels_without_rows_have_a_decile_too():
    assert label_deciles(np.zeros(4, np.int64)).tolist() == [0, 0, 0, 0]
    assert label_deciles(np.array([5, 0])).tolist() == [5, 9]


def test_contributions_of_deciles_sum_to_the_recall(random):
    labels = np.stack([random.choice(50, 20, replace=False) for _ in range(40)]).astype(np.int32)
    hits = random.uniform(size=labels.shape) < 0.2
    n_true = hits.sum(axis=1) + random.integers(0, 3, 40)
    parts = decile_recall(labels, hits, n_true, label_deciles(random.integers(1, 9, 50)))
    curve = recall_curve(hits, n_true)
    assert parts.sum() == pytest.approx(curve[-1])
    assert np.all(np.diff(curve) >= -1e-9)


def test_recall_without_any_truth_is_nothing():
    nothing = np.zeros((3, 4), bool)
    assert recall_curve(nothing, np.zeros(3)).tolist() == [0, 0, 0, 0]
    assert decile_recall(np.zeros((3, 4), np.int32), nothing, np.zeros(3), np.zeros(1, np.int64)).sum() == 0


def test_homes_and_kept_edges():
    edges = np.array([[0, 1], [1, -1]], np.int32)
    scores = np.array([[0.9, 0.3], [0.5, 0.0]], np.float32)
    assert clusters_per_label(edges, scores, 3).tolist() == [1, 2, 0]


def test_kept_edges_are_a_share_of_those_of_stage_1():
    """Stage 1 has the edges 0-0, 1-1, 1-2, 0-3; the index holds 0-0 (0.9), 1-1 (0.5), 0-3 (0.3), and not 1-2."""
    edges = np.array([[0, 1, 3], [1, 0, -1]], np.int32)
    scores = np.array([[0.9, 0.8, 0.3], [0.5, 1.0, 0.0]], np.float32)
    partition = np.array([0, 1, 1, 0], np.int32)
    kept = kept_partition_edges(edges, scores, partition, np.array([0.0, 0.4, 0.6, 1.0]))
    np.testing.assert_allclose(kept, [3 / 4, 2 / 4, 1 / 4, 0])


def test_the_plane_keeps_what_varies_most(random):
    flat = random.normal(size=(30, 2)) @ random.normal(size=(2, 6))
    found = plane(flat.astype(np.float32))
    assert np.square(found).sum() == pytest.approx(np.square(flat - flat.mean(axis=0)).sum(), rel=1e-4)
    assert plane(np.ones((3, 1), np.float32)).shape == (3, 2)


def test_inspect_writes_figures(tmp_path):
    pytest.importorskip("torch", reason="torch is an optional dependency")
    pytest.importorskip("matplotlib", reason="matplotlib is an optional dependency")
    from labelwood.cli.main import app

    random = np.random.default_rng(0)
    y = sparse.csr_matrix((random.uniform(size=(1000, 40)) < 0.05).astype(np.float32))
    x = sparse.csr_matrix(y @ random.uniform(size=(40, 30)) + random.uniform(size=(1000, 30)))
    quick = {"dim": 16, "warm_epochs": 0, "stage1_epochs": 1, "stage2_epochs": 1, "n_threads": 1}
    labelwood.ELIAS(**quick).fit(x, y).save(tmp_path / "m")
    done = CliRunner().invoke(app, ["inspect", str(tmp_path / "m"), "--figures", str(tmp_path / "out"), "--json"])
    assert done.exit_code == 0, done.output
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {f"{name}.png" for name in ("edges", "partition", "clusters", "map", "recall", "deciles")}
    assert len(json.loads(done.output)["figures"]) == 6
    labelwood.Popular().fit(x, y).save(tmp_path / "p")
    refused = CliRunner().invoke(app, ["inspect", str(tmp_path / "p"), "--figures", str(tmp_path / "out")])
    assert refused.exit_code != 0
