"""Synthetic sparse data: sizes as asked, the same rows everywhere, something to learn."""

import numpy as np
import pytest
from scipy import sparse

from labelwood.data.madeup.synthetic import make_sparse_pair, write_sparse
from labelwood.errors import DataError, ParamError


def counts(y):
    return np.asarray(y.sum(axis=0)).ravel()


def make_sparse(n_rows, *sizes, **options):
    return make_sparse_pair(n_rows, 1, *sizes, **options)[0]


def read_xmc(path):
    """A slow, plain reader of our own files, kept apart from the real one."""
    lines = path.read_text().splitlines()
    n_rows, n_features, n_labels = map(int, lines[0].split())
    x, y = sparse.lil_matrix((n_rows, n_features), dtype=np.float32), sparse.lil_matrix((n_rows, n_labels))
    for row, line in enumerate(lines[1:]):
        labels, _, features = line.partition(" ")
        for label in filter(None, labels.split(",")):
            y[row, int(label)] = 1
        for item in features.split():
            column, value = item.split(":")
            x[row, int(column)] = np.float32(value)
    return x.tocsr(), y.tocsr()


@pytest.mark.parametrize(("n_rows", "n_features", "n_labels", "labels_per_row", "nnz"), [
    (3000, 2000, 500, 5.0, 40),
    (6000, 20000, 8000, 3.0, 60),
    (1000, 500, 20, 2.0, 10),
])  # fmt: skip
def test_sizes_are_as_asked(n_rows, n_features, n_labels, labels_per_row, nnz):
    data = make_sparse(n_rows, n_features, n_labels, labels_per_row=labels_per_row, nnz_per_row=nnz)
    assert data.x.shape == (n_rows, n_features)
    assert data.y.shape == (n_rows, n_labels)
    assert data.x.nnz / n_rows == pytest.approx(nnz, rel=0.1)
    assert data.y.nnz / n_rows == pytest.approx(labels_per_row, rel=0.15)
    lengths = np.sqrt(np.asarray(data.x.multiply(data.x).sum(axis=1)).ravel())
    np.testing.assert_allclose(lengths, 1, atol=1e-4)
    assert (counts(data.y) > 0).all()
    assert (np.diff(data.y.indptr) > 0).all()


def test_label_frequencies_fall_like_zipf():
    seen = np.sort(counts(make_sparse(20000, 5000, 5000, nnz_per_row=20).y))[::-1]
    assert seen[0] > 40 * np.median(seen)
    head, tail = np.log([seen[100], seen[3000]])
    assert -1.3 < (tail - head) / np.log(30) < -0.5


def test_the_same_seed_gives_the_same_rows_and_another_does_not():
    one, two, other = (make_sparse(500, 1000, 100, nnz_per_row=20, seed=seed) for seed in (3, 3, 4))
    assert (one.x != two.x).nnz == 0
    assert (one.y != two.y).nnz == 0
    assert (one.y != other.y).nnz > 0


def test_a_longer_set_begins_with_the_shorter():
    short = make_sparse(300, 1000, 100, nnz_per_row=20, every_label=False)
    long = make_sparse(5000, 1000, 100, nnz_per_row=20, every_label=False)
    assert (short.x != long.x[:300]).nnz == 0
    assert (short.y != long.y[:300]).nnz == 0


def test_the_pair_shares_labels_and_the_first_does_not_depend_on_the_second():
    train, test = make_sparse_pair(2000, 500, 1000, 100, nnz_per_row=20, seed=5)
    alone = make_sparse(2000, 1000, 100, nnz_per_row=20, seed=5)
    assert (train.x != alone.x).nnz == 0
    assert (train.y != alone.y).nnz == 0
    assert test.x.shape == (500, 1000)
    # Frequent labels of one half are frequent in the other: they are the same labels.
    assert np.corrcoef(counts(train.y), counts(test.y))[0, 1] > 0.95
    assert (train.x[:500] != test.x).nnz > 0


def test_a_linear_model_predicts_the_test_half():
    train, test = make_sparse_pair(4000, 500, 800, 200, nnz_per_row=40)
    ridge = (train.x.T @ train.x).toarray() + np.eye(800)
    weights = np.linalg.solve(ridge, (train.x.T @ train.y).toarray())
    truth = test.y.toarray()
    hits = truth[np.arange(500), (test.x @ weights).argmax(axis=1)]
    assert hits.mean() > 0.8
    assert truth[:, counts(train.y).argmax()].mean() < 0.4


@pytest.mark.parametrize("part", ["train", "test"])
def test_the_file_holds_the_rows_of_the_memory(tmp_path, part):
    # More rows than one block, so that blocks meet.
    sizes = {"n_features": 300, "n_labels": 50, "nnz_per_row": 8, "labels_per_row": 2.0, "seed": 9}
    train, test = make_sparse_pair(4500, 4500, **sizes)
    expected = train if part == "train" else test
    write_sparse(tmp_path / "a.txt", 4500, part=part, **sizes)
    x, y = read_xmc(tmp_path / "a.txt")
    assert (x != expected.x).nnz == 0
    assert (y != expected.y).nnz == 0


def test_compressed_file_and_progress(tmp_path):
    import gzip

    steps = []

    class Seen:
        def step(self, what, done, total):
            steps.append((what, done, total))

    write_sparse(tmp_path / "a.txt", 100, 300, 50, nnz_per_row=8)
    write_sparse(tmp_path / "a.txt.gz", 100, 300, 50, nnz_per_row=8, progress=Seen())
    assert gzip.decompress((tmp_path / "a.txt.gz").read_bytes()) == (tmp_path / "a.txt").read_bytes()
    assert steps == [("writing rows", 100, 100)]


def test_three_million_labels_fit():
    data = make_sparse(50, 100_000, 3_000_000, every_label=False)
    assert data.y.shape == (50, 3_000_000)


@pytest.mark.parametrize(("arguments", "words"), [
    ({"n_rows": 0}, "number of rows must be at least 1"),
    ({"n_features": 10}, "n_features must be at least 20, but is 10"),
    ({"n_labels": 0}, "n_labels must be from 1"),
    ({"labels_per_row": 0.5}, "labels_per_row must be from 1"),
    ({"labels_per_row": 60.0}, "to half of n_labels"),
    ({"nnz_per_row": 900}, "nnz_per_row must be from 1 to a quarter of n_features"),
    ({"seed": -1}, "seed must be from 0 up"),
    ({"zipf": 9.0}, "zipf must be from 0 to 3"),
])  # fmt: skip
def test_wrong_sizes(arguments, words):
    sizes = {"n_rows": 10, "n_features": 1000, "n_labels": 100, "nnz_per_row": 20, **arguments}
    with pytest.raises(ParamError, match=words):
        make_sparse(**sizes)


def test_wrong_part_and_place(tmp_path):
    with pytest.raises(ParamError, match="part must be 'train' or 'test'"):
        write_sparse(tmp_path / "a", 10, 1000, 100, part="dev")
    with pytest.raises(DataError, match="cannot be written"):
        write_sparse(tmp_path / "absent" / "a", 10, 1000, 100)
