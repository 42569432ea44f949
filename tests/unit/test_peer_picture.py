"""The picture of the README: drawn from the stored figures, for light and dark."""

import importlib.util
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def drawing():
    spec = importlib.util.spec_from_file_location("peer_picture", ROOT / "benchmarks" / "peers" / "picture.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_is_current(drawing):
    drawn = drawing.picture(drawing.figures())
    assert drawing.PICTURE.read_text(encoding="utf-8") == drawn, "run `python benchmarks/peers/picture.py`"
    ElementTree.fromstring(drawn)
    assert "prefers-color-scheme: dark" in drawn
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")


def test_a_better_figure_moves_its_point_up(drawing):
    tools = drawing.figures()
    better = [{**tool, "P@5": "69.4"} if tool["tool"] == "linear-tree" else tool for tool in tools]
    assert drawing.picture(better) != drawing.picture(tools)
