"""Labels that the ranker adds to the shortlists of an ELIAS index."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood.errors import ModelFileError
from labelwood.models.neural.elias.ranker import UNKNOWN_LOG_P
from labelwood.models.neural.elias.search import UnitRows
from labelwood.models.persistence import restored, state_of

_twins = Path(__file__).parents[1] / "oracles" / "elias_twin.py"
_spec = importlib.util.spec_from_file_location("elias_twin", _twins)
twin = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(twin)

pytestmark = pytest.mark.torch
QUICK = {"dim": 16, "warm_epochs": 0, "stage1_epochs": 1, "stage2_epochs": 1, "n_threads": 1, "shortlist": 5}


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(5)
    x = sparse.csr_matrix(
        (random.uniform(size=(400, 60)) < 0.1) * random.uniform(0.5, 1, size=(400, 60)), dtype=np.float32
    )
    y = sparse.csr_matrix(x[:, :40] > 0.8, dtype=np.float32)
    return x, y


@pytest.mark.parametrize("n_candidates", [1, 7, 40])
def test_the_best_labels_of_the_ranker_are_judged(rows, n_candidates):
    x, y = rows
    model = labelwood.ELIAS(candidates=7, **QUICK).fit(x, y)
    units = UnitRows(x)
    ranker = model.fitted_.ranker
    short = model.fitted_.members[0].index.shortlist(units)
    given = short.labels.copy()
    given[3] = -1  # a row that the index finds nothing for
    every = np.tile(np.arange(40, dtype=np.int32), (400, 1))
    margins = ranker.margins(units, every)
    order = ranker.place[:40]  # equal margins: the classifier that comes first
    for n_threads in (1, 2):
        labels, log_p, judged = ranker.judged(units, given, short.log_p, n_candidates, n_threads)
        assert labels.shape == (400, 5 + n_candidates)
        for row in range(400):
            real = given[row] >= 0
            likely = dict(zip(given[row][real].tolist(), short.log_p[row][real].tolist(), strict=True))
            best = np.lexsort((order, -margins[row]))[:n_candidates].tolist()
            wanted = twin.with_candidates(likely, best, margins[row].tolist(), UNKNOWN_LOG_P)
            n = len(wanted)
            got = list(zip(labels[row].tolist(), log_p[row].tolist(), judged[row].tolist(), strict=True))
            assert got[:n] == wanted
            assert got[n:] == [(-1, -np.inf, 0.0)] * (5 + n_candidates - n)


def test_what_the_index_misses_is_answered(rows):
    x, y = rows
    with_them, without = (labelwood.ELIAS(candidates=n, **QUICK).fit(x, y) for n in (20, 0))
    recalls = [labelwood.evaluate(model.predict(x, 10), y)["R@10"] for model in (with_them, without)]
    assert recalls[0] > recalls[1] + 10
    alone = with_them.predict(x[3], 4)
    assert alone.labels.tolist() == with_them.predict(x, 4).labels[3:4].tolist()
    label = int(alone.labels[0, 0])
    assert with_them.explain(x[3], label).score == pytest.approx(float(alone.scores[0, 0]))


def test_the_number_is_saved(rows, tmp_path):
    x, y = rows
    model = labelwood.ELIAS(candidates=100, **QUICK).fit(x, y)
    assert model.fitted_.candidates == 40
    model.save(tmp_path / "model")
    again = labelwood.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(x, 5).scores, model.predict(x, 5).scores)
    fields, arrays = state_of(again.fitted_)
    with pytest.raises(ModelFileError, match="candidates"):
        restored({**fields, "facts": {**fields["facts"], "candidates": 41}}, arrays, "here")


@pytest.fixture(scope="module")
def saved(rows):
    """(manifest fields, arrays) of a small model."""
    return state_of(labelwood.ELIAS(**QUICK).fit(*rows).fitted_)


def changed(array, place, value):
    """A copy of the array with one number changed."""
    copied = array.copy()
    copied[place] = value
    return copied


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("index0.edges", lambda a: changed(a, (0, 0), 40), "must stay below 40"),
        ("index0.edges", lambda a: changed(a, (0, 0), -2), "below -1"),
        ("index0.edges", lambda a: a[:, :0], "index0.edge_scores|scale of the index"),
        ("index0.scale", lambda a: changed(a, 2, 1e9), "scale of the index is damaged"),
        ("index0.scale", lambda a: changed(a, 0, np.nan), "not finite"),
        ("index0.label_weight", lambda a: a[:-1], "asks for 40"),
        ("index0.encoder.table", lambda a: a[:-1], "asks for 60"),
        ("index0.encoder.kind", lambda a: changed(a, 0, 9), "'kind' holds 9|encoder.kind' holds 9"),
        ("index0.encoder.bias", lambda a: a[:-1], "encoder.bias"),
        ("partition", lambda a: changed(a, 0, 99), "'partition' holds 99"),
        ("ranker.order", lambda a: changed(a, 0, a[1]), "does not hold each of 40 labels once"),
        ("ranker.feature_rank", lambda a: changed(a, 0, 60), "must stay below 60"),
        ("ranker.bias", lambda a: changed(a, 0, np.inf), "not finite"),
        ("scoring0.powers", lambda a: a[:1], "'scoring0.powers'"),
        ("index1.edges", lambda a: np.zeros((1, 1), np.int32), "'index1.edges' does not belong"),
        ("trees.0.bias", lambda a: np.zeros(1), "'trees.0.bias' does not belong"),
    ],
)
def test_damaged_arrays_are_refused(saved, name, damage, message):
    fields, arrays = saved
    with pytest.raises(ModelFileError, match=message):
        restored(fields, {**arrays, name: damage(arrays.get(name))}, "here")


@pytest.mark.parametrize("facts", [{"inserted": []}, {"inserted": ["a"]}, {"inserted": 3}, {"C": -1.0}, {"C": "1"}])
def test_damaged_facts_are_refused(saved, facts):
    fields, arrays = saved
    with pytest.raises(ModelFileError, match=next(iter(facts))):
        restored({**fields, "facts": {**fields["facts"], **facts}}, arrays, "here")
