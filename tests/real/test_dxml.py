"""DXML on real data: no worse than the figures on its page, within what another machine may change."""

import os
from pathlib import Path

import pytest

import labelwood as lw

pytest.importorskip("torch")
DATA = os.environ.get("LABELWOOD_DATA")


@pytest.mark.slow
@pytest.mark.skipif(not DATA, reason="LABELWOOD_DATA is not set")
@pytest.mark.parametrize(("name", "least"), [("Bibtex", 63.0), ("Delicious", 69.0)])
def test_precision_on_the_given_split(name, least):
    train, test = (lw.read(Path(DATA) / name / f"{part}.txt.gz") for part in ("train", "test"))
    model = lw.DXML().fit(train)
    assert lw.evaluate(model.predict(test, 5), test.y)["P@1"] >= least
