"""Several processes that train a neural model together (gloo): that of one process but for rounding; one talks."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import labelwood as lw
from labelwood.data.madeup.synthetic import make_sparse_pair

pytestmark = pytest.mark.torch
TRAIN = """
import json, sys
import numpy as np
import labelwood as lw
from labelwood.data.madeup.synthetic import make_sparse_pair
from labelwood.models.neural import glas_training
from labelwood.models.neural.ranks import torchrun_ranks

rows, _ = make_sparse_pair(600, 1, 900, 150, labels_per_row=3, seed=1)
held = []
groups = glas_training._groups


def watched(network, settings):
    held.append(tuple(network.labels.weight.shape))
    return groups(network, settings)


glas_training._groups = watched
with torchrun_ranks() as ranks:
    for place, settings in enumerate(json.loads(sys.argv[1])):
        model = lw.GLaS(dim=16, epochs=2, validation=0.2, **settings).fit(rows)
        reached = {name: model.fitted_.history[name] for name in ("validations", "losses")}
        vectors = {"labels": model.label_vectors(), "rows": model.vectors(rows.x)}
        np.savez(f"{sys.argv[2]}.{place}.{ranks.rank}.npz", held=held[-1], **reached, **vectors)
"""
SAMPLED = {"full_softmax": 0, "keep": 0.8, "negatives": 20}
OTHERS = [
    {},
    {"loss": "margin", "regularizer": "laplacian", "positives": "one", "negatives": 20},
    {"regularizer": "gravity", "optimizer": "adam", "map": "linear"},
]
# Data parallel: every process has a share of the rows of a batch. Batches of 200 leave one of a single row.
TRAIN_ANY = """
import json, sys
import numpy as np
import labelwood as lw
from labelwood.data.madeup.synthetic import make_sparse_pair
from labelwood.models.neural import neuralxc, neuralxc_network, dxml_training
from labelwood.models.neural.elias.network import IndexNetwork
from labelwood.models.neural.ranks import torchrun_ranks

neuralxc.MOST_LABELS = neuralxc.MOST_FEATURES = 100  # sampled columns
rows, _ = make_sparse_pair(601, 1, 900, 150, labels_per_row=3, seed=1)
seen = []


def watched(place, name, n_rows):
    kept = getattr(place, name)

    def watching(*arguments, **named):
        seen.append(n_rows(arguments))
        return kept(*arguments, **named)

    setattr(place, name, watching)


watched(neuralxc_network.NeuralXCNetwork, "code_of_first", lambda given: len(given[1]))
watched(dxml_training.Regressor, "forward", lambda given: len(given[1]))
watched(IndexNetwork, "cluster_scores", lambda given: len(given[1]))
with torchrun_ranks() as ranks:
    for place, (name, settings) in enumerate(json.loads(sys.argv[1])):
        seen.clear()
        model = getattr(lw, name)(**settings).fit(rows)
        arrays = {key: array for key, array in model.fitted_.arrays().items() if array.dtype.kind == "f"}
        top = model.predict(rows.x, 5)
        np.savez(f"{sys.argv[2]}.{place}.{ranks.rank}.npz", n_computed=seen, TOP=top.scores, **arrays)
"""
NEURALXC = {"epochs": 2, "batch_size": 200}
ELIAS = {"dim": 16, "warm_epochs": 1, "stage1_epochs": 1, "stage2_epochs": 2, "batch_size": 200, "n_threads": 1}
DXML = {"epochs": 2, "hidden": 32, "n_models": 1, "batch_size": 200}
BY_ROWS = [["NeuralXC", NEURALXC], ["ELIAS", ELIAS], ["DXML", DXML]]
MORE_BY_ROWS = [
    ["NeuralXC", {**NEURALXC, "plain": True, "sampled": 40, "latent_weight": 0.1}],
    ["ELIAS", {**ELIAS, "optimizer": "adam", "residual": True, "label_every": 3, "swa_start": 0.5, "max_parents": 0}],
    ["DXML", {**DXML, "optimizer": "sgd", "dropout_at": "output", "input_dropout": 0.0}],
]


def torchrun(arguments, folder, n_processes=2):
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(n_processes), "--standalone"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [*command, *arguments], cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=300
    )


@pytest.mark.parametrize(
    "tried", [[SAMPLED], pytest.param(OTHERS, marks=pytest.mark.slow)], ids=["sampled labels", "other losses"]
)
def test_two_processes_train_the_model_of_one(tried, tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    told = json.dumps(tried)
    done = torchrun(["train.py", told, "two"], tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    subprocess.run([sys.executable, "train.py", told, "one"], cwd=tmp_path, check=True, timeout=300)
    for place, settings in enumerate(tried):
        one = np.load(tmp_path / f"one.{place}.0.npz")
        ranks = [np.load(tmp_path / f"two.{place}.{rank}.npz") for rank in (0, 1)]
        assert tuple(one["held"]) == (150, 16)
        for two in ranks:
            assert tuple(two["held"]) == (75, 16)  # half of the label vectors each
            for name in ("labels", "rows", "losses", "validations"):
                np.testing.assert_allclose(two[name], one[name], atol=1e-4, err_msg=f"{settings}: {name}")
        for name in ("labels", "rows"):
            assert np.array_equal(ranks[0][name], ranks[1][name]), settings


@pytest.mark.parametrize(
    "tried", [BY_ROWS, pytest.param(MORE_BY_ROWS, marks=pytest.mark.slow)], ids=["defaults", "other settings"]
)
def test_two_processes_share_the_rows_and_train_the_model_of_one(tried, tmp_path):
    (tmp_path / "train.py").write_text(TRAIN_ANY)
    told = json.dumps(tried)
    done = torchrun(["train.py", told, "two"], tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    subprocess.run([sys.executable, "train.py", told, "one"], cwd=tmp_path, check=True, timeout=300)
    for place, (name, settings) in enumerate(tried):
        one = np.load(tmp_path / f"one.{place}.0.npz")
        ranks = [np.load(tmp_path / f"two.{place}.{rank}.npz") for rank in (0, 1)]
        assert len(one["n_computed"])
        for rank, two in enumerate(ranks):
            # Every other row; of a batch with one row both compute it.
            own = [len(range(rank, n, 2)) if n > 1 else 1 for n in one["n_computed"]]
            assert two["n_computed"].tolist() == own, (name, settings)
            for part in one.files:
                if part == "TOP":
                    # Of two neighbours or labels that are equally near, rounding decides: few answers may differ.
                    differs = np.abs(two[part] - one[part]).max(axis=1) > 1e-3
                    assert differs.mean() <= 0.01, f"{name} {settings}: {np.count_nonzero(differs)} rows"
                elif part != "n_computed":
                    np.testing.assert_allclose(two[part], one[part], atol=1e-3, err_msg=f"{name} {settings}: {part}")
        for part in set(one.files) - {"n_computed"}:
            assert np.array_equal(ranks[0][part], ranks[1][part]), (name, settings, part)


@pytest.mark.slow
def test_the_first_process_alone_writes_and_talks(tmp_path):
    rows, _ = make_sparse_pair(600, 1, 900, 150, labels_per_row=3, seed=1)
    lw.write(rows, tmp_path / "rows.svm")
    command = ["-m", "labelwood", "train", "rows.svm", "--out", "model", "--set", "epochs=1", "--set", "dim=16"]
    done = torchrun([*command, "--model", "glas"], tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("trained glas on 600 rows with 150 labels") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"rows.svm", "model"}
    alone = lw.GLaS(dim=16, epochs=1).fit(lw.read(tmp_path / "rows.svm"))
    np.testing.assert_allclose(lw.load(tmp_path / "model").label_vectors(), alone.label_vectors(), atol=1e-4)
    refused = torchrun([*command[:-4], "--model", "linear-tree", "--force"], tmp_path)
    assert refused.returncode != 0
    assert (
        refused.stderr.count(
            "torchrun trains glas, dxml, neuralxc, elias only, but the model is linear-tree; start one process"
        )
        == 1
    )
