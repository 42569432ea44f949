"""Contract: training is repeatable, takes every kind of matrix and awkward data, and refuses nonsense."""

import numpy as np
import pytest
from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.errors import DataError, ParamError
from labelwood.progress import Callback


def test_fit_returns_the_model_and_keeps_its_parameters(make, data):
    model = make(seed=3)
    before = model.get_params()
    assert model.fit(data.x, data.y) is model
    assert model.get_params() == before
    assert (model.n_features_, model.n_labels_) == (data.x.shape[1], data.y.shape[1])


def test_same_seed_same_bytes(make, data, same):
    same(make(seed=5).fit(data.x, data.y), make(seed=5).fit(data.x, data.y))


def test_thread_count_changes_nothing(make, data, same):
    one, three = make(n_threads=1).fit(data.x, data.y), make(n_threads=3).fit(data.x, data.y)
    if not one.repeatable_with_threads:  # lock-free training says so, and learns as much
        first = [data.y[np.arange(90), model.predict(data.x, k=1).labels[:, 0]].sum() for model in (one, three)]
        assert first[1] >= 0.8 * first[0]
        return
    same(one, three)
    same(one.predict(data.x), three.predict(data.x))


def test_fit_again_forgets_the_first_time(make, data, same):
    model = make().fit(data.x[:40], data.y[:40])
    same(model.fit(data.x, data.y), make().fit(data.x, data.y))


def test_a_dataset_is_as_good_as_its_matrices(make, data, same):
    same(make().fit(Dataset(data.x, data.y)), make().fit(data.x, data.y))


def _with_long_indices(matrix):
    wide = matrix.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    return wide


def _shuffled(matrix):
    """The same matrix with the entries of each row in reverse order."""
    order = np.concatenate(
        [np.arange(b - 1, a - 1, -1) for a, b in zip(matrix.indptr, matrix.indptr[1:], strict=False)]
    )
    order = order.astype(np.int64)
    return sparse.csr_matrix((matrix.data[order], matrix.indices[order], matrix.indptr), shape=matrix.shape)


KINDS = {
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_matrix,
    "lil": sparse.lil_matrix,
    "csr_array": sparse.csr_array,
    "coo_array": sparse.coo_array,
    "dense": lambda matrix: matrix.toarray(),
    "fortran order": lambda matrix: np.asfortranarray(matrix.toarray()),
    "float64": lambda matrix: matrix.astype(np.float64),
    "int64 indices": _with_long_indices,
    "unsorted": _shuffled,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_matrix_gives_the_same_model(make, data, same, trained, kind):
    convert = KINDS[kind]
    model = make().fit(convert(data.x), convert(data.y))
    same(model, trained)
    same(model.predict(convert(data.x), k=4), trained.predict(data.x, k=4))


def _bytes(*matrices):
    return [part.tobytes() for matrix in matrices for part in (matrix.data, matrix.indices, matrix.indptr)]


@pytest.mark.parametrize("change", [lambda m: m, _shuffled, _with_long_indices], ids=["plain", "unsorted", "int64"])
def test_input_is_untouched(make, data, change):
    x, y = change(data.x), change(data.y)
    before = _bytes(x, y)
    make().fit(x, y).predict(x, k=3)
    assert _bytes(x, y) == before


def test_read_only_input_is_fine(make, data, same, trained):
    for matrix in (data.x, data.y):
        for array in (matrix.data, matrix.indices, matrix.indptr):
            array.setflags(write=False)
    model = make().fit(data.x, data.y)
    same(model, trained)
    same(model.predict(data.x), trained.predict(data.x))


def test_input_may_change_after_training(make, data, same, trained):
    x, y = data.x.copy(), data.y.copy()
    model = make().fit(x, y)
    x.data[:] = 7
    y.indices[:] = 0
    same(model.predict(data.x), trained.predict(data.x))


def test_non_zero_label_values_all_mean_present(make, data, same, trained):
    y = data.y.copy()
    y.data[:] = np.linspace(0.1, 3, y.nnz)
    same(make().fit(data.x, y), trained)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.eye(3, 4), np.eye(3)),
        (np.ones((1, 4)), np.ones((1, 1))),
        (np.ones((1, 4)), np.array([[0, 1, 0]])),
        (np.ones((5, 2)), np.ones((5, 1))),
        (np.eye(6, 4), np.zeros((6, 3))),
        (np.zeros((4, 3)), np.eye(4, 2)),
        (np.zeros((2, 1)), np.zeros((2, 1))),
        (np.repeat(np.eye(2), 5, axis=0), np.repeat(np.eye(2), 5, axis=0)),
        (np.eye(4), np.ones((4, 3))),
        (-np.eye(4) * 1e20, np.eye(4)),
        (np.eye(4) * 1e-30, np.eye(4)),
    ],
    ids=[
        "more features than rows",
        "one row one label",
        "one row",
        "one label everywhere",
        "no labels at all",
        "no features at all",
        "nothing at all",
        "duplicate rows",
        "every label everywhere",
        "huge values",
        "tiny values",
    ],
)
def test_awkward_data_is_learnt_and_answered(make, x, y):
    top = make().fit(x, y).predict(x, k=2)
    assert top.labels.shape == (x.shape[0], 2)
    assert not np.any(np.isnan(top.scores))
    assert np.all(top.labels < y.shape[1])
    assert np.all(top.labels[:, 0] >= -1)


def test_a_label_never_seen_never_beats_a_seen_one(trained, data):
    seen = np.asarray(data.y.sum(axis=0)).ravel() > 0
    best = trained.predict(data.x, k=1).labels[:, 0]
    assert np.all(seen[best])


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.ones((3, 2)), np.ones((2, 2)), "x has 3 rows but y has 2"),
        (np.ones((0, 2)), np.ones((0, 2)), "at least one row"),
        (np.ones((3, 2)), np.ones((3, 0)), "at least one label column"),
        (np.array([[np.nan, 1]]), np.ones((1, 1)), "row 0: feature 0 is NaN"),
        (np.array([[1, np.inf]]), np.ones((1, 1)), "row 0: feature 1 is inf"),
        (np.ones((1, 1)), np.array([[np.nan]]), "not finite"),
        (np.ones((1, 1)), None, "requires y to be passed"),
        ("text", np.ones((1, 1)), "must be a scipy sparse matrix or an array"),
    ],
)
def test_nonsense_is_refused(make, x, y, message):
    with pytest.raises(DataError, match=message):
        make().fit(x, y)


def test_a_dataset_and_labels_are_one_too_many(make, data):
    with pytest.raises(DataError, match="takes a Dataset alone"):
        make().fit(Dataset(data.x, data.y), data.y)


def test_a_refused_fit_leaves_an_untrained_model_untrained(make, data):
    model = make()
    with pytest.raises(DataError):
        model.fit(data.x, data.y[:3])
    assert not hasattr(model, "n_labels_")


@pytest.mark.parametrize("bad", [{"seed": -1}, {"seed": 1.5}, {"n_threads": 0}, {"n_threads": "two"}])
def test_bad_parameters_are_refused_by_fit(make, data, bad):
    model = make(**bad)  # the constructor only stores
    with pytest.raises(ParamError, match=next(iter(bad))):
        model.fit(data.x, data.y)


def test_progress_is_sensible(make, data):
    seen = []
    make().fit(data.x, data.y, progress=Callback(lambda *report: seen.append(report)))
    for what, done, total in seen:
        assert what
        assert done >= 0
        assert total == 0 or done <= total
