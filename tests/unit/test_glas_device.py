"""GLaS on a device: the loss of a batch and its gradients run on torch's "meta" device, where no value can be read."""

import numpy as np
import pytest
from scipy import sparse

torch = pytest.importorskip("torch", reason="torch is an optional dependency")

from labelwood.labelspace.affinity import LabelAffinity  # noqa: E402
from labelwood.matrices import normalized_rows  # noqa: E402
from labelwood.models.neural.glas_network import BatchLoss, GlasNetwork  # noqa: E402
from labelwood.models.neural.glas_params import GLaSParams  # noqa: E402


@pytest.mark.parametrize("loss", ["softmax", "margin", "mined"])
@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("regularizer", ["glas", "spreadout", "gravity", "none"])
@pytest.mark.parametrize("positives", ["all", "one"])
def test_a_batch_reads_nothing_back(loss, sampled, regularizer, positives):
    random = np.random.default_rng(0)
    y = sparse.csr_matrix((random.uniform(size=(30, 12)) < 0.2).astype(np.float32))
    x = normalized_rows(sparse.csr_matrix(random.uniform(size=(30, 8)).astype(np.float32)))
    settings = GLaSParams(loss=loss, regularizer=regularizer, positives=positives, dim=4, negatives=5)
    network = GlasNetwork(8, 12, settings, sampled, 4.0)
    network.labels.sparse = network.map.first.sparse = False  # "meta" has no sparse gradients
    network.to("meta")
    affinity = LabelAffinity(y, settings.adjacency) if regularizer == "glas" else None
    value = BatchLoss(network, x, y, affinity, settings, sampled, "meta")(np.arange(20), 0)
    assert value.device.type == "meta"
    value.backward()
    assert network.labels.weight.grad is not None
    with pytest.raises((RuntimeError, NotImplementedError)):  # that a look at a value would have been seen
        float(value)
