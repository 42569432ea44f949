"""What HierarchicalXC's classifiers see: codes of a neural autoencoder, and waves of a Gaussian kernel."""

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.errors import ModelFileError
from labelwood.models.persistence import restored, state_of
from labelwood.models.row_codes import RowCode, gaussian_waves
from labelwood.progress import SILENT

NEURAL = {"autoencoder": "neural", "encoding_dim": 8, "encoding_epochs": 3}
CODES = {
    "neural": pytest.param(NEURAL, marks=pytest.mark.torch),
    "kernel": {"kernel_features": 60},
    "linear code, kernel": {"encoding_dim": 6, "kernel_features": 60, "gamma": 2.0},
    "neural code, kernel": pytest.param({**NEURAL, "kernel_features": 60}, marks=pytest.mark.torch),
}


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(3)
    y = sparse.csr_matrix((random.random((120, 13)) < 0.2).astype(np.float32))
    x = sparse.csr_matrix((y.toarray() @ np.eye(13, 20) + 0.05 * random.random((120, 20))).astype(np.float32))
    return x, y


def test_waves_have_the_kernel_as_their_product():
    random = np.random.default_rng(1)
    rows = sparse.csr_matrix(random.normal(size=(30, 5)).astype(np.float32))
    waves, phases = gaussian_waves(rows, 20_000, 0.3, seed=2)
    code = RowCode(waves=waves, phases=phases).of(rows).toarray()
    dense = rows.toarray()
    distance = np.square(dense[:, None] - dense[None]).sum(axis=2)
    np.testing.assert_allclose(code @ code.T, np.exp(-0.3 * distance), atol=0.04)


def test_gamma_is_scikit_learns_unless_given():
    rows = sparse.csr_matrix(np.random.default_rng(1).normal(2.0, 3.0, size=(50, 4)).astype(np.float32))
    own, _ = gaussian_waves(rows, 9, None, seed=5)
    given, _ = gaussian_waves(rows, 9, 1 / (4 * rows.toarray().var()), seed=5)
    np.testing.assert_allclose(own, given, rtol=1e-4)
    assert np.isfinite(gaussian_waves(sparse.csr_matrix((3, 4), dtype=np.float32), 9, None, seed=5)[0]).all()


def test_a_kernel_tells_apart_what_no_line_does():
    """Label 0 on a ring around label 1."""
    random = np.random.default_rng(0)
    turn, inside = random.uniform(0, 2 * np.pi, 600), np.arange(600) % 2 == 0
    radius = np.where(inside, 0.4, 2.0) * random.uniform(0.8, 1.2, 600)
    x = sparse.csr_matrix(np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=1).astype(np.float32))
    y = sparse.csr_matrix(np.stack([~inside, inside], axis=1).astype(np.float32))
    linear = lw.HierarchicalXC(normalize=False).fit(x[:400], y[:400]).predict(x[400:], 1)
    kernel = lw.HierarchicalXC(kernel_features=200, normalize=False).fit(x[:400], y[:400]).predict(x[400:], 1)
    assert lw.evaluate(linear, y[400:], ks=[1])["P@1"] < 80
    assert lw.evaluate(kernel, y[400:], ks=[1])["P@1"] == 100


@pytest.mark.parametrize("settings", CODES.values(), ids=CODES)
def test_a_code_is_saved_and_explained(rows, settings):
    x, y = rows
    model = lw.HierarchicalXC(prune=0.0, **settings).fit(x, y)
    top = model.predict(x, 4)
    assert lw.evaluate(top, y, ks=[1])["P@1"] > 45  # by chance 20
    again = restored(*state_of(model.fitted_), "here")
    np.testing.assert_array_equal(again.predict(x, 4).scores, top.scores)
    np.testing.assert_array_equal(model.predict(x[5], 4).scores, top.scores[5:6])
    why = model.explain(x[5], int(top.labels[5, 0]))
    assert why.score == top.scores[5, 0]
    for node in why.nodes:
        parts = [part for part in why.contributions if part.node == node.node]
        assert [part.feature for part in parts] == [-1, -1]  # the bias, and the code as one
        assert sum(part.contribution for part in parts) == pytest.approx(node.margin)


@pytest.mark.torch
def test_the_neural_autoencoder_learns_to_rebuild(rows):
    import torch

    from labelwood.models.neural import input_autoencoder
    from labelwood.models.neural.neuralxc_network import targets

    x, _ = rows
    losses = []
    loss = input_autoencoder.InputAutoencoder.loss

    class Watched(input_autoencoder.InputAutoencoder):
        def loss(self, *given):
            found = loss(self, *given)
            losses.append(float(found.detach()))
            return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(input_autoencoder, "InputAutoencoder", Watched)
        stack = input_autoencoder.trained_encoder(x, (20, 16, 8), 200, 0, SILENT)
    assert losses[-1] < 0.8 * losses[0]
    assert [weight.shape for weight in stack.weights] == [(20, 16), (16, 8)]
    # The layers without torch give the code of the network.
    network = input_autoencoder.InputAutoencoder((20, 16, 8), "sigmoid", False)
    with torch.no_grad():
        first = torch.relu(torch.from_numpy(x.toarray()) @ network.table.weight + network.bias)
        np.testing.assert_allclose(network.stack().forward(x), network.encode(first).numpy(), atol=1e-5)
    several = targets(x, np.arange(5), 3, np.random.default_rng(0))
    assert several.values.shape[1] == len(several.weights)


def test_waves_that_do_not_fit_the_code_are_refused(rows):
    x, y = rows
    model = lw.HierarchicalXC(kernel_features=30).fit(x, y)
    arrays = {**model.fitted_.code.to_arrays(), "waves": np.zeros((7, 30), np.float32)}
    with pytest.raises(ModelFileError, match="waves of 7 numbers for codes of 20"):
        RowCode.from_arrays(arrays, 20, "hierarchicalxc")
