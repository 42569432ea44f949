"""NeuralXC with its defaults on real data: a floor 2 points below what held-out rows of Bibtex had."""

import os
from pathlib import Path

import pytest

import labelwood as lw

pytest.importorskip("torch")
DATA = os.environ.get("LABELWOOD_DATA")


@pytest.mark.slow
@pytest.mark.skipif(not DATA, reason="LABELWOOD_DATA is not set")
@pytest.mark.parametrize(("name", "least"), [("Bibtex", 54.0), ("Delicious", 64.0)])
def test_precision_on_the_given_split(name, least):
    train, test = (lw.read(Path(DATA) / name / f"{part}.txt.gz") for part in ("train", "test"))
    model = lw.NeuralXC().fit(train)
    assert lw.evaluate(model.predict(test, 5), test.y)["P@1"] >= least
