"""Names in texts: the native finder against a plain twin, on odd texts."""

import numpy as np
import pytest
from tests.oracles.names_twin import found_names

from labelwood import _native
from labelwood.models.ensemble.name_phrases import LONGEST, NamePhrases

ODD = (
    "Categories of BOXES and classes", "ΣΟΦΟΣ και σοφος", "İstanbul'da kahve", "snake_case_name under_score",
    "a  b\tc\nd",
    "Ärzte heroes radios", "x" * 300 + "s", "is us glass bus gas", "", "___", "naïve cafés 中文 标签",
    "ies oes xes ss s",
)  # fmt: skip


def test_finds_what_the_twin_finds():
    random = np.random.default_rng(3)
    words = ["boxes", "box", "class", "sky", "skies", "red", "Σοφός", "bus", "naïve", "a", "b", "case"]
    made = [" ".join(random.choice(words, random.integers(1, 5))) for _ in range(60)]
    names = (*made, "", "p:red", "x\nred bus\nskies")
    texts = [" ".join(random.choice([*words, "the", "-"], random.integers(0, 40))) for _ in range(80)] + list(ODD)
    rows = NamePhrases.of(names).rows(texts, 2)
    assert rows.shape == (len(texts), 3 * len(names))
    assert rows.nnz > 500
    for row, text in enumerate(texts):
        times, alone, first = rows[row].toarray().reshape(3, -1)
        wanted = found_names(names, text, LONGEST)
        assert set(np.flatnonzero(times)) == set(wanted)
        for label, numbers in wanted.items():
            assert (times[label], alone[label] - 1, first[label] - 1) == numbers, (text, names[label])


def test_names_that_are_odd_texts():
    rows = NamePhrases.of(ODD).rows(ODD, 1)
    for row, text in enumerate(ODD):
        wanted = found_names(ODD, text, LONGEST)
        assert set(rows[row, : len(ODD)].indices) == set(wanted)


def test_refuses_labels_that_do_not_fit():
    rows = _native.TextRows(2)
    with pytest.raises(ValueError, match="no such label"):
        rows.names(("a",), np.array([0, 1]), np.array([5], np.int32), 3)
    with pytest.raises(ValueError, match="every name needs its labels"):
        rows.names(("a",), np.array([0, 2]), np.array([1], np.int32), 3)
    with pytest.raises(ValueError, match="every row has a text"):
        rows.rows(np.zeros(3, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), ("a",), 1)
