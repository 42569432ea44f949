"""ELIAS on a device: the torch search equals the native one, and a training step reads nothing back to the host.

There is no GPU here. Tensors on torch's "meta" device have shapes and no values, so whatever looks at a value or copies
it to the host (.item(), .cpu(), .numpy(), a mask as an index) raises: a step that runs there does none of it.
"""

import numpy as np
import pytest
from scipy import sparse

from labelwood.models.neural.elias.settings import ELIASParams
from labelwood.models.neural.elias.sizes import index_sizes
from labelwood.progress import SILENT

torch = pytest.importorskip("torch", reason="torch is an optional dependency")

from labelwood.matrices import normalized_rows  # noqa: E402
from labelwood.models.neural.elias.staged import Trainer  # noqa: E402
from labelwood.models.neural.optimizers import Adam, EvenSGD, made_optimizer  # noqa: E402
from labelwood.models.neural.training import ParameterGroup, TrainingPlan, _Run  # noqa: E402

N_LABELS = 60
SETTINGS = {"dim": 8, "n_clusters": 8, "beam": 3, "kappa": 20, "shortlist": 25, "dropout": 0.0, "n_threads": 1}


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    y = random.uniform(size=(50, N_LABELS)) < 0.06
    y[0] = False  # a row without labels
    y[1] = np.arange(N_LABELS) < 24  # and one whose labels nearly fill its shortlist
    x = sparse.csr_matrix(y @ random.uniform(size=(N_LABELS, 30)) + random.uniform(size=(50, 30)))
    return normalized_rows(x.astype(np.float32)), sparse.csr_matrix(y.astype(np.float32))


def staged(rows, stage, **changes):
    """A trainer and its network in one of the stages, its weights random."""
    settings = ELIASParams(**{**SETTINGS, **changes})
    trainer = Trainer(*rows, index_sizes(N_LABELS, settings), settings, 0, SILENT)
    torch.manual_seed(1)
    partition = trainer._partition(None)
    network = trainer._network(partition)
    torch.nn.init.normal_(network.label_weight)
    if stage == 2:
        trainer._use_learned_edges(network, trainer._learned(network), partition)
    return trainer, network.train()


@pytest.mark.parametrize("teach", [False, True])
@pytest.mark.parametrize("max_parents", [0, 2])
@pytest.mark.parametrize("stage", [1, 2])
@pytest.mark.parametrize("room", [25, N_LABELS])
def test_the_search_on_a_device_equals_the_native_one(rows, stage, teach, max_parents, room):
    _, network = staged(rows, stage, max_parents=max_parents)
    clusters = network.cluster_scores(network.encoder(_batch(rows)))
    native = network.native_shortlists(clusters, rows[1], room, teach, 1)
    torch_made = network.device_shortlists(clusters, rows[1], room, teach)
    np.testing.assert_array_equal(torch_made.labels.numpy(), native.labels)
    np.testing.assert_array_equal(torch_made.paths.numpy(), native.paths)
    np.testing.assert_array_equal(torch_made.truth.numpy(), native.truth)
    assert torch_made.most_labels == native.most_labels
    assert (native.labels[0] >= 0).any()


@pytest.mark.parametrize("stage", [1, 2])
def test_losses_and_gradients_on_a_device_equal_those_of_the_cpu(rows, stage):
    gradients = []
    for on_device in (False, True):
        _, network = staged(rows, stage)
        vectors = network.encoder(_batch(rows))
        clusters = network.cluster_scores(vectors)
        made = network.device_shortlists if on_device else network.native_shortlists
        batch = made(clusters, rows[1], 25, True) if on_device else made(clusters, rows[1], 25, True, 1)
        losses = network.losses(vectors, clusters, batch, 1)
        sum(losses).backward()
        gradients.append([loss.detach().numpy() for loss in losses] + [_dense(p.grad) for p in network.parameters()])
    for cpu, device in zip(*gradients, strict=True):
        np.testing.assert_allclose(device, cpu, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("stage", [1, 2])
@pytest.mark.parametrize("optimizer", ["even", "adam"])
def test_steps_on_a_device_read_nothing_back(rows, stage, optimizer):
    trainer, network = staged(rows, stage, optimizer=optimizer)
    _without_sparse_gradients(network).to("meta")
    device = torch.device("meta")
    groups = [ParameterGroup([p], 0.01, "even_sgd" if optimizer == "even" else "adamw") for p in network.parameters()]

    def batch_loss(numbers, step):
        return trainer._batch_loss(network, numbers, 0.05)

    run = _Run(network, groups, batch_loss, 50, TrainingPlan(2, 10), device)
    order = np.arange(50)
    for _ in range(3):
        run._update(order)
    assert len(run.unread) == 3  # losses wait on the device
    with pytest.raises((RuntimeError, NotImplementedError)):  # that a look at a value would have been seen
        run._read_losses()


def test_nothing_is_computed_in_double_precision(rows):
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = set()

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            for tensor in out if isinstance(out, (tuple, list)) else (out,):
                if isinstance(tensor, torch.Tensor):
                    seen.add(tensor.dtype)
            return out

    trainer, network = staged(rows, 2)
    _without_sparse_gradients(network).to("meta")
    optimizers = [made_optimizer(ParameterGroup([p], 0.01, "even_sgd")) for p in network.parameters()]
    with Watch():
        trainer._batch_loss(network, np.arange(20), 0.05).backward()
        for optimizer in optimizers:
            optimizer.step()
    assert torch.float32 in seen
    assert torch.float64 not in seen


def test_even_steps_on_a_device_are_those_of_the_cpu():
    torch.manual_seed(0)
    one, other = (torch.nn.Parameter(torch.ones(4, 3)) for _ in range(2))
    cpu, device = EvenSGD([one], 0.1, 0.01), EvenSGD([other], 0.1, 0.01)
    device.state[0] |= {"step": torch.zeros((), dtype=torch.int64), "square": torch.zeros(1)}
    for scale in (1.0, 2.0, 400.0, 0.0, 1.0):  # the third is far above the usual size
        gradient = scale * torch.randn(4, 3)
        one.grad = gradient
        cpu.step()
        device.state[0]["step"] += 1
        with torch.no_grad():
            device._device_update(other, None, gradient, device.state[0])
        torch.testing.assert_close(other, one, rtol=1e-5, atol=1e-6)
    assert isinstance(made_optimizer(ParameterGroup([one], 0.1)), Adam)


def _batch(rows):
    from labelwood.models.neural.sampling import row_batch

    return row_batch(rows[0], np.arange(rows[0].shape[0]))


def _without_sparse_gradients(network):
    """How many rows of a table occur is a value that torch reads to merge them; "meta" has no sparse gradients."""
    network.encoder.table.sparse = network.sparse_gradients = False
    return network


def _dense(gradient):
    return None if gradient is None else gradient.to_dense().numpy()
