"""Label affinity: the formulas, their bounds, and blocks that do not depend on how they are made."""

import numpy as np
import pytest
from scipy import sparse

from labelwood.errors import ParamError
from labelwood.labelspace.affinity import AFFINITIES, LabelAffinity


@pytest.fixture
def y():
    dense = np.random.default_rng(3).random((60, 12)) < 0.2
    dense[:, 4] = False  # never seen
    dense[:, 5] = dense[:, 6]  # always together
    dense[:, 7] = False
    dense[:5, 7] = True
    dense[:5, 8] = False  # never with 7
    return sparse.csr_matrix(dense, dtype=np.float32)


def plain(y, kind):
    together = (y.T @ y).toarray().astype(np.float64)
    n, own = y.shape[0], np.diag(together)
    found = np.eye(y.shape[1])
    for i in range(y.shape[1]):
        for j in range(y.shape[1]):
            both = together[i, j]
            if i == j or both == 0:
                continue
            if kind == "arithmetic":
                found[i, j] = (both / own[i] + both / own[j]) / 2
            elif kind == "geometric":
                found[i, j] = both / np.sqrt(own[i] * own[j])
            elif kind == "jaccard":
                found[i, j] = both / (own[i] + own[j] - both)
            else:
                found[i, j] = max(0.0, np.log(n * both / own[i] / own[j]) / -np.log(both / n))
    return found


@pytest.mark.parametrize("kind", AFFINITIES)
@pytest.mark.parametrize("kept_pairs", [10**9, 0], ids=["whole", "by columns"])
def test_blocks_are_the_formula(y, kind, kept_pairs):
    affinity = LabelAffinity(y, kind, kept_pairs)
    labels = np.array([9, 4, 6, 5, 0])
    np.testing.assert_allclose(affinity.block(labels), plain(y, kind)[np.ix_(labels, labels)], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", AFFINITIES)
def test_it_is_symmetric_with_ones_and_between_0_and_1(y, kind):
    whole = LabelAffinity(y, kind).block(np.arange(12))
    np.testing.assert_array_equal(whole, whole.T)
    np.testing.assert_array_equal(np.diag(whole), 1)
    assert whole.min() >= 0
    assert whole.max() <= 1
    assert whole[5, 6] == pytest.approx(1)  # always together
    assert whole[7, 8] == 0  # never together
    assert set(whole[4, np.arange(12) != 4]) == {0}  # never seen


def test_labels_of_every_row_belong_together():
    for kind in AFFINITIES:
        np.testing.assert_allclose(LabelAffinity(np.ones((5, 3)), kind).block([0, 2]), 1)


def test_unknown_kinds_are_refused(y):
    with pytest.raises(ParamError, match="unknown affinity 'jacard'; did you mean 'jaccard'"):
        LabelAffinity(y, "jacard")
