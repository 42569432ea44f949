"""The space of dense vectors: about their mean, and spread alike along all directions."""

import numpy as np

from labelwood.models.ensemble.even_space import EvenSpace, inverse, lower_root, of_length_one, product


def uneven(seed, n_rows=2000, width=12):
    """Vectors of length 1 that have much in common, and differ most along a few directions."""
    random = np.random.default_rng(seed)
    vectors = 2 + random.standard_normal((n_rows, width)) * np.linspace(3, 0.1, width)
    return of_length_one((vectors @ np.linalg.qr(random.standard_normal((width, width)))[0]).astype(np.float32))


def test_inverse_root_and_product_are_those_of_numpy():
    random = np.random.default_rng(0)
    rows = random.standard_normal((50, 20))
    matrix = rows.T @ rows + np.eye(20)
    np.testing.assert_allclose(inverse(matrix), np.linalg.inv(matrix), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(lower_root(matrix), np.linalg.cholesky(matrix), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(product(rows.T, rows, 1), rows.T @ rows, atol=1e-4)
    assert product(rows.T, rows, 1).tobytes() == product(rows.T, rows, 4).tobytes()


def test_cosines_are_those_of_vectors_divided_by_their_spread():
    vectors, asked = uneven(0), uneven(1, 50)
    found = EvenSpace.of(vectors).placed(asked)
    centre = vectors.mean(axis=0)
    about = of_length_one(vectors - centre)
    spread, directions = np.linalg.eigh(about.T @ about)
    expected = of_length_one((asked - centre) @ directions / np.sqrt(spread + spread.mean() / 2))
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=0.02)  # the turn is in bytes


def test_directions_are_spread_more_alike_than_before():
    vectors = uneven(2)
    before, after = (np.linalg.eigvalsh(np.cov(rows.T)) for rows in (vectors, EvenSpace.of(vectors).placed(vectors)))
    assert 5 * after[-1] / after[0] < before[-1] / before[0]
    assert np.abs(EvenSpace.of(vectors).placed(vectors).mean(axis=0)).max() < 0.15


def test_texts_without_a_known_token_are_nowhere():
    vectors = uneven(3)
    with_some = np.vstack([vectors, np.zeros((7, vectors.shape[1]), np.float32)])
    space = EvenSpace.of(vectors)
    for name, array in EvenSpace.of(with_some).arrays().items():
        np.testing.assert_allclose(array, space.arrays()[name], atol=1e-6)
    placed = space.placed(with_some)
    assert not placed[-7:].any()
    np.testing.assert_allclose(np.linalg.norm(placed[:-7], axis=1), 1, atol=1e-5)
    nothing = EvenSpace.of(with_some[-7:])
    assert not nothing.placed(with_some[-7:]).any()
    assert np.isfinite(nothing.placed(vectors)).all()
    alike = EvenSpace.of(np.repeat(vectors[:1], 5, axis=0))  # no spread at all
    assert np.isfinite(alike.placed(vectors)).all()


def test_the_same_bytes_for_any_threads_and_one_row_or_many():
    vectors = uneven(4)
    one, three = EvenSpace.of(vectors, 1), EvenSpace.of(vectors, 3)
    for name, array in one.arrays().items():
        assert array.tobytes() == three.arrays()[name].tobytes(), name
    placed = one.placed(vectors, 1)
    assert placed.tobytes() == one.placed(vectors, 3).tobytes()
    np.testing.assert_array_equal(one.placed(vectors[5:6], 1)[0], placed[5])
