"""HSoftmax and HierarchicalXC with their defaults on real data."""

import os
from pathlib import Path

import pytest

import labelwood as lw

FOLDER = Path(os.environ.get("LABELWOOD_DATA") or Path(__file__).parents[2] / ".." / "shared" / "data")


def figures(name, model):
    folder = FOLDER / name
    if not folder.is_dir():
        pytest.skip(f"no real data in {folder}; set LABELWOOD_DATA")
    train = lw.read(folder / "train.txt.gz")
    test = lw.read(folder / "test.txt.gz", n_features=train.n_features, n_labels=train.n_labels)
    return lw.evaluate(model.fit(train).predict(test.x, 5), test.y)


def test_hierarchicalxc_is_near_one_vs_all_on_bibtex():
    """One-vs-all has P@1 64.1; the published system of this name had P@5 4.1."""
    found = figures("Bibtex", lw.HierarchicalXC())
    assert found["P@1"] >= 64.1 - 5
    assert found["P@5"] >= 24


def test_hsoftmax_on_cooking():
    assert figures("CookingStackExchange", lw.HSoftmax(n_threads=1))["P@1"] >= 50
