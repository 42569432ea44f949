"""The networks inside the ensemble: their steps, their answers from bytes, where they are used."""

import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood import _native
from labelwood.errors import ModelFileError
from labelwood.matrices import normalized_rows
from labelwood.models.ensemble import network
from labelwood.models.ensemble.network import Network, in_steps, squares_of, training_memory, unit_steps
from labelwood.models.fit_input import checked_input

WORD = (1 << 64) - 1


def either(n_rows=400, seed=0):
    """Rows that say one of words 0 and 1 and one of words 2 and 3; the label tells whether both or neither is the
    second of its two: no weighted sum of words can tell. Words 4 to 9 say nothing.
    """
    random = np.random.default_rng(seed)
    first, second = random.integers(0, 2, n_rows), random.integers(0, 2, n_rows)
    x = np.zeros((n_rows, 10), np.float32)
    x[np.arange(n_rows), first] = x[np.arange(n_rows), 2 + second] = 1
    x[np.arange(n_rows), random.integers(4, 10, n_rows)] = 0.5
    y = np.zeros((n_rows, 3), np.float32)
    y[np.arange(n_rows), (first == second).astype(int)] = 1
    y[:, 2] = first
    return sparse.csr_matrix(x), sparse.csr_matrix(y)


def mixed(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def random_bits(seed, item, step, n):
    """The first n bits that native/rng.hpp draws."""
    state = mixed(seed ^ mixed((item + 0x9E3779B97F4A7C15) & WORD)) ^ mixed((step * 0xD1342543DE82EF95 + 1) & WORD)
    bits = []
    while len(bits) < n:
        state = (state + 0x9E3779B97F4A7C15) & WORD
        drawn = mixed(state)
        bits += [drawn >> place & 1 for place in range(64)]
    return np.array(bits[:n])


def test_a_step_is_adam_on_the_logistic_loss():
    random = np.random.default_rng(1)
    n, n_hidden, rate, seed = 7, 70, 0.01, 5
    values = np.where(random.random((n, 9)) < 0.4, random.random((n, 9)), 0).astype(np.float32)
    values[:, 8] = 0  # nobody has the last feature
    x = sparse.csr_matrix(values)
    y = sparse.csr_matrix((random.random((n, 5)) < 0.4).astype(np.float32))
    first, second = random.standard_normal((9, n_hidden)), random.standard_normal((5, n_hidden)) / 8
    weights = [first, random.standard_normal(n_hidden) / 9, second, random.standard_normal(5)]
    ours = [array.astype(np.float32) for array in weights]
    _native.train_network(
        x.indptr.astype(np.int64), x.indices, x.data, y.indptr.astype(np.int64), y.indices, 1, 16, rate, seed, 2, *ours
    )
    kept = np.array([random_bits(seed + 1, row, 0, n_hidden) for row in range(n)])
    placed = x @ weights[0] + weights[1]
    hidden = 2 * kept * np.maximum(placed, 0)
    wrong = (1 / (1 + np.exp(-(hidden @ second.T + weights[3]))) - y.toarray()) / n
    pull = 2 * kept * (placed > 0) * (wrong @ second)
    gradients = [x.T @ pull, pull.sum(axis=0), wrong.T @ hidden, wrong.sum(axis=0)]
    for before, after, gradient in zip(weights, ours, gradients, strict=True):
        # The first step of Adam has the length of the rate, wherever there is a gradient.
        wanted = before - rate * gradient / (np.abs(gradient) + 1e-8)
        sure = (np.abs(gradient) > 1e-5) | (gradient == 0)
        np.testing.assert_allclose(after[sure], wanted[sure], atol=2e-5)
    np.testing.assert_array_equal(ours[0][8], first[8].astype(np.float32))


def test_it_tells_what_no_sum_of_words_can():
    x, y = either()
    new_x, new_y = either(seed=1)
    networks = Network.of(x, y, 0, 1)
    assert networks.first.shape == (10, network.N_NETWORKS * network.N_HIDDEN)
    told = networks.best(new_x, 3, 1).to_csr(3)
    parity = np.asarray(told[:, 1].todense() > told[:, 0].todense()).ravel()
    assert np.mean(parity == new_y.toarray()[:, 1]) > 0.95
    linear = labelwood.OneVsAll(n_threads=1).fit(x, y).predict(new_x, 3).to_csr(3)
    assert np.mean(np.asarray(linear[:, 1].todense() > linear[:, 0].todense()).ravel() == new_y.toarray()[:, 1]) < 0.7


def test_answers_are_those_of_its_tables():
    x, y = either()
    networks = Network.of(x, y, 0, 1)
    rows = normalized_rows(x[:30])
    hidden = np.maximum(rows @ (networks.first * networks.first_scale[:, None]) + networks.first_bias, 0)
    margins = hidden @ (networks.second * networks.second_scale[:, None]) + networks.second_bias
    top = networks.best(3 * x[:30], 2, 1)
    order = np.argsort(-margins, axis=1)[:, :2]
    np.testing.assert_array_equal(top.labels, order)
    chances = 1 / (1 + np.exp(-np.take_along_axis(margins, order, 1)))
    np.testing.assert_allclose(top.scores, chances, atol=1e-4)
    wider = sparse.hstack([x[:30], np.ones((30, 4), np.float32)], format="csr", dtype=np.float32)
    np.testing.assert_array_equal(networks.best(wider, 2, 1).scores, networks.best(x[:30], 2, 1).scores)
    one = networks.best(x[7], 2, 1)
    np.testing.assert_array_equal(one.scores[0], networks.best(x[:30], 2, 2).scores[7])


def test_steps_add_little_noise_and_follow_what_counts():
    random = np.random.default_rng(0)
    lines = random.standard_normal((40, 300)).astype(np.float32) * random.uniform(0.1, 3, (40, 1)).astype(np.float32)
    steps, scale = in_steps(lines)
    wrong = lines - steps * scale[:, None]
    assert np.abs(wrong).max() <= scale.max() * 0.5001
    np.testing.assert_allclose(scale, network.STEP * np.sqrt(np.square(lines).mean(axis=1)), rtol=1e-5)
    use = random.uniform(0.01, 1, 40)
    use[7] = 0
    steps, scale = in_steps(lines, use)
    counted = use > 0
    assert np.ptp(scale[counted] ** 2 * use[counted]) < 1e-5 * np.max(scale[counted] ** 2 * use[counted])
    assert not steps[7].any()  # what nobody uses is 0
    noise = (use[:, None] * np.square(lines - steps * scale[:, None])).sum()
    assert noise < 1.1 * network.STEP**2 / 12 * (use[:, None] * np.square(lines)).sum()
    spike = np.zeros((2, 100_000), np.float32)
    spike[0, 3] = 5
    steps, scale = in_steps(spike)
    assert steps[0, 3] * scale[0] == pytest.approx(5)
    assert not steps[1].any()
    assert in_steps(np.zeros((0, 4), np.float32))[0].shape == (0, 4)


def test_same_bytes_for_any_number_of_threads():
    x, y = either(n_rows=150)
    ours, theirs = (Network.of(x, y, 3, n_threads).arrays() for n_threads in (1, 2))
    assert all(ours[name].tobytes() == theirs[name].tobytes() for name in network.SCHEMA)


def test_too_much_work_has_no_network(monkeypatch):
    x, y = either(n_rows=100)
    assert training_memory(100, 10, 3) > 0
    monkeypatch.setattr(network, "MOST_WORK", 299)
    assert Network.of(x, y, 0, 1) is None
    assert training_memory(100, 10, 3) == 0
    monkeypatch.setattr(network, "MOST_WORK", 300)
    monkeypatch.setattr(network, "MOST_FEATURES", 9)
    assert Network.of(x, y, 0, 1) is None


def test_the_ensemble_uses_saves_and_explains_it(tmp_path, monkeypatch):
    monkeypatch.setattr(network, "N_HIDDEN", 32)
    x, y = either(n_rows=1200)
    model = labelwood.Ensemble(n_threads=1, ranker_rows=300).fit(x, y)
    assert model.structure()["hidden units of networks"] == network.N_NETWORKS * 32
    model.save(tmp_path / "m")
    kept = labelwood.load(tmp_path / "m")
    top, again = model.predict(x[:20], 2), kept.predict(x[:20], 2)
    np.testing.assert_array_equal(top.labels, again.labels)
    np.testing.assert_array_equal(top.scores, again.scores)
    said = {c.side for c in kept.explain(x[0], int(top.labels[0, 0])).contributions}
    assert any(side.startswith("the network says 0.") or side == "the network says 1.00" for side in said)
    arrays = kept.fitted_.ranked.sides.network.arrays()
    with pytest.raises(ModelFileError, match="other features or labels"):
        Network.restore(arrays, x.shape[1] - 1, checked_input(x, y).trained_on())


def test_the_kernels_refuse_what_does_not_fit():
    x, y = either(n_rows=50)
    tables = Network.of(x, y, 0, 1).arrays()
    asked = {
        "starts": x.indptr.astype(np.int64), "columns": x.indices, "values": x.data, "n_threads": 1,
        "labels": np.zeros((50, 2), np.int32), "scores": np.zeros((50, 2), np.float32),
    }  # fmt: skip
    _native.ask_network(**tables, **asked)
    with pytest.raises(ValueError, match="tables do not fit"):
        _native.ask_network(**{**tables, "second": tables["second"][:-1]}, **asked)
    with pytest.raises(ValueError, match="row pointers"):
        _native.ask_network(**tables, **{**asked, "columns": x.indices[:-1], "values": x.data[:-1]})
    with pytest.raises(ValueError, match="columns rise"):
        _native.ask_network(**tables, **{**asked, "columns": -x.indices})


def test_unit_steps_stand_for_lines_of_length_one():
    lines = np.random.default_rng(0).standard_normal((50, 64)).astype(np.float32)
    lines /= np.linalg.norm(lines, axis=1, keepdims=True)
    lines[7] = 0
    steps, scale = unit_steps(lines)
    stored = steps * scale[:, None]
    np.testing.assert_allclose(np.linalg.norm(np.delete(stored, 7, axis=0), axis=1), 1, rtol=1e-6)
    assert not stored[7].any()
    assert np.delete((stored * lines).sum(axis=1), 7).min() > 0.98


def test_squares_of_columns_count_the_entries_that_are_not_stored():
    x = sparse.random(30, 8, 0.3, "csr", np.float32, random_state=0)
    np.testing.assert_allclose(squares_of(x), np.square(x.toarray().astype(np.float64)).mean(axis=0))
    assert squares_of(x[:0]).tolist() == [0] * 8
