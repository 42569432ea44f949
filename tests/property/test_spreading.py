"""Work in pieces gives the bytes of work in one piece: ranges of nodes, splits of levels, shards of label vectors."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import labelwood as lw
from labelwood import _native
from labelwood.labelindex import spread_splitter
from labelwood.labelindex.splitting import Splitter
from labelwood.models.linear import tree_choice
from labelwood.models.persistence import state_of
from labelwood.progress import Callback
from labelwood.spreading import Here, current_spread, even_ranges, spread_over


class Pieces(Here):
    """Seven pieces, all done by this process."""

    n_parts = 7

    def __init__(self):
        self.sizes = []

    def map(self, function, shared, jobs, **options):
        self.sizes.append(len(jobs))
        return super().map(function, shared, jobs, **options)


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(1, 12))
def test_ranges_follow_each_other_and_share_the_cost(costs, n_parts):
    ranges = even_ranges(costs, n_parts)
    assert [place for first, last in ranges for place in range(first, last)] == list(range(len(costs)))
    assert len(ranges) <= n_parts
    if sum(costs):
        sums = [sum(costs[first:last]) for first, last in ranges]
        assert min(sums) > 0
        assert max(sums) <= sum(costs) / n_parts + 1.5 * max(costs)


@pytest.fixture(scope="module")
def rows():
    x = sparse.random(1500, 600, 0.04, format="csr", random_state=0, dtype=np.float32)
    y = sparse.random(1500, 700, 0.004, format="csr", random_state=1)
    y.data[:] = 1
    return x, y


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (lw.LinearTree, {"n_trees": 3, "max_leaf": 16, "arity": 16, "C": 1.0}),
        (lw.LinearTree, {"balance": 1.2, "max_leaf": 16, "arity": 4, "C": 1.0}),
        (lw.LinearTree, {"max_leaf": 32, "arity": 8, "C": 1.0, "negatives": "tfn+man"}),
        (lw.LinearTree, {"max_leaf": 32, "arity": 8, "C": 1.0, "weighting": "propensity"}),
        (lw.OneVsAll, {}),
        (lw.HierarchicalXC, {}),
    ],
    ids=["forest", "balance", "matched", "weighted", "one-vs-all", "hierarchicalxc"],
)
def test_pieces_give_the_same_bytes(kind, settings, rows, monkeypatch):
    model = kind(**settings)
    monkeypatch.setattr(spread_splitter, "SMALLEST_PIECE", 50)
    monkeypatch.setattr(tree_choice, "SMALLEST_PIECE", 50)
    weights = np.random.default_rng(2).uniform(0.5, 2, rows[0].shape[0]) if kind is lw.LinearTree else None
    given = {} if weights is None else {"sample_weight": weights}
    whole_fields, whole = state_of(model.fit(*rows, **given).fitted_)
    pieces = Pieces()
    with spread_over(pieces):
        fields, arrays = state_of(model.fit(*rows, **given).fitted_)
    assert max(pieces.sizes) > 1
    assert fields == whole_fields
    assert {name: array.tobytes() for name, array in arrays.items()} == {
        name: array.tobytes() for name, array in whole.items()
    }


def test_label_names_weigh_the_same_in_shards(rows, monkeypatch):
    monkeypatch.setattr(spread_splitter, "SMALLEST_PIECE", 50)
    monkeypatch.setattr(tree_choice, "SMALLEST_PIECE", 50)
    x, y = rows
    names = [f"w{label % 600} w{label * 7 % 600}" for label in range(y.shape[1])]
    data = lw.Dataset(x, y, label_names=names, feature_names=[f"w{column}" for column in range(x.shape[1])])
    model = lw.LinearTree(label_features=1.0, max_leaf=16, arity=4, C=1.0)
    whole = model.fit(data).fitted_.trees[0].label_order
    with spread_over(Pieces()):
        assert np.array_equal(model.fit(data).fitted_.trees[0].label_order, whole)


def test_the_spread_is_left_with_the_block_and_work_here_tells_its_progress():
    pieces, told = Pieces(), []
    assert current_spread().n_parts == 1
    with spread_over(pieces):
        assert current_spread() is pieces
        shared = current_spread().share([1, 2])
        progress = Callback(lambda *step: told.append(step))
        assert pieces.map(lambda a, b: a[b], [shared], [(0,), (1,)], what="adding", progress=progress) == [1, 2]
    assert current_spread().n_parts == 1
    assert told == [("adding", 0, 2), ("adding", 1, 2)]


@given(st.integers(1, 60), st.integers(1, 6), st.integers(0, 2**31), st.floats(0.05, 1))
def test_labels_split_out_of_shards_are_split_as_from_one_matrix(n_labels, n_shards, seed, share):
    draw = np.random.default_rng(seed)
    whole = sparse.random(n_labels, 9, 0.4, format="csr", random_state=draw, dtype=np.float32)
    bounds = np.concatenate([[0], np.sort(draw.integers(0, n_labels + 1, n_shards - 1)), [n_labels]]).tolist()
    shards = [whole[first:last] for first, last in pairwise(bounds)]
    labels = np.union1d(np.flatnonzero(draw.random(n_labels) < share), [0, n_labels - 1]).astype(np.int32)

    def halves(splitter):
        order = draw_order.copy()
        if len(order) < 2:
            return order.tolist(), None
        options, zero = _native.SplitOptions(), np.zeros(1, np.int64)
        n_left, objective = splitter.split(order, zero, np.array([len(order)]), zero, options)
        return order.tolist(), (n_left.tolist(), objective.tolist())

    draw_order = draw.permutation(len(labels)).astype(np.int32)
    assert halves(Splitter.of_shards(shards, bounds, labels)) == halves(Splitter(whole[labels]))


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        (([0, 2], [0, 1], [1, 1], [1]), "no row of that number"),
        (([0, 2], [0, 1], [1, 1], [-1]), "no row of that number"),
        (([0, 3], [0, 1], [1, 1]), "not a CSR matrix"),
        (([0, 2], [0, 1], [1]), "not a CSR matrix"),
        (([], [], []), "not a CSR matrix"),
    ],
)
def test_label_vectors_that_do_not_fit_are_refused(arrays, words):
    kinds = (np.int64, np.int32, np.float32, np.int32)
    vectors = _native.LabelVectors(2)
    with pytest.raises(ValueError, match=words):
        vectors.add(*(np.array(array, kind) for array, kind in zip(arrays, kinds, strict=False)))
    assert len(vectors) == 0
