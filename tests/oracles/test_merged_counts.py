"""Counts of words moved to the columns of their stems, against scipy; words at places, and words in a vocabulary."""

import numpy as np
import pytest
from scipy import sparse

from labelwood import _native
from labelwood.features.tokens import TokenList, merged_counts

WORDS = ["Hund", "", "a\nb", "ääni", "a word of more than sixteen bytes"]


def by_scipy(rows, column_of, n_columns):
    pointers, columns, counts = rows
    target = column_of[columns]
    kept = target >= 0
    sizes = np.concatenate([[0], np.cumsum(kept)])
    matrix = sparse.csr_matrix((counts[kept], target[kept], sizes[pointers]), shape=(len(pointers) - 1, n_columns))
    matrix.sum_duplicates()
    return matrix.indptr, matrix.indices, matrix.data


@pytest.mark.parametrize("seed", range(20))
def test_the_counts_are_those_of_scipy_with_any_number_of_threads(seed):
    rng = np.random.default_rng(seed)
    n_rows, n_old, n_columns = rng.integers(0, 300), rng.integers(1, 40), rng.integers(1, 20)
    drawn = sparse.random(n_rows, n_old, 0.3, "csr", random_state=seed)
    rows = drawn.indptr.astype(np.int64), drawn.indices.astype(np.int32), rng.integers(1, 9, drawn.nnz, np.int32)
    column_of = rng.integers(-1, n_columns, n_old).astype(np.int32)
    wanted = by_scipy(rows, column_of, n_columns)
    for n_threads in (1, 3):
        for part, oracle in zip(merged_counts(rows, column_of, n_columns, n_threads), wanted, strict=True):
            np.testing.assert_array_equal(part, oracle)


@pytest.mark.parametrize(
    ("pointers", "columns", "column_of"),
    [([0, 3], [0, 1], [0, 0]), ([0, 2, 1, 2], [0, 1], [0, 0]), ([0, 2], [0, 2], [0, 0]), ([0, 2], [0, 1], [0, 5])],
)
def test_counts_that_do_not_fit_are_refused(pointers, columns, column_of):
    rows = np.array(pointers, np.int64), np.array(columns, np.int32), np.ones(len(columns), np.int32)
    with pytest.raises(ValueError, match="merge_counts"):
        merged_counts(rows, np.array(column_of, np.int32), 5)


def test_strings_at_places():
    tokens = TokenList.of(WORDS)
    assert tokens.strings_at(np.array([3, 1, 3, 2])) == ["ääni", "", "ääni", "a\nb"]
    with pytest.raises(ValueError, match="no token 5"):
        tokens.strings_at(np.array([5]))


def test_words_of_a_list_are_found():
    tokens = TokenList.of(WORDS)
    vocabulary = _native.Vocabulary(tokens.bytes, tokens.offsets)
    assert vocabulary.find_words([*reversed(WORDS), "Hunde"]).tolist() == [4, 3, 2, 1, 0, -1]
    assert vocabulary.find_words([]).tolist() == []
    with pytest.raises(TypeError):
        vocabulary.find_words([3])
