"""The real data sets are read with the sizes that their statistics tell."""

from __future__ import annotations

import json

import numpy as np
import pytest

import labelwood as lw

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
    assert train.notes == ()
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
