"""Blocks made from blocks against plain NumPy: bytes and scales, pruning, joining; damage cannot lead outside."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelwood import _native
from labelwood.errors import ModelFileError
from labelwood.models.linear.block_edits import BlockRange, joined_blocks, stored_as
from labelwood.models.linear.weight_blocks import WeightBlocks

_spec = importlib.util.spec_from_file_location("linear_twin", Path(__file__).with_name("linear_twin.py"))
twin = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(twin)


def random_blocks(seed, n_children, n_features, density):
    rng = np.random.default_rng(seed)
    weights = np.zeros((n_features, n_children), np.float32)
    used = rng.choice(n_features, min(n_features, 60), replace=False)
    weights[used] = rng.normal(size=(len(used), n_children)) * (rng.random((len(used), n_children)) < density)
    weights = twin.half_rounded(weights)
    bias = rng.normal(size=n_children).astype(np.float32)
    return twin.encode(weights, bias), weights, bias


def as_bytes(weights):
    """Weights as bytes keep them: 127 steps to the largest of each child."""
    scale = (np.abs(weights).max(axis=0) / np.float32(127)).astype(np.float32)
    ratio = np.divide(weights, scale, out=np.zeros_like(weights), where=scale > 0)
    steps = np.sign(ratio) * np.floor(np.abs(ratio) + np.float32(0.5))
    return steps.astype(np.float32) * scale


def margins(blocks, x):
    parts = []
    for row in x:
        features = np.flatnonzero(row).astype(np.int32)
        n_blocks = len(blocks.child_start) - 1
        parts.append(np.concatenate([blocks.margins(b, features, row[features]) for b in range(n_blocks)]))
    return np.stack(parts)


SHAPES = (
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 4, 5, 16, 17, 255, 256, 300]),
    st.sampled_from([1, 64, 65, 4097, 9000]),
    st.sampled_from([0.0, 0.02, 0.3, 0.55, 1.0]),
)


@settings(max_examples=40, deadline=None)
@given(*SHAPES)
def test_byte_blocks_hold_the_rounded_weights(seed, n_children, n_features, density):
    blocks, weights, bias = random_blocks(seed, n_children, n_features, density)
    small = stored_as(blocks, "int8", 1)
    x = (np.random.default_rng(seed + 1).normal(size=(3, n_features))).astype(np.float32)
    x[2] = 0
    expected = x.astype(np.float64) @ as_bytes(weights).astype(np.float64) + bias
    np.testing.assert_allclose(margins(small, x), expected, atol=1e-4 * (1 + np.abs(x).sum() / 50))
    decoded, _ = twin.decode(small)
    np.testing.assert_array_equal(decoded, as_bytes(weights))
    # Bytes made from bytes are the same bytes, also by way of half floats.
    again = stored_as(stored_as(small, "half", 1), "int8", 1)
    for name in small.arrays:
        np.testing.assert_array_equal(again.arrays[name], small.arrays[name])


@settings(max_examples=30, deadline=None)
@given(*SHAPES, st.booleans())
def test_blocks_of_earlier_versions_become_todays_blocks(seed, n_children, n_features, density, bytes_):
    blocks, weights, bias = random_blocks(seed, n_children, n_features, density)
    small = stored_as(blocks, "int8", 1)
    wanted = small if bytes_ else stored_as(blocks, "half", 1, 1e-9)
    old = (
        twin.old_arrays(*twin.decode(small), scale=small.arrays["scale"]) if bytes_ else twin.old_arrays(weights, bias)
    )
    found = WeightBlocks.from_arrays(n_features, {f"b.{name}": array for name, array in old.items()}, "b.")
    assert found.arrays.keys() == wanted.arrays.keys()
    for name in found.arrays:
        np.testing.assert_array_equal(found.arrays[name], wanted.arrays[name], name)


def test_damaged_blocks_of_earlier_versions_are_converted_without_leaving_them():
    _, weights, bias = random_blocks(7, 40, 300, 0.4)
    good = twin.old_arrays(weights, bias)
    rng = np.random.default_rng(0)
    for _ in range(60):
        arrays = {name: array.copy() for name, array in good.items()}
        for name in ("top_bits", "top_rank", "words", "row_offset", "payload"):
            place = rng.integers(len(arrays[name]))
            arrays[name][place] = rng.integers(0, np.iinfo(arrays[name].dtype).max, dtype=arrays[name].dtype)
        WeightBlocks.from_arrays(300, arrays, "")
    for name in good:
        with pytest.raises(ModelFileError, match="the weight blocks are damaged"):
            WeightBlocks.from_arrays(300, {**good, name: good[name][:-1]}, "")


def test_every_level_gives_the_same_margins_of_bytes():
    blocks, _, _ = random_blocks(3, 300, 500, 0.4)
    small = stored_as(blocks, "int8", 1)
    x = np.random.default_rng(0).normal(size=(5, 500)).astype(np.float32)
    kept, seen = _native.simd_level(), []
    for name in _native.simd_levels():
        assert _native.use_simd_level(name)
        seen.append(margins(small, x).tobytes())
    assert _native.use_simd_level(kept)
    assert set(seen) == {seen[0]}


@settings(max_examples=30, deadline=None)
@given(*SHAPES, st.sampled_from([0.0, 0.1, 0.7, 5.0]))
def test_pruned_blocks_hold_the_large_weights(seed, n_children, n_features, density, prune):
    blocks, weights, bias = random_blocks(seed, n_children, n_features, density)
    for n_threads in (1, 2):
        arrays = blocks.native.rebuilt(prune, False, n_threads)
        decoded, found_bias = twin.decode(WeightBlocks(n_features, arrays))
        np.testing.assert_array_equal(decoded, np.where(np.abs(weights) >= prune, weights, 0))
        np.testing.assert_array_equal(found_bias, bias)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 4), st.sampled_from([70, 5000]), st.sampled_from([70, 5000, 9000]))
def test_joined_blocks_are_those_of_the_parts(seed, cut, n_first, n_second):
    one, weights_one, bias_one = random_blocks(seed, 600, n_first, 0.2)
    other, weights_other, bias_other = random_blocks(seed + 1, 30, n_second, 0.5)
    width = max(n_first, n_second)
    parts = [BlockRange(one, 0, 1), BlockRange(other, 0, 1), BlockRange(one, min(cut, 2), 3)]
    decoded, bias = twin.decode(joined_blocks(width, parts))
    columns = [np.arange(256), np.arange(min(cut, 2) * 256, 600)]
    padded = [np.pad(w, ((0, width - len(w)), (0, 0))) for w in (weights_one, weights_other)]
    expected = [padded[0][:, columns[0]], padded[1], padded[0][:, columns[1]]]
    np.testing.assert_array_equal(decoded, np.concatenate(expected, axis=1))
    np.testing.assert_array_equal(bias, np.concatenate([bias_one[columns[0]], bias_other, bias_one[columns[1]]]))


@pytest.mark.parametrize("bytes_", [False, True])
def test_damaged_blocks_are_rebuilt_without_leaving_them(bytes_):
    """Random damage in every array that is not checked when the blocks are taken."""
    blocks, _, _ = random_blocks(7, 40, 300, 0.4)
    blocks = stored_as(blocks, "int8" if bytes_ else "half", 1)
    rng = np.random.default_rng(0)
    for _ in range(60):
        arrays = {name: array.copy() for name, array in blocks.arrays.items()}
        for name in ("top_bits", "top_rank", "words", "payload"):
            place = rng.integers(len(arrays[name]))
            arrays[name][place] = rng.integers(0, np.iinfo(arrays[name].dtype).max, dtype=arrays[name].dtype)
        damaged = WeightBlocks(300, arrays)
        damaged.native.rebuilt(0.0, True, 1)
        margins(damaged, rng.normal(size=(1, 300)).astype(np.float32))


def test_scales_must_fit():
    blocks, _, _ = random_blocks(1, 20, 70, 0.5)
    arrays = stored_as(blocks, "int8", 1).arrays
    with pytest.raises(ValueError, match="one scale for every classifier"):
        WeightBlocks(70, {**arrays, "scale": arrays["scale"][1:]})


def test_blocks_of_two_formats_are_not_joined():
    halves, _, _ = random_blocks(0, 20, 30, 0.5)
    parts = [BlockRange(halves, 0, 1), BlockRange(stored_as(halves, "int8", 1), 0, 1)]
    assert joined_blocks(30, parts[:1]).arrays.keys() == halves.arrays.keys()
    with pytest.raises(ModelFileError, match="some have scales"):
        joined_blocks(30, parts)
