"""`labelwood compare`: the numbers of the page are those of `evaluate`; finished runs and a budget are kept."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest

import labelwood as lw
from labelwood.cli.main import run
from labelwood.data.madeup.shop_texts import make_texts
from labelwood.data.madeup.synthetic import make_sparse_pair
from labelwood.data.writing.write import write
from labelwood.progress import SILENT
from labelwood.report.compare import Entry, compare
from labelwood.report.compare_data import parts_of
from labelwood.report.compare_process import RunError, run_task

HOSTILE = "</script><b>&"
MODELS = "popular,one-vs-all,loose=one-vs-all"


class Page(HTMLParser):
    """What a page would load, its visible words, its pictures and its numbers."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.pictures, self.numbers, self.words, self.inside = [], 0, "", [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.loads += [
            (tag, name, given[name]) for name in ("src", "href", "srcset", "data", "action") if name in given
        ]
        self.loads += [(tag, "element", "") for _ in range(tag in ("link", "iframe", "img", "object", "embed"))]
        self.pictures += tag == "svg" and given.get("role") == "img"
        if tag in ("script", "style"):
            self.inside.append(tag)

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.inside.pop()

    def handle_data(self, data):
        if self.inside == ["script"]:
            self.numbers += data
        elif self.inside == ["style"]:
            self.loads += [("style", "url", found) for found in re.findall(r"url\(|@import", data)]
        else:
            self.words.append(data)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """A file of made-up texts; one label looks like markup."""
    path = tmp_path_factory.mktemp("compare") / "rows.jsonl"
    made = make_texts(300, n_labels=30, seed=0)
    names = [HOSTILE, *made.label_names[1:]]
    with path.open("w") as stream:
        for row, text in enumerate(made.texts):
            labels = [names[label] for label in made.y[row].indices]
            stream.write(json.dumps({"text": text, "labels": labels}) + "\n")
    return path


@pytest.fixture(scope="module")
def compared(texts):
    """The files of one comparison, by ending."""
    out = texts.parent / "report.html"
    arguments = ["compare", texts, "--models", MODELS, "--set", "loose.C=0.1", "--threads", 1, "--out", out, "-q"]
    assert run([str(argument) for argument in arguments]) == 0
    return {ending: out.with_suffix(f".{ending}") for ending in ("html", "json", "md")}


def test_the_numbers_in_the_page_are_those_of_evaluate(compared, texts):
    page = Page(compared["html"].read_text())
    report = json.loads(page.numbers)
    assert report == json.loads(compared["json"].read_text())
    train, test = lw.read(texts).split(0.2, 0)
    assert (report["data"]["train_rows"], report["data"]["test_rows"]) == (240, 60)
    for title, name, settings in (
        ("popular", "popular", {}),
        ("one-vs-all", "one-vs-all", {}),
        ("loose", "one-vs-all", {"C": 0.1}),
    ):
        tagger = lw.Tagger(name, model_params=settings).fit(train)
        top = tagger.predict_top(test.texts, 100)
        figures = lw.evaluate(top, test.y, train_y=train.y, per_band=True)
        assert report["models"][title]["metrics"] == pytest.approx(figures)
        for metric, row in report["models"][title]["compared"].items():
            assert row["value"] == pytest.approx(figures[metric])
            assert row["low"] <= row["value"] <= row["high"]
        curve = report["models"][title]["recall_curve"]
        assert [curve[k - 1] for k in (1, 3, 5, 10, 50, 100)] == pytest.approx(
            [figures[f"R@{k}"] for k in (1, 3, 5, 10, 50, 100)]
        )
        for band in report["models"][title]["bands"]:
            assert band["P@5"] == pytest.approx(figures[f"P@5[{band['band']}]"])
    shown = " ".join(page.words)
    assert f"{report['models']['one-vs-all']['metrics']['P@1']:.2f}" in shown
    assert f"{report['models']['loose']['metrics']['PSP@5']:.2f}" in compared["md"].read_text()


def test_the_page_is_one_small_file_that_loads_nothing(compared):
    text = compared["html"].read_text()
    page = Page(text)
    assert page.loads == []
    assert not re.search(r"https?://", text)
    assert len(text.encode()) < 3_000_000
    assert page.pictures == 4 + 3 + 1 + 1 + 1
    words = " ".join(page.words)
    for heading in ("How good the answers are", "What the answers cost", "Frequent and rare labels", "Hard labels",
                    "How many answers it takes", "Can scores be read as chances?", "Some rows and the reasons",
                    "How to repeat it"):  # fmt: skip
        assert heading in words
    assert " is best at " in words
    assert f"</td><td>{HOSTILE}" not in text


def test_costs_and_reasons_are_there(compared):
    report = json.loads(compared["json"].read_text())
    for run_facts in report["runs"]:
        costs = run_facts["costs"]
        assert run_facts["status"] == "done"
        assert costs["train_cpu_s"] > 0
        assert costs["train_peak_bytes"] > 10_000_000
        assert 0 < costs["single_p50_ms"] <= costs["single_p99_ms"]
        assert costs["model_bytes"] > 100
    assert {"numpy", "scipy", "labelwood"} <= set(report["machine"]["versions"])
    reasons = [sample["models"]["one-vs-all"]["reason"] for sample in report["samples"]]
    assert reasons
    assert all("score" in reason for reason in reasons)
    assert report["samples"][0]["shown"]
    assert "--set loose.C=0.1" in report["command"]
    best = report["best"]["P@1"]
    assert report["models"][best]["compared"]["P@1"]["behind"] == 0
    assert report["models"]["popular"]["compared"]["P@1"]["p"] < 0.05


def test_finished_runs_are_used_again_and_a_new_model_joins_them(cli, compared, texts, tmp_path):
    work = compared["html"].with_name("report.html.runs")
    before = json.loads(compared["json"].read_text())
    done = cli("compare", texts, "--models", "one-vs-all,loose=one-vs-all", "--set", "loose.C=0.2", "--threads", 1,
               "--work", work, "--out", tmp_path / "second.html", "--json")  # fmt: skip
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert [run_facts["reused"] for run_facts in report["runs"]] == [True, False]
    old = next(run_facts for run_facts in before["runs"] if run_facts["title"] == "one-vs-all")
    assert report["runs"][0]["costs"] == old["costs"]
    assert report["models"]["one-vs-all"]["metrics"] == before["models"]["one-vs-all"]["metrics"]
    assert report["models"]["loose"]["metrics"] != before["models"]["loose"]["metrics"]


def test_features_with_a_test_file(cli, tmp_path):
    train, test = make_sparse_pair(300, 60, n_features=400, n_labels=20)
    write(train, tmp_path / "train.txt")
    write(test, tmp_path / "test.txt")
    done = cli("compare", tmp_path / "train.txt", "--test", tmp_path / "test.txt", "--models", "one-vs-all,linear-tree",
               "--threads", 1, "--out", tmp_path / "r.html")  # fmt: skip
    assert done.code == 0, done.err
    assert "linear-tree" in done.out
    report = json.loads((tmp_path / "r.json").read_text())
    model = lw.OneVsAll().fit(train)
    figures = lw.evaluate(model.predict(test, 100), test.y, train_y=train.y)
    assert report["models"]["one-vs-all"]["metrics"]["nDCG@5"] == pytest.approx(figures["nDCG@5"])
    assert report["samples"][0]["shown"].startswith("feature ")


def test_a_budget_leaves_models_out_and_says_so(compared, texts):
    train, test = lw.read(texts).split(0.2, 0)
    work = compared["html"].with_name("report.html.runs")
    kept = {"seed": 0, "n_threads": 1}
    entries = [Entry("one-vs-all", "one-vs-all", kept), Entry("tree", "linear-tree", kept)]
    report = compare(parts_of(train, test), entries, work, budget=0.001, n_threads=1)
    assert [run_facts["status"] for run_facts in report["runs"]] == ["done", "skipped"]
    assert "budget" in report["runs"][1]["why"]
    assert list(report["models"]) == ["one-vs-all"]


def test_an_estimate_comes_from_a_part_of_the_rows(tmp_path):
    train, test = make_sparse_pair(2400, 60, n_features=400, n_labels=20)
    entries = [Entry("popular", "popular"), Entry("trees", "linear-tree", {"n_trees": 2})]
    report = compare(parts_of(train, test), entries, tmp_path, budget=300, n_threads=1)
    assert [run_facts["status"] for run_facts in report["runs"]] == ["done", "done"]
    assert all(run_facts["estimate_s"] > 0 for run_facts in report["runs"])


def test_a_run_is_stopped_at_its_deadline(tmp_path):
    with pytest.raises(RunError, match="budget"):
        run_task({"phase": "train", "data": str(tmp_path)}, tmp_path, "t", SILENT, 0.0)


def test_a_model_that_fails_does_not_stop_the_others(tmp_path):
    train, test = make_sparse_pair(100, 30, n_features=400, n_labels=20)
    entries = [Entry("popular", "popular"), Entry("bad", "one-vs-all", {"C": -1})]
    report = compare(parts_of(train, test), entries, tmp_path, n_threads=1)
    assert [run_facts["status"] for run_facts in report["runs"]] == ["done", "failed"]
    assert "C must be" in report["runs"][1]["why"]
    with pytest.raises(RunError, match="C must be"):
        compare(parts_of(train, test), entries[1:], tmp_path, n_threads=1)


def test_labels_of_test_rows_go_by_name():
    train = lw.Dataset(None, np.eye(2), texts=["a", "b"], label_names=["x", "y"])
    test = lw.Dataset(None, np.eye(2), texts=["a", "b"], label_names=["y", "new"])
    parts = parts_of(train, test)
    assert parts.test.y.toarray().tolist() == [[0, 1, 0], [0, 0, 1]]
    assert parts.name(2) == "new"
    assert parts.fingerprint != parts_of(train, train).fingerprint


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--models", "one-vs-al"), "one-vs-all"),
        (("--models", "popular,popular"), "comes twice"),
        (("--models", "popular,"), "empty"),
        (("--models", "popular", "--set", "tree.C=1"), "popular"),
        (("--models", "one-vs-all", "--set", "one-vs-all.D=1"), "D"),
        (("--models", "popular", "--budget", "soon"), "10m"),
        (("--models", "popular", "--share", "2"), "--share"),
        (("--models", "popular", "--out", "page.txt"), ".html"),
    ],
)
def test_wrong_usage_is_one_line(cli, texts, tmp_path, arguments, message):
    out = () if "--out" in arguments else ("--out", tmp_path / "r.html")
    done = cli("compare", texts, *arguments, *out)
    assert done.code == 2
    assert message in done.err
    assert len(done.err.strip().splitlines()) == 1


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_browser_shows_the_page_without_a_network(compared, tmp_path):
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
         "--host-resolver-rules=MAP * ~NOTFOUND", "--dump-dom", compared["html"].as_uri()],
        capture_output=True, encoding="utf-8", timeout=120, check=True,
    )  # fmt: skip
    page = Page(done.stdout)
    assert page.pictures == 10
    assert json.loads(page.numbers)["best"]
