"""NeuralXC: its loss (N1), independence of the batch (N2), sizes, sampling and answers without torch."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.errors import ModelFileError
from labelwood.models.neural.layer_stack import LAYERS, SHORTCUT, LayerStack
from labelwood.models.neural.neuralxc import label_shares, last_activation, value_gain
from labelwood.models.neural.neuralxc_sizes import PUBLISHED, Sizes, network_sizes
from labelwood.storage.schema import check_arrays

torch = pytest.importorskip("torch")
network_module = pytest.importorskip("labelwood.models.neural.neuralxc_network")

SMALL = Sizes((20, 12, 8, 6), (9, 8, 5), 6)


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(2)
    y = sparse.csr_matrix((random.random((40, 9)) < 0.25).astype(np.float32))
    x = sparse.csr_matrix((y.toarray() @ random.random((9, 20)) > 0.6).astype(np.float32))
    return x, y


def parts(network, x, y, chosen):
    random = np.random.default_rng(0)
    of_x, of_y = (network_module.targets(matrix, chosen, 0, random) for matrix in (x, y))
    return network.losses(x, y, chosen, of_x, of_y)


def made(**settings):
    torch.manual_seed(1)
    return network_module.NeuralXCNetwork(settings.pop("sizes", SMALL), "sigmoid", 0.0, **settings)


@pytest.mark.parametrize("shortcut", [False, True])
def test_the_loss_is_its_weighted_means(rows, shortcut):
    """N1: every term is a mean over rows and columns of what the dense formula says."""
    x, y = rows
    chosen = np.arange(10)
    network = made(shortcut=shortcut).eval()
    by_shortcut = 0.0
    if shortcut:
        torch.nn.init.normal_(network.shortcut.weight)
    found = parts(network, x, y, chosen)
    batch = network_module.row_batch
    dense_x, dense_y = (torch.from_numpy(matrix[chosen].toarray()) for matrix in (x, y))
    first = network.first_layer(batch(x, chosen))
    if shortcut:
        by_shortcut = first @ network.shortcut.weight[:, :-1].T + network.shortcut.weight[:, -1]
    code = network.code_of_first(first)
    rebuilt = torch.sigmoid(network.input_outputs(network.decode_input(code), None))
    true_code = network.code_of_labels(batch(y, chosen))
    own = torch.sigmoid(network.label_logits(true_code))
    answer = torch.sigmoid(network.label_logits(network.label_code(code)) + by_shortcut)
    expected = {
        "input": ((rebuilt - dense_x) ** 2).mean(),
        "output": ((own - dense_y) ** 2).mean(),
        "labels": torch.nn.functional.binary_cross_entropy(answer, dense_y),
        "latent": ((network.label_code(code) - true_code) ** 2).mean(),
    }
    for name, value in expected.items():
        assert found[name].item() == pytest.approx(value.item(), rel=1e-4), name


def test_without_their_weights_the_label_encoder_learns_nothing(rows):
    """N1: a = b = 0 leaves phi_o without gradient; so does latent_weight alone, which only moves f towards it."""
    network = made()
    found = parts(network, *rows, np.arange(10))
    (found["labels"] + found["latent"]).backward()
    encoder = [network.output_table.weight, network.output_bias, *network.encode_output.parameters()]
    assert all(parameter.grad is None or not parameter.grad.any() for parameter in encoder)
    assert network.label_outputs.weight.grad.any()
    parts(network, *rows, np.arange(10))["output"].backward()
    assert network.output_table.weight.grad.any()


@pytest.mark.parametrize("shortcut", [False, True])
def test_answers_do_not_depend_on_the_batch(rows, shortcut):
    """N2, with batch norm: a row alone and the same row among others, in torch's eval mode and without torch."""
    x, y = rows
    network = made(gain=3.0, shortcut=shortcut)
    if shortcut:
        torch.nn.init.normal_(network.shortcut.weight)
    network.train()
    for _ in range(3):
        parts(network, x, y, np.arange(30))
    parts(network, x, y, np.arange(1))  # a last batch of one row is no error
    network.eval()
    stack = network.stack()
    with torch.no_grad():
        first = network.first_layer(network_module.row_batch(x, np.arange(40)))
        logits = network.answer_logits(first, network.label_code(network.code_of_first(first)))
    np.testing.assert_allclose(stack.forward(x), logits.numpy(), atol=1e-5)
    for row in (0, 7, 39):
        np.testing.assert_array_equal(stack.forward(x[row])[0], stack.forward(x)[row])


def test_sampled_columns_estimate_the_mean_over_all(rows):
    x, _ = rows
    every = network_module.targets(x, np.arange(3), 0, np.random.default_rng(0))
    assert every.columns is None
    for seed in range(5):
        some = network_module.targets(x, np.arange(3), 4, np.random.default_rng(seed))
        columns = some.columns.numpy()
        assert set(x[:3].indices) <= set(columns.tolist())
        assert len(set(columns.tolist())) == len(columns)
        np.testing.assert_array_equal(some.values.numpy(), x[:3].toarray()[:, columns])
        if len(columns) > len(np.unique(x[:3].indices)):
            assert float(some.weights.sum()) == pytest.approx(20)


def test_sampling_trains_sparse_tables(rows, monkeypatch):
    monkeypatch.setattr("labelwood.models.neural.neuralxc.MOST_LABELS", 5)
    monkeypatch.setattr("labelwood.models.neural.neuralxc.MOST_FEATURES", 10)
    x, y = rows
    model = lw.NeuralXC(epochs=60, rate=0.01, sampled=3, dropout=0.0, n_threads=1).fit(x, y)
    hits = y[np.arange(40), model.predict(x, k=1).labels[:, 0]].sum()
    assert hits > 1.2 * y.sum(axis=0).max()


def test_the_shortcut_starts_silent_and_is_trained(rows):
    """Without it the answers are those of the three networks; the label autoencoder never sees it."""
    network = made(shortcut=True)
    assert not network.shortcut.weight.any()
    found = parts(network, *rows, np.arange(10))
    found["output"].backward(retain_graph=True)
    assert network.shortcut.weight.grad is None
    found["labels"].backward()
    assert network.shortcut.weight.grad.any()
    weights = [lw.NeuralXC(epochs=1, shortcut=on).fit(*rows).structure()["weights"] for on in (False, True)]
    assert weights[1] - weights[0] == network_sizes(20, 9).input[1] * 9


def test_published_sizes_where_the_data_is_published():
    assert network_sizes(1836, 159).input == (1836, 1152, 600, 256)
    for (features, labels), sizes in PUBLISHED.items():
        assert (sizes.input[0], sizes.output[0]) == (features, labels)
    large = network_sizes(2_000_000, 500_000)
    assert max(large.input[1:] + large.output[1:]) <= 1024


def test_the_rebuilt_features_end_as_their_range_asks():
    assert last_activation(sparse.csr_matrix([[0.0, 1.0]])) == "sigmoid"
    assert last_activation(sparse.csr_matrix([[0.0, 3.0]])) == "relu"
    assert last_activation(sparse.csr_matrix([[-1.0, 0.5]])) == "none"
    assert last_activation(sparse.csr_matrix((2, 2))) == "sigmoid"


def test_the_gain_brings_values_to_about_one():
    x = sparse.csr_matrix([[0.5, 0.0, -0.5], [0.0, 0.5, 0.0]])
    assert value_gain(x) == pytest.approx(2)
    assert value_gain(sparse.csr_matrix((2, 2))) == 1


def test_labels_start_at_their_shares(rows):
    shares = label_shares(rows[1])
    assert np.all((shares > 0) & (shares < 1))
    network = made(label_shares=shares)
    odds = network.label_outputs.weight[:, -1].detach().numpy()
    np.testing.assert_allclose(1 / (1 + np.exp(-odds)), shares, rtol=1e-5)


def test_answers_need_no_torch(rows, tmp_path):
    x, y = rows
    model = lw.NeuralXC(epochs=2, latent_weight=0.1, n_threads=1).fit(x, y)
    model.save(tmp_path / "m")
    sparse.save_npz(tmp_path / "x.npz", x)
    code = (
        "import sys, labelwood, scipy.sparse as s\n"
        f"top = labelwood.load({str(tmp_path / 'm')!r}).predict(s.load_npz({str(tmp_path / 'x.npz')!r}), k=1)\n"
        "assert 'torch' not in sys.modules\nprint(top.labels.ravel().tolist())"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert out.strip() == str(model.predict(x, k=1).labels.ravel().tolist())
    assert model.structure()["width 0"] == 20


def restored(arrays, n_labels=9):
    sizes = {"n_features": 20, "n_labels": n_labels}
    check_arrays({**LAYERS, **SHORTCUT} if "shortcut" in arrays else LAYERS, arrays, sizes, "m")
    return LayerStack.from_arrays(arrays, n_labels, "m")


def test_damaged_layers_are_refused():
    arrays = made(shortcut=True).eval().stack().to_arrays()
    assert restored(arrays).n_outputs == 9
    for change, message in (
        ({"activations": np.full(len(arrays["activations"]), 9, np.int32)}, "must stay below 3"),
        ({"activations": np.zeros(3)}, "must be int32"),
        ({"activations": arrays["activations"][:-1]}, "activations for the layers"),
        ({"activations": arrays["activations"][:0]}, "0 activations"),
        ({"layers": arrays["activations"]}, "once"),
        ({"weight1": arrays["weight1"][:-1]}, "'weight1' has the shape"),
        ({"weight7": arrays["weight1"]}, "'weight7' has the shape"),
        ({"shortcut": arrays["shortcut"][:-1]}, "'shortcut' has the shape"),
    ):
        with pytest.raises(ModelFileError, match=message):
            restored({**arrays, **change})
    without = {name: array for name, array in arrays.items() if name != "shortcut"}
    with pytest.raises(ModelFileError, match="gives 9 numbers for 8"):
        restored(without, n_labels=8)
    del without["bias2"]
    with pytest.raises(ModelFileError, match="activations for the layers"):
        restored(without)


def test_layers_of_older_folders_are_read(rows):
    stack = made(shortcut=True).eval().stack()
    arrays = stack.to_arrays()
    codes = [("none", "relu", "tanh").index(name) for name in stack.activations]
    del arrays["activations"]
    older = restored({**arrays, "layers": np.array(codes, np.int32)})
    assert list(older.activations) == list(stack.activations)
    np.testing.assert_array_equal(older.forward(rows[0]), stack.forward(rows[0]))


def test_plain_layers_have_no_batch_norm_and_answer_alike_without_torch():
    from labelwood.models.neural.sampling import row_batch

    x = sparse.random(30, 50, 0.2, format="csr", random_state=1, dtype=np.float32)
    network = network_module.NeuralXCNetwork(network_sizes(50, 40), "sigmoid", 0.0, plain=True).eval()
    assert not [part for part in network.modules() if isinstance(part, torch.nn.BatchNorm1d)]
    with torch.no_grad():
        first = network.first_layer(row_batch(x, np.arange(30)))
        wanted = network.answer_logits(first, network.label_code(network.code_of_first(first))).numpy()
    np.testing.assert_allclose(network.stack().forward(x, 1), wanted, atol=1e-5)
