"""Pairs of scipy npz files, fine and damaged."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.data.reading.npz import load_matrix, npz_pair


@pytest.fixture
def matrices():
    x = sparse.random(6, 9, 0.4, format="csr", dtype=np.float32, random_state=2)
    y = sparse.csr_matrix((sparse.random(6, 4, 0.5, random_state=3) > 0).astype(np.float32))
    return x, y


@pytest.mark.parametrize(
    ("x_name", "y_name"),
    [
        ("X.trn.npz", "Y.trn.npz"),
        ("X.npz", "Y.npz"),
        ("X.train.npz", "Y.train.npz"),
        ("X_train.npz", "Y_train.npz"),
    ],
)
def test_pairs_are_found_from_either_name(tmp_path, matrices, x_name, y_name):
    sparse.save_npz(tmp_path / x_name, matrices[0])
    sparse.save_npz(tmp_path / y_name, matrices[1])
    for given in (x_name, y_name):
        data = lw.read(tmp_path / given)
        assert (data.x != matrices[0]).nnz == 0
        assert (data.y != matrices[1]).nnz == 0
    assert lw.read(tmp_path).n_features == 9


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_other_formats_of_the_same_matrix(tmp_path, matrices, kind):
    path = tmp_path / "m.npz"
    sparse.save_npz(path, matrices[0].asformat(kind).astype(np.float64))
    assert (load_matrix(path) != matrices[0]).nnz == 0


def test_names_of_other_kinds_are_no_pairs(tmp_path):
    assert npz_pair(tmp_path / "features.npz") is None
    with pytest.raises(lw.DataError, match="must be named like"):
        lw.read(tmp_path / "features.npz", format="npz")
    with pytest.raises(lw.DataError, match=r"the file with its labels, .*Y\.trn\.npz, is not there"):
        lw.read(tmp_path / "X.trn.npz", format="npz")


def save(path, **arrays):
    np.savez(path, **arrays)


def good(**changes):
    arrays = {
        "format": np.array(b"csr"),
        "shape": np.array([2, 3]),
        "data": np.array([1.0, 2.0]),
        "indices": np.array([0, 2]),
        "indptr": np.array([0, 1, 2]),
    }
    arrays.update(changes)
    return {name: array for name, array in arrays.items() if array is not None}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (good(data=None), "is no scipy sparse matrix"),
        (good(format=None), "is no scipy sparse matrix"),
        (good(indices=np.array([0, 3])), "no readable scipy sparse matrix"),
        (good(indices=np.array([0, -1])), "no readable scipy sparse matrix"),
        (good(indptr=np.array([0, 5, 2])), "no readable scipy sparse matrix"),
        (good(indptr=np.array([0, 1])), "no readable scipy sparse matrix"),
        (good(shape=np.array([2, -3])), "has shape"),
        (good(shape=np.array([2, 3, 4])), "has shape"),
        (good(shape=np.array([2**62, 3])), "4611686018427387904 rows for 56 bytes of data"),
        (good(shape=np.array([2, 2**62])), "4611686018427387904 columns for 56 bytes of data"),
        (good(shape=np.array([2, 2**31])), "2147483648 columns for 56 bytes of data"),
        (good(shape=np.array([2**31, 3]), format=np.array(b"csc")), "2147483648 rows for 56 bytes"),
        (
            good(shape=np.array([2**31, 3]), format=np.array(b"coo"), row=np.array([0, 1]), col=np.array([0, 1])),
            "2147483648 rows for 48 bytes",
        ),
        (good(format=np.array(b"dia")), "of format 'dia'"),
        (good(data=np.array(["a", "b"])), "expected real numbers"),
        (good(data=np.array([1j, 2])), "holds complex128 values; expected real numbers"),
        (good(data=np.array([np.nan, 2])), "feature 0 is NaN; only finite"),
        (good(data=np.array([{}, 2], dtype=object)), "no readable scipy sparse matrix"),
    ],
)
def test_damaged_matrices(tmp_path, arrays, message):
    save(tmp_path / "X.npz", **arrays)
    sparse.save_npz(tmp_path / "Y.npz", sparse.eye(2, format="csr"))
    with pytest.raises(lw.DataError, match=message) as caught:
        lw.read(tmp_path / "X.npz")
    assert "X.npz" in str(caught.value)


def test_truncated_zip_and_other_files(tmp_path, matrices):
    sparse.save_npz(tmp_path / "Y.npz", matrices[1])
    path = tmp_path / "X.npz"
    sparse.save_npz(path, matrices[0])
    whole = path.read_bytes()
    for content in (whole[:-30], b"", b"PK\x03\x04", b"hello", b"\x93NUMPY\x01\x00"):
        path.write_bytes(content)
        with pytest.raises(lw.DataError, match=r"X\.npz"):
            lw.read(path)


def test_different_lengths(tmp_path, matrices):
    sparse.save_npz(tmp_path / "X.npz", matrices[0][:4])
    sparse.save_npz(tmp_path / "Y.npz", matrices[1])
    with pytest.raises(lw.DataError, match=r"X\.npz has 4 rows, but .*Y\.npz has 6"):
        lw.read(tmp_path / "X.npz")
