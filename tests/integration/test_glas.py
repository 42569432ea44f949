"""GLaS as a whole: what it promises beyond the contract of every model."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.errors import ModelFileError, ParamError
from labelwood.matrices import normalized_rows
from labelwood.models.persistence import restored, state_of
from labelwood.progress import Callback

torch = pytest.importorskip("torch")

from labelwood.models.neural import glas_network, glas_training, losses  # noqa: E402
from labelwood.models.neural.glas_network import BatchLoss, GlasNetwork, RowMap  # noqa: E402
from labelwood.models.neural.glas_params import GLaSParams  # noqa: E402
from labelwood.models.neural.glas_training import first_scale, nearest_labels  # noqa: E402
from labelwood.models.neural.sampling import row_batch  # noqa: E402
from labelwood.models.neural.training import History  # noqa: E402

QUICK = {"dim": 16, "epochs": 3, "n_threads": 1, "lr": 0.02, "label_lr": 0.02}


def problem(n_rows=200, n_features=40, n_labels=15, seed=0):
    random = np.random.default_rng(seed)
    y = random.random((n_rows, n_labels)) < 0.12
    y[:, 3] = False
    own = random.random((n_labels, n_features)) < 0.1
    x = (y.astype(float) @ own) * random.uniform(0.5, 1.5, (n_rows, n_features)) + (
        random.random((n_rows, n_features)) < 0.05
    )
    return sparse.csr_matrix(x, dtype=np.float32), sparse.csr_matrix(y, dtype=np.float32)


@pytest.fixture(scope="module")
def fitted():
    return lw.GLaS(**QUICK).fit(*problem())


def arrays_equal(one, other):
    ours, theirs = one.fitted_.arrays(), other.fitted_.arrays()
    assert set(ours) == set(theirs)
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "margin"},
        {"loss": "snm", "hardest": 3},
        {"full_softmax": 0, "negatives": 5},
        {"regularizer": "spreadout"},
        {"regularizer": "gravity"},
        {"regularizer": "none", "map": "linear", "weight_norm": False, "keep": 1.0},
        {"adjacency": "pmi"},
        {"map": "nonlinear", "optimizer": "adam"},
    ],
    ids=str,
)
def test_every_setting_learns(settings):
    x, y = problem()
    top = lw.GLaS(**{**QUICK, "epochs": 12, **settings}).fit(x, y).predict(x, k=1)
    rows = np.flatnonzero(np.diff(y.indptr))
    hits = np.asarray(y[rows, top.labels[rows, 0]]).mean()
    assert hits > 2 * np.asarray(y.sum(axis=0)).max() / len(rows)


def test_vectors_have_length_1_and_scores_are_their_cosines(fitted):
    x, y = problem()
    rows, labels = fitted.vectors(x), fitted.label_vectors()
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1)[np.diff(x.indptr) > 0], 1, rtol=1e-5)
    seen = np.asarray(y.sum(axis=0)).ravel() > 0
    np.testing.assert_allclose(np.linalg.norm(labels, axis=1), seen, rtol=1e-5)
    top = fitted.predict(x, k=15)
    cosines = rows @ labels.T
    np.testing.assert_allclose(top.scores[:, :14], np.take_along_axis(cosines, top.labels[:, :14], 1), atol=1e-5)
    assert set(top.labels[:, 14]) == {3}  # never seen: last, with the least score there is
    assert set(top.scores[:, 14]) == {-1.0}


def test_turning_rows_and_labels_together_changes_no_answer(fitted):
    x, _ = problem()
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((16, 16)))[0].astype(np.float32)
    cosines = fitted.vectors(x) @ fitted.label_vectors().T
    turned = (fitted.vectors(x) @ turn) @ (fitted.label_vectors() @ turn).T
    np.testing.assert_allclose(turned, cosines, atol=1e-5)
    clear = np.sort(cosines, axis=1)[:, -1] - np.sort(cosines, axis=1)[:, -2] > 1e-4
    assert clear.sum() > 100
    np.testing.assert_array_equal(turned.argmax(axis=1)[clear], fitted.predict(x, k=1).labels[clear, 0])


@pytest.mark.parametrize("loss", ["margin", "snm", "softmax"])
@pytest.mark.parametrize("positives", ["all", "one"])
def test_no_true_label_is_ever_a_negative(monkeypatch, loss, positives):
    x, y = problem()
    settings = GLaSParams(dim=15, loss=loss, negatives=8, regularizer="none", positives=positives)
    network = GlasNetwork(40, 15, settings, sampled=True, scale=1.0)
    with torch.no_grad():  # label l has score l + 1 up to a factor: its number can be read from the score
        network.labels.weight.copy_(torch.eye(15))
    direction = torch.arange(1.0, 16.0)
    network.map.forward = lambda batch: (direction / direction.norm()).expand(len(batch), -1).clone().requires_grad_()
    rows = np.arange(0, 200, 3)
    labelled = rows[np.diff(y.indptr)[rows] > 0]
    seen = []

    def spy(name):
        real = getattr(losses, name)

        def record(*arguments):
            seen.append(arguments)
            return real(*arguments)

        monkeypatch.setattr(glas_network.losses, name, record)

    for name in ("margin_loss", "mined_margin_loss", "sampled_softmax_loss"):
        spy(name)
    BatchLoss(network, normalized_rows(x), y, None, settings, True, "cpu")(rows, 0)
    (arguments,) = seen
    negative, valid = (arguments[2], arguments[3]) if loss == "softmax" else (arguments[1], arguments[2])
    which = rows if loss == "softmax" else labelled
    label = (negative.detach() * direction.norm()).round().long().numpy() - 1
    true = y.toarray()[which[:, None], label] > 0
    np.testing.assert_array_equal(valid.numpy(), ~true)
    assert true.any()


def test_the_first_scale_grows_with_labels_and_labels_of_a_row():
    y = sparse.csr_matrix(np.tile(np.repeat(np.eye(100), 4, axis=1), (2, 1)))[:, :396]  # 396 labels in use, 4 a row
    assert first_scale(y[:99]) == pytest.approx(0.85 * 2 * np.log(396))
    assert first_scale(sparse.csr_matrix((3, 5))) == 4.0
    assert first_scale(sparse.csr_matrix(np.eye(3))) == 4.0  # never below
    x, y = problem()
    assert not np.array_equal(
        lw.GLaS(**QUICK).fit(x, y).label_vectors(), lw.GLaS(**QUICK, scale=30.0).fit(x, y).label_vectors()
    )


@pytest.mark.parametrize("widen", [1, 3])
@pytest.mark.parametrize("kind", ["residual", "nonlinear"])
def test_all_outputs_of_a_layer_have_one_length(kind, widen):
    torch.manual_seed(2)
    layer = RowMap(40, 12, kind, weight_norm=True, widen=widen)
    with torch.no_grad():
        layer.first.weight.mul_(torch.rand(12 * widen))
        layer.second.weight.mul_(torch.rand(12, 1))
        layer.first_length.fill_(3.0)
        layer.second_length.fill_(0.5)
    arrays = layer.arrays()
    np.testing.assert_allclose(np.linalg.norm(arrays["table"], axis=0), 3.0, rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(arrays["outer"], axis=0), 0.5, rtol=1e-5)
    x, _ = problem()
    from labelwood.models.neural.forward import bag_forward, unit_rows

    with torch.no_grad():
        wanted = layer(row_batch(x, np.arange(50))).numpy()
    np.testing.assert_allclose(unit_rows(bag_forward(arrays, x[:50])), wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "widen"), [("residual", 1), ("residual", 3), ("nonlinear", 1), ("nonlinear", 3), ("linear", 3)]
)
def test_reasons_add_up_for_every_map(kind, widen):
    x, y = problem()
    model = lw.GLaS(**QUICK, map=kind, widen=widen).fit(x, y)
    assert model.fitted_.map["table"].shape[1] == model.parameters_.dim * (1 if kind == "linear" else widen)
    assert model.label_vectors().shape[1] == model.vectors(x).shape[1] == model.parameters_.dim
    top = model.predict(x[:20], k=3)
    for row in range(20):
        for label, score in zip(top.labels[row], top.scores[row], strict=True):
            why = model.explain(x[row], int(label))
            assert sum(part.contribution for part in why.contributions) == pytest.approx(float(score), abs=1e-5)


def test_damaged_models_are_refused(fitted):
    fields, arrays = state_of(fitted.fitted_)
    for name, bad in (
        ("seen", arrays["seen"][:-1]),
        ("map.outer_bias", arrays["map.outer_bias"][:-1]),
        ("map.kind", arrays["map.kind"] + 3),
        ("index.vectors", arrays["index.vectors"][:-1]),
        ("index.vectors", np.tile(arrays["index.vectors"], (1, 2))),
    ):
        with pytest.raises(ModelFileError):
            restored(fields, {**arrays, name: bad}, "folder")
    for facts in ({"index": None}, {"index": {**fields["facts"]["index"], "dim": 15}}, {"history": 3}):
        with pytest.raises(ModelFileError):
            restored({**fields, "facts": {**fields["facts"], **facts}}, arrays, "folder")
    for name, value in (("dim", 8), ("map", "linear")):
        with pytest.raises(ModelFileError, match="the map is not"):
            restored({**fields, "parameters": {**fields["parameters"], name: value}}, arrays, "folder")


def test_a_wide_map_is_saved_and_loaded(tmp_path):
    x, y = problem()
    model = lw.GLaS(**QUICK, widen=2).fit(x, y)
    model.save(tmp_path / "model")
    loaded = lw.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(x, k=3).scores, model.predict(x, k=3).scores)
    assert loaded.structure() == model.structure()
    fields, arrays = state_of(model.fitted_)
    wide = np.ascontiguousarray(np.tile(arrays["map.outer"], (1, 3)))
    bias = np.tile(arrays["map.outer_bias"], 3)
    with pytest.raises(ModelFileError):  # more numbers than the sparse layer has outputs
        restored(fields, {**arrays, "map.outer": wide, "map.outer_bias": bias}, "folder")


def test_probabilities_are_cosines_moved_to_0_and_1(fitted):
    x, _ = problem()
    top = fitted.predict(x[:5], 14)
    likely = fitted.predict_proba(x[:5]).toarray()
    np.testing.assert_allclose(np.take_along_axis(likely, top.labels, 1), (1 + top.scores) / 2, rtol=1e-6)


def test_loading_and_answering_need_no_torch(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    code = (
        "import sys, numpy, labelwood; m = labelwood.load(sys.argv[1]); "
        "m.predict(numpy.ones((2, 40)), k=3); m.explain(numpy.ones((1, 40)), 0); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "model")], check=True, timeout=120)


def test_a_checkpoint_of_other_parameters_or_data_is_refused(tmp_path):
    x, y = problem()
    settings = {**QUICK, "epochs": 1, "checkpoint": str(tmp_path / "run")}
    first = lw.GLaS(**settings).fit(x, y)
    arrays_equal(lw.GLaS(**settings).fit(x, y), first)
    for change, rows in (({"weight": 3.0}, 200), ({}, 199)):
        with pytest.raises(ParamError, match="other parameters or data"):
            lw.GLaS(**{**settings, **change}).fit(x[:rows], y[:rows])


CHILD = """
import sys, time, numpy, labelwood
from labelwood.progress import Callback
from scipy import sparse
x, y = (sparse.load_npz(sys.argv[i]) for i in (1, 2))
def hang(what, done, total):
    if what.startswith("training, epoch 3") and 0 < done < total:
        open(sys.argv[4], "w").close()
        time.sleep(600)
labelwood.GLaS(dim=16, epochs=4, n_threads=1, batch_size=4, checkpoint=sys.argv[3]).fit(x, y, progress=Callback(hang))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kill -9 is a POSIX signal")
def test_a_run_that_was_killed_in_an_epoch_ends_as_if_it_had_not(tmp_path):
    x, y = problem()
    for name, matrix in (("x", x), ("y", y)):
        sparse.save_npz(tmp_path / f"{name}.npz", matrix)
    places = [str(tmp_path / name) for name in ("x.npz", "y.npz", "run", "reached")]
    child = subprocess.Popen([sys.executable, "-c", CHILD, *places])
    try:
        deadline = time.monotonic() + 300
        while not (tmp_path / "reached").exists():
            assert child.poll() is None, "the child ended by itself"
            assert time.monotonic() < deadline
            time.sleep(0.1)
        os.kill(child.pid, signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
    finally:
        child.kill()
    settings = {"dim": 16, "epochs": 4, "n_threads": 1, "batch_size": 4}
    seen = []
    resumed = lw.GLaS(**settings, checkpoint=str(tmp_path / "run")).fit(
        x, y, progress=Callback(lambda what, done, total: seen.append(what))
    )
    assert seen[0].startswith("training, epoch 3")
    whole = lw.GLaS(**settings).fit(x, y)
    arrays_equal(resumed, whole)
    assert resumed.fitted_.facts() == whole.fitted_.facts()


@pytest.mark.parametrize("sampled", [True, False])
def test_one_positive_is_one_label_of_each_row(monkeypatch, sampled):
    """Algorithm 2: the regularizer sees the labels drawn, at most one a row, each of them a label of its row."""
    x, y = problem()
    settings = GLaSParams(dim=15, regularizer="laplacian", positives="one", loss="softmax", weight=1.0)
    network = GlasNetwork(40, 15, settings, sampled=sampled, scale=1.0)
    rows = np.array([row for row in range(200) if y.indptr[row + 1] - y.indptr[row] > 1][:2])
    asked = []

    class Affinity:
        def block(self, labels):
            asked.append(labels.tolist())
            return np.eye(len(labels), dtype=np.float32)

    batch_loss = BatchLoss(network, normalized_rows(x), y, Affinity(), settings, sampled, "cpu")
    for step in range(20):
        assert torch.isfinite(batch_loss(rows, step))
    of_row = [set(y[row].indices.tolist()) for row in rows]
    for labels in asked:
        assert len(labels) <= 2
        assert set(labels) <= of_row[0] | of_row[1]
        assert set(labels) & of_row[0]
        assert set(labels) & of_row[1]
    assert len({tuple(labels) for labels in asked}) > 1  # drawn anew each time


def test_the_batch_is_as_large_as_asked_for(monkeypatch):
    sizes = []
    x, y = problem()
    monkeypatch.setattr(
        glas_training, "train", lambda *given, **kept: sizes.append(given[4].batch_size) or History([0.0])
    )
    for fit_batch in (True, False):
        lw.GLaS(dim=8, batch_size=100, fit_batch=fit_batch, n_threads=1).fit(x, y)
    assert sizes[0] < 100
    assert sizes[1] == 100


@pytest.mark.parametrize("most", [1, 7, 70, 10**6])
def test_validation_in_parts_finds_the_same_labels(most):
    random = np.random.default_rng(4)
    vectors, labels = (random.normal(size=(n, 5)).astype(np.float32) for n in (23, 14))
    expected = np.argmax(vectors @ labels.T, axis=1)
    assert nearest_labels(vectors, labels, most).tolist() == expected.tolist()
    assert nearest_labels(vectors[:0], labels, most).tolist() == []
