"""The training loop: schedules, accumulation, averaging, early stopping, checkpoints."""

import itertools

import numpy as np
import pytest

from labelwood.errors import ModelFileError, ParamError
from labelwood.progress import Callback

torch = pytest.importorskip("torch")

from labelwood.models.neural import training  # noqa: E402
from labelwood.models.neural.optimizers import SGD, ParameterGroup  # noqa: E402
from labelwood.models.neural.training import TrainingPlan, train  # noqa: E402

INPUTS = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
WANTED = INPUTS @ torch.tensor([[1.0], [-2.0], [0.5]])


class StopError(Exception):
    pass


def network(seed=1):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1))


def run(plan, *, net=None, validate=None, stop_at=None, groups=None, seen=None, **more):
    net = net or network()

    def batch_loss(rows, step):
        if step == stop_at:
            raise StopError
        if seen is not None:
            seen.append((step, rows.tolist()))
        return (net(INPUTS[rows]) - WANTED[rows]).square().mean()

    groups = groups(net) if groups else [ParameterGroup(list(net.parameters()), 0.02)]
    history = train(net, groups, batch_loss, 40, plan, validate=validate, **more)
    return net, history


def weights(net):
    return {name: tensor.numpy().copy() for name, tensor in net.state_dict().items()}


def same_weights(one, other):
    for name, array in weights(one).items():
        np.testing.assert_array_equal(array, weights(other)[name], err_msg=name)


def test_it_learns_and_visits_every_row_once_an_epoch():
    seen = []
    net, history = run(TrainingPlan(30, 7, seed=3, n_threads=1), seen=seen)
    assert history.losses[-1] < 0.3 * history.losses[0]
    assert len(history.losses) == 30
    assert [step for step, _ in seen] == list(range(30 * 6))
    for epoch in range(30):
        assert sorted(row for _, rows in seen[epoch * 6 : epoch * 6 + 6] for row in rows) == list(range(40))
    assert not net.training


def test_same_seed_same_weights_and_the_callers_random_numbers_are_left_alone():
    torch.manual_seed(9)
    expected = torch.rand(1)
    start = network()
    torch.manual_seed(9)
    run(TrainingPlan(2, 8, seed=1), net=start)
    assert torch.equal(torch.rand(1), expected)
    same_weights(run(TrainingPlan(2, 8, seed=1))[0], run(TrainingPlan(2, 8, seed=1))[0])
    assert not np.array_equal(
        weights(run(TrainingPlan(2, 8, seed=1))[0])["0.weight"], weights(run(TrainingPlan(2, 8, seed=2))[0])["0.weight"]
    )


@pytest.mark.parametrize("schedule", ["linear", "cosine", "constant"])
def test_learning_rates(schedule, monkeypatch):
    rates = []

    class Spy(SGD):
        def step(self):
            rates.append(self.lr)

    monkeypatch.setattr(training, "made_optimizer", lambda group: Spy(group.parameters, group.lr))
    run(TrainingPlan(5, 10, warmup=0.25, schedule=schedule))
    assert len(rates) == 20
    np.testing.assert_allclose(rates[:4], 0.02 * np.arange(1, 5) / 5, rtol=1e-6)
    assert max(rates) == pytest.approx(0.02)
    if schedule == "constant":
        assert rates[5:] == [0.02] * 15
    else:
        assert all(a >= b for a, b in itertools.pairwise(rates[5:]))
        assert rates[-1] < 0.1 * 0.02 + 1e-9
        assert rates[5 + 15 // 2] == pytest.approx(0.01, rel=0.2)


def test_accumulation_equals_larger_batches():
    def no_dropout():
        net = network()
        net[1].p = 0.0
        return net

    order = {"seed": 4, "schedule": "constant", "warmup": 0.0}
    large = run(TrainingPlan(3, 20, **order), net=no_dropout())[0]
    small = run(TrainingPlan(3, 10, accumulate=2, **order), net=no_dropout())[0]
    for name, array in weights(large).items():
        np.testing.assert_allclose(array, weights(small)[name], rtol=1e-4, atol=1e-5)


def test_sparse_gradients_accumulate():
    from scipy import sparse

    from labelwood.models.neural.encoders import BagEncoder
    from labelwood.models.neural.sampling import row_batch

    x = sparse.random(40, 20, 0.2, "csr", np.float32, random_state=1)
    found = []
    for size, accumulate in ((20, 1), (5, 4)):
        torch.manual_seed(2)
        net = BagEncoder(20, 6, dropout=0.0)
        groups = [
            ParameterGroup(net.table_parameters(), 0.01, "sparse_adam"),
            ParameterGroup(net.dense_parameters(), 0.01),
        ]
        plan = TrainingPlan(3, size, accumulate=accumulate)
        train(net, groups, lambda rows, step, net=net: (net(row_batch(x, rows)) - 1).square().mean(), 40, plan)
        found.append(weights(net))
    for name, array in found[0].items():
        np.testing.assert_allclose(array, found[1][name], rtol=1e-3, atol=1e-4)


def test_a_group_may_be_updated_less_often():
    def groups(net):
        return [
            ParameterGroup(list(net[0].parameters()), 0.1, "sgd"),
            ParameterGroup(list(net[2].parameters()), 0.1, every=4),
        ]

    start = weights(network())
    net, _ = run(TrainingPlan(1, 14), groups=groups)  # three updates
    assert not np.array_equal(weights(net)["0.weight"], start["0.weight"])
    np.testing.assert_array_equal(weights(net)["2.weight"], start["2.weight"])


def test_early_stopping_keeps_the_best_weights():
    values = iter([1.0, 5.0, 4.0, 5.0, 9.0])
    at_best = {}
    net = network()

    def validate():
        value = next(values)
        assert not net.training
        if value == 5.0 and not at_best:
            at_best.update(weights(net))
        return value

    net, history = run(TrainingPlan(20, 10, patience=2), net=net, validate=validate)
    assert history.validations == [1.0, 5.0, 4.0, 5.0]
    assert history.stopped_early
    assert history.best_epoch == 1
    for name, array in at_best.items():
        np.testing.assert_array_equal(weights(net)[name], array)


def test_averaging_gives_the_mean_of_the_samples():
    samples = []
    net = network()
    seen = []

    def batch_loss(rows, step):
        samples.append(weights(net))
        seen.append(step)
        return (net(INPUTS[rows]) - WANTED[rows]).square().mean()

    plan = TrainingPlan(4, 10, swa_start=0.5, swa_every=2)
    train(net, [ParameterGroup(list(net.parameters()), 0.02)], batch_loss, 40, plan)
    # Updates 0..15, averaging from 8 on after every second one: the weights before batches 10, 12, 14, and the last.
    last = run(TrainingPlan(4, 10))[0]
    taken = [samples[10], samples[12], samples[14], weights(last)]
    for name, array in weights(net).items():
        np.testing.assert_allclose(array, np.mean([one[name] for one in taken], axis=0), rtol=1e-5, atol=1e-6)


def test_progress_tells_loss_and_validation():
    reports = []
    run(
        TrainingPlan(2, 10),
        validate=lambda: 12.5,
        progress=Callback(lambda *report: reports.append(report)),
    )
    assert reports[0] == ("training, epoch 1 of 2", 0, 4)
    assert any(what.startswith("training, epoch 2 of 2 (loss ") for what, _, _ in reports)
    assert any(what.endswith(", validation P@1 12.50)") for what, _, _ in reports)
    assert reports[-1][1:] == (4, 4)


def test_a_loss_that_is_no_number_ends_training_with_advice():
    net = network()
    groups = [ParameterGroup(list(net.parameters()), 0.02)]
    with pytest.raises(ParamError, match=r"the loss is nan in epoch 1, batch 1; a smaller learning rate"):
        train(net, groups, lambda rows, step: net(INPUTS[rows]).sum() * float("nan"), 40, TrainingPlan(1, 10))


def test_unknown_schedules_are_refused():
    with pytest.raises(ParamError, match="schedule must be one of"):
        run(TrainingPlan(1, 10, schedule="step"))


def two_speeds(net):
    return [
        ParameterGroup(list(net[0].parameters()), 0.02, "sparse_adam"),
        ParameterGroup(list(net[2].parameters()), 0.05, "sgd", momentum=0.9, every=3),
    ]


@pytest.mark.parametrize("stop_at", [0, 7, 13, 19])
@pytest.mark.parametrize("every", [0, 1, 3])
def test_an_interrupted_run_goes_on_as_if_nothing_had_happened(tmp_path, stop_at, every):
    settings = {"swa_start": 0.4, "swa_every": 3, "seed": 5, "n_threads": 1}

    def plan(folder=None):
        return TrainingPlan(5, 10, checkpoint=folder, checkpoint_every=every, **settings)

    def validator(net):
        return lambda: -float((net(INPUTS) - WANTED).square().mean())

    net = network()
    whole, expected = run(plan(), net=net, groups=two_speeds, validate=validator(net))
    net = network()
    with pytest.raises(StopError):
        run(plan(tmp_path / "run"), net=net, stop_at=stop_at, groups=two_speeds, validate=validator(net))
    net, seen = network(), []
    resumed, history = run(plan(tmp_path / "run"), net=net, groups=two_speeds, validate=validator(net), seen=seen)
    same_weights(resumed, whole)
    assert (history.losses, history.validations, history.best_epoch) == (
        expected.losses,
        expected.validations,
        expected.best_epoch,
    )
    first = seen[0][0]
    assert first == (stop_at // 4 * 4 if every == 0 else stop_at // 4 * 4 + stop_at % 4 // every * every)
    # A finished run is not repeated.
    net, seen = network(), []
    same_weights(run(plan(tmp_path / "run"), net=net, groups=two_speeds, validate=validator(net), seen=seen)[0], whole)
    assert not seen


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    run(TrainingPlan(1, 10, checkpoint=tmp_path / "run", identity="one"))
    for other in (
        TrainingPlan(1, 10, checkpoint=tmp_path / "run", identity="two"),
        TrainingPlan(2, 10, checkpoint=tmp_path / "run", identity="one"),
    ):
        with pytest.raises(ParamError, match="other parameters or data"):
            run(other)


def test_folders_that_are_no_checkpoints_are_left_alone(tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(ParamError, match=r"holds 'precious.txt', which is no checkpoint"):
        run(TrainingPlan(1, 10, checkpoint=tmp_path))
    with pytest.raises(ParamError, match="is a file"):
        run(TrainingPlan(1, 10, checkpoint=tmp_path / "precious.txt"))
    assert (tmp_path / "precious.txt").read_text() == "mine"


def test_damaged_checkpoints_are_refused(tmp_path):
    run(TrainingPlan(1, 10, checkpoint=tmp_path / "run"))
    path = tmp_path / "run" / "state" / "arrays.safetensors"
    raw = bytearray(path.read_bytes())
    raw[-3] ^= 1
    path.write_bytes(bytes(raw))
    with pytest.raises(ModelFileError, match="was changed after it was saved"):
        run(TrainingPlan(1, 10, checkpoint=tmp_path / "run"))


def test_what_a_killed_save_left_is_cleared_away(tmp_path):
    left = tmp_path / "run" / ".state.saving-1234"
    left.mkdir(parents=True)
    (left / "arrays.safetensors").write_bytes(b"half")
    run(TrainingPlan(1, 10, checkpoint=tmp_path / "run"))
    assert [entry.name for entry in (tmp_path / "run").iterdir()] == ["state"]
