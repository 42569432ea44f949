"""Row costs of the linear solver: a row of cost 2 is a row that comes twice, a row of cost 0 is not there."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from labelwood.models.linear.weight_blocks import Earlier, Nodes, train_blocks
from labelwood.progress import SILENT

_spec = importlib.util.spec_from_file_location("linear_twin", Path(__file__).with_name("linear_twin.py"))
twin = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(twin)

LOSSES = ("squared-hinge", "logistic")
FINE = {"eps": 1e-4, "max_passes": 20_000}


def problem(seed, n_rows=90, n_features=20, n_labels=20):
    random = np.random.default_rng(seed)
    x = (random.normal(size=(n_rows, n_features)) * (random.random((n_rows, n_features)) < 0.3)).astype(np.float32)
    x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-9)
    return x, random.random((n_rows, n_labels)) < random.choice([0.05, 0.2, 0.5], n_labels)


def train(x, y, cost=None, nodes=None, earlier=None, **changed):
    y = sparse.csc_matrix(y, dtype=np.float32)
    nodes = twin.flat_nodes(y.shape[1]) if nodes is None else nodes
    cost = None if cost is None else np.asarray(cost, np.float32)
    options = twin.options(**changed)
    return train_blocks(twin.csr_rows(x), x.shape[1], y, nodes, options, SILENT, "labels", earlier, row_cost=cost)


def assert_equal_blocks(a, b):
    for name, array in a.arrays.items():
        np.testing.assert_array_equal(array, b.arrays[name])


def assert_near(a, b):
    for ours, theirs in zip(twin.decode(a), twin.decode(b), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=4e-3 * max(1.0, np.abs(theirs).max()))


@pytest.mark.parametrize("loss", LOSSES)
def test_equal_costs_change_nothing(loss):
    x, y = problem(0)
    assert_equal_blocks(train(x, y, loss=loss), train(x, y, np.ones(len(x)), loss=loss))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_the_weighted_objective_is_optimal(loss, C):
    x, y = problem(1)
    cost = np.random.default_rng(2).choice([0, 0.25, 1, 2, 7], len(x)).astype(np.float32)
    weights, biases = twin.decode(train(x, y, cost, loss=loss, C=C, **FINE))
    compared = 0
    for label in np.flatnonzero(y[cost > 0].any(axis=0)):
        arguments = x.astype(np.float64), y[:, label], C * cost.astype(np.float64), 1.0
        best = twin.optimum(loss, *arguments)
        found = twin.objective(loss, weights[:, label].astype(np.float64), float(biases[label]), *arguments)
        assert best * (1 - 1e-5) <= found <= best * 1.002
        compared += 1
    assert compared >= 10


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rare_power", [0.0, 0.5])
def test_a_row_of_cost_two_comes_twice(loss, rare_power):
    x, y = problem(3)
    times = np.random.default_rng(4).integers(1, 4, len(x))
    repeated = np.repeat(np.arange(len(x)), times)
    changed = {"loss": loss, "rare_power": rare_power, **FINE}
    assert_near(train(x, y, times, **changed), train(x[repeated], y[repeated], **changed))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_row_of_cost_zero_is_left_out(loss):
    x, y = problem(5)
    cost = np.random.default_rng(6).choice([0, 0.5, 1, 3], len(x))
    y[:, 3] = (cost == 0) & (np.arange(len(x)) % 2 == 0)  # a label of left out rows alone
    kept = cost > 0
    blocks = train(x, y, cost, loss=loss)
    assert_equal_blocks(blocks, train(x[kept], y[kept], cost[kept], loss=loss))
    assert blocks.arrays["bias"][3] == -10.0


@pytest.mark.parametrize("extra_alone", [False, True])
def test_a_row_of_cost_zero_is_left_out_of_every_node(extra_alone):
    x, y = problem(7)
    cost = np.random.default_rng(8).choice([0, 1, 2], len(x))
    kept = cost > 0
    new_row = np.cumsum(kept) - 1
    extra = np.arange(0, len(x), 4, dtype=np.int32)
    bounds = np.array([0, 5, 20, 0, 1, 2, 3, 4, 5], np.int64)
    nodes = Nodes(np.array([0, 3, 9]), bounds, np.array([0, len(extra), len(extra)]), extra, extra_alone=extra_alone)
    extra_kept = new_row[extra[kept[extra]]].astype(np.int32)
    without = replace(nodes, extra_start=np.array([0, len(extra_kept), len(extra_kept)]), extra_rows=extra_kept)
    assert_equal_blocks(train(x, y, cost, nodes), train(x[kept], y[kept], cost[kept], without))


@pytest.mark.parametrize("loss", LOSSES)
def test_costs_count_where_training_starts_from_weights(loss):
    """From the solution for the first rows, new rows of cost 2 are solved as if they came twice."""
    x, y = problem(9)
    old = 60
    times = np.where(np.arange(len(x)) < old, 1, 2)
    changed = {"loss": loss, **FINE}
    first = train(x[:old], y[:old], **changed)
    start = Earlier(first, np.array([0]), np.array([20]), old)
    repeated = np.repeat(np.arange(len(x)), times)
    assert_near(train(x, y, times, earlier=start, **changed), train(x[repeated], y[repeated], earlier=start, **changed))


def test_the_solution_with_costs_is_kept_when_nothing_is_new():
    x, y = problem(10)
    cost = np.random.default_rng(11).choice([0.5, 1, 4], len(x))
    blocks = train(x, y, cost, loss="logistic", **FINE)
    again = train(x, y, cost, earlier=Earlier(blocks, np.array([0]), np.array([20]), len(x)), loss="logistic", eps=0.01)
    assert_near(again, blocks)


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ([1.0], "row_cost has 1 entries, allowed is 90"),
        ([1.0] * 89 + [-1.0], r"row_cost\[89\] is -1, allowed are 0 and numbers from 1e-20 to 1e\+20"),
        ([np.nan] * 90, r"row_cost\[0\] is nan"),
        ([1e-30] * 90, r"row_cost\[0\] is 1e-30"),
    ],
)
def test_costs_that_do_not_fit_are_refused(cost, message):
    with pytest.raises(ValueError, match=message):
        train(*problem(12), cost)
