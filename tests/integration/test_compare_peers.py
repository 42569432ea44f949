"""`labelwood compare --peers`: other packages in their own Python, and those that are missing say so."""

import importlib
import json

import pytest

from labelwood.cli.main import run
from labelwood.data.madeup.shop_texts import make_texts

# A package of Omikuji's interface that answers every row with the most frequent labels, and prints as native code may.
OMIKUJI = """
import collections, json, os, types

class Model:
    def __init__(self, order): self.order = order
    @staticmethod
    def default_hyper_param(): return types.SimpleNamespace()
    @classmethod
    def train_on_data(cls, path, parameters, n_threads):
        os.write(1, b"noise on stdout\\n")
        lines = open(path).read().splitlines()[1:]
        counts = collections.Counter(int(label) for line in lines for label in line.split(" ")[0].split(",") if label)
        return cls(sorted(counts, key=lambda label: (-counts[label], label)))
    def save(self, folder):
        os.makedirs(folder)
        json.dump(self.order, open(folder + "/order.json", "w"))
    @classmethod
    def load(cls, folder): return cls(json.load(open(folder + "/order.json")))
    def init_prediction_thread_pool(self, n_threads): pass
    def predict(self, pairs, top_k): return [(label, 0.5) for label in self.order[:top_k]]
"""


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    made = make_texts(200, n_labels=20, seed=0)
    with path.open("w") as stream:
        for row, text in enumerate(made.texts):
            labels = [made.label_names[label] for label in made.y[row].indices]
            stream.write(json.dumps({"text": text, "labels": labels}) + "\n")
    return path


@pytest.fixture
def report(rows, tmp_path, monkeypatch):
    """Compares `popular` and the peers in an empty cache of environments; gives the report."""
    monkeypatch.setenv("LABELWOOD_BENCH_CACHE", str(tmp_path / "cache"))

    def compared():
        out = tmp_path / "report.html"
        arguments = ["compare", rows, "--models", "popular", "--peers", "--threads", 1, "--out", out, "-q"]
        assert run([str(argument) for argument in arguments]) == 0
        return json.loads(out.with_suffix(".json").read_text())

    return compared


def test_a_package_runs_in_its_python_and_is_judged_like_the_others(report, tmp_path, monkeypatch):
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "omikuji.py").write_text(OMIKUJI)
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"))
    importlib.invalidate_caches()
    found = report()
    assert "--peers" in found["command"].split()
    of_run = {one["title"]: one for one in found["runs"]}
    assert of_run["omikuji"]["status"] == "done"
    assert of_run["omikuji"]["costs"]["model_bytes"] > 0
    # It answers as `popular` does, so every figure is the same.
    ours, theirs = (found["models"][title]["compared"] for title in ("popular", "omikuji"))
    assert {metric: value["value"] for metric, value in ours.items()} == {
        metric: value["value"] for metric, value in theirs.items()
    }
    assert of_run["pecos"]["status"] == "skipped"


def test_missing_packages_are_named_with_what_would_install_them(report):
    skipped = [one for one in report()["runs"] if one["status"] == "skipped"]
    assert {one["title"] for one in skipped} == {"pecos", "omikuji", "napkinxc", "fasttext"}
    for one in skipped:
        assert "not installed" in one["why"]
        assert f"benchmarks/peers/environments.py {one['title']}" in one["why"]


def test_a_package_that_fails_says_why(report, tmp_path, monkeypatch):
    (tmp_path / "packages").mkdir()
    broken = OMIKUJI.replace('os.write(1, b"noise on stdout\\n")', 'raise ValueError("no room")')
    (tmp_path / "packages" / "omikuji.py").write_text(broken)
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"))
    importlib.invalidate_caches()
    of_run = {one["title"]: one for one in report()["runs"]}
    assert (of_run["omikuji"]["status"], of_run["omikuji"]["why"]) == ("failed", "ValueError: no room")
