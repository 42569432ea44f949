"""Contract: the answers of every model, whatever the shape of the question."""

import numpy as np
import pytest
from scipy import sparse

from labelwood.errors import DataError, NotFittedError, ParamError
from labelwood.topk import PAD, TopK


def test_shape_and_types(trained, data):
    top = trained.predict(data.x, k=3)
    assert isinstance(top, TopK)
    assert top.labels.shape == top.scores.shape == (data.x.shape[0], 3)
    assert (top.labels.dtype, top.scores.dtype) == (np.int32, np.float32)


def test_best_first_and_ties_to_the_smaller_label(trained, data):
    top = trained.predict(data.x, k=trained.n_labels_)
    for row in top:
        keys = [(-score, label) for label, score in row]
        assert keys == sorted(keys)


def test_each_label_once_and_in_range(trained, data):
    for row in trained.predict(data.x, k=trained.n_labels_):
        labels = [label for label, _ in row]
        assert len(set(labels)) == len(labels)
        assert all(0 <= label < trained.n_labels_ for label in labels)
        assert all(np.isfinite(score) for _, score in row)


def test_padding_is_last_and_marked(trained, data):
    top = trained.predict(data.x, k=trained.n_labels_ + 3)
    assert top.labels.shape == (data.x.shape[0], trained.n_labels_ + 3)
    padded = top.labels == PAD
    assert np.all(padded[:, -3:])
    assert np.all(np.isneginf(top.scores) == padded)
    assert np.all(padded[:, 1:] >= padded[:, :-1])


def test_smaller_k_is_a_prefix(trained, data, same):
    same(trained.predict(data.x, k=1), trained.predict(data.x, k=trained.n_labels_).cut(1))


def test_default_k_is_five(trained, data, same):
    same(trained.predict(data.x), trained.predict(data.x, k=5))


def test_batch_equals_single_row(trained, data, same):
    batch = trained.predict(data.x, k=5)
    for row in range(data.x.shape[0]):
        same(trained.predict(data.x[row], k=5), batch[row])


def test_order_and_repetition_of_rows_do_not_matter(trained, data, same):
    rows = np.random.default_rng(3).integers(0, data.x.shape[0], 50)
    same(trained.predict(data.x[rows], k=5), trained.predict(data.x, k=5)[rows])


def test_no_rows(trained, data):
    assert trained.predict(data.x[:0], k=4).labels.shape == (0, 4)


def test_a_row_without_features_is_answered(trained, data):
    top = trained.predict(sparse.csr_matrix((1, trained.n_features_)), k=2)
    assert top.labels.shape == (1, 2)
    assert not np.any(np.isnan(top.scores))


def test_stored_zeros_are_zeros(trained, data, same):
    dense = data.x.toarray()
    rows, columns = np.indices(dense.shape)
    full = sparse.csr_matrix((dense.ravel(), (rows.ravel(), columns.ravel())), shape=dense.shape)
    assert full.nnz == dense.size
    same(trained.predict(full, k=3), trained.predict(data.x, k=3))


def test_it_learns(trained, data):
    """Better than any fixed answer on its own training rows; the fixed answer is as good as itself, chance never is."""
    hits = data.y[np.arange(data.y.shape[0]), trained.predict(data.x, k=1).labels[:, 0]]
    best_fixed = np.asarray(data.y.sum(axis=0)).max()
    least = {"popular": 1.0, "random": 0.0}.get(trained.name, 1.5)
    assert hits.sum() >= least * best_fixed


@pytest.mark.parametrize("k", [0, -1, 2.0, "5", None, True])
def test_bad_k_is_refused(trained, data, k):
    with pytest.raises(ParamError, match="k must be a whole number from 1 up"):
        trained.predict(data.x, k=k)


def test_wrong_number_of_features_is_refused(trained, data):
    with pytest.raises(DataError, match=r"X has 39 features, but \w+ is expecting 40 features"):
        trained.predict(data.x[:, :-1])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(trained, data, bad):
    x = data.x.copy()
    x.data[-1] = bad
    with pytest.raises(DataError, match="row 89: feature"):
        trained.predict(x)


def test_an_untrained_model_says_so(make, data):
    model = make()
    for ask in (
        lambda: model.predict(data.x),
        lambda: model.explain(data.x[0], 0),
        lambda: model.save("nowhere"),
    ):
        with pytest.raises(NotFittedError, match="not trained yet"):
            ask()


def test_answers_are_the_callers_to_change(trained, data, same):
    top = trained.predict(data.x, k=3)
    before = TopK(top.labels.copy(), top.scores.copy())
    top.labels[:] = 0
    top.scores[:] = 0
    same(trained.predict(data.x, k=3), before)
