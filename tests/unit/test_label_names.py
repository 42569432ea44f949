"""Label names: lists of names a row <-> matrix columns."""

import numpy as np
import pytest
from scipy import sparse

from labelwood.errors import DataError
from labelwood.labelspace import names


def test_numbers_do_not_depend_on_the_order_of_rows():
    assert names.all_names([["b"], ["a", "b"]]) == names.all_names([["b", "a"], []]) == ("a", "b")


def test_matrix_with_unknown_names_last():
    y, unknown = names.label_matrix([["b", "a", "b"], [], ["x", "a"], ["y", "x"]], {"a": 0, "b": 1})
    assert unknown == ("x", "y")
    assert y.toarray().tolist() == [[1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 1, 0], [0, 0, 1, 1]]
    assert y.has_canonical_format


def test_renumbered_moves_columns_by_name():
    y = sparse.csr_matrix([[1, 1, 0, 0], [0, 1, 1, 0]], dtype=np.float32)
    moved, unknown = names.renumbered(y, ["c", "b", "x", "never used"], {"a": 0, "b": 1, "c": 2})
    assert unknown == ("x",)
    assert moved.toarray().tolist() == [[0, 1, 1, 0], [0, 1, 0, 1]]
    assert y.toarray().tolist() == [[1, 1, 0, 0], [0, 1, 1, 0]]


def test_one_name_for_two_labels_is_refused():
    with pytest.raises(DataError, match="'a' stands for two labels"):
        names.name_ids(["b", "a", "c", "a"])


def test_unknown_label_gives_the_nearest():
    ids = names.name_ids(["baking", "bread", "soup"])
    assert "did you mean 'baking'" in names.unknown_label("bakin", ids)
    assert "the 3 known labels are 'baking', 'bread', 'soup'" in names.unknown_label("zzzz", ids)
