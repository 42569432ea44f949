"""Labels that the ranker adds to the shortlists of an ELIAS index."""

import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood.errors import ModelFileError
from labelwood.models.neural.elias.candidates import UNKNOWN_LOG_P, with_candidates
from labelwood.models.neural.elias.search import UnitRows

QUICK = {"dim": 16, "warm_epochs": 0, "stage1_epochs": 1, "stage2_epochs": 1, "n_threads": 1, "shortlist": 5}


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(5)
    x = sparse.csr_matrix(
        (random.uniform(size=(400, 60)) < 0.1) * random.uniform(0.5, 1, size=(400, 60)), dtype=np.float32
    )
    y = sparse.csr_matrix(x[:, :40] > 0.8, dtype=np.float32)
    return x, y


def test_candidates_take_their_places():
    labels = np.array([[2, 5, 9, -1], [-1, -1, -1, -1]], np.int32)
    log_p = np.array([[-1.0, -3.0, -2.0, -np.inf], [-np.inf] * 4], np.float32)
    found, likely = with_candidates(labels, log_p, np.array([[7, 5, 0], [4, 1, 3]], np.int32))
    assert found.tolist() == [[0, 2, 5, 7, 9, -1, -1], [1, 3, 4, -1, -1, -1, -1]]
    none = -np.inf
    wanted = [[-3.0, -1.0, -3.0, -3.0, -2.0, none, none], [*[UNKNOWN_LOG_P] * 3, *[none] * 4]]
    np.testing.assert_array_equal(likely, np.array(wanted, np.float32))


def test_the_best_labels_of_the_ranker_are_judged(rows):
    x, y = rows
    model = labelwood.ELIAS(candidates=7, **QUICK).fit(x, y)
    units = UnitRows(x)
    short = model.members_[0].index.shortlist(units)
    labels, log_p, margins = model.ranker_.judged(units, short.labels, short.log_p, 7)
    every = np.tile(np.arange(40, dtype=np.int32), (400, 1))
    best = np.argsort(-model.ranker_.margins(units, every), axis=1, kind="stable")[:, :7]
    assert labels.shape == (400, 12)
    assert np.isfinite(log_p[labels >= 0]).all()
    for row in range(400):
        real = labels[row][labels[row] >= 0]
        assert np.all(np.diff(real) > 0)
        assert set(real) == set(best[row]) | set(short.labels[row][short.labels[row] >= 0])
    alone = model.ranker_.margins(units, labels)
    np.testing.assert_array_equal(margins, alone)


def test_what_the_index_misses_is_answered(rows):
    x, y = rows
    with_them, without = (labelwood.ELIAS(candidates=n, **QUICK).fit(x, y) for n in (20, 0))
    recalls = [labelwood.evaluate(model.predict(x, 10), y)["R@10"] for model in (with_them, without)]
    assert recalls[0] > recalls[1] + 10
    one = with_them.predict(x[3], 4)
    assert one.labels.tolist() == with_them.predict(x, 4).labels[3:4].tolist()
    label = int(one.labels[0, 0])
    assert with_them.explain(x[3], label).score == pytest.approx(float(one.scores[0, 0]))


def test_the_number_is_saved(rows, tmp_path):
    x, y = rows
    model = labelwood.ELIAS(candidates=100, **QUICK).fit(x, y)
    assert model.candidates_ == 40
    model.save(tmp_path / "model")
    again = labelwood.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(x, 5).scores, model.predict(x, 5).scores)
    with pytest.raises(ModelFileError, match="candidates"):
        again._restore(again._arrays(), {**again._facts(), "candidates": 41})
