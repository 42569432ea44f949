"""fastText's flat losses against the same steps written out in NumPy, row after row."""

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood import _native
from labelwood.models.baselines.fasttext import LOSSES

N_ROWS, N_FEATURES, N_LABELS, DIM, EPOCHS, RATE = 12, 7, 5, 16, 3, 0.3


@pytest.fixture
def task():
    """Rows with one label each, so that none is drawn, in CSR arrays; their mean weights; first vectors."""
    random = np.random.default_rng(4)
    weights = sparse.random(N_ROWS, N_FEATURES, 0.5, "csr", np.float32, random)
    bias = random.uniform(0.1, 0.3, N_ROWS).astype(np.float32)
    labels = random.integers(0, N_LABELS, N_ROWS).astype(np.int32)
    vectors = random.normal(size=(N_FEATURES + 1, DIM)).astype(np.float32)
    outputs = random.normal(size=(N_LABELS, DIM)).astype(np.float32)
    return weights, bias, labels, vectors, outputs


def natively(task, loss, cumulative, n_negatives):
    weights, bias, labels, vectors, outputs = task
    vectors, outputs = vectors.copy(), outputs.copy()
    _native.flat_fit(
        weights.indptr.astype(np.int64), weights.indices.astype(np.int32), weights.data, bias,
        np.arange(N_ROWS + 1, dtype=np.int64), labels, vectors, outputs, np.arange(N_ROWS, dtype=np.int32),
        loss=loss, cumulative=cumulative, n_negatives=n_negatives, rate=RATE, epochs=EPOCHS, seed=1, n_threads=1,
        progress=lambda done, total: None, shuffle=False,
    )  # fmt: skip
    return vectors, outputs


def written_out(task, errors):
    """errors(margins, label): what each label's chance lacks, or None to leave its vector alone."""
    weights, bias, labels, vectors, outputs = task
    vectors, outputs = vectors.astype(np.float64), outputs.astype(np.float64)
    all_weights = np.hstack([weights.toarray(), bias[:, None]])
    for visit in range(EPOCHS * N_ROWS):
        row = visit % N_ROWS
        rate = RATE * (1 - visit / (EPOCHS * N_ROWS))
        mean = all_weights[row] @ vectors
        steps = rate * errors(outputs @ mean, labels[row])
        asked = steps @ outputs
        outputs = outputs + steps[:, None] * mean
        vectors = vectors + all_weights[row][:, None] * asked
    return vectors, outputs


def softmax_errors(margins, label):
    powers = np.exp(margins - margins.max())
    return np.eye(N_LABELS)[label] - powers / powers.sum()


def ova_errors(margins, label):
    return np.eye(N_LABELS)[label] - 1 / (1 + np.exp(-margins))


def third_label_errors(margins, label):
    """Two negatives, always label 2; where that is the row's own label they are left out."""
    wanted = np.eye(N_LABELS)[label]
    errors = ova_errors(margins, label) * wanted
    if label != 2:
        errors[2] = -1 / (1 + np.exp(-margins[2]))
    return errors


@pytest.mark.parametrize(
    ("loss", "errors", "n_negatives"),
    [("softmax", softmax_errors, 0), ("ova", ova_errors, 0), ("negatives", third_label_errors, 1)],
)
def test_steps_are_those_written_out(task, loss, errors, n_negatives):
    only_third = np.array([0.0, 0.0, 1.0, 1.0, 1.0])
    for ours, expected in zip(natively(task, loss, only_third, n_negatives), written_out(task, errors), strict=True):
        np.testing.assert_allclose(ours, expected, atol=2e-5)


def test_ova_learns_from_all_labels_of_a_row():
    """Rows with both labels: softmax shares the chance between them, ova gives both."""
    x, y = np.ones((40, 1), np.float32), np.ones((40, 2), np.float32)
    both = {loss: lw.FastText(loss=loss, n_threads=1, epochs=50).fit(x, y).predict(x[:1], 2).scores for loss in LOSSES}
    assert both["ova"].min() > 0.9
    np.testing.assert_allclose(both["softmax"], 0.5, atol=0.05)
    assert both["softmax"].sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_labels_that_show_in_features_are_found(loss):
    random = np.random.default_rng(0)
    label = random.integers(0, 20, 600)
    x = np.zeros((600, 40), np.float32)
    x[np.arange(600), label] = 1
    x[np.arange(600), random.integers(20, 40, 600)] += 1
    y = np.eye(20, dtype=np.float32)[label]
    model = lw.FastText(loss=loss, n_threads=1).fit(x[:500], y[:500])
    assert model.evaluate(x[500:], y[500:])["P@1"] > 95


def test_damaged_arguments_are_refused(task):
    with pytest.raises(ValueError, match="running sums"):
        natively(task, "negatives", np.array([1.0, 0.5, 1.0, 1.0, 1.0]), 1)
    with pytest.raises(ValueError, match="softmax, ova or negatives"):
        natively(task, "hs", np.zeros(N_LABELS), 0)
