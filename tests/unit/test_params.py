"""Parameters: declared once, checked, parsed and listed from the declaration."""

import dataclasses
import json
import math
from dataclasses import dataclass

import numpy as np
import pytest

from labelwood.errors import ParamError
from labelwood.params import Params, Range, param


@dataclass(frozen=True)
class Example(Params):
    """One parameter of each kind."""

    C: float = param(1.0, "penalty", low=0, low_open=True)
    share: float = param(0.5, "a share", low=0, high=1)
    depth: int = param(3, "levels", low=1)
    loss: str = param("hinge", "the loss", choices=("hinge", "log"))
    bias: bool = param(True, "add a constant feature")
    cap: int | None = param(None, "at most so many", low=1, kind=int)
    prefix: str = param("", "any words")


def test_defaults_are_valid_and_complete():
    assert Example.checked({}, "Example").as_dict() == Example.defaults()
    assert list(Example.ranges())[:2] == ["seed", "n_threads"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("C", 0.1),
        ("C", 3),
        ("share", 0),
        ("share", 1),
        ("depth", 1),
        ("loss", "log"),
        ("bias", False),
        ("cap", None),
        ("cap", 7),
        ("prefix", "abc"),
        ("seed", 2**63 - 1),
        ("n_threads", None),
    ],
)
def test_good_values_are_kept(name, value):
    assert getattr(Example.checked({name: value}, "Example"), name) == value


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("C", 0, "a number above 0"),
        ("C", math.nan, "a number above 0"),
        ("C", "1", "a number above 0"),
        ("C", None, "a number above 0"),
        ("C", True, "a number above 0"),
        ("share", 1.01, "a number from 0 to 1"),
        ("depth", 0, "a whole number from 1 up"),
        ("depth", 2.0, "a whole number from 1 up"),
        ("depth", True, "a whole number from 1 up"),
        ("loss", "squared", "one of 'hinge', 'log'"),
        ("bias", 1, "True or False"),
        ("cap", 0, "a whole number from 1 up or None"),
        ("prefix", 5, "a string"),
        ("seed", -1, "a whole number from 0"),
        ("n_threads", 0, "a whole number from 1 to 4096 or None"),
    ],
)
def test_bad_values_say_what_came_and_what_is_allowed(name, value, allowed):
    with pytest.raises(ParamError) as caught:
        Example.checked({name: value}, "Example")
    message = str(caught.value)
    assert message.startswith(f"Example: {name} must be {allowed}")
    assert message.endswith(f"but is {value!r}")


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(ParamError, match="unknown parameter 'dept'; did you mean 'depth'"):
        Example.checked({"dept": 3}, "Example")


def test_numpy_scalars_become_plain_numbers():
    made = Example.checked({"C": np.float32(0.5), "depth": np.int64(4), "bias": np.bool_(False)}, "Example")
    assert (made.C, made.depth, made.bias) == (0.5, 4, False)
    assert [type(v) for v in (made.C, made.depth, made.bias)] == [float, int, bool]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("C=2", 2.0),
        ("C=1e-3", 1e-3),
        ("depth=4", 4),
        ("bias=no", False),
        ("bias=True", True),
        ("cap=none", None),
        ("cap=9", 9),
        ("loss=log", "log"),
        ("prefix=a=b", "a=b"),
    ],
)
def test_command_line_texts_are_parsed(text, value):
    name = text.partition("=")[0]
    parsed = Example.parse([text], "train")[name]
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("C", "expected key=value, but got 'C'"),
        ("depth=two", "depth must be a whole number from 1 up, but is 'two'"),
        ("bias=maybe", "bias must be True or False, but is 'maybe'"),
        ("deph=2", "did you mean 'depth'"),
    ],
)
def test_bad_command_line_texts_are_refused(text, message):
    with pytest.raises(ParamError, match=message):
        Example.parse([text], "train")


def test_the_table_has_one_row_for_each_parameter():
    table = {row[0]: row[1:] for row in Example.table()}
    assert set(table) == {field.name for field in dataclasses.fields(Example)}
    assert table["C"] == ("1.0", "a number above 0", "penalty")
    assert table["cap"] == ("None", "a whole number from 1 up or None", "at most so many")


def test_sets_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Example().C = 3


def test_a_range_without_borders_reads_well():
    assert str(Range(float)) == "a number"
    assert str(Range(int)) == "a whole number"


def test_what_is_saved_comes_back():
    @dataclass(frozen=True)
    class Given(Params):
        """With a number that may be infinite."""

        warmth: float = param(1.0, "any number from 0 up", low=0)

    settings = Given.checked({"warmth": math.inf, "n_threads": 3}, "Given")
    saved = json.loads(json.dumps(settings.saved(), allow_nan=False))
    assert saved == {"seed": 0, "warmth": "infinite"}
    assert Given.from_saved({**saved, "n_threads": 7}, "Given") == Given(warmth=math.inf)
