"""NeighborIndex: every kind finds the nearest, measures its recall, and survives saving."""

import builtins
import subprocess
import sys

import numpy as np
import pytest

from labelwood.errors import DataError, LabelwoodError, ModelFileError, ParamError
from labelwood.neighbors.index import INDEX, NeighborIndex
from labelwood.neighbors.store import METRICS
from labelwood.storage.schema import check_arrays

KINDS = ("exact", "scan", "ivf", "hnsw")


def clustered(n=3000, dim=24, seed=0):
    centres = np.random.default_rng(99).standard_normal((40, dim))
    random = np.random.default_rng(seed)
    return (centres[random.integers(0, 40, n)] + 0.5 * random.standard_normal((n, dim))).astype(np.float32)


@pytest.fixture(params=KINDS)
def kind(request):
    if request.param != "exact":
        pytest.importorskip("faiss")
    return request.param


@pytest.mark.parametrize("metric", METRICS)
def test_the_nearest_are_found(kind, metric):
    vectors, queries = clustered(), clustered(60, seed=1)
    index = NeighborIndex.build(vectors, metric=metric, kind=kind, recall=0.98, recall_k=5, n_threads=1)
    ids, scores = index.search(queries, 5)
    true_ids, true_scores = index.exact().search(queries, 5)
    assert (ids.dtype, scores.dtype, ids.shape) == (np.int32, np.float32, (60, 5))
    share = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(ids, true_ids, strict=True)])
    assert share >= (1.0 if kind == "exact" else 0.95)
    assert index.recall >= 0.98
    agree = ids == true_ids
    np.testing.assert_array_equal(scores[agree], true_scores[agree])  # exact scores, whoever proposed


def test_saved_and_restored_are_equal(kind):
    vectors, queries = clustered(dim=13), clustered(20, dim=13, seed=1)
    index = NeighborIndex.build(vectors, metric="cosine", kind=kind, n_threads=1)
    back = NeighborIndex.restore(index.arrays(), index.facts())
    assert back.facts() == index.facts()
    assert back.kind == kind
    for one, other in zip(index.search(queries, 4), back.search(queries, 4), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_same_seed_gives_the_same_bytes(kind):
    one, other = (NeighborIndex.build(clustered(), kind=kind, seed=3, n_threads=n) for n in (1, 2))
    assert one.facts() == other.facts()
    for name, array in one.arrays().items():
        assert array.tobytes() == other.arrays()[name].tobytes(), name


def test_facts_tell_the_measured_recall():
    pytest.importorskip("faiss")
    index = NeighborIndex.build(clustered(), kind="scan", recall=0.9, recall_k=3, queries=clustered(50, seed=2))
    facts = index.facts()
    assert facts["kind"] == "scan"
    assert 0.9 <= facts["recall"] <= 1
    assert facts["recall_k"] == 3


def test_auto_goes_by_size(monkeypatch):
    pytest.importorskip("faiss")
    vectors = clustered()
    assert NeighborIndex.build(vectors).kind == "exact"
    monkeypatch.setattr("labelwood.neighbors.index.SCAN_FROM", vectors.size - 1)
    assert NeighborIndex.build(vectors).kind == "scan"
    monkeypatch.setattr("labelwood.neighbors.index.LISTS_FROM", vectors.size - 1)
    assert NeighborIndex.build(vectors).kind == "ivf"
    assert NeighborIndex.build(vectors[:900]).kind == "exact"  # too few to train codes on


@pytest.mark.parametrize("storage", ["bfloat16", "int8"])
def test_rounded_storage_is_smaller_and_nearly_as_good(storage):
    vectors, queries = clustered(), clustered(50, seed=1)
    whole = NeighborIndex.build(vectors, kind="exact")
    small = NeighborIndex.build(vectors, kind="exact", storage=storage)
    assert small.arrays()["vectors"].nbytes < whole.arrays()["vectors"].nbytes
    ids, other = whole.search(queries, 5)[0], small.search(queries, 5)[0]
    assert np.mean([len(set(a) & set(b)) / 5 for a, b in zip(ids, other, strict=True)]) > 0.9


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: NeighborIndex.build(np.zeros((3, 2)), kind="exakt"), ParamError, "did you mean 'exact'"),
        (lambda: NeighborIndex.build(np.zeros((3, 2)), metric="l3"), ParamError, "unknown metric"),
        (lambda: NeighborIndex.build(np.zeros((3, 2)), storage="int4"), ParamError, "unknown storage"),
        (lambda: NeighborIndex.build(np.zeros((3, 2)), kind="scan"), ParamError, "at least 1000 vectors"),
        (lambda: NeighborIndex.build(np.zeros((3, 2)), recall=0), ParamError, "recall"),
        (lambda: NeighborIndex.build([[1, np.nan]]), DataError, "row 0"),
        (lambda: NeighborIndex.build("words"), DataError, "array of numbers"),
        (lambda: NeighborIndex.build(np.zeros((3, 0))), DataError, "dim from 1 up"),
        (lambda: NeighborIndex.build(np.zeros((3, 2))).search(np.zeros((1, 3)), 1), DataError, "3 columns"),
        (lambda: NeighborIndex.build(np.zeros((3, 2))).search(np.zeros((1, 2)), 0), ParamError, "k must be"),
    ],
)
def test_nonsense_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_no_vectors_and_no_queries_are_answered():
    index = NeighborIndex.build(np.zeros((0, 4)))
    ids, _ = index.search(np.zeros((2, 4)), 3)
    assert np.all(ids == -1)
    assert NeighborIndex.build(np.eye(4)).search(np.zeros((0, 4)), 3)[0].shape == (0, 3)


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays, facts: facts.update(kind="magic"),
        lambda arrays, facts: facts.update(dim=99),
        lambda arrays, facts: facts.update(metric="l2"),
        lambda arrays, facts: facts.update(candidates=-1),
        lambda arrays, facts: facts.update(effort=True),
        lambda arrays, facts: facts.update(recall="high"),
        lambda arrays, facts: facts.update(kind="exact"),
        lambda arrays, facts: arrays.update(scale=np.ones(3000, np.float32)),
        lambda arrays, facts: arrays.update(vectors=arrays["vectors"][:, :5]),
        lambda arrays, facts: arrays.update(faiss=arrays["faiss"].astype(np.int64)),
    ],
)
def test_damaged_state_is_refused(change):
    pytest.importorskip("faiss")
    index = NeighborIndex.build(clustered(), kind="scan")
    arrays, facts = dict(index.arrays()), index.facts()
    change(arrays, facts)

    def asked():
        check_arrays(INDEX, arrays, {}, "index")
        return NeighborIndex.restore(arrays, facts).search(np.zeros((1, 24)), 1)

    with pytest.raises(ModelFileError):
        asked()


def test_a_truncated_or_foreign_faiss_index_is_refused():
    pytest.importorskip("faiss")
    index, other = NeighborIndex.build(clustered(), kind="scan"), NeighborIndex.build(clustered(1500), kind="scan")
    for raw in (index.arrays()["faiss"][:-9], other.arrays()["faiss"]):
        with pytest.raises(ModelFileError, match="index"):
            NeighborIndex.restore({**index.arrays(), "faiss": raw}, index.facts()).search(np.zeros((1, 24)), 1)


def test_a_missing_faiss_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without_faiss(name, *rest):
        if name == "faiss":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_faiss)
    with pytest.raises(LabelwoodError, match=r"labelwood\[neural\]"):
        NeighborIndex.build(clustered(), kind="scan")
    NeighborIndex.build(clustered(), kind="exact").search(clustered(2), 3)


def test_exact_search_imports_no_faiss():
    code = (
        "import numpy as np, sys\nfrom labelwood.neighbors.index import NeighborIndex\n"
        "NeighborIndex.build(np.eye(5)).search(np.eye(5), 2)\nassert 'faiss' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
