"""`labelwood bench balance`, and the depth and work of a tree in `evaluate` and `inspect`."""

import csv
import json
import sys

import numpy as np
import pytest

from labelwood.data.madeup.synthetic import make_sparse_pair
from labelwood.data.writing.write import write
from labelwood.errors import ParamError
from labelwood.models.linear.linear_tree import LinearTree
from labelwood.report import balance_sweep as sweep

NARROW = ("--model-set", "arity=2", "--model-set", "max_leaf=2", "--threads", 1)


@pytest.fixture(scope="module")
def pair():
    """Training and test rows, small enough to sweep."""
    return make_sparse_pair(300, 60, n_features=400, n_labels=30)


@pytest.fixture
def files(pair, tmp_path):
    """The same as files."""
    paths = tmp_path / "train.txt", tmp_path / "test.txt"
    for data, path in zip(pair, paths, strict=True):
        write(data, path)
    return paths


def test_every_curve_and_ratio_is_a_row(cli, files, tmp_path):
    done = cli(
        "bench", "balance", *files, "--out", tmp_path / "o", *NARROW, "--ratios", "0,1,4", "--repeats", 1, "--json"
    )
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert [(p["curve"], p["ratio"]) for p in found["points"]] == [
        (curve, ratio) for curve in ("marginal", "greedy", "direct") for ratio in (0, 1, 4)
    ]
    with (tmp_path / "o" / "balance.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["p1"]) for row in rows] == pytest.approx([p["p1"] for p in found["points"]], rel=1e-5)
    for point in found["points"]:
        assert point["micros1"] > 0
        assert point["depth1"] <= point["depth5"]
        assert point["blocks1"] <= point["blocks5"]
    depths = {(p["curve"], p["ratio"]): p["depth1"] for p in found["points"]}
    assert depths["marginal", 4] < depths["marginal", 0]


def test_a_point_is_what_the_model_says(pair):
    train, test = pair
    settings = {"arity": 2, "max_leaf": 2, "n_threads": 1}
    points = sweep.balance_sweep(
        (train.x, train.y), (test.x, test.y), ratios=[4], curves=["greedy"], parameters=settings, repeats=1
    )
    model = LinearTree(balance_ratio=4, cover="greedy", **settings).fit(train.x, train.y)
    assert points[0].balance == pytest.approx(1.6)
    found = model.search(test.x, 1)
    assert points[0].depth1 == found.depth.mean()
    assert points[0].blocks1 == found.n_blocks.mean()
    hits = test.y.toarray()[np.arange(60), found.top.labels[:, 0]]
    assert points[0].p1 == pytest.approx(100 * (hits > 0).mean())


def test_shared_points_are_really_the_same_tree(pair):
    """Below the waypoint cover frequencies do not count, and at 0 no frequency does: one tree serves several curves."""
    train, _ = pair
    for ratio, curves in (
        (0, ("marginal", "greedy", "direct")),
        (0.5, ("marginal", "greedy")),
        (1, ("marginal", "greedy")),
    ):
        assert len({sweep._tree_key(curve, ratio) for curve in curves}) == 1
        trees = [
            LinearTree(balance_ratio=ratio, arity=2, max_leaf=2, n_threads=1, **sweep.CURVES[curve])
            .fit(train.x, train.y)
            .fitted_.trees[0]
            for curve in curves
        ]
        assert all(tree.same_as(trees[0]) for tree in trees)


def test_the_figure(cli, files, tmp_path):
    pytest.importorskip("matplotlib", reason="figures are drawn with labelwood[report]")
    done = cli("bench", "balance", *files, "--out", tmp_path / "o", *NARROW, "--ratios", "0,2", "--repeats", 1, "-q")
    assert done.code == 0, done.err
    assert (tmp_path / "o" / "balance.png").read_bytes().startswith(b"\x89PNG")
    assert "depth@1" in done.out


def test_without_matplotlib_the_table_is_written_and_the_way_to_a_figure_told(cli, files, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    done = cli("bench", "balance", *files, "--out", tmp_path / "o", *NARROW, "--ratios", "0", "--repeats", 1, "-q")
    assert done.code == 0
    assert "labelwood[report]" in done.err
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == ["balance.csv"]


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--ratios", "0,x"), "0,x"),
        (("--ratios", "-1"), "from 0 up"),
        (("--cover", "marginal,gredy"), "greedy"),
        (("--model-set", "arty=2"), "arity"),
        (("--model-set", "balance=1"), "balance"),
    ],
)
def test_bad_options_are_one_line(cli, files, tmp_path, options, part):
    done = cli("bench", "balance", *files, "--out", tmp_path / "o", *options, "-q")
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert part in done.err
    assert not (tmp_path / "o").exists()


def test_a_finished_sweep_is_not_overwritten(cli, files, tmp_path):
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "balance.csv").write_text("mine")
    done = cli("bench", "balance", *files, "--out", tmp_path / "o")
    assert done.code == 2
    assert "--force" in done.err
    assert (tmp_path / "o" / "balance.csv").read_text() == "mine"


def test_texts_are_refused(cli, jsonl, tmp_path):
    done = cli("bench", "balance", jsonl, jsonl, "--out", tmp_path / "o", "-q")
    assert done.code == 2
    assert "texts" in done.err


def test_an_empty_grid_is_refused(pair):
    train, test = pair
    with pytest.raises(ParamError, match="ratios"):
        sweep.balance_sweep((train.x, train.y), (test.x, test.y), ratios=[])


def test_evaluate_and_inspect_tell_depth_and_work(cli, files, tmp_path):
    folder = tmp_path / "m"
    tree = ("--model", "linear-tree", "--set", "arity=2", "--set", "max_leaf=2")
    assert cli("train", files[0], "--out", folder, *tree, "-q").code == 0
    search = json.loads(cli("evaluate", folder, files[1], "--json").out)["search"]
    assert set(search) == {"depth@1", "depth@5", "blocks@1", "blocks@5"}
    assert search["depth@1"] + 1 <= search["blocks@1"] <= search["blocks@5"]
    assert f"depth@1 {search['depth@1']:.2f}" in cli("evaluate", folder, files[1], "-q").out
    structure = json.loads(cli("inspect", folder, "--json").out)["structure"]
    assert structure["largest leaf"] <= 2
    assert "expected depth" in cli("inspect", folder).out


def test_a_tagger_with_a_tree_tells_them_too(cli, jsonl, tmp_path):
    assert cli("train", jsonl, "--out", tmp_path / "t", "--model", "linear-tree", "-q").code == 0
    assert json.loads(cli("evaluate", tmp_path / "t", jsonl, "--json").out)["search"]["blocks@1"] >= 1


def test_models_without_a_search_tell_nothing(cli, xmc, model):
    assert "search" not in json.loads(cli("evaluate", model, xmc, "--json").out)
    assert "structure" not in json.loads(cli("inspect", model, "--json").out)
