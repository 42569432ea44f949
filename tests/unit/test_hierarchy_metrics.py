"""Hierarchical precision, recall and F1 against sums made by hand."""

import pytest
from scipy import sparse

from labelwood.errors import DataError
from labelwood.metrics.hierarchy import BranchFigures, branch_figures, hierarchy_metrics
from labelwood.topk import TopK

# Labels 0..4: animals; dogs and cats below animals; poodles below dogs; cars alone.
ANCESTORS = sparse.csr_matrix([[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [1, 1, 0, 1, 0], [0, 0, 0, 0, 1]])


def test_by_hand():
    # Row 0: true poodles {animals, dogs, poodles}; answered cats {animals, cats}, then dogs {animals, cats, dogs}.
    # Row 1: true cars {cars}; answered cars {cars}, then nothing.
    # Row 2: true cats and dogs {animals, cats, dogs}; answered cars {cars}, then cats {cars, animals, cats}.
    y = sparse.csr_matrix([[0, 0, 0, 1, 0], [0, 0, 0, 0, 1], [0, 1, 1, 0, 0]])
    top = TopK.from_lists([[(2, 0.9), (1, 0.8)], [(4, 0.7)], [(4, 0.6), (2, 0.5)]], k=2)
    figures = hierarchy_metrics(top, y, ANCESTORS, (1, 2))
    # k = 1: shared 1 + 1 + 0, answered 2 + 1 + 1, true 3 + 1 + 3. k = 2: shared 2 + 1 + 2, answered 3 + 1 + 3.
    assert figures == pytest.approx(
        {
            "hP@1": 100 * 2 / 4,
            "hR@1": 100 * 2 / 7,
            "hF1@1": 100 * 4 / 11,
            "hP@2": 100 * 5 / 7,
            "hR@2": 100 * 5 / 7,
            "hF1@2": 100 * 10 / 14,
        }
    )


def test_without_a_hierarchy_it_is_micro_precision():
    y = sparse.csr_matrix([[1, 0, 1, 0, 0]])
    top = TopK.from_lists([[(0, 0.9), (1, 0.8)]])
    assert hierarchy_metrics(top, y, sparse.identity(5, format="csr"), [2]) == {"hP@2": 50, "hR@2": 50, "hF1@2": 50}


def test_no_answers_and_no_truth_are_zero():
    top = TopK.from_lists([[]], k=1)
    assert hierarchy_metrics(top, sparse.csr_matrix((1, 5)), ANCESTORS, [1]) == {"hP@1": 0, "hR@1": 0, "hF1@1": 0}


def test_other_shapes_are_refused():
    with pytest.raises(DataError, match="ancestors of 5 labels"):
        hierarchy_metrics(TopK.from_lists([[(0, 1.0)]]), sparse.csr_matrix((1, 4)), ANCESTORS, [1])


# Labels 0..4 as above; branches: animals (labels 0 to 3), cars (4) and toys, which holds dogs and cars too.
BRANCHES = sparse.csr_matrix([[1, 0, 0], [1, 0, 1], [1, 0, 0], [1, 0, 0], [0, 1, 1]])


def test_branches_by_hand():
    # True: poodles; cars; dogs and cats. Given: cats, dogs; cars; cars, cats.
    y = sparse.csr_matrix([[0, 0, 0, 1, 0], [0, 0, 0, 0, 1], [0, 1, 1, 0, 0]])
    top = TopK.from_lists([[(2, 0.9), (1, 0.8)], [(4, 0.7)], [(4, 0.6), (2, 0.5)]], k=2)
    animals, toys, cars = branch_figures(top, y, BRANCHES)
    assert animals == BranchFigures(0, given=3, true=3, right=1)
    assert toys == BranchFigures(2, given=3, true=2, right=1)
    assert cars == BranchFigures(1, given=2, true=1, right=1)
    assert (cars.precision, cars.recall) == (50, 100)
    assert cars.f1 == pytest.approx(200 / 3)


def test_branches_without_answers_and_truth_are_left_out():
    top = TopK.from_lists([[(1, 0.9)]], k=1)
    assert [part.branch for part in branch_figures(top, sparse.csr_matrix((1, 5)), BRANCHES)] == [0, 2]
    with pytest.raises(DataError, match="branches of 4 labels"):
        branch_figures(top, sparse.csr_matrix((1, 5)), BRANCHES[:4])
