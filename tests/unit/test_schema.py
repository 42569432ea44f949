"""Declared arrays: what keeps the rules passes, everything else is refused with its name."""

import numpy as np
import pytest

from labelwood.errors import ModelFileError
from labelwood.storage.schema import (
    PART,
    ArrayRule,
    as_optional,
    check_arrays,
    number,
    part,
    prefixed,
    under,
    whole_number,
)

SCHEMA = {
    "places": ArrayRule("int32", ("n_features",), low=-1, below="n_features"),
    "starts": ArrayRule("int64", ("n_blocks+1",)),
    "weights": ArrayRule(("float32", "uint16"), ("n_blocks", 4), finite=True),
    "extra": ArrayRule("float64", (), optional=True),
}


def good():
    return {
        "places": np.array([0, -1, 2], np.int32),
        "starts": np.arange(3),
        "weights": np.ones((2, 4), np.float32),
    }


def test_sizes_come_from_the_arrays():
    sizes = check_arrays(SCHEMA, good(), {"n_features": 3}, "here")
    assert sizes == {"n_features": 3, "n_blocks": 2}
    check_arrays(SCHEMA, {**good(), "extra": np.array(1.5)}, {}, "here")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"more": np.zeros(1)}, "here: the array 'more' does not belong"),
        ({"starts": None}, "here: the array 'starts' is missing"),
        ({"places": np.zeros(3)}, "'places' must be int32 of shape .n_features., but is float64"),
        ({"places": np.zeros((3, 1), np.int32)}, "but is int32 of shape .3, 1."),
        ({"places": np.zeros(2, np.int32)}, "asks for 3"),
        ({"places": np.array([0, 3, 0], np.int32)}, "holds 3, but must stay below 3"),
        ({"places": np.array([0, -2, 0], np.int32)}, "holds -2, below -1"),
        ({"weights": np.ones((3, 4), np.float32)}, "asks for 2"),
        ({"weights": np.ones((2, 5), np.float32)}, "asks for 4"),
        ({"weights": np.full((2, 4), np.nan, np.float32)}, "not finite"),
        ({"starts": np.zeros(0, np.int64)}, "has no n_blocks.1 places"),
        ({"extra": np.zeros(1)}, "of shape .., but is float64 of shape .1,."),
    ],
)
def test_what_breaks_a_rule_is_refused(change, message):
    arrays = {name: array for name, array in {**good(), **change}.items() if array is not None}
    with pytest.raises(ModelFileError, match=message):
        check_arrays(SCHEMA, arrays, {"n_features": 3}, "here")


def test_several_types_may_be_allowed():
    check_arrays(SCHEMA, {**good(), "weights": np.ones((2, 4), np.uint16)}, {"n_features": 3}, "here")


def test_parts_have_sizes_of_their_own():
    schema = under("a.", SCHEMA) | under("b.", SCHEMA)
    other = {**good(), "starts": np.arange(2), "weights": np.ones((1, 4), np.float32)}
    arrays = prefixed("a.", good()) | prefixed("b.", other)
    sizes = check_arrays(schema, arrays, {"n_features": 3}, "here")
    assert sizes == {"n_features": 3, "a.n_blocks": 2, "b.n_blocks": 1}
    assert part("b.", arrays).keys() == other.keys()


def test_optional_arrays_may_be_missing():
    assert check_arrays(as_optional(SCHEMA), {}, {}, "here") == {}


def test_a_part_checks_its_arrays_itself():
    schema = {**SCHEMA, "member0.": PART}
    assert check_arrays(schema, good(), {"n_features": 3}, "here")
    assert check_arrays(schema, {**good(), "member0.anything": np.zeros(9)}, {"n_features": 3}, "here")
    with pytest.raises(ModelFileError, match=r"'member1\.anything' does not belong to this model"):
        check_arrays(schema, {**good(), "member1.anything": np.zeros(9)}, {"n_features": 3}, "here")


def test_bounds_may_be_sums_of_sizes():
    schema = {"places": ArrayRule("int32", ("n_features+2",), low=-1, below="n_features+2")}
    check_arrays(schema, {"places": np.array([0, 4, -1, 2, 3], np.int32)}, {"n_features": 3}, "here")
    with pytest.raises(ModelFileError, match="holds 5, but must stay below 5"):
        check_arrays(schema, {"places": np.array([0, 5, -1, 2, 3], np.int32)}, {"n_features": 3}, "here")


def test_facts():
    facts = {"n": 3, "x": 0.5, "bad": True, "text": "3", "huge": float("inf")}
    assert whole_number(facts, "n", 0, 5, "here") == 3
    assert number(facts, "x", 0, "here") == 0.5
    for name in ("bad", "text", "x"):
        with pytest.raises(ModelFileError, match=f"here: {name} must be a whole number 0..5"):
            whole_number(facts, name, 0, 5, "here")
    for name in ("bad", "text", "huge"):
        with pytest.raises(ModelFileError, match=f"here: {name} must be a number from 0"):
            number(facts, name, 0, "here")
    with pytest.raises(ModelFileError, match=r"above 0\.5"):
        number(facts, "x", 0.5, "here", low_open=True)
