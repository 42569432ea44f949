"""What ELIAS says of its index after training: measured on held-out rows against scoring all labels."""

import re

import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood.cli.main import run
from labelwood.data.dataset import Dataset
from labelwood.data.writing.write import write
from labelwood.models.neural.elias.gain import IndexGain, index_gain
from labelwood.topk import TopK

QUICK = {"dim": 16, "warm_epochs": 0, "stage1_epochs": 1, "stage2_epochs": 1, "n_threads": 1}


def test_one_vs_all_is_named_only_where_it_answers_alike_on_the_same_columns():
    alike = IndexGain(500, (-0.1, 0.1, 2.0), (0.5, 0.25, 0.66), 0.098)
    assert alike.sentence(same_columns=True) == (
        "on 500 held-out rows the index adds -0.1 (+-0.5) to P@1, +0.1 (+-0.2) to P@5, +2.0 (+-0.7) to R@100 over "
        "scoring all labels with the same columns; as far as these rows can tell, `one-vs-all` answers alike in about "
        "10 % of the time"
    )
    assert "one-vs-all" not in alike.sentence(same_columns=False)
    better = IndexGain(500, (-0.1, 1.1, 2.0), (0.5, 0.4, 0.7), 0.098)
    assert "one-vs-all" not in better.sentence(same_columns=True)


def test_a_gain_that_may_be_chance_is_none():
    lucky = IndexGain(244, (0.8, 0.6, -0.3), (1.6, 0.9, 0.8), 0.05)
    assert "`one-vs-all` answers alike in about 5 % of the time" in lucky.sentence(same_columns=True)


def test_the_gain_is_measured_against_the_rankers_own_answers():
    class AllLabels:
        def best(self, x, k, n_threads):
            return TopK(np.array([[1, 0], [1, 0]], np.int32), np.array([[2, 1], [2, 1]], np.float32))

    y = sparse.csr_matrix(np.array([[1, 0], [0, 1]], np.float32))
    scored = np.array([[0, 1], [0, 1]], np.int32), np.array([[0.9, 0.1], [0.2, 0.8]])
    gain = index_gain(AllLabels(), sparse.csr_matrix((2, 3)), y, scored, 0.5, 1)
    assert gain.n_rows == 2
    assert gain.gains == (50.0, 0.0, 0.0)  # the first row was right before
    assert gain.margins == pytest.approx((1.96 * 50, 0, 0))


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    y = random.uniform(size=(1200, 40)) < 0.05
    y[np.arange(1200), random.integers(0, 40, 1200)] = True  # a label each: rows without are left out by the command
    x = sparse.csr_matrix(y @ random.uniform(size=(40, 30)) + random.uniform(size=(1200, 30)))
    return Dataset(x.astype(np.float32), sparse.csr_matrix(y.astype(np.float32)))


def test_training_says_what_the_index_adds(rows, tmp_path, capsys):
    pytest.importorskip("torch", reason="torch is an optional dependency")
    model = labelwood.ELIAS(**QUICK).fit(rows)
    (note,) = model.notes_
    assert re.match(r"on \d+ held-out rows the index adds [-+][\d.]+ \(\+-[\d.]+\) to P@1, ", note)
    model.save(tmp_path / "saved")
    assert labelwood.load(tmp_path / "saved").notes_ == ()
    assert labelwood.Popular().fit(rows).notes_ == ()
    write(rows, tmp_path / "rows.txt")
    sets = [word for name, value in QUICK.items() for word in ("--set", f"{name}={value}")]
    assert run(["train", str(tmp_path / "rows.txt"), "--model", "elias", "--out", str(tmp_path / "m"), *sets]) == 0
    assert "note: on" in capsys.readouterr().err


def test_a_ranker_that_knows_only_shortlists_is_not_compared(rows):
    pytest.importorskip("torch", reason="torch is an optional dependency")
    assert labelwood.ELIAS(**QUICK, negatives="shortlist").fit(rows).notes_ == ()
