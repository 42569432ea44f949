"""The solver from earlier weights, with rows that are nobody's negatives, with costs per child: against plain twins."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from labelwood.models.linear.weight_blocks import Earlier, train_blocks
from labelwood.progress import SILENT

_spec = importlib.util.spec_from_file_location("linear_twin", Path(__file__).with_name("linear_twin.py"))
twin = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(twin)

EXACT = {"eps": 1e-4, "max_passes": 3000, "prune": 0.0}


def problem(seed=0, n_rows=60, n_features=12, n_labels=18):
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.6)).astype(np.float32)
    return x, rng.random((n_rows, n_labels)) < 0.3


def train(x, y, nodes=None, earlier=None, **changed):
    nodes = twin.flat_nodes(y.shape[1]) if nodes is None else nodes
    y = sparse.csc_matrix(y, dtype=np.float32)
    return train_blocks(
        twin.csr_rows(x), x.shape[1], y, nodes, twin.options(**{**EXACT, **changed}), SILENT, "labels", earlier
    )


def start(blocks, first_new):
    n = int(blocks.child_start[-1])
    return Earlier(blocks, np.zeros(1, np.int64), np.array([n]), first_new)


@pytest.mark.parametrize("loss", ["squared-hinge", "logistic"])
def test_from_earlier_weights_the_solution_is_that_of_all_rows(loss):
    """Nearly exact earlier weights (half floats, nothing pruned): what is solved is the objective over all rows."""
    x, y = problem()
    before = train(x[:40], y[:40], loss=loss)
    found, _ = twin.decode(train(x, y, earlier=start(before, 40), loss=loss))
    exact, _ = twin.decode(train(x, y, loss=loss))
    cold, _ = twin.decode(before)
    assert np.abs(found - exact).max() < 0.05 * np.abs(cold - exact).max() + 0.02


def test_without_new_rows_nothing_changes():
    x, y = problem()
    before = train(x, y, prune=0.1)
    again = train(x, y, earlier=start(before, len(x)), prune=0.1)
    for name in before.arrays:
        np.testing.assert_array_equal(again.arrays[name], before.arrays[name])


def test_labels_without_earlier_weights_are_solved_from_nothing():
    """17 of 18 labels are known; the last, new one ends at its own optimum."""
    x, y = problem()
    before = train(x[:40], y[:40, :17])
    found, bias = twin.decode(train(x, y, earlier=start(before, 40)))
    best = twin.optimum("squared-hinge", x.astype(np.float64), y[:, 17], 1.0, 1.0)
    value = twin.objective("squared-hinge", found[:, 17].astype(np.float64), float(bias[17]), x, y[:, 17], 1.0, 1.0)
    assert value <= 1.01 * best


def test_rows_that_are_nobodys_negatives_count_as_positives_alone():
    """Only the extra rows are negatives: the solution is that of positives and extra rows, label by label."""
    x, y = problem(n_labels=5)
    extra = np.arange(0, 60, 3, dtype=np.int32)
    nodes = replace(twin.flat_nodes(5), all_rows=False, extra_start=np.array([0, len(extra)]), extra_rows=extra)
    found, bias = twin.decode(train(x, y, nodes=replace(nodes, extra_alone=True)))
    for label in range(5):
        rows = np.flatnonzero(y[:, label] | np.isin(np.arange(60), extra))
        best = twin.optimum("squared-hinge", x[rows].astype(np.float64), y[rows, label], 1.0, 1.0)
        weights = found[:, label].astype(np.float64)
        value = twin.objective("squared-hinge", weights, float(bias[label]), x[rows], y[rows, label], 1.0, 1.0)
        assert value <= 1.01 * best
    both, _ = twin.decode(train(x, y, nodes=nodes))
    assert np.abs(both - found).max() > 0.05


def test_child_costs_multiply_the_cost_of_positives():
    x, y = problem(n_labels=4)
    factors = np.array([1, 3, 0.2, 10, 7], np.float32)  # the last bound begins no child
    found, bias = twin.decode(train(x, y, nodes=replace(twin.flat_nodes(4), child_cost=factors), C=0.5))
    for label in range(4):
        costs = np.where(y[:, label], 0.5 * factors[label], 0.5)
        best = twin.optimum("squared-hinge", x.astype(np.float64), y[:, label], costs, 1.0)
        weights = found[:, label].astype(np.float64)
        value = twin.objective("squared-hinge", weights, float(bias[label]), x, y[:, label], costs, 1.0)
        assert value <= 1.01 * best
