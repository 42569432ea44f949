"""Figures for people: shares with intervals, mistakes, reliability, sentences and the page."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from labelwood.data.catalogue import recognised
from labelwood.data.fingerprint import texts_fingerprint
from labelwood.errors import DataError, ParamError
from labelwood.metrics.assigned import assigned_metrics, popular_answers
from labelwood.metrics.mistakes import mistakes
from labelwood.metrics.reliability import reliability
from labelwood.report.evaluation_page import evaluation_page
from labelwood.report.judgement import judged
from labelwood.topk import TopK

# Four rows, three labels; row 2 gets nothing.
Y = sparse.csr_matrix(np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 1]], np.float32))
GIVEN = TopK.from_lists([[(0, 0.9), (1, 0.8)], [(1, 0.6)], [], [(1, 0.7), (2, 0.5)]], 2)


def test_shares_by_hand():
    figures = assigned_metrics(GIVEN, Y)
    assert figures["precision"].value == pytest.approx(60)  # 3 of 5
    assert figures["recall"].value == pytest.approx(60)  # 3 of 5
    assert figures["f1"].value == pytest.approx(60)
    assert figures["precision"].low < 60 < figures["precision"].high


def test_intervals_narrow_with_rows_and_repeat():
    def width(times):
        tall = TopK(np.tile(GIVEN.labels, (times, 1)), np.tile(GIVEN.scores, (times, 1)))
        figure = assigned_metrics(tall, sparse.vstack([Y] * times, format="csr"))["f1"]
        return figure.high - figure.low

    # A hundred times the rows: a tenth of the width.
    assert width(2500) == pytest.approx(width(25) / 10, rel=0.2)
    assert assigned_metrics(GIVEN, Y) == assigned_metrics(GIVEN, Y)


def test_the_interval_is_that_of_theory():
    rng = np.random.default_rng(0)
    truth = (rng.random(1000) < 0.7).astype(np.float32)
    y = sparse.csr_matrix(np.stack([truth, 1 - truth], axis=1))
    figure = assigned_metrics(TopK(np.zeros((1000, 1), np.int32), np.ones((1000, 1), np.float32)), y)["precision"]
    error = 100 * np.sqrt(truth.mean() * (1 - truth.mean()) / 1000)
    assert figure.high - figure.low == pytest.approx(2 * 1.96 * error, rel=0.15)


def test_popular_labels_are_the_same_for_every_row():
    top = popular_answers(np.array([3, 9, 3]), 2, 2)
    assert top.labels.tolist() == [[1, 0], [1, 0]]


def test_mistakes_by_hand():
    y = sparse.vstack([Y] * 2, format="csr")
    given = TopK(np.tile(GIVEN.labels, (2, 1)), np.tile(GIVEN.scores, (2, 1)))
    worst = mistakes(given, y)
    assert worst.too_often == ((1, 6, 2),)
    assert worst.confused == ((0, 1, 2),)  # row 1: has 0, was given 1
    assert worst.never_right == ()
    assert mistakes(TopK.from_lists([[], [], [], []], 1), Y).never_right == ((0, 2), (2, 2), (1, 1))


def test_reliability_by_hand():
    bins = reliability(np.array([0.1, 0.1, 0.9, 0.9]), np.array([0, 0, 1, 0]), n_bins=2)
    assert bins.said.tolist() == pytest.approx([0.1, 0.9])
    assert bins.right.tolist() == [0, 0.5]
    assert bins.error == pytest.approx(0.5 * 0.1 + 0.5 * 0.4)
    assert reliability(np.zeros(0), np.zeros(0)).error == 0


def test_what_is_no_probability_is_refused():
    with pytest.raises(DataError, match=r"0\.\.1"):
        reliability(np.array([1.5]), np.array([1]))
    with pytest.raises(DataError, match="2 probabilities but 1 hits"):
        reliability(np.array([0.5, 0.5]), np.array([1]))
    with pytest.raises(ParamError, match="n_bins"):
        reliability(np.array([0.5]), np.array([1]), n_bins=0)


def test_the_sentence_says_it():
    judgement = judged(GIVEN, GIVEN, Y, np.array([5, 1, 2]))
    first, second = judgement.sentences()
    assert first.startswith("Of the tags it assigns, 60% (")
    assert "it finds 60% (" in first
    assert "Baseline, the most frequent tag for every row: 50% right, 40% found." in first
    assert "1.2 tags a row where 1.2 are true; 1 row gets none" in second
    assert judgement.figures(str)["assigned"]["precision"]["value"] == pytest.approx(60)
    assert [title for title, _, _ in judgement.mistake_tables(str)] == ["Labels it suggests too often"]


def test_the_page_is_self_contained_and_escapes():
    judgement = judged(GIVEN, GIVEN, Y, np.array([5, 1, 2]))
    names = ["<b>", "&", "c"]
    page = evaluation_page(
        "a <model>", judgement.sentences(), ["beware"], judgement.sure, judgement.mistake_tables(names.__getitem__)
    )
    assert "<svg" in page
    assert page.count("<circle") == len(judgement.sure.said)
    assert "&lt;model&gt;" in page
    assert "<td>&amp;</td>" in page
    assert not re.search(r"https?:|src=|href=|@import|<script", page)


@pytest.mark.parametrize(
    ("path", "constants"),
    [
        ("Amazon-670K/test.txt", (0.6, 2.6)),
        ("data/amazon-670k_test.txt", (0.6, 2.6)),
        ("WikiLSHTC-325K/tst_X_Y.txt", (0.5, 0.4)),
        ("EURLEX57K/test.txt", (0.55, 1.5)),
    ],
)
def test_known_data_is_recognised_by_its_place(path, constants):
    assert recognised(Path(path)).propensity == constants


def test_other_data_is_not_recognised():
    assert recognised(Path("shop/rows.csv")) is None


def test_a_fingerprint_goes_by_rows_whatever_their_order():
    y = sparse.csr_matrix(np.array([[1, 1], [0, 1]], np.float32))
    first = texts_fingerprint(["a", "b"], y, ["x", "z"])
    assert texts_fingerprint(["b", "a"], y[[1, 0]][:, [1, 0]].tocsr(), ["z", "x"]) == first
    assert texts_fingerprint(["a", "c"], y, ["x", "z"]) != first
    assert texts_fingerprint(["a", "b"], y, ["x", "q"]) != first


def test_intervals_draw_whole_groups():
    rng = np.random.default_rng(0)
    truth = np.repeat((rng.random(250) < 0.7).astype(np.float32), 4)
    y = sparse.csr_matrix(np.stack([truth, 1 - truth], axis=1))
    given = TopK(np.zeros((1000, 1), np.int32), np.ones((1000, 1), np.float32))

    def width(groups):
        figure = assigned_metrics(given, y, groups=groups)["precision"]
        assert figure.value == pytest.approx(100 * truth.mean())
        return figure.high - figure.low

    siblings = [f"group {row // 4}" for row in range(1000)]
    assert width(siblings) == pytest.approx(2 * width(None), rel=0.15)
    assert width([None] * 1000) == width(None)
    assert width(["all"] * 1000) == width(None)
    with pytest.raises(DataError, match="3 groups for 1000 rows"):
        width(["a", "b", "c"])
    counts = np.array([700, 300])
    by_group, by_row = (judged(given, given, y, counts, groups) for groups in (siblings, None))
    assert by_group.sentences()[1].endswith(" The intervals draw whole groups, 250 of them.")
    assert by_group.figures(str)["groups"] == 250
    assert "groups" not in by_row.figures(str)
    assert "group" not in " ".join(by_row.sentences())
    of_one = judged(given, given, y, counts, ["all"] * 1000)
    assert of_one.sentences()[1].endswith(" All rows are of one group, so the intervals draw single rows.")
