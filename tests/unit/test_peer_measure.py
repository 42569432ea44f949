"""The peer benchmark's own arithmetic: it must judge every tool as labelwood's metrics do."""

import argparse
import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import labelwood

PEERS = Path(__file__).resolve().parents[2] / "benchmarks" / "peers"


@pytest.fixture
def peers(monkeypatch):
    """Import a module of benchmarks/peers, which are scripts beside each other and no package."""
    monkeypatch.syspath_prepend(str(PEERS))
    before = set(sys.modules)
    yield importlib.import_module
    for name in ("measure", "compare", "environments", "fasttext_options"):
        if name not in before:
            sys.modules.pop(name, None)


def random_scores(rng, n_rows, n_labels):
    dense = rng.integers(0, 4, (n_rows, n_labels)).astype(np.float32)  # few values: many ties, many empty cells
    dense[0] = 0
    return sparse.csr_matrix(dense)


@pytest.mark.parametrize("seed", range(5))
def test_top_of_csr_equals_a_plain_sort(peers, seed):
    scores = random_scores(np.random.default_rng(seed), 20, 12)
    top = peers("measure").top_of_csr(scores, 10)
    for i, row in enumerate(scores.toarray()):
        wanted = sorted(np.flatnonzero(row), key=lambda label: (-row[label], label))[:10]
        assert top[i].tolist() == wanted + [-1] * (10 - len(wanted))


def test_top_of_lists_takes_labels_and_pairs(peers):
    top = peers("measure").top_of_lists([[3, 1, 2], [(5, 0.9)], []], 2)
    assert top.tolist() == [[3, 1], [5, -1], [-1, -1]]


@pytest.mark.parametrize("seed", range(5))
def test_accuracy_equals_labelwood_evaluate(peers, seed):
    rng = np.random.default_rng(seed)
    measure = peers("measure")
    right = (rng.random((30, 120)) < 0.04).astype(np.float32)
    right[3] = 0  # a row without labels counts as 0, in R@k too
    truth = sparse.csr_matrix(right)
    top = measure.top_of_csr(random_scores(rng, 30, 120), 100)
    assert (top < 0).any()
    ours = measure.accuracy(top, truth)
    scores = np.where(top < 0, 0, np.linspace(1, 0.1, 100)).astype(np.float32)
    theirs = labelwood.evaluate(labelwood.TopK(top.astype(np.int32), scores), truth)
    assert list(ours) == ["P@1", "P@3", "P@5", "R@10", "R@100"]
    for name, value in ours.items():
        assert value == pytest.approx(theirs[name], abs=6e-4)


def test_read_matrix_gives_sorted_unit_rows_and_keeps_empty_ones(peers, tmp_path):
    x = sparse.csr_matrix((np.array([4.0, 3.0]), np.array([2, 0]), np.array([0, 2, 2])), shape=(2, 3))
    for name in ("X.test.npz", "Y.test.npz"):
        sparse.save_npz(tmp_path / name, x)
    measure = peers("measure")
    read = measure.read_matrix(tmp_path, "X.test.npz")
    assert read.dtype == np.float32
    assert read.indices.tolist() == [0, 2]
    np.testing.assert_allclose(read.toarray(), [[0.6, 0, 0.8], [0, 0, 0]], rtol=1e-6)
    np.testing.assert_allclose(measure.read_matrix(tmp_path, "Y.test.npz").toarray(), [[3, 0, 4], [0, 0, 0]])


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak can be reset on Linux only")
def test_the_peak_is_of_training_alone(peers):
    measure = peers("measure")
    large = np.ones(200 * 2**20 // 8)
    before = measure.peak_rss_mb()
    del large
    measure.forget_peak()
    after = measure.peak_rss_mb()
    assert after < before - 100
    large = np.ones(200 * 2**20 // 8)
    assert measure.peak_rss_mb() > after + 100
    assert large[0] == 1


def test_options_must_be_known_assignments(peers):
    measure = peers("measure")
    assert measure.parse_options(["a=1", "b=x=y"]) == {"a": "1", "b": "x=y"}
    with pytest.raises(SystemExit, match="key=value, but got 'a'"):
        measure.parse_options(["a"])
    with pytest.raises(SystemExit, match=r"pecos has no option beam; known: mmap"):
        measure.refuse_unknown({"beam": "1"}, ["mmap"], "pecos")


def test_tools_and_labelwood_texts_become_runs(peers):
    compare = peers("compare")
    assert [run.title for run in compare.peer_runs("pecos,omikuji")] == ["pecos", "omikuji-parabel", "omikuji-bonsai"]
    assert compare.peer_runs("") == []
    with pytest.raises(SystemExit, match=r"unknown tool annif; known: pecos, "):
        compare.peer_runs("annif")
    run = compare.labelwood_run("one-vs-all C=2")
    assert run.options == ("model=one-vs-all", "C=2")
    assert run.file_name == "labelwood_model=one-vs-all_C=2.json"
    assert compare.labelwood_run("balance=0").options == ("balance=0",)


def test_ratios_and_differences_against_pecos(peers):
    compare = peers("compare")
    pecos = {"title": "pecos", "train_cpu_s": 20.0, "single_p50_ms": 0.6, "P@1": 90.0, "R@100": 80.0}
    ours = {"title": "ours", "train_cpu_s": 5.0, "single_p50_ms": 0.3, "fast_p50_ms": 0.06, "P@1": 90.5}
    header, first, second = compare.against([pecos, ours], pecos)
    cells = dict(zip(header, second, strict=True))
    assert (cells["train CPU s"], cells["p50 ms"], cells["fast p50"]) == ("0.250x", "0.500x", "0.100x")
    assert (cells["P@1"], cells["R@100"], cells["load s"]) == ("+0.50", "", "")
    assert dict(zip(header, first, strict=True))["P@1"] == "+0.00"


def test_one_vs_all_is_measured_end_to_end(peers, tmp_path):
    rng = np.random.default_rng(0)
    y = (rng.random((160, 6)) < 0.3).astype(np.float32)
    x = np.hstack([y, rng.random((160, 4)) < 0.5]).astype(np.float32)
    for part, rows in (("train", slice(0, 40)), ("test", slice(40, 160))):
        sparse.save_npz(tmp_path / f"X.{part}.npz", sparse.csr_matrix(x[rows]))
        sparse.save_npz(tmp_path / f"Y.{part}.npz", sparse.csr_matrix(y[rows]))
    command = [sys.executable, str(PEERS / "run_labelwood.py"), str(tmp_path), "--k", "5"]
    command += ["--set", "model=one-vs-all", "C=2"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    figures = json.loads(done.stdout)
    assert figures["options"] == {"model": "one-vs-all", "C": "2"}
    assert figures["train_cpu_s"] > 0
    assert figures["peak_rss_mb"] >= figures["rss_before_training_mb"] > 10
    assert figures["model_bytes"] > 100
    assert figures["single_rows"] == 20
    assert 0 < figures["single_p50_ms"] <= figures["single_p99_ms"]
    assert figures["P@1"] > 60


def test_both_sides_of_the_fasttext_comparison_get_the_same_settings(peers):
    options = peers("fasttext_options")
    parser = argparse.ArgumentParser()
    options.add_training_options(parser)
    given = parser.parse_args(["--dim", "10", "--rate", "0.1", "--min-count", "3"])
    assert (given.dim, given.rate, given.min_count) == (10, 0.1, 3)
    assert parser.parse_args(options.training_options(given)) == given
