"""One-vs-all with its defaults on real data: at least the precision that one-vs-all methods are published with."""

import os
from pathlib import Path

import pytest

import labelwood as lw

FOLDER = Path(os.environ.get("LABELWOOD_DATA") or Path(__file__).parents[2] / ".." / "shared" / "data")


def figures(name):
    folder = FOLDER / name
    if not folder.is_dir():
        pytest.skip(f"no real data in {folder}; set LABELWOOD_DATA")
    train, test = lw.read(folder / "train.txt.gz"), lw.read(folder / "test.txt.gz")
    return lw.evaluate(lw.OneVsAll().fit(train).predict(test.x, 5), test.y)


def test_bibtex():
    found = figures("Bibtex")
    assert found["P@1"] >= 64.0
    assert found["P@5"] >= 28.1


def test_delicious():
    assert figures("Delicious")["P@1"] >= 67.0
