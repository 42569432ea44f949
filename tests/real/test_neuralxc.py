"""NeuralXC with its defaults on real data."""

import os
from pathlib import Path

import pytest

import labelwood as lw

pytest.importorskip("torch")
FOLDER = Path(os.environ.get("LABELWOOD_DATA") or Path(__file__).parents[2] / ".." / "shared" / "data")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("Bibtex", 60.0), ("Delicious", 64.0)])
def test_precision_on_the_given_split(name, least):
    folder = FOLDER / name
    if not folder.is_dir():
        pytest.skip(f"no real data in {folder}; set LABELWOOD_DATA")
    train, test = lw.read(folder / "train.txt.gz"), lw.read(folder / "test.txt.gz")
    model = lw.NeuralXC().fit(train)
    assert lw.evaluate(model.predict(test, 5), test.y)["P@1"] >= least
