"""The benchmarks of growth and of all peers: points, exponents, and pages made from tables of figures."""

import csv
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
ROOT = BENCHMARKS.parent


@pytest.fixture
def scripts(monkeypatch):
    """Import a script of benchmarks/peers or benchmarks/scale; their folders are no packages."""
    for folder in ("peers", "scale"):
        monkeypatch.syspath_prepend(str(BENCHMARKS / folder))
    before = set(sys.modules)
    yield importlib.import_module
    for name in ("points", "page", "tables", "measure", "compare", "environments"):
        if name not in before:
            sys.modules.pop(name, None)


def growth_row(rows, labels, tool="labelwood n_trees=1", exponent=1.0):
    figures = {"train_cpu_s": labels**exponent, "peak_mb": 3 * labels, "model_mb": 0.5 * labels, "p50_ms": 0.1}
    figures |= {"load_ms": 1, "batch_ms_a_row": 1, "p99_ms": 1, "P@1": 50, "P@5": 20}
    return {"rows": str(rows), "labels": str(labels), "tool": tool} | {name: str(v) for name, v in figures.items()}


def test_rows_look_alike_at_every_size(scripts, tmp_path):
    points = scripts("points")
    from scipy import sparse

    shapes = []
    for point in (points.Point(1500, 1000), points.Point(1500, 4500)):
        points.make(point, tmp_path / point.name)
        x, y = (sparse.load_npz(tmp_path / point.name / f"{letter}.train.npz") for letter in "XY")
        assert (x.shape, y.shape) == ((1500, points.FEATURES), (1500, point.labels))
        assert np.all(np.asarray(y.sum(axis=0)) > 0) or point.labels > 3 * 1500 * 0.9
        shapes.append((x.nnz / 1500, y.nnz / 1500))
    assert shapes[0] == pytest.approx(shapes[1], rel=0.1)


def test_exponents_are_those_of_the_table(scripts):
    page = scripts("page")
    rows = [growth_row(labels // 3, labels, exponent=1.2) for labels in (30_000, 100_000, 300_000)]
    assert page.exponent(rows, "labels", "train_cpu_s") == pytest.approx(1.2, abs=0.01)
    assert page.exponent(rows[:2], "labels", "train_cpu_s") is None
    made = page.with_tables("before\n<!-- measured -->\nold\n<!-- end -->\nafter", rows)
    assert "old" not in made
    assert "labelwood: training 1.20, memory 1.00, model 1.00, a row alone 0.00" in made
    assert made.startswith("before")
    assert made.endswith("after")
    assert page.picture(rows, "both", "train_cpu_s", "seconds").startswith("<svg ")
    assert page.picture(rows[:1], "both", "train_cpu_s", "seconds") is None


def peer_row(tool, **figures):
    table = dict.fromkeys(("data", "tool", "failed", "threads", "load_average", "machine"), "") | {
        "data": "A",
        "tool": tool,
    }
    columns = (
        "train CPU s",
        "peak MB",
        "model MB",
        "load ms",
        "batch CPU s",
        "p50 ms",
        "p99 ms",
        "P@1",
        "P@3",
        "P@5",
        "R@10",
    )
    return table | {name: str(figures.get(name, 10)) for name in columns}


def test_where_others_are_ahead_is_said(scripts):
    tables = scripts("tables")
    ours = [peer_row("labelwood n_trees=1"), peer_row("labelwood n_trees=3", **{"P@5": 12, "train CPU s": 30})]
    same = tables.behind([*ours, peer_row("pecos", **{"P@5": 12.2, "train CPU s": 9})])
    assert "In no figure above" in same
    behind = tables.behind([*ours, peer_row("pecos", **{"P@5": 12.4, "train CPU s": 5})])
    assert "- A, P@5: 12 (labelwood n_trees=3), pecos 12.4" in behind
    assert "- A, train CPU s: 10 (labelwood n_trees=1), pecos 5" in behind
    assert behind.count("\n- ") == 2
    failed = tables.sections([*ours, peer_row("other") | {"failed": "was stopped"}])[0]
    assert "| other | was stopped |" in failed


@pytest.mark.parametrize(("script", "name"), [("page", "scale"), ("tables", "benchmarks")])
def test_the_pages_are_those_of_their_tables(scripts, script, name):
    """Who edits a table writes the page again: python benchmarks/scale/page.py, benchmarks/peers/tables.py."""
    made = scripts(script)
    with made.TABLE.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    page = made.PAGE.read_text(encoding="utf-8")
    if script == "page":
        assert made.with_tables(page, rows) == page
    else:
        for section in made.sections(rows):
            assert section in page
        assert made.behind(rows) in page
