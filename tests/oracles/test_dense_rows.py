"""The native products with dense tables and the row optimiser against their slow twins, at every instruction level."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from labelwood import _native

_spec = importlib.util.spec_from_file_location("neural_twin", Path(__file__).with_name("neural_twin.py"))
twin = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(twin)


def random_rows(seed, n_rows, n_columns, density=0.3):
    x = sparse.random(n_rows, n_columns, density, "csr", np.float32, random_state=seed)
    x.data -= 0.5
    return x


def times_sparse(x, table, n_threads=1):
    out = np.full((x.shape[0], table.shape[1]), np.nan, np.float32)
    _native.sparse_rows_times_dense(
        x.indptr.astype(np.int64), x.indices.astype(np.int32), x.data, table, out, n_threads
    )
    return out


@pytest.mark.parametrize("dim", [1, 15, 16, 17, 64, 100])
def test_sparse_rows_times_a_table(level, dim):
    x = random_rows(dim, 23, 31)
    table = np.random.default_rng(dim).standard_normal((31, dim)).astype(np.float32)
    np.testing.assert_array_equal(times_sparse(x, table), twin.sparse_rows_times_dense(x, table))
    np.testing.assert_array_equal(times_sparse(x, table, 3), times_sparse(x, table))


@pytest.mark.parametrize("dim", [1, 16, 33, 80])
@pytest.mark.parametrize("n_rows", [0, 1, 4, 37])
def test_dense_rows_times_a_table(level, dim, n_rows):
    rng = np.random.default_rng(dim)
    rows = rng.standard_normal((n_rows, 12)).astype(np.float32)
    table = rng.standard_normal((12, dim)).astype(np.float32)
    for n_threads in (1, 3):
        out = np.full((n_rows, dim), np.nan, np.float32)
        _native.dense_rows_times_dense(rows, table, out, n_threads)
        np.testing.assert_array_equal(out, twin.dense_rows_times_dense(rows, table))


def test_adam_on_some_rows(level):
    rng = np.random.default_rng(5)
    weight, mean = (rng.standard_normal((9, 21)).astype(np.float32) for _ in range(2))
    square = rng.random((9, 21)).astype(np.float32)
    rows = np.array([0, 3, 4, 8])
    gradient = rng.standard_normal((4, 21)).astype(np.float32)
    settings = (0.01, 0.9, 0.999, 1e-8, 0.1, 3)
    expected = twin.adam_rows(rows, gradient, weight, mean, square, *settings)
    _native.adam_rows(rows, gradient, weight, mean, square, *settings, 2)
    for found, wanted in zip((weight, mean, square), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=1e-7)


def test_arrays_that_do_not_fit_are_refused():
    starts, columns, values = np.array([0, 1]), np.array([5], np.int32), np.ones(1, np.float32)
    table, out = np.zeros((5, 4), np.float32), np.zeros((1, 4), np.float32)
    with pytest.raises(ValueError, match="outside the table"):
        _native.sparse_rows_times_dense(starts, columns, values, table, out, 1)
    with pytest.raises(ValueError, match="do not fit together"):
        _native.sparse_rows_times_dense(starts, columns, values, table, np.zeros((2, 4), np.float32), 1)
    with pytest.raises(ValueError, match="do not fit together"):
        _native.dense_rows_times_dense(np.zeros((1, 4), np.float32), table, out, 1)
    tables = [np.zeros((5, 4), np.float32) for _ in range(3)]
    for rows in ([1, 1], [2, 1], [0, 5], [-1, 0]):
        with pytest.raises(ValueError, match="distinct, in order and inside"):
            _native.adam_rows(np.array(rows), np.zeros((2, 4), np.float32), *tables, 0.1, 0.9, 0.99, 0, 0, 1, 1)
