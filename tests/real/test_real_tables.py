"""Real raw texts: read with their label names, and the same labels as in the feature files."""

import gzip

import pytest

from labelwood.data.formats import recognised
from labelwood.data.reading.start import start_of
from labelwood.data.reading.table import read_table


def labels_of_features(path, n_rows):
    """The label columns of the first rows of the feature file."""
    with gzip.open(path, "rt") as stream:
        next(stream)
        return [sorted(map(int, filter(None, next(stream).split(" ", 1)[0].split(",")))) for _ in range(n_rows)]


@pytest.mark.parametrize(("name", "part", "shape", "first_name"), [
    ("EURLEX57K", "train", (45_000, 4_271), "adhesive"),
    ("EURLEX57K", "test", (6_000, 4_271), "adhesive"),
    ("CookingStackExchange", "train", (12_404, 736), "acidity"),
    ("CookingStackExchange", "test", (3_000, 736), "acidity"),
    ("CVE-Products", "test", (16_947, 14_750), "c:CWE-1004"),
])  # fmt: skip
def test_texts_have_the_columns_of_the_feature_files(data_file, name, part, shape, first_name):
    path = data_file(name, f"{part}_raw.jsonl.gz")
    assert recognised(start_of(path)).name == "jsonl"
    data = read_table(path, format="jsonl")
    assert data.y.shape == shape
    assert data.label_names[0] == first_name
    assert len(set(data.label_names)) == shape[1]
    assert len(set(data.row_ids)) == shape[0]
    assert all(data.texts)
    n = min(1000, shape[0])
    features = data_file(name, f"{part}.txt.gz")
    assert [data.y[row].indices.tolist() for row in range(n)] == labels_of_features(features, n)


def test_a_split_of_real_data_keeps_every_label_in_training(data_file):
    data = read_table(data_file("CookingStackExchange", "train_raw.jsonl.gz"), format="jsonl")
    train, test = data.split(0.2, seed=3)
    assert len(test) == 2481
    used = data.y.getnnz(axis=0) > 0
    assert (train.y.getnnz(axis=0)[used] > 0).all()
    share = test.y.getnnz(axis=0).sum() / data.y.nnz
    assert abs(share - 0.2) < 0.02
