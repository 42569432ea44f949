"""Batches, the sparse layer, encoders and losses of the neural models."""

import math

import numpy as np
import pytest
from scipy import sparse

from labelwood.errors import ModelFileError, ParamError

torch = pytest.importorskip("torch")

from labelwood.models.neural import forward, losses, runtime, sampling  # noqa: E402
from labelwood.models.neural.encoders import BagEncoder  # noqa: E402
from labelwood.models.neural.optimizers import ParameterGroup, made_optimizer  # noqa: E402
from labelwood.models.neural.sparse_layer import SparseLinear  # noqa: E402


def close(found, wanted):
    np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.fixture
def x():
    matrix = sparse.random(14, 30, 0.2, "csr", np.float32, random_state=1)
    matrix.data[matrix.indptr[3] : matrix.indptr[4]] = 0
    return matrix


@pytest.fixture
def y():
    return sparse.csr_matrix(np.random.default_rng(2).random((14, 9)) < 0.25, dtype=np.float32)


def test_row_batches_hold_the_rows(x):
    rows = np.array([5, 2, 2, 13])
    batch = sampling.row_batch(x, rows)
    back = sparse.csr_matrix((batch.values, batch.indices, batch.offsets), shape=(4, 30))
    np.testing.assert_array_equal(back.toarray(), x[rows].toarray())
    assert len(batch) == 4


def test_thinning_keeps_the_share_and_the_values(x):
    batch = sampling.row_batch(sparse.csr_matrix(np.full((50, 80), 2.0, np.float32)), np.arange(50))
    torch.manual_seed(1)
    kept = batch.thinned(0.8).values
    assert set(kept.tolist()) == {0.0, 2.0}
    assert float((kept > 0).float().mean()) == pytest.approx(0.8, abs=0.03)
    assert batch.thinned(1.0) is batch


def test_epoch_orders_are_permutations_keyed_by_seed_and_epoch():
    first = sampling.epoch_order(50, 3, 0)
    assert sorted(first) == list(range(50))
    np.testing.assert_array_equal(first, sampling.epoch_order(50, 3, 0))
    assert not np.array_equal(first, sampling.epoch_order(50, 3, 1))
    assert not np.array_equal(first, sampling.epoch_order(50, 4, 0))


def test_validation_rows_are_a_share_of_the_rows():
    training, validation = sampling.validation_split(100, 0.1, 5)
    assert (len(training), len(validation)) == (90, 10)
    assert sorted([*training, *validation]) == list(range(100))
    assert len(sampling.validation_split(100, 0.5, 5, most=7)[1]) == 7
    assert len(sampling.validation_split(3, 0.1, 5)[1]) == 0


def test_validation_rows_come_in_runs_of_neighbours():
    training, validation = sampling.validation_split(103, 0.2, 5, run=5)
    assert np.array_equal(np.sort(np.concatenate([training, validation])), np.arange(103))
    assert len(validation) == 20
    _, sizes = np.unique(validation // 5, return_counts=True)
    assert sizes.max() == 5
    assert len(sizes) <= 6  # whole runs but the cut one and the short last one


def test_labels_of_a_batch(y):
    rows = np.array([4, 0, 9])
    row, label = sampling.label_batch(y, rows)
    dense = np.zeros((3, 9))
    dense[row, label] = 1
    np.testing.assert_array_equal(dense, y[rows].toarray())
    np.testing.assert_array_equal(sampling.multi_hot(y, rows).numpy(), dense)
    np.testing.assert_array_equal(sampling.multi_hot(y, rows, [7, 1]).numpy(), dense[:, [7, 1]])


@pytest.mark.parametrize("is_sparse", [True, False])
def test_the_sparse_layer_is_an_embedding_bag(x, is_sparse):
    layer = SparseLinear(30, 17, sparse=is_sparse)
    batch = sampling.row_batch(x, np.arange(14))
    weight = layer.weight.detach().clone().requires_grad_()
    wanted = torch.nn.functional.embedding_bag(
        batch.indices.long(),
        weight,
        batch.offsets,
        mode="sum",
        per_sample_weights=batch.values,
        include_last_offset=True,
    )
    pull = torch.randn(14, 17, generator=torch.Generator().manual_seed(3))
    found = layer(batch)
    close(found, wanted)
    (found * pull).sum().backward()
    (wanted * pull).sum().backward()
    assert layer.weight.grad.is_sparse == is_sparse
    close(layer.weight.grad.to_dense(), weight.grad)


def sparse_adam(table, gradients, lr):
    """torch.optim.SparseAdam's rule, row by row (constructing that class imports torch's compiler: seconds)."""
    table = table.copy()
    mean, square = np.zeros_like(table), np.zeros_like(table)
    for t, gradient in enumerate(gradients, 1):
        for row, g in gradient.items():
            mean[row] = 0.9 * mean[row] + 0.1 * g
            square[row] = 0.999 * square[row] + 0.001 * g * g
            table[row] -= lr * mean[row] / (1 - 0.9**t) / (np.sqrt(square[row] / (1 - 0.999**t)) + 1e-8)
    return table


def test_adam_on_sparse_gradients_updates_the_named_rows():
    table = torch.nn.Parameter(torch.randn(6, 5, generator=torch.Generator().manual_seed(0)))
    start = table.detach().numpy().copy()
    optimizer = made_optimizer(ParameterGroup([table], 0.05, "sparse_adam"))
    gradients = []
    with torch.sparse.check_sparse_tensor_invariants(True):
        for step in range(5):
            values = torch.randn(3, 5, generator=torch.Generator().manual_seed(step))
            table.grad = torch.sparse_coo_tensor(torch.tensor([[step % 3, 4, 4]]), values, (6, 5))  # a row named twice
            optimizer.step()
            gradients.append({step % 3: values[0].numpy(), 4: (values[1] + values[2]).numpy()})
    np.testing.assert_allclose(table.detach().numpy(), sparse_adam(start, gradients, 0.05), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(table.detach().numpy()[5], start[5])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["adam", "adamw", "sgd", "adagrad"])
def test_dense_optimizers_are_torchs(name):
    options = {"momentum": 0.9} if name == "sgd" else {}
    group = ParameterGroup(
        [torch.nn.Parameter(torch.ones(4, 3)), torch.nn.Parameter(torch.ones(5))], 0.1, name, 0.01, **options
    )
    twins = [torch.nn.Parameter(parameter.detach().clone()) for parameter in group.parameters]
    torchs = {"adam": "Adam", "adamw": "AdamW", "sgd": "SGD", "adagrad": "Adagrad"}[name]
    reference = getattr(torch.optim, torchs)(twins, lr=0.1, weight_decay=0.01, **options)
    ours = made_optimizer(group)
    for step in range(4):
        for one, other in zip(group.parameters, twins, strict=True):
            one.grad = torch.linspace(-1, 0.5 + step, one.numel()).view_as(one)
            other.grad = one.grad.clone()
        ours.step()
        reference.step()
    for one, other in zip(group.parameters, twins, strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_adagrad_takes_sparse_gradients():
    tables = [torch.nn.Parameter(torch.ones(4, 3)) for _ in range(2)]
    for step in range(3):
        dense = torch.zeros(4, 3)
        dense[step] = 0.5 + step
        tables[0].grad = dense
        index = torch.tensor([[step]])
        tables[1].grad = torch.sparse_coo_tensor(index, dense[step : step + 1], (4, 3), check_invariants=True)
        for table in tables:
            made_optimizer(ParameterGroup([table], 0.1, "adagrad")).step()
    np.testing.assert_allclose(tables[0].detach().numpy(), tables[1].detach().numpy())


@pytest.mark.parametrize("weight_decay", [0.0, 0.5])
def test_even_sgd_steps_in_proportion_to_the_gradients(weight_decay):
    """Against its formula in float64, with sparse and with dense gradients."""
    random = np.random.default_rng(3)
    start = random.normal(size=(6, 5))
    table, whole = (torch.nn.Parameter(torch.tensor(start, dtype=torch.float32)) for _ in range(2))
    optimizers = [made_optimizer(ParameterGroup([one], 0.05, "even_sgd", weight_decay)) for one in (table, whole)]
    sparse_twin, dense_twin = start.copy(), start.copy()
    squares = [0.0, 0.0]
    for step in range(1, 5):
        rows = [step % 3, 4]
        values = random.normal(size=(2, 5)) * [[1], [30]]
        table.grad = torch.sparse_coo_tensor(
            torch.tensor([rows]), torch.tensor(values, dtype=torch.float32), (6, 5), check_invariants=True
        )
        full = random.normal(size=(6, 5))
        whole.grad = torch.tensor(full, dtype=torch.float32)
        for optimizer in optimizers:
            optimizer.step()
        for number, (twin, named, gradient) in enumerate(
            [(sparse_twin, rows, values), (dense_twin, list(range(6)), full)]
        ):
            squares[number] = 0.99 * squares[number] + 0.01 * np.square(gradient).mean()
            twin[named] *= 1 - 0.05 * weight_decay
            twin[named] -= 0.05 * gradient / np.sqrt(squares[number] / (1 - 0.99**step))
    np.testing.assert_allclose(table.detach().numpy(), sparse_twin, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(whole.detach().numpy(), dense_twin, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(table.detach().numpy()[5], start[5].astype(np.float32))


def test_even_sgd_bounds_a_huge_gradient():
    """A gradient of 300 times the typical size moves and is remembered as one of three times that size."""
    steps = []
    for largest in (300.0, 3.0):
        table = torch.nn.Parameter(torch.zeros(4, 3))
        optimizer = made_optimizer(ParameterGroup([table], 0.1, "even_sgd"))
        for size in (1.0, 1.0, largest, 1.0):
            table.grad = torch.full((4, 3), size)
            optimizer.step()
            steps.append(table.detach().clone())
    for wild, tame in zip(steps[:4], steps[4:], strict=True):
        np.testing.assert_allclose(wild.numpy(), tame.numpy(), rtol=1e-5)
    np.testing.assert_allclose(
        (steps[2] - steps[1]).numpy(), np.full((4, 3), -0.3 / np.sqrt(1 + 8 / 2.9701)), rtol=1e-3
    )


def test_even_sgd_stands_still_without_gradients():
    table = torch.nn.Parameter(torch.ones(4, 3))
    optimizer = made_optimizer(ParameterGroup([table], 0.1, "even_sgd"))
    table.grad = torch.zeros(4, 3)
    optimizer.step()
    empty = torch.zeros(1, 0, dtype=torch.int64)
    table.grad = torch.sparse_coo_tensor(empty, torch.zeros(0, 3), (4, 3), check_invariants=True)
    optimizer.step()
    np.testing.assert_array_equal(table.detach().numpy(), np.ones((4, 3), np.float32))


def test_unknown_optimizers_are_refused():
    with pytest.raises(ParamError, match="unknown optimizer 'adm'; did you mean 'adam'"):
        made_optimizer(ParameterGroup([torch.nn.Parameter(torch.ones(1))], 0.1, "adm"))


@pytest.mark.parametrize("hidden", [0, 11])
@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("activation", forward.ACTIVATIONS)
def test_encoders_answer_alike_with_and_without_torch(x, hidden, residual, activation):
    torch.manual_seed(4)
    bag = BagEncoder(30, 16, hidden, residual, 0.5, activation).eval()
    torch.nn.init.normal_(bag.block.bias)
    found = forward.bag_forward(bag.arrays(), x)
    with torch.no_grad():
        np.testing.assert_allclose(found, bag(sampling.row_batch(x, np.arange(14))).numpy(), rtol=1e-5, atol=1e-6)
    assert forward.check_encoder(bag.arrays(), 30, "test") == 16
    for row in (0, 3, 13):
        np.testing.assert_array_equal(forward.bag_forward(bag.arrays(), x[row]), found[row : row + 1])


@pytest.mark.parametrize("activation", forward.ACTIVATIONS)
def test_corrected_encoders_add_the_linear_part(x, activation):
    torch.manual_seed(4)
    bag = BagEncoder(30, 16, dropout=0.5, activation=activation, corrected=True).eval()
    torch.nn.init.normal_(bag.block.bias)
    torch.nn.init.normal_(bag.block.outer.weight)
    arrays = bag.arrays()
    found = forward.bag_forward(arrays, x)
    with torch.no_grad():
        np.testing.assert_allclose(found, bag(sampling.row_batch(x, np.arange(14))).numpy(), rtol=1e-5, atol=1e-6)
    linear = x.toarray() @ arrays["table"] + arrays["bias"]
    function = {"relu": lambda e: np.maximum(e, 0), "tanh": np.tanh, "none": lambda e: e}[activation]
    wanted = linear + function(linear) @ arrays["outer"] + arrays["outer_bias"]
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    with pytest.raises(ParamError, match="unknown activation"):
        BagEncoder(30, 16, activation="rely", corrected=True)


def test_damaged_encoders_are_refused():
    arrays = BagEncoder(30, 16, 5).arrays()
    for name, bad in (
        ("table", arrays["table"][:3]),
        ("table", arrays["table"].astype(np.float64)),
        ("bias", arrays["bias"][:3]),
        ("outer", arrays["outer"].T),
        ("kind", np.array([9, 0], np.int32)),
        ("kind", np.array([0, 3], np.int32)),
    ):
        with pytest.raises(ModelFileError, match="test: "):
            forward.check_encoder({**arrays, name: bad}, 30, "test")


def test_unit_rows():
    rows = np.array([[3, 4], [0, 0], [1e20, 0]], np.float32)
    np.testing.assert_allclose(forward.unit_rows(rows), [[0.6, 0.8], [0, 0], [1, 0]])


def test_margin_loss_by_hand():
    positive, negative = torch.tensor([0.5, 0.1]), torch.tensor([[0.45, 0.9, 0.0], [0.3, -0.5, 0.05]])
    valid = torch.tensor([[True, False, True], [True, True, True]])
    expected = (0.05 + 0 + 0.3 + 0 + 0.05) / 5
    assert float(losses.margin_loss(positive, negative, valid, 0.1)) == pytest.approx(expected)
    hard = losses.mined_margin_loss(positive, negative, valid, 0.1, 1)
    assert float(hard) == pytest.approx((0.05 + 0.3) / 2)


def test_softmax_losses_against_their_definition():
    scores = torch.randn(4, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    true = [[0, 2], [1], [], [3, 4, 5]]
    row = torch.tensor([i for i, labels in enumerate(true) for _ in labels])
    label = torch.tensor([one for labels in true for one in labels])
    expected = 0.0
    for i, labels in enumerate(true):
        others = sum(math.exp(scores[i, j]) for j in range(6) if j not in labels)
        for one in labels:
            own = math.exp(scores[i, one])
            expected -= math.log(own / (own + others)) / len(labels) / 4
    assert float(losses.softmax_loss(scores, row, label)) == pytest.approx(expected)
    valid = torch.ones(4, 6, dtype=torch.bool)
    valid[row, label] = False
    sampled = losses.sampled_softmax_loss(scores[row, label], row, scores, valid, torch.zeros(6))
    assert float(sampled) == pytest.approx(expected)


@pytest.mark.parametrize("beta", [0.5, 1.0])
def test_smooth_l1_is_torchs(beta):
    found, wanted = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(1))
    reference = torch.nn.functional.smooth_l1_loss(found, wanted, beta=beta, reduction="sum") / 4
    close(losses.smooth_l1_loss(found, wanted, beta), reference)


def test_devices_and_precisions(monkeypatch):
    assert runtime.chosen_device("cpu").type == "cpu"
    assert not runtime.uses_bf16("auto", torch.device("cpu"))
    with pytest.raises(ParamError, match="device must be one of"):
        runtime.chosen_device("gpu")
    with pytest.raises(ParamError, match="precision must be one of"):
        runtime.uses_bf16("half", torch.device("cpu"))
    if not torch.cuda.is_available():
        with pytest.raises(ParamError, match="no CUDA"):
            runtime.chosen_device("cuda")
    for survives in (True, False):
        monkeypatch.setattr(runtime, "_cpu_survives_bf16", lambda answer=survives: answer)
        if survives:
            assert runtime.uses_bf16("bf16", torch.device("cpu"))
        else:
            with pytest.raises(ParamError, match="no bfloat16 arithmetic"):
                runtime.uses_bf16("bf16", torch.device("cpu"))


def test_threads_are_set_back():
    before = torch.get_num_threads()
    with runtime.torch_threads(1):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def test_a_missing_torch_is_explained(monkeypatch):
    monkeypatch.setattr(runtime.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ParamError, match=r'GLaS is trained with PyTorch.*pip install "labelwood\[neural\]"'):
        runtime.require_torch("GLaS")
