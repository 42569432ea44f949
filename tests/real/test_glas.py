"""GLaS with its defaults on real data."""

import os
from pathlib import Path

import pytest

import labelwood as lw

pytest.importorskip("torch")
FOLDER = Path(os.environ.get("LABELWOOD_DATA") or Path(__file__).parents[2] / ".." / "shared" / "data")


def figures(name):
    folder = FOLDER / name
    if not folder.is_dir():
        pytest.skip(f"no real data in {folder}; set LABELWOOD_DATA")
    train, test = lw.read(folder / "train.txt.gz"), lw.read(folder / "test.txt.gz")
    return lw.evaluate(lw.GLaS().fit(train.x, train.y).predict(test.x, 5), test.y)


@pytest.mark.slow
def test_eurlex57k():
    """Within 1.6 points of the linear tree, whose P@1 is 91.1."""
    assert figures("EURLEX57K")["P@1"] >= 89.5


@pytest.mark.slow
def test_cooking():
    assert figures("CookingStackExchange")["P@1"] >= 70.0
