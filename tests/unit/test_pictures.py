"""Pictures as SVG text: scales, the Pareto front, and names that stay names."""

import xml.etree.ElementTree as ElementTree

import pytest

from labelwood.report import pictures
from labelwood.report.pictures import Axis, axis_around, bars, lines, number, pareto_front, scatter, whiskers


def parsed(picture):
    return ElementTree.fromstring(picture)


@pytest.mark.parametrize(
    ("axis", "ticks"),
    [
        (Axis("", 0, 100), [0, 20, 40, 60, 80, 100]),
        (Axis("", 61.2, 63.9), [61.5, 62, 62.5, 63, 63.5]),
        (Axis("", 1, 100, True), [1, 2, 5, 10, 20, 50, 100]),
        (Axis("", 0.001, 5000, True), [0.001, 0.01, 0.1, 1, 10, 100, 1000]),
    ],
)
def test_ticks_are_round_and_within(axis, ticks):
    assert axis.ticks() == pytest.approx(ticks)


def test_equal_ratios_are_equal_distances_on_a_log_axis():
    axis = Axis("", 1, 100, True)
    assert (axis.share(1), axis.share(10), axis.share(100)) == pytest.approx((0, 0.5, 1))


def test_an_axis_around_one_value_has_room():
    axis = axis_around("", [50.0])
    assert axis.low < 50 < axis.high
    assert axis_around("", [3.0, 5.0], floor=3.0).low == 3


def test_the_front_is_what_no_other_beats():
    assert pareto_front([(1, 10), (2, 9), (3, 30), (3, 20), (4, 30)]) == [0, 2]


def test_numbers_for_people():
    assert [number(value) for value in (0, 0.04234, 1.5, 12345)] == ["0", "0.0423", "1.5", "12,345"]


def test_every_picture_is_well_formed_and_described():
    hostile = '<b>&"</b>'
    drawn = [
        scatter([(hostile, 0.1, 60.0), ("b", 1.0, 70.0), ("far", 1.0, 3.0)], "ms", "P@1", "t"),
        lines(
            [(hostile, [(1.0, 2.0), (3.0, 4.0)])], Axis("x", 0, 5), Axis("y", 0, 5), "t", diagonal=True, markers=True
        ),
        bars(["head", "tail"], [(hostile, [1.0, 2.0]), ("b", [3.0, 0.0])], Axis("y", 0, 5), "t"),
        whiskers([(hostile, 50.0, 48.0, 52.0), ("far", 3.0, 2.0, 4.0)], "P@1", "t"),
        *(pictures.marker(place, 5, 5, hostile) for place in range(12)),
        pictures.key(9),
    ]
    for picture in drawn:
        parsed(picture)
    for picture in drawn[:4]:
        root = parsed(picture)
        assert root.get("role") == "img"
        assert root[0].text == "t"
        assert hostile in root[1].text


def test_names_cover_neither_points_nor_each_other():
    points = [(f"model-{place}", 1.0 + place / 50, 60.0 + place / 10) for place in range(5)]
    root = parsed(scatter(points, "ms", "P@1", "t"))
    places = [(float(text.get("x")), float(text.get("y"))) for text in root.iter("text") if text.get("class") == "name"]
    assert len(places) == 5
    for i, (x, y) in enumerate(places):
        for other_x, other_y in places[:i]:
            assert abs(y - other_y) >= 11 or abs(x - other_x) >= 40


def test_a_model_far_below_does_not_press_the_others_together():
    root = parsed(whiskers([("a", 70.0, 69.0, 71.0), ("b", 68.0, 67.0, 69.0), ("far", 9.0, 8.0, 10.0)], "P@1", "t"))
    texts = [text.text for text in root.iter("text")]
    assert "9.00" in texts
    assert any("far below" in text for text in texts)
    assert "10" not in texts  # the axis does not go down to it


def test_the_name_above_the_best_point_stays_inside_the_frame():
    # Two models at one place: the second one's name goes above or below.
    picture = parsed(
        scatter([("linear-tree", 0.03, 68.1), ("one-vs-all", 0.03, 68.2), ("knn", 0.5, 63.0)], "ms", "y", "t")
    )
    names = {text.text: float(text.get("y")) for text in picture.iter("text") if text.get("class") == "name"}
    assert set(names) == {"linear-tree", "one-vs-all", "knn"}
    assert min(names.values()) - 9 > pictures._TOP  # the height of a letter


def test_bars_carry_the_markers_of_their_models_where_there_is_room():
    picture = parsed(bars(["head", "tail"], [("a", [50.0, 1.0]), ("b", [40.0, 30.0])], Axis("y", 0, 50), "t"))
    marked = [shape.find("title").text for shape in picture.iter() if shape.get("class") == "inside"]
    assert marked == ["a", "b", "b"]  # a's second bar is too low
