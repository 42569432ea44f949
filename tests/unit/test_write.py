"""Writing: exact numbers, whole files or none, the right names."""

from __future__ import annotations

import dataclasses
import gzip

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.data.writing import matrix_write as write_module
from labelwood.progress import Callback


@pytest.fixture
def data():
    x = sparse.csr_matrix(np.array([[0, 0.1, 0], [0, 0, 0], [1e-7, 2.5, -3], [0, 0, 0]], np.float32))
    y = sparse.csr_matrix(np.array([[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], np.float32))
    return lw.Dataset(x, y)


def same(a, b):
    assert a.x.shape == b.x.shape
    assert a.y.shape == b.y.shape
    assert (a.x != b.x).nnz == 0
    assert (a.y != b.y).nnz == 0


def test_xmc_text(tmp_path, data):
    path = tmp_path / "out.txt"
    assert lw.write(data, path).paths == (path,)
    assert lw.write(data, path).notes == ()
    assert path.read_text() == "4 3 4\n0,2 1:0.1\n1\n 0:1e-07 1:2.5 2:-3\n \n"
    same(lw.read(path), data)


@pytest.mark.parametrize(("base", "row"), [(None, " 1:1e-07 2:2.5 3:-3"), (0, " 0:1e-07 1:2.5 2:-3")])
def test_svmlight_text(tmp_path, data, base, row):
    path = tmp_path / "out.svm"
    lw.write(data, path, index_base=base)
    lines = path.read_text().splitlines()
    assert lines[2] == row
    assert lines[3] == (" 1:0" if base is None else " 0:0")  # a blank line would be no row
    same(lw.read(path, n_features=3, n_labels=4), data)


@pytest.mark.parametrize("given", ["tst_X_Xf.txt", "tst_X_Y.txt"])
def test_split_text(tmp_path, data, given):
    names = lw.write(data, tmp_path / given).paths
    assert names == (tmp_path / "tst_X_Xf.txt", tmp_path / "tst_X_Y.txt")
    assert names[0].read_text() == "4 3\n1:0.1\n\n0:1e-07 1:2.5 2:-3\n\n"
    assert names[1].read_text() == "4 4\n0:1 2:1\n1:1\n\n\n"
    same(lw.read(names[1]), data)


@pytest.mark.parametrize("name", ["out.txt.gz", "out.txt.zst", "trn_X_Xf.txt.gz", "X.trn.npz", "out.svm.zst"])
def test_compressed_and_binary(tmp_path, data, name):
    written = lw.write(data, tmp_path / name).paths
    options = {"n_features": 3, "n_labels": 4} if "svm" in name else {}
    same(lw.read(written[0], **options), data)
    first = [path.read_bytes() for path in written]
    lw.write(data, tmp_path / name)
    assert first == [path.read_bytes() for path in written]  # the same data gives the same bytes


def test_steps_and_threads_give_the_same_bytes(tmp_path, monkeypatch):
    random = np.random.default_rng(2)
    x = sparse.random(3000, 40, 0.1, format="csr", dtype=np.float32, random_state=random)
    data = lw.Dataset(x, sparse.csr_matrix((x[:, :9] > 0).astype(np.float32)))
    lw.write(data, tmp_path / "a.txt", n_threads=1)
    monkeypatch.setattr(write_module, "ENTRIES_PER_STEP", 100)
    steps = []
    lw.write(data, tmp_path / "b.txt", n_threads=3, progress=Callback(lambda *step: steps.append(step)))
    assert (tmp_path / "a.txt").read_bytes() == (tmp_path / "b.txt").read_bytes()
    assert len(steps) > 100
    assert steps[-1] == ("writing b.txt", 3000, 3000)
    same(lw.read(tmp_path / "a.txt"), data)


def test_every_kind_of_float_reads_back_the_same(tmp_path):
    random = np.random.default_rng(1)
    bits = random.integers(0, 2**32, 20000, dtype=np.uint32).view(np.float32)
    short = np.round(random.random(5000), 4).astype(np.float32)
    scaled = (random.integers(1, 2**24, 5000) / 10.0 ** random.integers(0, 8, 5000)).astype(np.float32)
    values = np.concatenate([bits[np.isfinite(bits)], short, scaled, np.float32([1e-45, 3.4028235e38, 9999.5, 1e-4])])
    values = values[values != 0]
    x = sparse.csr_matrix((values, np.arange(len(values)), [0, len(values)]), shape=(1, len(values)))
    lw.write(lw.Dataset(x, sparse.csr_matrix((1, 1))), tmp_path / "a.txt")
    back = lw.read(tmp_path / "a.txt").x
    np.testing.assert_array_equal(back.data.view(np.uint32), values.view(np.uint32))


def test_a_fault_leaves_the_old_file_and_nothing_else(tmp_path, data, monkeypatch):
    path = tmp_path / "out.txt"
    path.write_text("old")

    def fail(*args, **options):
        raise RuntimeError("disk on fire")

    monkeypatch.setattr(write_module, "format_rows", fail)
    with pytest.raises(RuntimeError, match="disk on fire"):
        lw.write(data, path)
    with pytest.raises(RuntimeError, match="disk on fire"):
        lw.write(data, tmp_path / "trn_X_Xf.txt.gz")
    assert [item.name for item in tmp_path.iterdir()] == ["out.txt"]
    assert path.read_text() == "old"


def test_places_that_cannot_be_written(tmp_path, data):
    with pytest.raises(lw.DataError, match=r"nowhere/out\.txt: cannot be written \(No such file"):
        lw.write(data, tmp_path / "nowhere" / "out.txt")
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(lw.DataError, match=r"folder\.txt: cannot be written"):
        lw.write(data, tmp_path / "folder.txt")
    assert [item.name for item in tmp_path.iterdir()] == ["folder.txt"]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("out", {}, "the name tells no format"),
        ("out.txt", {"format": "xcm"}, "did you mean 'xmc'"),
        ("out.txt", {"format": "xmc-split"}, "split files are named like"),
        ("out.txt", {"format": "npz"}, "npz pairs are named like"),
        ("out.txt", {"format": "arff"}, "read but not written"),
        ("out.txt", {"index_base": 1}, "no meaning for format 'xmc'"),
        ("out.svm", {"index_base": 3}, "index_base must be 0 or 1"),
    ],
)
def test_bad_options(tmp_path, data, name, options, message):
    with pytest.raises(lw.ParamError, match=message):
        lw.write(data, tmp_path / name, **options)
    assert list(tmp_path.iterdir()) == []


def test_what_the_format_cannot_hold_is_told(tmp_path, data):
    rich = dataclasses.replace(data, texts=["a", "b", "c", "d"], label_names=["p", "q", "r", "s"])
    path = tmp_path / "a.txt"
    assert lw.write(rich, path).notes == (
        f"{path}: texts are not in this format",
        f"{path}: label names are not in this format",
    )


def test_tables_go_to_the_table_writer(tmp_path, data):
    rich = dataclasses.replace(data, texts=["a", "b", "c", "d"], label_names=["p", "q", "r", "s"])
    path = tmp_path / "a.jsonl"
    assert lw.write(rich, path).paths == (path,)
    back = lw.read(path, label_names=rich.label_names)
    assert back.texts == ("a", "b", "c", "d")
    assert (back.y != data.y).nnz == 0


def test_texts_without_features_are_refused(tmp_path):
    data = lw.Dataset(None, sparse.csr_matrix((1, 2)), texts=["a"])
    with pytest.raises(lw.DataError, match="texts without features"):
        lw.write(data, tmp_path / "out.txt")
    assert list(tmp_path.iterdir()) == []


def test_svmlight_without_columns(tmp_path):
    data = lw.Dataset(sparse.csr_matrix((1, 0)), sparse.csr_matrix((1, 0)))
    with pytest.raises(lw.DataError, match="row 0: svmlight cannot hold a row without anything in it"):
        lw.write(data, tmp_path / "out.svm")


def test_gzip_members_and_padding_are_read(tmp_path, data):
    lw.write(data, tmp_path / "a.txt")
    content = (tmp_path / "a.txt").read_bytes()
    parts = [gzip.compress(content[:7]), gzip.compress(b""), gzip.compress(content[7:])]
    (tmp_path / "b.txt.gz").write_bytes(b"".join(parts) + bytes(700_000))
    same(lw.read(tmp_path / "b.txt.gz"), data)
    (tmp_path / "b.txt.gz").write_bytes(b"".join(parts) + b"junk")
    with pytest.raises(lw.DataError, match="damaged gzip data"):
        lw.read(tmp_path / "b.txt.gz")
