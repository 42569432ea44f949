"""The native neighbour search against plain NumPy: exact search, ranges with probes, candidates, every storage."""

import numpy as np
import pytest

from labelwood import _native
from labelwood.neighbors.store import METRICS, STORAGES, VectorStore


def plain_scores(vectors, queries, metric):
    """Scores (n queries, n vectors) in double precision; for cosines the kept vectors have (nearly) length 1."""
    v, q = vectors.astype(np.float64), queries.astype(np.float64)
    if metric == "l2":
        return -((q[:, None, :] - v[None, :, :]) ** 2).sum(axis=2)
    if metric == "cosine":
        q = q / np.maximum(np.linalg.norm(q, axis=1, keepdims=True), 1e-30)
    return q @ v.T


def plain_nearest(scores, k):
    return np.stack([np.lexsort((np.arange(len(row)), -row))[:k] for row in scores])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(("n", "dim", "n_queries"), [(1, 1, 1), (63, 5, 3), (64, 16, 33), (200, 37, 7), (129, 100, 70)])
def test_exact_search_is_numpys(metric, storage, n, dim, n_queries):
    random = np.random.default_rng(n + dim)
    store = VectorStore.of(random.standard_normal((n, dim)), metric, storage)
    queries = random.standard_normal((n_queries, dim)).astype(np.float32)
    k = min(9, n)
    ids, scores = store.nearest(store.queries(queries), k, n_threads=2)
    truth = plain_scores(store.floats(), queries, metric)
    best = plain_nearest(truth, k)
    np.testing.assert_allclose(scores, np.take_along_axis(truth, best, 1), rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(np.take_along_axis(truth, ids.astype(np.int64), 1), scores, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("storage", STORAGES)
def test_rounded_storage_is_near(storage):
    vectors = np.random.default_rng(0).standard_normal((50, 20)).astype(np.float32)
    allowed = {"float32": 0, "bfloat16": 2**-8, "int8": 1 / 127}[storage]
    kept = VectorStore.of(vectors, "ip", storage).floats()
    assert np.all(np.abs(kept - vectors) <= allowed * np.abs(vectors).max(axis=1, keepdims=True))


def test_equal_scores_go_to_the_smaller_id():
    vectors = np.tile(np.eye(3, 20, dtype=np.float32), (50, 1))
    store = VectorStore.of(vectors)
    ids, _ = store.nearest(store.queries(vectors[:3]), 10)
    np.testing.assert_array_equal(ids, np.arange(0, 30, 3)[None, :] + np.arange(3)[:, None])


def test_more_answers_than_vectors_are_padded():
    store = VectorStore.of(np.eye(3, dtype=np.float32))
    ids, scores = store.nearest(store.queries(np.eye(3)[:1]), 5)
    np.testing.assert_array_equal(ids, [[0, 1, 2, -1, -1]])
    assert np.all(np.isneginf(scores[0, 3:]))


def test_probed_ranges_hold_all_answers():
    random = np.random.default_rng(4)
    vectors = random.standard_normal((90, 24)).astype(np.float32)
    queries = random.standard_normal((20, 24)).astype(np.float32)
    starts = np.array([0, 10, 10, 55, 90])
    probes = random.integers(-1, 4, (20, 1)).astype(np.int32)
    probes = np.hstack([probes, np.where(probes == 3, -1, 3).astype(np.int32)])
    numbers = random.permutation(90).astype(np.int32)
    store = VectorStore.of(vectors)
    ids, _ = store.nearest(store.queries(queries), 6, starts=starts, probes=probes, ids=numbers)
    truth = plain_scores(vectors, queries, "ip")
    for row, (found, probed) in enumerate(zip(ids, probes, strict=True)):
        inside = np.concatenate([np.arange(starts[p], starts[p + 1]) for p in probed if p >= 0] or [np.zeros(0, int)])
        best = inside[np.argsort(-truth[row, inside])][:6]
        np.testing.assert_array_equal(found[: len(best)], numbers[best])
        assert np.all(found[len(best) :] == -1)


def test_candidates_are_ranked_exactly():
    random = np.random.default_rng(5)
    vectors = random.standard_normal((60, 10)).astype(np.float32)
    queries = random.standard_normal((8, 10)).astype(np.float32)
    candidates = np.stack([random.permutation(60)[:20] for _ in range(8)])
    candidates[:, 3] = -1
    store = VectorStore.of(vectors, "l2")
    ids, _ = store.best_of(store.queries(queries), candidates, 4)
    truth = plain_scores(vectors, queries, "l2")
    for row in range(8):
        mine = candidates[row][candidates[row] >= 0]
        np.testing.assert_array_equal(ids[row], mine[np.argsort(-truth[row, mine])][:4])


@pytest.mark.parametrize("level", _native.simd_levels())
def test_every_level_gives_the_same_bits(level):
    random = np.random.default_rng(6)
    store = VectorStore.of(random.standard_normal((300, 50)), "l2")
    queries = store.queries(random.standard_normal((9, 50)))
    expected = store.nearest(queries, 7)
    before = _native.simd_level()
    try:
        _native.use_simd_level(level)
        found = store.nearest(queries, 7)
    finally:
        _native.use_simd_level(before)
    for one, other in zip(expected, found, strict=True):
        assert one.tobytes() == other.tobytes()


def test_batch_and_threads_change_no_bit():
    random = np.random.default_rng(7)
    store = VectorStore.of(random.standard_normal((500, 33)))
    queries = store.queries(random.standard_normal((70, 33)))
    ids, scores = store.nearest(queries, 5, n_threads=3)
    for row in range(70):
        one_ids, one_scores = store.nearest(queries[row : row + 1], 5, n_threads=1)
        assert one_ids.tobytes() == ids[row].tobytes()
        assert one_scores.tobytes() == scores[row].tobytes()


@pytest.mark.parametrize(
    ("starts", "probes", "message"),
    [
        ([0, 11], None, "within the vectors"),
        ([5, 3, 9], None, "follow each other"),
        ([0, 9], [[1]], "outside the ranges"),
    ],
)
def test_the_kernel_refuses_ranges_outside(starts, probes, message):
    store = VectorStore.of(np.zeros((10, 16)))
    with pytest.raises(ValueError, match=message):
        store.nearest(
            store.queries(np.zeros((1, 16))),
            1,
            starts=np.array(starts, np.int64),
            probes=None if probes is None else np.array(probes, np.int32),
        )
