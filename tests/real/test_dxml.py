"""DXML on real data: no worse than the figures on its page, within what another machine may change."""

import os
from pathlib import Path

import pytest

import labelwood as lw

pytest.importorskip("torch")
FOLDER = Path(os.environ.get("LABELWOOD_DATA") or Path(__file__).parents[2] / ".." / "shared" / "data")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("Bibtex", 64.5), ("Delicious", 69.0)])
def test_precision_on_the_given_split(name, least):
    folder = FOLDER / name
    if not folder.is_dir():
        pytest.skip(f"no real data in {folder}; set LABELWOOD_DATA")
    train, test = (lw.read(folder / f"{part}.txt.gz") for part in ("train", "test"))
    model = lw.DXML().fit(train)
    assert lw.evaluate(model.predict(test, 5), test.y)["P@1"] >= least
