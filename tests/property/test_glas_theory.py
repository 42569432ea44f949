"""What the paper proves about GLaS (Guo et al., NeurIPS 2019), on random label sets."""

import itertools
import math

import numpy as np
import pytest
from scipy import sparse

from labelwood.labelspace.affinity import LabelAffinity

torch = pytest.importorskip("torch")

from labelwood.models.neural import losses  # noqa: E402
from labelwood.models.neural.regularizers import (  # noqa: E402
    glas_penalty,
    gravity_penalty,
    laplacian_penalty,
    spreadout_penalty,
)


def unit_vectors(n, dim, seed):
    rows = np.random.default_rng(seed).standard_normal((n, dim))
    return torch.from_numpy(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def random_labels(seed, n_rows=80, n_labels=20):
    return sparse.csr_matrix(np.random.default_rng(seed).random((n_rows, n_labels)) < 0.15, dtype=np.float32)


def tangent(gradient, vectors):
    return gradient - (gradient * vectors).sum(dim=1, keepdim=True) * vectors


@pytest.mark.parametrize("seed", range(3))
def test_with_the_identity_glas_is_spreadout(seed):
    vectors = unit_vectors(9, 5, seed).requires_grad_()
    glas, spread = glas_penalty(vectors, torch.eye(9, dtype=torch.float64)), spreadout_penalty(vectors)
    assert glas.item() == pytest.approx(spread.item() - 1 / 9, abs=1e-14)
    (first,), (second,) = torch.autograd.grad(glas, vectors), torch.autograd.grad(spread, vectors)
    np.testing.assert_allclose(tangent(first, vectors).detach(), tangent(second, vectors).detach(), atol=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_laplacian_and_spreadout_make_glas_up_to_a_constant(seed):
    affinity = torch.from_numpy(LabelAffinity(random_labels(seed)).block(np.arange(20))).double()
    constant = float((2 * affinity - affinity.square()).mean())
    for other in range(3):
        vectors = unit_vectors(20, 7, 10 * seed + other)
        laplacian = laplacian_penalty(vectors, affinity)
        assert float(laplacian) == pytest.approx(float((affinity * torch.cdist(vectors, vectors).square()).mean()))
        difference = float(laplacian + spreadout_penalty(vectors) - glas_penalty(vectors, affinity))
        assert difference == pytest.approx(constant, abs=1e-12)


def test_batches_estimate_the_penalty_of_all_pairs():
    y = random_labels(4)
    affinity = LabelAffinity(y)
    vectors = unit_vectors(20, 6, 1)
    whole = affinity.block(np.arange(20)).astype(np.float64)
    plain = sum((float(vectors[i] @ vectors[j]) - whole[i, j]) ** 2 for i in range(20) for j in range(20)) / 400
    assert float(glas_penalty(vectors, torch.from_numpy(whole))) == pytest.approx(plain, rel=1e-9)
    # A batch of b labels has b diagonal entries (here 0) among b^2: scaled for that, its mean is the whole's.
    random = np.random.default_rng(2)
    b, found = 6, []
    for _ in range(4000):
        labels = random.choice(20, b, replace=False)
        block = torch.from_numpy(affinity.block(labels)).double()
        found.append(float(glas_penalty(vectors[labels], block)) * b / (b - 1))
    error = np.std(found) / math.sqrt(len(found))
    assert np.mean(found) == pytest.approx(plain * 20 / 19, abs=4 * error)


def sign_vectors(n, dim, seed):
    return np.random.default_rng(seed).choice([-1.0, 1.0], (n, dim)) / math.sqrt(dim)


def largest_error(n_labels, n_rows, s, dim, seed):
    """Theorem 2.1's construction: random signs for labels, the sum of its labels for a row."""
    random = np.random.default_rng(1000 + seed)
    y = np.zeros((n_rows, n_labels))
    for row in y:
        row[random.choice(n_labels, s, replace=False)] = 1
    labels = sign_vectors(n_labels, dim, seed)
    scores = (y @ labels) @ labels.T
    return np.abs(scores - y).max(), bool(np.all((scores > 0.5) == (y == 1))), labels


@pytest.mark.parametrize(("n_labels", "n_rows", "s"), [(300, 120, 2), (500, 200, 3)])
def test_low_dimension_suffices_for_sparse_labels(n_labels, n_rows, s):
    # With the factor n_labels that the printed union bound leaves out.
    dim = math.ceil(18 * s * math.log(4 * n_labels * min(n_rows, n_labels**s)))
    for seed in range(10):
        error, perfect, labels = largest_error(n_labels, n_rows, s, dim, seed)
        gram = np.abs(labels @ labels.T - np.eye(n_labels)).max()
        if error <= 1 / 3 and gram <= math.sqrt(2 * math.log(4 * n_labels**2) / dim):
            assert perfect
            break
    else:
        pytest.fail("no seed of ten succeeded; each should with probability at least 1/2")


def test_the_printed_dimension_is_too_small():
    n_labels, n_rows, s = 1000, 300, 3
    printed = math.ceil(18 * s * math.log(4 * min(n_rows, n_labels**s)))
    assert all(largest_error(n_labels, n_rows, s, printed, seed)[0] > 1 / 3 for seed in range(3))


def test_vectors_with_the_geometric_affinity_exist():
    """Theorem B.1: e_x for rows, the normalised sum of its rows for a label; exact, and nearly so when projected."""
    y = random_labels(6, n_rows=60, n_labels=25)
    counts = np.asarray(y.sum(axis=0)).ravel()
    seen = np.flatnonzero(counts)
    vectors = (y[:, seen].toarray() / np.sqrt(counts[seen])).T.astype(np.float64)  # (labels, rows)
    expected = LabelAffinity(y, "geometric").block(seen)
    np.testing.assert_allclose(vectors @ vectors.T, expected, atol=1e-6)
    np.testing.assert_allclose(
        vectors[y[:, seen].T.toarray() > 0], np.repeat(1 / np.sqrt(counts[seen]), counts[seen].astype(int))
    )
    assert not np.any(vectors[y[:, seen].T.toarray() == 0])
    eps = 0.25
    dim = math.ceil(8 * math.log(25 * 60) / eps**2)
    projection = sign_vectors(60, dim, 3)
    assert np.abs((vectors @ projection) @ projection.T - vectors).max() < eps


def test_gravity_is_the_product_of_the_grams():
    rows, vectors = unit_vectors(11, 6, 0), unit_vectors(7, 6, 1)
    plain = sum(float(row @ vector) ** 2 for row in rows for vector in vectors) / 77
    assert float(gravity_penalty(rows, vectors)) == pytest.approx(plain, rel=1e-12)


def test_negative_mining_goes_from_the_hardest_to_the_margin_loss():
    random = torch.Generator().manual_seed(3)
    positive = torch.rand(13, generator=random, dtype=torch.float64)
    negative = torch.rand(13, 9, generator=random, dtype=torch.float64)
    valid = torch.rand(13, 9, generator=random) < 0.8
    all_of_them = losses.mined_margin_loss(positive, negative, valid, 0.3, 9)
    assert float(all_of_them) == pytest.approx(float(losses.margin_loss(positive, negative, valid, 0.3)), rel=1e-12)
    sums = [float(losses.mined_margin_loss(positive, negative, valid, 0.3, k, "sum")) for k in range(1, 10)]
    means = [float(losses.mined_margin_loss(positive, negative, valid, 0.3, k)) for k in range(1, 10)]
    assert all(a <= b + 1e-12 for a, b in itertools.pairwise(sums))
    assert all(a >= b - 1e-12 for a, b in itertools.pairwise(means))
    worst = np.where(valid, negative, -np.inf).max(axis=1)
    there = valid.any(dim=1).numpy()
    plain = np.maximum(worst - positive.numpy() + 0.3, 0)[there].sum() / there.sum()
    assert means[0] == pytest.approx(plain)
