"""`labelwood reproduce`: printed and measured side by side, kept runs, missing data, one page that loads nothing."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import labelwood as lw
from labelwood.cli.main import run
from labelwood.data.madeup.synthetic import make_sparse_pair
from labelwood.data.writing.write import write
from labelwood.report.papers.all_papers import PAPERS
from labelwood.report.papers.experiment import Experiment, Paper, Printed, Variant
from labelwood.report.papers.reproduce import Request, reproduce


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with a small data set under the name of a published one."""
    root = tmp_path_factory.mktemp("data")
    for name in ("Bibtex", "mine"):
        (root / name).mkdir()
        train, test = make_sparse_pair(400, 150, n_features=400, n_labels=30, seed=3)
        write(train, root / name / "train.txt")
        write(test, root / name / "test.txt")
    return root


@pytest.fixture(scope="module")
def written(data, tmp_path_factory):
    """The files of one reproduction, by ending: the trees paper with two points of figure 3 alone."""
    out = tmp_path_factory.mktemp("out")
    arguments = ["reproduce", "trees", "--figure", "1", "--figure", "3", "--on", "mine,nowhere", "--data", data]
    figures = [each for each in PAPERS["trees"].experiments if each.name in ("figure 1", "figure 3")]
    few = [replace(each, variants=each.variants[:4:3]) for each in figures]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PAPERS, "trees", replace(PAPERS["trees"], experiments=tuple(few)))
        assert run([str(word) for word in [*arguments, "--out", out, "--threads", 1, "-q"]]) == 0
    return {ending: out / f"trees-figure-1-figure-3.{ending}" for ending in ("html", "json", "md")}


def test_measured_figures_are_those_of_the_model(written, data):
    report = json.loads(written["json"].read_text())
    of_set = report["experiments"][1]["sets"][0]
    line = next(line for line in of_set["lines"] if line["title"] == "marginal, lambda' 2")
    model = lw.LinearTree.preset("paper", balance_ratio=2.0, path="waypoint", cover="marginal", seed=0, n_threads=1)
    train, test = (lw.read(data / "mine" / f"{part}.txt") for part in ("train", "test"))
    model.fit(train)
    expected = {**model.evaluate(test), **model.search_figures(test, 1)}
    for metric in ("P@1", "P@3", "depth@1"):
        assert line["measured"][metric]["mean"] == pytest.approx(expected[metric])
        assert f"{expected[metric]:.2f}" in written["md"].read_text()


def test_missing_and_published_data_sets_are_listed(written):
    report = json.loads(written["json"].read_text())
    statuses = {each["data"]: each["status"] for each in report["experiments"][1]["sets"]}
    assert statuses == {"mine": "done", "nowhere": "missing", "amazon-670k": "other", "wikipedia-500k": "other"}
    for ending in ("html", "md"):
        text = written[ending].read_text()
        assert "nowhere: not run" in text
        assert "does not have them: nowhere" in text


def test_the_page_loads_nothing_and_has_pictures(written):
    text = written["html"].read_text()
    assert not re.search(r"<(?:link|img|iframe|object)|\b(?:src|href)=|@import|url\(", text)
    assert text.count('role="img"') == 2
    numbers = json.loads(re.search(r'id="report">(.*?)</script>', text, re.DOTALL)[1])
    assert numbers["experiments"] == json.loads(written["json"].read_text())["experiments"]
    assert "labelwood reproduce trees --figure 1 --figure 3" in text


@pytest.mark.torch
def test_finished_runs_are_used_again_and_quick_is_marked(data, tmp_path, capsys):
    arguments = ["reproduce", "dxml", "--table", "2", "--data", data, "--out", tmp_path, "--threads", 1, "--quick"]
    few = ["--set", "epochs=1", "--set", "walk_epochs=1", "--set", "n_walks=1"]
    assert run([str(word) for word in [*arguments, *few, "--json", "-q"]]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["quick"]
    assert "QUICK RUN" in (tmp_path / "dxml-table-2.md").read_text()
    of_set = report["experiments"][0]["sets"][0]
    assert of_set["lines"][0]["printed"]["P@1"] == 66.03
    assert [line["title"] for line in of_set["lines"][-2:]] == ["KNN, all neighbours alike", "SLEEC"]
    for file in tmp_path.glob("runs/*/result.json"):  # a kept run is not measured again: what the file says is shown
        kept = json.loads(file.read_text())
        kept["groups"]["answers"][""]["P@1"] = 12.5
        file.write_text(json.dumps(kept))
    assert run([str(word) for word in [*arguments, *few, "-q"]]) == 0
    assert "12.50" in capsys.readouterr().out


def test_means_and_deviations_over_splits_and_failed_runs(data, tmp_path):
    variants = (
        Variant("flat", "one-vs-all", printed_as="A"),
        Variant("wrong", "linear-tree", changes={"C": -1.0}),
    )
    table = Experiment("table 1", "what", "where", ("bibtex",), variants, ("P@1",),
                       (Printed("bibtex", "A", {"P@1": 50.0}),), n_splits=3)  # fmt: skip
    request = Request(data, tmp_path, n_threads=1)
    (shown,) = reproduce(Paper("p", "P", (table,)), (table,), request)["experiments"]
    flat, wrong = shown["sets"][0]["lines"]
    each = [
        json.loads(file.read_text())["groups"]["answers"][""]["P@1"] for file in tmp_path.glob("one-vs*/result.json")
    ]
    assert len(each) == 3
    assert flat["printed"] == {"P@1": 50.0}
    assert flat["measured"]["P@1"]["mean"] == pytest.approx(np.mean(each))
    assert flat["measured"]["P@1"]["deviation"] == pytest.approx(np.std(each, ddof=1))
    assert wrong["measured"] == {}
    assert len(wrong["failed"]) == 3
    assert "C must be" in wrong["failed"][0]


def test_what_an_experiment_varies_is_not_overruled(data, tmp_path):
    variants = (Variant("base", "one-vs-all"), Variant("large C", "one-vs-all", changes={"C": 9.0}))
    table = Experiment("table 1", "what", "where", ("bibtex",), variants, ("P@1",))
    request = Request(data, tmp_path, n_threads=1, quick=True, changes={"C": 2.0, "walk_epochs": 1})
    reproduce(Paper("p", "P", (table,)), (table,), request)
    given = [json.loads(file.read_text())["parameters"] for file in tmp_path.glob("one-vs*/measure.task.json")]
    assert sorted(parameters["C"] for parameters in given) == [2.0, 9.0]
    assert all("walk_epochs" not in parameters for parameters in given)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nopaper"], "trees"),
        (["dxml", "--table", "9"], "table 2"),
        (["dxml", "--set", "nothing=1"], "nothing"),
    ],
)
def test_wrong_requests_are_told(arguments, message, capsys):
    assert run(["reproduce", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_list_names_tables_and_data_sets(capsys):
    assert run(["reproduce", "elias", "--list"]) == 0
    shown = capsys.readouterr().out
    assert "figure 7a" in shown
    assert "amazon-670k" in shown


def test_lines_of_several_variants_are_told_apart(data, tmp_path):
    variants = (Variant("one", "popular"), Variant("other", "popular", changes={"seed": 1}))
    table = Experiment("figure 1", "what", "where", ("bibtex",), variants, ("labels, per cent",), group="labels")
    report = reproduce(Paper("p", "P", (table,)), (table,), Request(data, tmp_path, n_threads=1, most_rows=100))
    assert report["most_rows"] == 100
    (of_set,) = report["experiments"][0]["sets"]
    assert of_set["facts"]["train_rows"] == 100
    assert [line["title"] for line in of_set["lines"][::7]] == [
        "one, 0.1 % of the labels",
        "other, 0.1 % of the labels",
    ]
