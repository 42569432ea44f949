"""The cost of a linear tree, chosen on held-out rows."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.errors import ModelFileError
from labelwood.models.fit_input import checked_input
from labelwood.models.linear.cost_choice import (
    CHEAP_WORK,
    COSTS,
    DEFAULT_COST,
    ENOUGH_ASKED,
    SMALLEST_ROWS,
    chosen_cost,
    is_worth_choosing,
    usual_cost,
)
from labelwood.models.linear.linear_tree_params import LinearTreeParams
from labelwood.models.linear.state_training import _cost
from labelwood.progress import SILENT
from labelwood.storage.format import manifest_sha256
from labelwood.topk import TopK


def labels(n_rows: int, n_labels: int = 8) -> sparse.csr_matrix:
    own = np.random.default_rng(1).integers(0, n_labels, n_rows)
    return sparse.csr_matrix((np.ones(n_rows, np.float32), own, np.arange(n_rows + 1)), shape=(n_rows, n_labels))


def noisy(n_rows: int) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Rows of three words, of which one tells the label in half of the rows."""
    rng = np.random.default_rng(2)
    y = labels(n_rows)
    told = np.where(rng.random(n_rows) < 0.5, y.indices, rng.integers(0, 8, n_rows))
    x = np.zeros((n_rows, 60), np.float32)
    x[np.arange(n_rows), told] = 1
    for _ in range(2):
        x[np.arange(n_rows), rng.integers(8, 60, n_rows)] = 1
    return sparse.csr_matrix(x), y


def test_only_rows_that_can_tell_and_are_quickly_tried_choose_a_cost():
    x = sparse.csr_matrix(np.ones((SMALLEST_ROWS, 2), np.float32))
    assert is_worth_choosing(x, labels(SMALLEST_ROWS))
    assert not is_worth_choosing(x[1:], labels(SMALLEST_ROWS - 1))
    assert not is_worth_choosing(x, sparse.csr_matrix((SMALLEST_ROWS, 8), dtype=np.float32))
    many = int(CHEAP_WORK / x.nnz) + 1
    assert not is_worth_choosing(x, sparse.csr_matrix(labels(SMALLEST_ROWS).T[:1].T, shape=(SMALLEST_ROWS, many)))


@pytest.mark.parametrize("best", COSTS)
def test_the_cost_with_the_best_answers_is_chosen(best):
    y = labels(1500)
    asked = []

    def answers(cost, kept, held):
        assert not np.intersect1d(kept, held).size
        assert len(kept) + len(held) == 1500
        asked.append(len(held))
        right = y[held].indices.astype(np.int32)
        given = right if cost == best else (right + (np.arange(len(held)) % 50 == 0)).astype(np.int32) % 8
        return TopK(given[:, None], np.ones((len(held), 1), np.float32)).cut(5)

    assert chosen_cost(y, answers, 0, SILENT) == best
    assert sum(asked) >= ENOUGH_ASKED * len(COSTS)


def test_of_equal_costs_the_default_is_kept():
    y = labels(1500)

    def nothing(cost, kept, held):
        return TopK(np.zeros((len(held), 1), np.int32), np.ones((len(held), 1), np.float32)).cut(5)

    assert chosen_cost(y, nothing, 0, SILENT) == DEFAULT_COST


def test_a_model_keeps_the_cost_it_chose(tmp_path):
    x, y = noisy(1200)
    model = lw.LinearTree(n_threads=1).fit(x, y)
    assert model.C is None
    assert model.fitted_.C in COSTS
    assert model.fitted_.C < DEFAULT_COST  # half of the labels are noise
    assert model.structure()["C"] == model.fitted_.C
    same = lw.LinearTree(n_threads=2).fit(x, y)
    given = lw.LinearTree(C=model.fitted_.C).fit(x, y)
    for other in (same, given):
        np.testing.assert_array_equal(other.predict(x, 3).scores, model.predict(x, 3).scores)
    model.save(tmp_path / "model")
    loaded = lw.load(tmp_path / "model")
    assert loaded.fitted_.C == model.fitted_.C
    assert loaded.parameters_.C is None
    more = noisy(1300)
    for taught in (model, loaded, given):
        taught.partial_fit(more[0][1200:], more[1][1200:], earlier=(x, y))
        assert taught.fitted_.C == given.fitted_.C
    np.testing.assert_array_equal(loaded.predict(x, 3).scores, model.predict(x, 3).scores)
    np.testing.assert_array_equal(given.predict(x, 3).scores, model.predict(x, 3).scores)


def test_few_rows_and_given_costs_try_nothing():
    x, y = noisy(900)
    assert lw.LinearTree().fit(x, y).fitted_.C == DEFAULT_COST
    assert lw.LinearTree(C=3.0).fit(*noisy(1200)).fitted_.C == 3.0


def test_a_folder_without_the_chosen_cost_has_it_among_its_parameters(tmp_path):
    model = lw.LinearTree(C=0.6).fit(*noisy(300))
    model.save(tmp_path / "model")
    manifest = tmp_path / "model" / "manifest.json"
    fields = json.loads(manifest.read_text())
    del fields["facts"]["C"]
    manifest.write_text(json.dumps({**fields, "manifest_sha256": manifest_sha256(fields)}))
    assert lw.load(tmp_path / "model").fitted_.C == 0.6
    fields["facts"]["C"] = "much"
    manifest.write_text(json.dumps({**fields, "manifest_sha256": manifest_sha256(fields)}))
    with pytest.raises(ModelFileError, match="cost C"):
        lw.load(tmp_path / "model")


@pytest.mark.parametrize(("features", "cost"), [(1, 0.5), (10, 0.67), (50, 1.0), (200, 1.41), (1000, 2.0)])
def test_the_usual_cost_grows_with_the_features_of_a_row(features, cost):
    x = sparse.csr_matrix(np.ones((1000, features), np.float32))
    assert usual_cost(x) == cost
    assert usual_cost(x[:999]) == DEFAULT_COST


def test_many_labels_get_the_usual_cost_unless_rows_keep_their_length():
    x, y = noisy(1200)
    many = sparse.csr_matrix((y.data, y.indices, y.indptr), shape=(y.shape[0], 10**6))
    data = checked_input(x, many)
    assert _cost(LinearTreeParams(), data) == usual_cost(x) != DEFAULT_COST
    assert _cost(LinearTreeParams(normalize=False), data) == DEFAULT_COST
    assert _cost(LinearTreeParams(C=3.0), data) == 3.0
