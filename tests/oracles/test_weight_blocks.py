"""Weight blocks against the dense matrices they stand for: half floats, margins, top-k, every size and density."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from labelwood import _native
from labelwood.models.linear.weight_blocks import WeightBlocks

_spec = importlib.util.spec_from_file_location("linear_twin", Path(__file__).with_name("linear_twin.py"))
twin = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(twin)


def top_k(blocks, x, k, n_threads=1):
    rows = twin.csr_rows(x)
    labels, margins = np.full((x.shape[0], k), -1, np.int32), np.full((x.shape[0], k), -np.inf, np.float32)
    blocks.native.top_k(rows.indptr, rows.indices, rows.data, labels, margins, n_threads)
    return labels, margins


def all_margins(blocks, row):
    features = np.flatnonzero(row).astype(np.int32)
    n_blocks = len(blocks.child_start) - 1
    return np.concatenate([blocks.margins(b, features, row[features].astype(np.float32)) for b in range(n_blocks)])


# half floats


def test_every_half_float_is_read_as_numpy_reads_it(level):
    """All 65536 halves as weights: 256 features of 256 children, with other children absent and present."""
    halves = np.arange(65536, dtype=np.uint16).reshape(256, 256)
    ones = np.ones(1, np.float32)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        expected = halves.view(np.float16).astype(np.float32)
    for step, names in ((1, 0), (2, 32), (8, 32)):  # full rows, bitmaps of every second child, lists of every eighth
        part = np.zeros((256, 256), np.float32)
        part[:, ::step] = 1
        blocks = twin.encode(part, np.zeros(256))
        # Four words of 64 rows: codes first, then the rows.
        of_words = blocks.arrays["payload"].reshape(4, -1)[:, 64:]
        rows = of_words.reshape(256, -1).copy()
        rows[:, names:] = np.ascontiguousarray(halves[:, ::step]).view(np.uint8)
        of_words[:] = rows.reshape(4, -1)
        for feature in range(256):
            found = blocks.margins(0, np.array([feature], np.int32), ones)
            wanted = np.where(np.arange(256) % step == 0, expected[feature], 0)
            np.testing.assert_array_equal(found, wanted)  # equal NaN places count as equal


def trained_weight(wanted):
    """What training keeps of a weight that is exactly `wanted` before rounding (0 < |wanted| < 0.3).

    One positive row (4 wanted, other) with C such that 1 / (2 C) is 1 and row square + 1 is 4: alpha is 1/4, all exact.
    """
    value = np.float32(4) * np.float32(wanted)
    other = np.float32(np.sqrt(3.0 - float(value) ** 2))
    square = value * value
    for candidate in (other, np.nextafter(other, np.float32(0)), np.nextafter(other, np.float32(9))):
        if np.float32(1) + (square + candidate * candidate) == 4:
            x = np.array([[value, candidate]], np.float32)
            blocks = twin.train_flat(x, np.ones((1, 1)), C=0.5 / twin.SLACK_SCALE, bias=0.0)
            return twin.decode(blocks)[0][0, 0]
    return None


def test_weights_are_rounded_to_half_floats_as_numpy_rounds():
    """Random floats, exact ties and their neighbours, from below the smallest half up, subnormal halves included."""
    rng = np.random.default_rng(0)
    exponent = rng.integers(127 - 27, 127 - 2, 600).astype(np.uint32) << 23
    kept_bits = rng.integers(0, 1 << 10, 600).astype(np.uint32) << 13
    tail = rng.choice([0, 0xFFF, 0x1000, 0x1001, 0x1FFF, 0x800], 600).astype(np.uint32)
    sign = rng.integers(0, 2, 600).astype(np.uint32) << 31
    values = (sign | exponent | kept_bits | tail).view(np.float32)
    seen = 0
    for value in values:
        found = trained_weight(value)
        if found is not None:
            assert found == twin.half_rounded(value), value
            seen += 1
    assert seen > 300


def test_weights_beyond_the_range_become_the_largest_half():
    """A tiny feature with a huge C asks for a weight of about 1e6."""
    x = sparse.csr_matrix(np.array([[1e-6], [-1e-6]], np.float32))
    blocks = twin.train_flat(x, np.array([[1, 0], [0, 1]]), C=1e14, bias=0.0, eps=1e-3)
    np.testing.assert_array_equal(twin.decode(blocks)[0], [[65504.0, -65504.0]])


# margins and top-k


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 4, 5, 15, 16, 17, 255, 256, 257, 600]),
    st.sampled_from([1, 63, 64, 65, 4096, 4097, 9000]),
    st.sampled_from([0.0, 0.01, 0.3, 0.9, 1.0]),
    st.booleans(),
)
def test_margins_and_top_k_equal_the_dense_product(seed, n_children, n_features, density, dense_query):
    rng = np.random.default_rng(seed)
    # Near each other they fill a word, far apart each has its own.
    spread = n_features if rng.random() < 0.5 else min(n_features, 150)
    used = rng.choice(spread, min(spread, 70), replace=False)
    weights = np.zeros((n_features, n_children), np.float32)
    weights[used] = rng.normal(size=(len(used), n_children)) * (rng.random((len(used), n_children)) < density)
    bias = rng.normal(size=n_children).astype(np.float32)
    blocks = twin.encode(weights, bias)
    decoded, decoded_bias = twin.decode(blocks)
    np.testing.assert_array_equal(decoded, twin.half_rounded(weights))
    np.testing.assert_array_equal(decoded_bias, bias)

    asked = used if dense_query else rng.choice(used, min(5, len(used)), replace=False)
    x = np.zeros((3, n_features), np.float32)
    x[:2, asked] = rng.normal(size=(2, len(asked)))  # the last row stays empty
    exact = x.astype(np.float64) @ decoded.astype(np.float64) + bias
    found = np.stack([all_margins(blocks, row) for row in x])
    np.testing.assert_allclose(found, exact, atol=2e-5 * (1 + np.abs(x).sum()))

    k = int(rng.integers(1, n_children + 1))
    labels, margins = top_k(blocks, x, k)
    expected_labels, expected = twin.best_k(found, k)  # of the kernel's own margins: ties are decided exactly
    np.testing.assert_array_equal(labels, expected_labels)
    np.testing.assert_array_equal(margins, expected)


@pytest.mark.parametrize("n_features", [262_145, 1_000_000])
def test_many_features(n_features):
    """Far-apart features: several top words, most of them empty."""
    used = np.unique([0, 63, 64, 4095, 4096, 262_143, 262_144, n_features - 1])
    rng = np.random.default_rng(0)
    labels = np.repeat([[1, 0, 0], [0, 1, 0], [0, 0, 1]], 4, axis=0)
    x = sparse.lil_matrix((12, n_features), dtype=np.float32)
    x[:, used] = rng.normal(size=(12, len(used)))
    blocks = twin.train_flat(x.tocsr(), labels)
    dense = np.zeros((3, n_features), np.float32)
    dense[:, used] = x[:3, used].toarray()
    weights, bias = twin.decode(blocks)
    assert set(np.flatnonzero(weights.any(axis=1))) == set(used)
    for row in dense:
        exact = row[used] @ weights[used] + bias
        np.testing.assert_allclose(all_margins(blocks, row), exact, atol=1e-5)
    # features between the used ones have no weight
    others = np.setdiff1d([1, 62, 65, 4094, 4097, 262_142, n_features - 2], used).astype(np.int32)
    np.testing.assert_array_equal(blocks.margins(0, others, np.ones(len(others), np.float32)), bias)


@pytest.mark.parametrize("n_labels", [1, 15, 16, 17, 256, 257, 530])
def test_trained_blocks_hold_at_most_256_classifiers_and_predict_as_their_dense_matrix(n_labels):
    rng = np.random.default_rng(n_labels)
    x = (rng.random((40, 90)) * (rng.random((40, 90)) < 0.2)).astype(np.float32)
    y = rng.random((40, n_labels)) < 0.1
    blocks = twin.train_flat(x, y, prune=0.05)
    np.testing.assert_array_equal(blocks.child_start, [*range(0, n_labels, 256), n_labels])
    weights, bias = twin.decode(blocks)
    assert np.array_equal(weights, twin.half_rounded(weights))
    found = np.stack([all_margins(blocks, row) for row in x])
    np.testing.assert_allclose(found, x @ weights + bias, atol=1e-4)
    k = min(7, n_labels)
    for n_threads in (1, 2):
        labels, margins = top_k(blocks, x, k, n_threads)
        np.testing.assert_array_equal(labels, twin.best_k(found, k)[0])
        np.testing.assert_array_equal(margins, twin.best_k(found, k)[1])


@pytest.mark.parametrize("in_bytes", [False, True])
def test_every_level_gives_the_same_margins(in_bytes):
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(500, 300)) * (rng.random((500, 300)) < rng.random((500, 1)))
    blocks = twin.encode(weights, rng.normal(size=300))
    if in_bytes:
        blocks = WeightBlocks(blocks.n_features, blocks.native.rebuilt(0.0, True, 1))
    x = (rng.normal(size=(5, 500)) * (rng.random((5, 500)) < 0.5)).astype(np.float32)
    kept, seen = _native.simd_level(), []
    for name in _native.simd_levels():
        assert _native.use_simd_level(name)
        seen.append(np.stack([all_margins(blocks, row) for row in x]).tobytes())
    assert _native.use_simd_level(kept)
    assert set(seen) == {seen[0]}


def test_equal_margins_go_to_the_smaller_label():
    weights = np.zeros((3, 400), np.float32)
    weights[0, 100:] = 1
    labels, _ = top_k(twin.encode(weights, np.zeros(400)), np.array([[1, 0, 0], [0, 1, 0]], np.float32), 120)
    np.testing.assert_array_equal(labels, [np.arange(100, 220), np.arange(120)])


def test_margins_that_are_no_numbers_come_last():
    """An infinite weight of a damaged file times two opposite values is NaN: such labels sink."""
    weights = np.zeros((2, 60), np.float32)
    weights[:, :40] = 1
    blocks = twin.encode(weights, np.arange(60, dtype=np.float32) / 100)
    twin.replace_weights(blocks, 1, np.inf)
    labels, margins = top_k(blocks, np.array([[1, -1]], np.float32), 60)
    np.testing.assert_array_equal(labels, [[*range(59, 39, -1), *range(40)]])
    assert np.all(np.isneginf(margins[0, 20:]))


# what the native class refuses


def good_arrays():
    rng = np.random.default_rng(2)
    return dict(twin.encode(rng.normal(size=(100, 300)) * (rng.random((100, 300)) < 0.2), np.zeros(300)).arrays)


def starts(arrays, name, values):
    return {**arrays, name: np.array(values, np.int64)}


@pytest.mark.parametrize(
    "edit",
    [
        lambda a: starts(a, "child_start", [0]),
        lambda a: starts(a, "child_start", [0, 300]),
        lambda a: starts(a, "child_start", [0, 256, 301]),
        lambda a: starts(a, "child_start", [1, 256, 300]),
        lambda a: starts(a, "child_start", [0, -1, 300]),
        lambda a: starts(a, "word_start", [0, 1 << 40, len(a["words"]) // 3]),
        lambda a: starts(a, "word_start", [0, len(a["words"]) // 3]),
        lambda a: starts(a, "payload_start", [0, 0, 5]),
        lambda a: {**a, "words": a["words"][:-1]},
        lambda a: {**a, "top_bits": a["top_bits"][:-1]},
        lambda a: {**a, "top_rank": a["top_rank"][:-1]},
        lambda a: {**a, "bias": a["bias"][:-1]},
        lambda a: {**a, "payload": a["payload"][:-1]},
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(edit):
    arrays = good_arrays()
    twin.WeightBlocks(100, arrays)
    with pytest.raises(ValueError):
        twin.WeightBlocks(100, edit(arrays))


def test_queries_outside_the_model_are_refused():
    blocks = twin.WeightBlocks(100, good_arrays())
    one = np.ones(1, np.float32)
    for feature in (-1, 100, 2**31 - 1):
        with pytest.raises(ValueError, match="outside"):
            blocks.margins(0, np.array([feature], np.int32), one)
        with pytest.raises(ValueError, match="outside"):
            blocks.native.top_k(
                np.array([0, 1]),
                np.array([feature], np.int32),
                one,
                np.zeros((1, 1), np.int32),
                np.zeros((1, 1), np.float32),
                1,
            )
    with pytest.raises(ValueError, match="no such block"):
        blocks.native.block_margins(2, np.zeros(1, np.int32), one, np.zeros(256, np.float32))
    with pytest.raises(ValueError):
        blocks.native.block_margins(0, np.zeros(1, np.int32), one, np.zeros(255, np.float32))
    feature = np.zeros(2, np.int32)
    values = np.ones(2, np.float32)
    for pointers in ([0, 3, 2], [0, -1, 2], [1, 2], [-5, 2], [0, 1]):
        n = len(pointers) - 1
        with pytest.raises(ValueError, match="row pointers"):
            blocks.native.top_k(
                np.array(pointers),
                feature,
                values,
                np.zeros((n, 1), np.int32),
                np.zeros((n, 1), np.float32),
                1,
            )
    with pytest.raises(ValueError, match="at least one"):
        blocks.native.top_k(
            np.array([0, 2]), feature, values, np.zeros((1, 0), np.int32), np.zeros((1, 0), np.float32), 1
        )
