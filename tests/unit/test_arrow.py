"""Without pyarrow: Parquet and .zst files are refused with the extra that reads them, everything else works."""

import sys

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.data.arrow import require_pyarrow
from labelwood.errors import LabelwoodError, MissingExtraError

EXTRA = r'pip install "labelwood\[parquet\]"'


@pytest.fixture
def data():
    y = sparse.csr_matrix(np.eye(2, dtype=np.float32))
    return lw.Dataset(None, y, ["a tree", "some wood"], label_names=["x", "y"])


@pytest.fixture
def without_pyarrow(monkeypatch):
    """Python then says that there is no such module."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)


def test_nothing_is_said_if_pyarrow_is_there():
    pytest.importorskip("pyarrow")
    require_pyarrow("a.parquet", "Parquet")


@pytest.mark.parametrize("name", ["a.parquet", "a.csv.zst"])
def test_reading_names_the_extra(name, data, tmp_path, monkeypatch):
    path = tmp_path / name
    lw.write(data, path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=rf"{name}: .* {EXTRA}"):
        lw.read(path)


@pytest.mark.usefixtures("without_pyarrow")
@pytest.mark.parametrize("name", ["a.parquet", "a.csv.zst"])
def test_writing_names_the_extra_and_leaves_nothing(name, data, tmp_path):
    with pytest.raises(MissingExtraError, match=rf"{name}: .* {EXTRA}"):
        lw.write(data, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("without_pyarrow")
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl.gz"])
def test_other_files_need_no_pyarrow(name, data, tmp_path):
    lw.write(data, tmp_path / name)
    assert lw.read(tmp_path / name).texts == data.texts


def test_callers_can_catch_it_as_they_like():
    assert issubclass(MissingExtraError, LabelwoodError)
    assert issubclass(MissingExtraError, ImportError)
