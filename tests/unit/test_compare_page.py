"""The parts of a comparison page that numbers alone decide: columns of words, times, thin bins of scores."""

import pytest

from labelwood.report.compare_page import FEWEST_ANSWERS, _reliability
from labelwood.report.compare_words import cost_text
from labelwood.report.page_parts import table


@pytest.mark.parametrize(
    ("cost", "value", "text"),
    [
        ("load_s", 0.00757, "7.57 ms"),
        ("train_cpu_s", 0.571, "0.571 s"),
        ("train_cpu_s", 0.0, "0 s"),
        ("train_wall_s", 3400.0, "3,400 s"),
        ("single_p50_ms", 0.0298, "0.0298 ms"),
        ("model_bytes", None, "unknown"),
    ],
)
def test_costs_are_told_in_units_of_their_size(cost, value, text):
    assert cost_text(cost, value) == text


def test_columns_of_words_are_set_to_the_left():
    made = table(["label", "given", "rows"], [["a", "b", "3 *"]], words={1})
    assert '<th scope="col" class=text>given</th>' in made
    assert "<td>a</td><td class=text>b</td><td class=best>3 *</td>" in made


def reliability_of(*answers):
    bins = [{"said": 0.1 + 0.2 * place, "right": 0.5, "answers": n} for place, n in enumerate(answers)]
    return _reliability({"models": {"m": {"reliability": {"gap": 3.0, "bins": bins}}}})


def test_bins_of_few_answers_are_not_drawn_and_the_page_says_so():
    some, enough = reliability_of(500, 40, FEWEST_ANSWERS - 1), reliability_of(500, 40, FEWEST_ANSWERS)
    assert some.count("<circle") == enough.count("<circle") - 1
    assert "are not drawn" in some
    assert "are not drawn" not in enough
    assert "are not drawn" not in reliability_of(3, 2)  # nothing else to draw
