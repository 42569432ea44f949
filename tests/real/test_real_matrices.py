"""The real data sets are read with the sizes that their statistics tell."""

from __future__ import annotations

import json

import numpy as np
import pytest

import labelwood as lw
from labelwood.data.reading.split_rows import listed_parts

NAMES = [
    "Bibtex",
    "CVE-Products",
    "CookingStackExchange",
    "Debian-Depends",
    "Delicious",
    "EURLEX57K",
    "Rust-Commits",
]


@pytest.mark.parametrize("name", NAMES)
def test_sizes_agree_with_the_statistics(data_file, name):
    folder = data_file(name)
    known = json.loads((folder / "stats.json").read_text())
    test = lw.read(folder / "test.txt.gz")
    assert (test.n_rows, test.n_features, test.n_labels) == (known["n_test"], known["D"], known["L"])
    train = lw.read(folder)  # the folder's one training file
    assert (train.n_rows, train.n_features, train.n_labels) == (known["n_train"], known["D"], known["L"])
    assert train.notes == (f"{folder}: its training file train.txt.gz is read",)
    labels_a_row = (train.y.nnz + test.y.nnz) / (train.n_rows + test.n_rows)
    assert round(labels_a_row, 2) == known["avg_labels_per_pt"]
    assert len(train.label_names) == known["L"]
    assert len(train.feature_names) == known["D"]


def test_eurlex_is_what_its_readme_says(data_file):
    data = lw.read(data_file("EURLEX57K", "test.txt.gz"))
    assert data.label_names[:2] == ("adhesive", "State trading")
    lengths = np.sqrt(np.asarray(data.x.multiply(data.x).sum(axis=1)).ravel())
    np.testing.assert_allclose(lengths, 1, atol=2e-3)  # unit rows, rounded to four places


def test_a_bad_index_in_a_real_file_names_its_line(data_file, tmp_path):
    import gzip

    content = gzip.decompress(data_file("Bibtex", "test.txt.gz").read_bytes()).split(b"\n")
    content[1234] += b" 1836:1"
    path = tmp_path / "test.txt"
    path.write_bytes(b"\n".join(content))
    with pytest.raises(lw.DataError) as caught:
        lw.read(path)
    assert str(caught.value) == f"{path}, line 1235: feature 1836 is outside 0..1835"


@pytest.mark.parametrize("column", [1, 3, 10])
def test_the_official_splits_of_delicious(data_file, column):
    path, split = data_file("Delicious", "data.txt.gz"), data_file("Delicious", "delicious_trSplit.txt.gz")
    train, test = listed_parts(lw.read(path), split, column)
    assert (train.n_rows, test.n_rows) == (12_920, 3_185)
    alone = lw.read(path, split=split, split_column=column)
    assert (alone.x != train.x).nnz == 0
    assert (alone.y != train.y).nnz == 0


@pytest.mark.parametrize("name", ["Bibtex", "Delicious"])
def test_the_split_files_of_mulan_give_its_training_and_test_files(data_file, name):
    whole = lw.read(data_file(name, "data.txt.gz"))
    parts = listed_parts(whole, data_file(name, "mulan_trSplit.txt.gz"), 1)
    for part, file in zip(parts, ("train.txt.gz", "test.txt.gz"), strict=True):
        expected = lw.read(data_file(name, file))
        assert (part.x != expected.x).nnz == 0
        assert (part.y != expected.y).nnz == 0
