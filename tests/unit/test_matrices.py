"""Matrices: anything sparse or dense in, checked CSR out, the caller's arrays untouched."""

import numpy as np
import pytest
from scipy import sparse

from labelwood.errors import DataError
from labelwood.matrices import (
    as_features,
    as_labels,
    check_same_rows,
    column_ids,
    normalized_rows,
    row_lengths,
    row_pointers,
    single_row,
    unit_scales,
    with_fixed_signs,
)

DENSE = np.array([[0, 1.5, 0, 2], [0, 0, 0, 0], [3, 0, 0, 0]])


@pytest.mark.parametrize(
    "make",
    [
        sparse.csr_matrix,
        sparse.csc_matrix,
        sparse.coo_matrix,
        sparse.lil_matrix,
        sparse.dok_matrix,
        sparse.bsr_matrix,
        sparse.csr_array,
        sparse.csc_array,
        sparse.coo_array,
        np.asarray,
        np.ndarray.tolist,
        np.asfortranarray,
    ],
)
def test_every_kind_gives_the_same_float32_csr(make):
    matrix = as_features(make(DENSE))
    assert type(matrix) is sparse.csr_matrix
    assert matrix.dtype == np.float32
    assert matrix.has_canonical_format
    np.testing.assert_array_equal(matrix.toarray(), DENSE.astype(np.float32))


def test_a_plain_csr_matrix_gives_its_arrays_in_a_matrix_of_their_own():
    source = sparse.csr_matrix(DENSE.astype(np.float32))
    made = as_features(source)
    assert made is not source
    assert np.shares_memory(made.data, source.data)
    made.data = made.data * 2
    made.has_canonical_format = False
    np.testing.assert_array_equal(source.toarray(), DENSE.astype(np.float32))
    assert source.has_canonical_format


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.float64, bool])
def test_every_number_type_is_taken(dtype):
    source = DENSE.astype(dtype)
    np.testing.assert_array_equal(as_features(sparse.csr_matrix(source)).toarray(), source.astype(np.float32))


def test_one_row_may_be_one_dimensional():
    assert as_features([0, 1, 2]).shape == (1, 3)
    assert as_features(sparse.coo_array(np.array([0, 1, 2]))).shape == (1, 3)


def test_unsorted_and_duplicate_entries_are_put_right_without_touching_the_source():
    data, indices, indptr = (
        np.array([1, 2, 3], np.float32),
        np.array([2, 0, 2], np.int32),
        np.array([0, 3], np.int32),
    )
    source = sparse.csr_matrix((data, indices, indptr), shape=(1, 3))
    assert as_features(source).toarray().tolist() == [[2, 0, 4]]
    assert indices.tolist() == [2, 0, 2]
    assert data.tolist() == [1, 2, 3]


def test_read_only_arrays_are_fine():
    source = sparse.csr_matrix(DENSE.astype(np.float32))
    for array in (source.data, source.indices, source.indptr):
        array.setflags(write=False)
    np.testing.assert_array_equal(as_features(source).toarray(), DENSE)
    np.testing.assert_array_equal(as_labels(source).toarray(), DENSE != 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e39])
@pytest.mark.parametrize("make", [sparse.csr_matrix, np.asarray])
def test_values_that_are_not_finite_are_refused_with_their_row(make, bad):
    dense = DENSE.copy()
    dense[2, 0] = bad
    with pytest.raises(DataError, match=r"x, row 2: feature 0 is -?(NaN|inf)"):
        as_features(make(dense))


def test_large_but_finite_values_are_kept():
    big = np.full((1, 4), np.finfo(np.float32).max)
    np.testing.assert_array_equal(as_features(big).toarray(), big)


@pytest.mark.parametrize("source", ["words", [["a"]], [[1, 2], [3]], object()])
def test_what_is_not_numbers_is_refused(source):
    with pytest.raises(DataError, match="must be a scipy sparse matrix or an array of numbers"):
        as_features(source)


@pytest.mark.parametrize("source", [3.0, None, np.zeros((2, 2, 2))])
def test_other_dimensions_are_refused(source):
    with pytest.raises(DataError, match="must have two dimensions"):
        as_features(source)


def test_labels_become_ones_and_stored_zeros_vanish():
    source = sparse.csr_matrix((np.array([2.0, 0.0, -1.0]), np.array([0, 1, 2]), np.array([0, 2, 3])), shape=(2, 3))
    labels = as_labels(source)
    assert labels.toarray().tolist() == [[1, 0, 0], [0, 0, 1]]
    assert labels.nnz == 2
    assert source.data.tolist() == [2.0, 0.0, -1.0]


def test_labels_must_be_finite():
    with pytest.raises(DataError, match="not finite"):
        as_labels(np.array([[1, np.nan]]))


def test_check_same_rows():
    check_same_rows(as_features(DENSE), as_labels(DENSE))
    with pytest.raises(DataError, match="x has 3 rows but y has 2"):
        check_same_rows(as_features(DENSE), as_labels(DENSE[:2]))


def test_normalized_rows_have_length_one_or_zero():
    source = as_features(np.vstack([DENSE, np.zeros(4)]))
    before = source.data.copy()
    unit = normalized_rows(source)
    np.testing.assert_allclose(np.linalg.norm(unit.toarray(), axis=1), [1, 0, 1, 0], rtol=1e-6)
    np.testing.assert_array_equal(source.data, before)
    assert normalized_rows(as_features(np.zeros((2, 3)))).nnz == 0


def test_normalized_rows_of_explicit_zeros_stay_zero():
    source = sparse.csr_matrix((np.zeros(1, np.float32), [0], [0, 1]), shape=(1, 2))
    assert normalized_rows(as_features(source)).toarray().tolist() == [[0, 0]]


def test_a_row_alone_has_the_bits_it_has_among_others():
    x = sparse.random(40, 900, density=0.1, format="csr", random_state=3, dtype=np.float32)
    x.data[x.indptr[4] : x.indptr[5]] = 0
    x.data[x.indptr[7] : x.indptr[8]] *= 1e-30
    together = normalized_rows(x)
    for row in range(40):
        alone = normalized_rows(x[row])
        assert alone.data.dtype == np.float32
        np.testing.assert_array_equal(alone.data, together[row].data)


def test_unit_scales_are_one_over_the_length_or_none_where_float32_is_not_enough():
    x = sparse.csr_matrix(np.array([[3, 4], [0, 0], [0, 0.5]], np.float32))
    np.testing.assert_allclose(unit_scales(x), [0.2, 1, 2])
    np.testing.assert_allclose(row_lengths(x), [5, 1, 0.5])
    assert unit_scales(x * np.float32(1e7)) is None
    assert unit_scales(x * np.float32(1e-7)) is None


def test_index_types_are_what_kernels_want():
    matrix = sparse.csr_matrix(DENSE)
    matrix.indices = matrix.indices.astype(np.int64)
    matrix.indptr = matrix.indptr.astype(np.int64)
    assert row_pointers(matrix).dtype == np.int64
    assert column_ids(matrix).dtype == np.int32


def damaged(make, **changes):
    """A sparse matrix of 3 rows and 4 columns whose arrays were changed after scipy had checked them."""
    matrix = make(DENSE)
    for name, values in changes.items():
        setattr(matrix, name, np.array(values, np.int32))
    return matrix


@pytest.mark.parametrize("convert", [as_features, as_labels])
@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (damaged(sparse.csr_matrix, indices=[1, -3, 0]), r"row 0: column -3 is outside 0\.\.3"),
        (damaged(sparse.csr_matrix, indices=[1, 3, 4]), r"row 2: column 4 is outside 0\.\.3"),
        (damaged(sparse.csr_array, indices=[1, 3, -1]), r"row 2: column -1 is outside 0\.\.3"),
        (damaged(sparse.csr_matrix, indices=[1, 3, 2**31 - 1]), "row 2: column 2147483647 is outside"),
        (damaged(sparse.csr_matrix, indptr=[0, 3, 2, 3]), "row pointers do not rise"),
        (damaged(sparse.csr_matrix, indptr=[0, 2, 2, 9]), "row pointers do not rise"),
        (damaged(sparse.csr_matrix, indptr=[-1, 2, 2, 3]), "row pointers do not rise"),
        (damaged(sparse.csr_matrix, indptr=[0, 2, 3]), "row pointers do not rise"),
        (damaged(sparse.csc_matrix, indices=[2, -1, 0]), r"column 1: row -1 is outside 0\.\.2"),
        (damaged(sparse.csc_matrix, indices=[2, 1_000_000_000, 0]), "column 1: row 1000000000 is outside"),
        (damaged(sparse.bsr_matrix, indices=[0, -9, 0]), "block row 0: block column -9 is outside"),
        (damaged(sparse.coo_matrix, row=[0, 0, -1]), r"row -1 is outside 0\.\.2"),
        (damaged(sparse.coo_matrix, col=[0, 0, 400_000]), r"column 400000 is outside 0\.\.3"),
    ],
)
def test_entries_that_point_outside_are_refused(convert, matrix, message):
    with pytest.raises(DataError, match=message):
        convert(matrix, "x")


def test_entries_beyond_the_last_row_are_not_looked_at():
    """Scipy keeps arrays that are longer than needed; what lies behind the rows may be anything."""
    matrix = sparse.csr_matrix(DENSE)
    matrix.indices = np.append(matrix.indices, -7).astype(np.int32)
    matrix.data = np.append(matrix.data, 1.0)
    np.testing.assert_array_equal(as_features(matrix).toarray(), DENSE)


def test_more_columns_than_the_kernels_can_number_are_refused():
    with pytest.raises(DataError, match=r"x has 4611686018427387904 columns; at most 2147483647"):
        as_features(sparse.csr_matrix((1, 2**62)))


@pytest.mark.parametrize("convert", [as_features, as_labels])
@pytest.mark.parametrize(
    "source",
    [
        DENSE.astype(complex),
        DENSE.astype(np.complex64).tolist(),
        [[np.complex64(1j)]],
        sparse.csr_matrix(DENSE.astype(complex)),
        sparse.coo_array(DENSE.astype(np.complex64)),
        DENSE.astype("M8[D]"),
        DENSE.astype("m8[s]"),
    ],
    ids=["dense", "list", "scalars", "csr", "coo", "dates", "durations"],
)
def test_complex_numbers_and_times_are_refused_not_cut(convert, source):
    with pytest.raises(DataError, match=r"x holds .* values; only real numbers are allowed"):
        convert(source, "x")


@pytest.mark.parametrize(
    ("columns", "values", "message"),
    [
        ([0, -1], [1, 2], r"column -1 of the row is outside 0\.\.3"),
        ([0, 4], [1, 2], r"column 4 of the row is outside 0\.\.3"),
        ([0, 1.5], [1, 2], "must be whole numbers, but are float64"),
        ([0, np.nan], [1, 2], "must be whole numbers, but are float64"),
        ([0, np.inf], [1, 2], "must be whole numbers, but are float64"),
        ([0, 1e300], [1, 2], "of the row is outside"),
        ([0, 1], [1, 2j], "a row holds complex128 values"),
        ([0, 1], [1], "a value for each column"),
        ([0, "b"], [1, 2], "must be whole numbers"),
        ([0, 1], [1, "b"], "numbers"),
    ],
)
def test_single_rows(columns, values, message):
    with pytest.raises(DataError, match=message):
        single_row(columns, values, 4)
    assert single_row([], [], 4).shape == (1, 4)
    assert single_row([0.0, 2.0], [1, 2], 4).indices.tolist() == [0, 2]
    assert single_row([0, 2], [1, 2], 4).toarray().tolist() == [[1, 0, 2, 0]]


def test_the_largest_entry_of_an_axis_is_positive_and_of_equal_ones_the_first():
    axes = np.array([[-3.0, 0.5, 0.0, 0.7], [1.0, 0.2, 0.0, -0.7 - 1e-12]])
    for signs in ([1, 1, 1, 1], [-1, -1, -1, -1], [1, -1, 1, -1]):
        np.testing.assert_array_equal(
            with_fixed_signs(axes * signs), [[3.0, 0.5, 0.0, 0.7], [-1.0, 0.2, 0.0, -0.7 - 1e-12]]
        )
    assert with_fixed_signs(np.empty((0, 2))).shape == (0, 2)
