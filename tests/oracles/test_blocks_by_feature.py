"""The copy of blocks in the order of the features: the margins of some classifiers, to the bit those of the blocks."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from labelwood import _native
from labelwood.models.linear.block_edits import stored_as
from labelwood.models.linear.weight_blocks import WeightBlocks
from labelwood.models.neural.elias import ranker as ranker_module
from labelwood.models.neural.elias.ranker import Ranker

_spec = importlib.util.spec_from_file_location("linear_twin", Path(__file__).with_name("linear_twin.py"))
twin = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(twin)


def made_blocks(seed, n_children, n_features, density, bytes_):
    rng = np.random.default_rng(seed)
    used = rng.random(n_features) < 0.5
    shares = density * rng.random(n_features) ** 2 * used  # from empty rows by listed and mapped ones to full ones
    dense = rng.normal(size=(n_features, n_children)) * (rng.random((n_features, n_children)) < shares[:, None])
    blocks = twin.encode(twin.half_rounded(dense.astype(np.float32)), rng.normal(size=n_children).astype(np.float32))
    return stored_as(blocks, "int8", 1) if bytes_ else blocks


def margins(blocks, x, places, by_feature):
    rows = twin.csr_rows(x)
    out = np.full(places.shape, np.nan, np.float32)
    blocks.native.margins_of(rows.indptr, rows.indices, rows.data, places, out, 1, by_feature)
    return out


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 5, 255, 256, 257, 600, 1024]),
    st.sampled_from([1, 64, 300]),
    st.sampled_from([0.1, 1.0, 3.0]),
    st.booleans(),
)
def test_the_margins_are_those_of_the_blocks_and_of_the_dense_product(seed, n_children, n_features, density, bytes_):
    blocks = made_blocks(seed, n_children, n_features, density, bytes_)
    copy = _native.BlocksByFeature(blocks.native)
    rng = np.random.default_rng(seed + 1)
    x = rng.normal(size=(4, n_features)) * (rng.random((4, n_features)) < 0.6)
    x[3] = 0
    places = rng.integers(-1, n_children, (4, 50)).astype(np.int32)  # unsorted, some of them twice
    kept = _native.simd_level()
    for name in _native.simd_levels():
        assert _native.use_simd_level(name)
        found = margins(blocks, x, places, copy)
        np.testing.assert_array_equal(found, margins(blocks, x, places, None))
    assert _native.use_simd_level(kept)
    weights, bias = twin.decode(blocks)
    dense = x.astype(np.float32).astype(np.float64) @ weights.astype(np.float64) + bias
    wanted = np.where(places < 0, 0, np.take_along_axis(dense, np.maximum(places, 0).astype(np.int64), axis=1))
    np.testing.assert_allclose(found, wanted, atol=1e-3)


def test_damage_cannot_lead_outside(level):
    good = made_blocks(3, 600, 200, 1.0, False)
    rng = np.random.default_rng(0)
    x, places = np.abs(rng.normal(size=(2, 200))), np.tile(np.arange(600, dtype=np.int32), (2, 1))
    for _ in range(30):
        arrays = {name: array.copy() for name, array in good.arrays.items()}
        for name in ("top_bits", "top_rank", "words", "payload"):
            place = rng.integers(len(arrays[name]))
            arrays[name][place] = rng.integers(0, np.iinfo(arrays[name].dtype).max, dtype=arrays[name].dtype)
        damaged = WeightBlocks(200, arrays)
        found = margins(damaged, x, places, _native.BlocksByFeature(damaged.native))
        assert found.shape == places.shape


def test_a_copy_serves_its_own_blocks_alone():
    blocks, other = made_blocks(1, 300, 64, 1.0, False), made_blocks(1, 301, 64, 1.0, False)
    x, places = np.ones((1, 64)), np.zeros((1, 1), np.int32)
    with pytest.raises(ValueError, match="none of these blocks"):
        margins(blocks, x, places, _native.BlocksByFeature(other.native))
    three = made_blocks(1, 600, 64, 1.0, False)
    arrays = {**three.arrays, "child_start": np.array([0, 100, 350, 600])}
    with pytest.raises(ValueError, match="differ in size"):
        _native.BlocksByFeature(WeightBlocks(64, arrays).native)


def test_a_ranker_of_large_blocks_answers_a_row_alone_as_in_a_batch(monkeypatch):
    monkeypatch.setattr(ranker_module, "LARGE_BLOCKS", 1000)
    blocks = made_blocks(5, 700, 200, 1.0, False)
    ranker = Ranker(np.arange(200, dtype=np.int32), np.random.default_rng(1).permutation(700).astype(np.int32), blocks)
    x = sparse.random(20, 200, 0.3, format="csr", random_state=1, dtype=np.float32)
    labels = np.sort(np.random.default_rng(2).integers(-1, 700, (20, 40)).astype(np.int32), axis=1)
    together = ranker.margins(x, labels)
    assert "_by_feature" not in vars(ranker)  # a batch makes no copy
    alone = np.concatenate([ranker.margins(x[row], labels[row : row + 1]) for row in range(20)])
    assert "_by_feature" in vars(ranker)
    np.testing.assert_array_equal(alone, together)


def test_a_ranker_whose_blocks_differ_in_size_answers_a_row_alone_too(monkeypatch):
    monkeypatch.setattr(ranker_module, "LARGE_BLOCKS", 0)
    three = made_blocks(1, 600, 64, 1.0, False)
    blocks = WeightBlocks(64, {**three.arrays, "child_start": np.array([0, 100, 350, 600])})
    ranker = Ranker(np.arange(64, dtype=np.int32), np.arange(600, dtype=np.int32), blocks)
    x = sparse.random(2, 64, 0.5, format="csr", random_state=1, dtype=np.float32)
    labels = np.tile(np.arange(600, dtype=np.int32), (2, 1))
    np.testing.assert_array_equal(ranker.margins(x[:1], labels[:1]), ranker.margins(x, labels)[:1])
