"""Single bits flipped anywhere in a saved folder: it is refused, or it answers as before."""

import random

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw

TEXTS = [f"{a} {b} with {c}" for a in ("apple", "orange", "plum") for b in ("pie", "juice") for c in ("ice", "cream")]
LABELS = [text.split()[:2] for text in TEXTS]
FLIPS = 300


def rows():
    random_numbers = np.random.default_rng(3)
    x = sparse.random(60, 30, 0.2, "csr", np.float32, random_numbers)
    y = sparse.csr_matrix(random_numbers.random((60, 9)) < 0.2)
    return x, y


def tagger():
    return lw.Tagger("one-vs-all", model_params={"n_threads": 1}).fit(TEXTS, LABELS), lambda made: made.predict(
        TEXTS, 3
    )


def tree():
    x, y = rows()
    made = lw.LinearTree(max_leaf=3, n_threads=1).fit(x, y)
    return made, lambda made: [top.tobytes() for top in (made.predict(x, 4).labels, made.predict(x, 4).scores)]


def bags():
    made = lw.Tagger("hsoftmax", model_params={"n_threads": 1, "epochs": 2, "dim": 4}, features={"buckets": 50})
    return made.fit(TEXTS, LABELS), lambda made: made.predict(TEXTS, 3)


@pytest.mark.parametrize("train", [tagger, tree, bags])
def test_flipped_bits_never_change_an_answer(train, tmp_path):
    model, answers = train()
    model.save(tmp_path / "m")
    expected = answers(lw.load(tmp_path / "m"))
    places = random.Random(f"flips of {train.__name__}")
    files = sorted((tmp_path / "m").iterdir())
    refused = 0
    for number in range(FLIPS):
        path = files[number % len(files)]
        raw = path.read_bytes()
        changed = bytearray(raw)
        changed[places.randrange(len(raw))] ^= 1 << places.randrange(8)
        path.write_bytes(changed)
        try:
            loaded = lw.load(tmp_path / "m")
        except lw.ModelFileError:
            refused += 1
        else:
            assert answers(loaded) == expected, f"flip {number} in {path.name}"
        path.write_bytes(raw)
    assert refused > 0.9 * FLIPS
