"""`labelwood shrink`: variants of saved models, chosen by size or time, and saved without harm to the original."""

import json

import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood.models.linear.fitted_tree import FittedLinearTree
from labelwood.models.smaller import Cut
from labelwood.shrinking.judging import Judged
from labelwood.shrinking.variants import Variant, chosen


@pytest.fixture
def texts(cli, tmp_path):
    path = tmp_path / "rows.jsonl"
    assert cli("data", "synth", path, "--rows", 400, "--labels", 20, "--seed", 3).code == 0
    return path


@pytest.fixture
def forest(cli, texts, tmp_path):
    folder = tmp_path / "forest"
    settings = ("--set", "n_trees=3", "--set", "weights=half")
    made = cli("train", texts, "--model", "linear-tree", *settings, "--threads", 1, "--out", folder)
    assert made.code == 0, made.err
    return folder


def folder_bytes(folder):
    return sum(path.stat().st_size for path in folder.iterdir())


def everything(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_list_holds_what_it_says(cli, forest, texts, tmp_path):
    before = everything(forest)
    listed = json.loads(cli("shrink", forest, "--data", texts, "--json").out)["variants"]
    by_name = {variant["variant"]: variant for variant in listed}
    assert {"original", "without rows", "int8", "trees=1", "trees=2,prune=0.2,int8"} <= set(by_name)
    assert by_name["original"]["n_bytes"] == folder_bytes(forest)
    assert by_name["original"]["same"] == pytest.approx(100)
    assert by_name["trees=1,int8"]["n_bytes"] < by_name["trees=1"]["n_bytes"] < by_name["without rows"]["n_bytes"]
    assert any(variant["best"] for variant in listed)
    shown = cli("shrink", forest, "--list")
    assert "trees=1" in shown.out
    assert "figures flatter" in shown.err  # measured on rows that the folder keeps
    for number, name in enumerate(("int8", "trees=1,prune=0.3", "without rows")):
        out = tmp_path / f"small{number}"
        assert cli("shrink", forest, "--variant", name, "--data", texts, "--out", out).code == 0
        assert folder_bytes(out) == pytest.approx(by_name[name]["n_bytes"], abs=1000)
        labelwood.load(out, verify=True).predict(["a light steel pan"], assign=True)
    assert everything(forest) == before


def test_the_most_accurate_variant_within_a_size(cli, forest, texts, tmp_path):
    out = tmp_path / "small"
    done = cli("shrink", forest, "--to", "36KB", "--data", texts, "--out", out)
    assert done.code == 0, done.err
    assert folder_bytes(out) <= 36 * 1024 + 1000
    assert "saved in" in done.out
    kept = cli("shrink", forest, "--variant", "int8", "--keep-rows", "--out", tmp_path / "kept")
    assert kept.code == 0, kept.err
    assert labelwood.load(tmp_path / "kept").fitted_.rows is not None
    assert cli("learn", tmp_path / "kept", texts).code == 0
    assert json.loads(cli("inspect", out, "--json").out)["extra"]["shrunk"]


def test_in_place_of_the_original_only_when_told(cli, forest):
    size = folder_bytes(forest)
    assert cli("shrink", forest, "--variant", "int8", "--replace").code == 0
    assert folder_bytes(forest) < size
    assert labelwood.load(forest).fitted_.model.settings.weights == "int8"


def test_slips_are_one_line(cli, forest, tmp_path):
    def refused(*arguments):
        done = cli("shrink", *arguments)
        assert done.code == 2
        assert not done.out
        return done.err.strip().splitlines()[-1]

    assert "where to?" in refused(forest, "--to", "1MB")
    assert "which variant?" in refused(forest, "--out", tmp_path / "s")
    assert "is the model itself" in refused(forest, "--to", "1MB", "--out", forest)
    assert "--list only shows" in refused(forest, "--list", "--to", "1MB")
    assert "--to must be a size" in refused(forest, "--to", "small", "--out", tmp_path / "s")
    assert "--latency must be a time" in refused(forest, "--latency", "quick", "--out", tmp_path / "s")
    assert "no variant fits into 1 KB: the smallest," in refused(forest, "--to", "1KB", "--out", tmp_path / "s")
    assert "no variant answers a row in" in refused(forest, "--latency", "0.000001ms", "--out", tmp_path / "s")
    assert "did you mean" in refused(forest, "--variant", "int9", "--out", tmp_path / "s")
    assert "none" in refused(tmp_path / "none", "--list")
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("name", ["one-vs-all", "ensemble", "popular"])
def test_other_models(cli, texts, tmp_path, name):
    folder, out = tmp_path / "m", tmp_path / "s"
    assert cli("train", texts, "--model", name, "--assign", "none", "--threads", 1, "--out", folder).code == 0
    listed = json.loads(cli("shrink", folder, "--data", texts, "--json").out)["variants"]
    names = {variant["variant"] for variant in listed}
    assert {"original", "without rows"} <= names
    assert ("int8" in names) == (name != "popular")
    if name != "popular":
        assert (
            cli("shrink", folder, "--variant", "prune=0.05,int8" if name == "one-vs-all" else "int8", "--out", out).code
            == 0
        )
        whole, small = labelwood.load(folder), labelwood.load(out, verify=True)
        given = [row["text"] for row in map(json.loads, texts.read_text().splitlines()[:200])]
        first = [[top[0][0] for top in tagger.predict(given, k=1)] for tagger in (whole, small)]
        assert np.mean(np.array(first[0]) == first[1]) > 0.9


def test_the_ranker_of_an_ensemble_can_have_fewer_trees(tmp_path, cli):
    data = tmp_path / "rows.jsonl"
    assert cli("data", "synth", data, "--rows", 1300, "--labels", 20, "--seed", 3).code == 0
    made = cli(
        "train", data, "--best", "--assign", "none", "--threads", 1, "--out", tmp_path / "m", "--set", "views=none"
    )
    assert made.code == 0, made.err
    assert "its model reads texts" in cli("shrink", tmp_path / "m").err
    done = cli("shrink", tmp_path / "m", "--data", data, "--variant", "ranker=75,beam=5", "--out", tmp_path / "s")
    assert done.code == 0, done.err
    small = labelwood.load(tmp_path / "s", verify=True)
    assert len(small.fitted_.model.ranked.ranker.feature) == 75
    trees = [member for member in small.fitted_.model.members if isinstance(member, FittedLinearTree)]
    assert {tree.settings.beam for tree in trees} == {5}


def test_a_model_of_features(cli, tmp_path):
    random = np.random.default_rng(0)
    x = sparse.random(300, 50, 0.2, format="csr", random_state=0, dtype=np.float32)
    y = sparse.csr_matrix((random.random((300, 8)) < 0.2).astype(np.float32))
    labelwood.LinearTree(n_trees=2, n_threads=1).fit(x, y).save(tmp_path / "m")
    assert "nothing to measure with: it keeps no rows" in cli("shrink", tmp_path / "m").err
    labelwood.write(labelwood.Dataset(x, y), tmp_path / "rows.txt")
    made = cli(
        "shrink", tmp_path / "m", "--data", tmp_path / "rows.txt", "--variant", "trees=1", "--out", tmp_path / "s"
    )
    assert made.code == 0, made.err
    assert len(labelwood.load(tmp_path / "s").fitted_.trees) == 1


def test_the_choice_is_the_most_accurate_within_both_limits():
    def variant(name, n_bytes, milliseconds, accuracy):
        return Variant(name, Cut(), Judged(n_bytes, milliseconds, accuracy, 0.0, 0.0), keeps_rows=False)

    variants = [variant("a", 100, 1.0, 50.0), variant("b", 60, 0.5, 49.0), variant("c", 40, 0.9, 49.5)]
    assert chosen(variants, to=60).name == "c"
    assert chosen(variants, milliseconds=0.5).name == "b"
    assert chosen(variants, to=60, milliseconds=0.95).name == "c"
