"""Training on a Ray cluster of two nodes: the single machine's bytes, also when a node is killed in the middle."""

import importlib.util
import time

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.cli.main import run
from labelwood.cluster.connection import connected
from labelwood.cluster.ray_spread import threads_of
from labelwood.errors import DataError, ParamError
from labelwood.models.persistence import state_of
from labelwood.progress import Callback

N_LABELS = 5000


@pytest.fixture(scope="module")
def rows():
    x = sparse.random(4000, 1500, 0.02, format="csr", random_state=0, dtype=np.float32)
    y = sparse.random(4000, N_LABELS, 0.001, format="csr", random_state=1)
    y.data[:] = 1
    return x, y


def assert_same_bytes(one, other):
    (fields, arrays), (other_fields, other_arrays) = state_of(one.fitted_), state_of(other.fitted_)
    assert fields == other_fields
    assert set(arrays) == set(other_arrays)
    for name, array in arrays.items():
        assert array.dtype == other_arrays[name].dtype, name
        assert np.array_equal(array, other_arrays[name]), name


def test_a_forest_is_the_same_and_a_node_killed_in_the_middle_changes_nothing(cluster, rows, added_node, capfd):
    settings = {"n_trees": 3, "max_leaf": 64, "arity": 16, "C": 1.0}
    alone = lw.LinearTree(**settings, n_threads=1).fit(*rows)
    killed = []

    def kill(what, done, total):
        if what.startswith("classifiers of tree 2") and done == 1 and not killed:
            killed.append((done, total))
            cluster.remove_node(added_node, allow_graceful=False)

    with connected(cluster.address) as spread:
        together = lw.LinearTree(**settings).fit(*rows, progress=Callback(kill))
        # Ray itself takes some seconds to see that a node has gone; a quick fit is done before.
        deadline = time.monotonic() + 60
        while not (lost := spread.n_lost()) and time.monotonic() < deadline:
            time.sleep(0.2)
    assert killed[0][1] > 1  # there was work left
    assert lost == 1
    assert "raylet" not in capfd.readouterr().err  # Ray's daemons would fill pages
    assert spread.n_done > 20
    assert_same_bytes(alone, together)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (lw.LinearTree, {"balance": 1.0, "max_leaf": 64, "arity": 8, "negatives": "tfn+man", "C": 1.0}),
        (lw.LinearTree, {"max_leaf": 64, "C": 1.0, "weights": "int8", "exact": True}),
        (lw.OneVsAll, {"eps": 1.0, "max_passes": 1}),
    ],
    ids=["matched", "bytes", "one-vs-all"],
)
@pytest.mark.slow
def test_other_linear_models_are_the_same_too(cluster, rows, kind, settings):
    x, y = rows
    y = y if kind is lw.LinearTree else y[:, :1000]
    alone = kind(**settings).fit(x, y)
    with connected(cluster.address) as spread:
        together = kind(**settings).fit(x, y)
    assert spread.n_done >= 4
    assert_same_bytes(alone, together)


def test_errors_of_a_piece_come_back_as_they_are(cluster):
    def add(values, number, *, n_threads):  # inside: the workers cannot import a test
        assert n_threads == 1
        return sum(values) + number

    def refuse(values, number, *, n_threads):
        if number == 3:
            raise DataError("number 3 is bad")
        return number

    with connected(cluster.address) as spread:
        with pytest.raises(DataError, match="number 3 is bad"):
            spread.map(refuse, [spread.share([1, 2])], [(number,) for number in range(5)])
        assert spread.map(add, [spread.share([1, 2])], [(5,), (6,)], costs=[1, 2]) == [8, 9]
        kept = spread.map(add, [spread.share([1, 2])], [(5,)], keep=True)
        assert spread.map(add, [spread.share([0])], [(kept[0].reference,)]) == [8]


def test_long_pieces_have_several_threads():
    assert threads_of([1, 1, 1, 1], [2, 2]) == [1, 1, 1, 1]
    assert threads_of([1, 1], [8, 4]) == [4, 4]  # no more than the smallest machine has
    assert threads_of([50, *[1] * 50], [8, 8]) == [8, *[1] * 50]
    assert threads_of([0, 0], [1, 1]) == [1, 1]
    assert threads_of([3], []) == [1]


def test_an_address_without_a_cluster_is_refused_in_seconds(tmp_path, capfd):
    begun = time.monotonic()
    expected = {
        "127.0.0.1:1": "no Ray cluster answers at 127.0.0.1:1",
        "there": "must be auto or HOST:PORT",
        "ray://x:1": "`ray job submit`",
        "nowhere.invalid:6379": "nowhere.invalid:6379",
    }
    for address, words in expected.items():
        assert run(["train", str(tmp_path), "-o", str(tmp_path / "model"), "--cluster", address]) == 2
        error = capfd.readouterr().err
        assert words in error
        assert len(error.splitlines()) == 1
    assert time.monotonic() - begun < 20


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ParamError, match=r'pip install "labelwood\[cluster\]"'), connected("auto"):
        pass
