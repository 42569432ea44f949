"""Texts packed into two arrays and back."""

import numpy as np
import pytest

from labelwood.errors import DataError
from labelwood.storage import words


@pytest.mark.parametrize("given", [(), ("a",), ("a", "", "Käse", "日本", "x y")])
def test_packing_round_trip(given):
    assert words.unpacked(*words.packed(given)) == given


@pytest.mark.parametrize(
    ("utf8", "ends"),
    [(b"ab", [1]), (b"ab", [3]), (b"ab", [2, 1]), (b"", [1]), (b"a", []), (b"\xff", [1]), (b"ab", [-1, 2])],
)
def test_damaged_names_are_refused(utf8, ends):
    with pytest.raises(DataError, match="damaged"):
        words.unpacked(np.frombuffer(utf8, np.uint8), np.array(ends, np.int64))
