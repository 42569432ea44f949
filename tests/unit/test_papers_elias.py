"""What `reproduce elias` measures of a trained model."""

import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood.data.dataset import Dataset
from labelwood.models.neural.elias.search import LearnedIndex
from labelwood.report.compare_data import Parts
from labelwood.report.papers.all_papers import find_paper
from labelwood.report.papers.elias_measures import edge_histogram, elias_groups, spread
from labelwood.report.papers.measures import judged, measured

QUICK = {"dim": 16, "warm_epochs": 0, "stage1_epochs": 1, "stage2_epochs": 1, "n_clusters": 8, "n_threads": 1}


def test_edges_are_counted_by_their_scores():
    scores = np.array([[0.05, 0.05, 0.95], [1.0, 0.0, 0.0]], np.float32)
    edges = np.array([[0, 1, 2], [3, -1, -1]], np.int32)
    nothing = np.zeros(0, np.float32)
    index = LearnedIndex({}, nothing, nothing, edges, scores, scores, nothing, nothing, 1.0, 1.0, 1, 1)
    lines = edge_histogram(index)
    assert lines["0.0 to 0.1"] == {"score": 0.05, "edges, per cent": 50.0}
    assert lines["0.9 to 1.0"] == {"score": 0.95, "edges, per cent": 50.0}
    assert sum(line["edges, per cent"] for line in lines.values()) == 100


def test_the_spread_of_rows():
    east, north = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert spread(np.array([east, east, east])) == pytest.approx(0)
    assert spread(np.array([east, north])) == pytest.approx(1)
    assert spread(np.array([east, east, north])) == pytest.approx(2 / 3)  # one of three pairs is alike


@pytest.fixture(scope="module")
def parts():
    random = np.random.default_rng(0)
    y = random.uniform(size=(1500, 120)) < 0.03
    y[np.arange(1500), random.integers(0, 120, 1500)] = True
    x = sparse.csr_matrix((y @ random.uniform(size=(120, 30)) + random.uniform(size=(1500, 30))).astype(np.float32))
    data = Dataset(x, sparse.csr_matrix(y.astype(np.float32)))
    return Parts(data.take(np.arange(1200)), data.take(np.arange(1200, 1500)))


def test_groups_belong_together(parts):
    pytest.importorskip("torch", reason="torch is an optional dependency")
    model = labelwood.ELIAS(n_models=2, **QUICK).fit(parts.train)
    groups = elias_groups(model.fitted_, parts, lambda top: judged(top, parts, (0.55, 1.5)))
    paper = find_paper("elias")
    assert {each.group for each in paper.experiments} - {"answers"} == set(groups)
    whole = groups["parts"]["+ stage 2"]
    assert groups["pruned"]["edges from 0"]["pruned, per cent"] == 0
    assert groups["pruned"]["edges from 0"]["P@1"] == whole["P@1"]
    widest, *_, narrow = groups["pruned to the strongest"].values()
    assert widest["pruned, per cent"] == 0
    assert widest["R@10"] == whole["R@10"]
    assert widest["R@100"] > narrow["R@100"]  # fewer labels are found
    last = list(groups["recall"].values())[-1]["recall"]
    assert sum(line["recall"] for line in groups["recall by decile"].values()) == pytest.approx(last)
    assert all(0 <= line[name] <= 1 for line in groups["true labels"].values() for name in ("index", "ranker"))
    assert {line["decile"] for line in groups["true labels"].values()} == set(range(1, 11))
    assert sum(line["labels"] for line in groups["modes"].values()) <= 120
    for experiment in paper.experiments:
        lines = groups.get(experiment.group, {})
        assert lines or experiment.group in ("answers", "modes"), experiment.name
        for line in lines.values():
            assert set(experiment.metrics) <= set(line), experiment.name
    figures = measured(model, parts, (0.55, 1.5))["answers"][""]
    assert figures["ms a row"] == pytest.approx(1000 * figures["test s"] / 300)
    assert figures["MB"] > 0
