"""Classifiers trained in pieces by others are those of one machine, byte for byte, also where one node is cut."""

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood import _native
from labelwood.models.linear import spread_training
from labelwood.models.linear.weight_blocks import WeightBlocks
from labelwood.spreading import Here, spread_over


class Pieces(Here):
    """Does all pieces here, the last first, and keeps what they were."""

    def __init__(self, n_parts):
        self.n_parts, self.trained = n_parts, []

    def map(self, function, shared, jobs, **others):
        if function is spread_training.train_part:
            self.trained += jobs
        return [function(*shared, *job) for job in reversed(jobs)][::-1]


def problem(n_rows=500, n_labels=700):
    x = sparse.random(n_rows, 120, 0.1, format="csr", dtype=np.float32, random_state=3)
    y = sparse.random(n_rows, n_labels, 0.006, format="csr", random_state=4)
    y.data[:] = 1
    return x, y


@pytest.mark.parametrize(
    ("settings", "is_cut"),
    [
        ({"max_leaf": 8}, True),
        ({"max_leaf": 8, "weights": "half"}, True),
        ({"max_leaf": 2, "arity": 64, "root_arity": 512, "weighting": "propensity"}, True),
        ({"max_leaf": 8, "prune": 0.0}, False),  # a weight that is no half float would be lost on the way
        ({"max_leaf": 16, "negatives": "man"}, False),
    ],
    ids=["bytes", "halves", "several blocks", "nothing pruned", "matched"],
)
def test_pieces_of_a_node_make_the_same_block(settings, is_cut):
    x, y = problem()
    settings = {"C": 1.0, "n_threads": 1, "exact": True, **settings}
    alone = lw.LinearTree(**settings).fit(x, y).fitted_.arrays()
    pieces = Pieces(12)
    with spread_over(pieces):
        together = lw.LinearTree(**settings).fit(x, y).fitted_.arrays()
    assert alone.keys() == together.keys()
    for name, array in alone.items():
        assert array.dtype == together[name].dtype, name
        np.testing.assert_array_equal(array, together[name], err_msg=name)
    of_root = [nodes for _, _, nodes, _ in pieces.trained if len(nodes.child_start) == 2 and nodes.extra_rows.size]
    assert (len(of_root) > 1) == is_cut


def test_blocks_that_make_none_are_refused():
    def block(n_children, n_features):
        model = lw.OneVsAll(C=1.0, n_threads=1).fit(
            sparse.random(40, n_features, 0.5, format="csr", dtype=np.float32, random_state=1),
            sparse.csr_matrix(np.eye(n_children, dtype=np.float32)[np.arange(40) % n_children]),
        )
        blocks = model.fitted_.blocks
        assert isinstance(blocks, WeightBlocks)
        return blocks.native

    with pytest.raises(ValueError, match="one part or more"):
        _native.merged_block([], True)
    with pytest.raises(ValueError, match="at most 256"):
        _native.merged_block([block(30, 5)] * 9, True)
    with pytest.raises(ValueError, match="differ in their features"):
        _native.merged_block([block(3, 5), block(3, 6)], True)
