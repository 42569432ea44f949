"""Labels without rows as companions of labels with names like theirs."""

import numpy as np
from scipy import sparse

from labelwood.models.ensemble.alike_names import LEAST_ALIKE, MOST_ALIKE, alike_unseen, most_alike, name_vectors
from labelwood.models.ensemble.together import Together

NAMES = ("sea fishing", "sea fishing boats", "value added tax", "tax (law)", "inland fishing", "the added tax", "zzz")


def test_labels_without_rows_are_beside_those_with_alike_names():
    y = sparse.csr_matrix(np.array([[1, 1, 0, 0, 0, 0, 0]] * 4 + [[0, 0, 1, 1, 0, 0, 0]] * 6, np.float32))
    beside = Together.of(y, NAMES, 1).shares.toarray()
    plain = Together.of(y).shares.toarray()
    np.testing.assert_array_equal(beside[:, :4], plain[:, :4])  # what stands together is not changed by names
    assert beside[0, 4] > 0
    assert beside[0, 4] > beside[0, 5]
    assert beside[2, 5] > beside[2, 4]
    assert not beside[4:].any()  # labels without rows have no companions
    assert not beside[:, 6].any()  # a name like no other
    assert 0 < beside.max() < 1


def test_shares_are_scaled_to_what_alike_names_of_known_labels_have_in_common():
    # Of labels with rows, 0 and 1 are alike and 2 and 3: they share all rows, or none.
    apart = sparse.csr_matrix((7, 7), dtype=np.float32)
    counts = np.array([4, 4, 4, 4, 0, 0, 0])
    assert alike_unseen(NAMES, counts, apart, 1).nnz == 0 or not alike_unseen(NAMES, counts, apart, 1).data.any()
    together = apart.tolil()
    together[0, 1] = together[1, 0] = 0.8
    half = apart.tolil()
    half[0, 1] = half[1, 0] = 0.4
    all_of_it, half_of_it = (alike_unseen(NAMES, counts, m.tocsr(), 1).toarray() for m in (together, half))
    assert all_of_it.max() > 0
    np.testing.assert_allclose(all_of_it, 2 * half_of_it, rtol=1e-5)


def test_names_without_common_runs_have_no_vectors():
    assert name_vectors(("a", "b", "c"), 1) is None
    nothing = sparse.csr_matrix((3, 3), dtype=np.float32)
    assert alike_unseen(("a", "b", "c"), np.array([1, 1, 0]), nothing, 1).nnz == 0


def test_the_most_similar_are_kept_as_squared_cosines():
    random = np.random.default_rng(0)
    vectors, others = (sparse.random(n, 30, 0.4, "csr", np.float32, random_state=random) for n in (1500, 40))
    found = most_alike(vectors, others).toarray()
    full = (vectors @ others.T).toarray()
    for row in range(0, 1500, 300):
        first = np.argsort(np.argsort(-full[row], kind="stable")) < MOST_ALIKE
        wanted = np.where(first & (full[row] >= LEAST_ALIKE), full[row] ** 2, 0)
        np.testing.assert_allclose(found[row], wanted, rtol=1e-4)


def test_one_name_is_like_no_other():
    assert name_vectors(["one tag"], 1) is None
    assert name_vectors(["one tag", "two tags"], 1) is not None
