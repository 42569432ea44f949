"""Arrays as one array of compressed bytes: they come back as they were, and damaged bytes are refused."""

import json
import struct

import numpy as np
import pytest

from labelwood.errors import ModelFileError
from labelwood.storage.compressed import compressed, expanded


def some_arrays():
    random = np.random.default_rng(0)
    return {
        "rising": np.cumsum(random.integers(0, 9, 3000)),
        "small": random.integers(-5, 5, (40, 7), np.int8),
        "floats": random.standard_normal(50).astype(np.float32),
        "wide": np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max, 0, -1], np.int64),
        "falling": np.arange(2000, 0, -1, dtype=np.int32),
        "unsigned": np.array([0, 2**32 - 1, 7], np.uint32),
        "none": np.zeros((0, 3), np.float64),
        "number": np.array(3.5),
    }


def test_arrays_come_back_as_they_were():
    arrays = some_arrays()
    data = compressed(arrays)
    assert data.dtype == np.uint8
    assert len(data) < 4000 < sum(array.nbytes for array in arrays.values()) / 5
    back = expanded(data, "test")
    assert list(back) == sorted(arrays)
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        assert not back[name].flags.writeable
        np.testing.assert_array_equal(back[name], array)


def test_the_order_in_which_arrays_come_changes_nothing():
    # A step that was kept comes back in the order of its file.
    arrays = some_arrays()
    backwards = dict(reversed(arrays.items()))
    assert compressed(backwards).tobytes() == compressed(arrays).tobytes()


def test_numbers_like_chance_take_their_entropy():
    numbers = np.rint(2 * np.random.default_rng(0).standard_normal(20_000)).astype(np.int8)
    share = np.unique(numbers, return_counts=True)[1] / len(numbers)
    entropy = -(share * np.log2(share)).sum() * len(numbers) / 8
    assert len(compressed({"a": numbers})) < 1.04 * entropy + 100


def test_every_flipped_byte_is_refused_or_does_no_harm():
    arrays = {"a": np.arange(300), "b": np.ones(5, np.float32)}
    data = compressed(arrays)
    refused = 0
    for place in range(len(data)):
        damaged = data.copy()
        damaged[place] ^= 0x15
        try:
            expanded(damaged, "test")
        except ModelFileError:
            refused += 1
    assert refused > 0.8 * len(data)  # other names and types are for the schema to refuse


@pytest.mark.parametrize("n", [0, 7, 20, -1])
def test_bytes_that_are_cut_off_are_refused(n):
    with pytest.raises(ModelFileError):
        expanded(compressed({"a": np.arange(300)})[:n], "test")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"shape": [2**50]}, "cannot hold"), ({"shape": [299]}, "does not hold"), ({"shape": [301]}, "does not hold"),
        ({"dtype": "object"}, "no such line"), ({"n_bytes": 10**9}, "cut off"), ({"name": "../a"}, "not made of"),
        ({"dtype": ["int64"]}, "no such line"), ({"dtype": {}}, "no such line"), ({"name": ["a"]}, "name"),
        ({"name": 5}, "name"), ({"shape": "300"}, "shape"), ({"shape": [300.0]}, "shape"),
        ({"n_bytes": "9"}, "cut off"),
    ],
)  # fmt: skip
def test_a_table_that_lies_is_refused(change, what):
    data = compressed({"a": np.arange(300)}).tobytes()
    end = 8 + struct.unpack("<Q", data[:8])[0]
    head = json.dumps([{**json.loads(data[8:end])[0], **change}]).encode()
    lying = np.frombuffer(struct.pack("<Q", len(head)) + head + data[end:], np.uint8)
    with pytest.raises(ModelFileError, match=what):
        expanded(lying, "test")
